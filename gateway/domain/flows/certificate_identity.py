"""What may be set of a sign-in by certificate, and what of it acts here.

The gateway always checks path, validity, purpose and, where it has revocation lists, revocation.
A setting that would demand other checks of these, or switch them off, is refused; key usages and
policies that a setting requires are checked too.
Keycloak: 11.2 certificate users
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.domain.certificates import KEY_USAGES
from gateway.domain.distinguished_names import DOTTED
from gateway.domain.errors import UnusableSetting
from gateway.domain.limits.patterns import pattern_problem

_PREFIX: Final = "x509-cert-auth."
_SOURCE: Final = f"{_PREFIX}mapping-source-selection"
PATTERN: Final = f"{_PREFIX}regular-expression"
_MAPPER: Final = f"{_PREFIX}mapper-selection"
_ATTRIBUTES: Final = f"{_PREFIX}mapper-selection.user-attribute-name"
_HEXADECIMAL: Final = f"{_PREFIX}serialnumber-hex-enabled"
_CANONICAL: Final = f"{_PREFIX}canonical-dn-enabled"
_TIMESTAMPS: Final = f"{_PREFIX}timestamp-validation-enabled"
_KEY_USAGES: Final = f"{_PREFIX}keyusage"
_EXTENDED: Final = f"{_PREFIX}extendedkeyusage"
_POLICIES: Final = f"{_PREFIX}certificate-policy"
_POLICY_MODE: Final = f"{_PREFIX}certificate-policy-mode"
_NO_CONFIRMATION: Final = f"{_PREFIX}confirmation-page-disallowed"
_BY_NAME: Final = "Username or Email"
_BY_ATTRIBUTE: Final = "Custom Attribute Mapper"
_ANY: Final = "Any"
SEPARATOR: Final = "##"
"""Between a serial number and an issuer, and between the names of the attributes with them."""
_EVERYTHING: Final = "(.*?)(?:$)"
_REFUSED_FLAGS: Final = (
    "crl-checking-enabled",
    "crldp-checking-enabled",
    "ocsp-checking-enabled",
)
_PURPOSES: Final = {
    "serverauth": "1.3.6.1.5.5.7.3.1",
    "clientauth": "1.3.6.1.5.5.7.3.2",
    "codesigning": "1.3.6.1.5.5.7.3.3",
    "emailprotection": "1.3.6.1.5.5.7.3.4",
    "timestamping": "1.3.6.1.5.5.7.3.8",
    "ocspsigning": "1.3.6.1.5.5.7.3.9",
}
"""Names of extended key usages, in lower case. Spec: RFC 5280 §4.2.1.12"""


class IdentitySource(StrEnum):
    """What of a certificate names the user, in Keycloak's words."""

    SUBJECT = "Match SubjectDN using regular expression"
    ISSUER = "Match IssuerDN using regular expression"
    EMAIL = "Subject's e-mail"
    ALTERNATIVE_EMAIL = "Subject's Alternative Name E-mail"
    PRINCIPAL_NAME = "Subject's Alternative Name otherName (UPN)"
    COMMON_NAME = "Subject's Common Name"
    ISSUER_EMAIL = "Issuer's e-mail"
    ISSUER_COMMON_NAME = "Issuer's Common Name"
    SERIAL_NUMBER = "Certificate Serial Number"
    SERIAL_NUMBER_AND_ISSUER = "Certificate Serial Number and IssuerDN"
    THUMBPRINT = "SHA-256 Thumbprint"
    PEM = "Full Certificate in PEM format"


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """How a certificate is checked beyond trust, and how it names its user.

    `pattern` applies to the sources that match: its first group is looked up. The user has it in
    `attributes`, or as user name or e-mail address where there are none. With `canonical` names of
    the certificate are in Java's canonical form. `key_usages` are required, `extended` are object
    identifiers of extended key usages that are; of `policies` all, or any with `any_policy`.
    """

    source: IdentitySource = IdentitySource.SUBJECT
    pattern: str = _EVERYTHING
    hexadecimal: bool = False
    canonical: bool = False
    attributes: tuple[str, ...] = ()
    key_usages: tuple[str, ...] = ()
    extended: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()
    any_policy: bool = False
    asks_confirmation: bool = True
    """Whether a browser shows the user and the certificate before the sign-in."""


def certificate_options(config: Mapping[str, str]) -> CertificateOptions:
    """Return the options; raises UnusableSetting for one that cannot act."""
    source = config.get(_SOURCE) or IdentitySource.SUBJECT
    if source not in set(IdentitySource):
        raise UnusableSetting(f"'{_SOURCE}': '{source}' is not known")
    _require_own_checks(config)
    pattern = config.get(PATTERN) or _EVERYTHING
    problem = pattern_problem(pattern)
    if problem is not None:
        raise UnusableSetting(f"'{PATTERN}' cannot act: {problem}")
    return CertificateOptions(
        IdentitySource(source),
        pattern,
        hexadecimal=_is_on(config, _HEXADECIMAL),
        canonical=_is_on(config, _CANONICAL),
        attributes=_attributes(config, IdentitySource(source)),
        key_usages=_key_usages(config),
        extended=_identifiers(config, _EXTENDED, _PURPOSES),
        policies=_identifiers(config, _POLICIES, {}),
        any_policy=config.get(_POLICY_MODE) == _ANY,
        asks_confirmation=not _is_on(config, _NO_CONFIRMATION),
    )


def certificate_problem(config: Mapping[str, str]) -> str | None:
    """Return why a sign-in by certificate cannot act with a configuration."""
    try:
        certificate_options(config)
    except UnusableSetting as error:
        return str(error)
    return None


def _require_own_checks(config: Mapping[str, str]) -> None:
    """Raise UnusableSetting for an option about what the gateway decides by its own settings."""
    for name in _REFUSED_FLAGS:
        if _is_on(config, _PREFIX + name):
            raise UnusableSetting(
                f"'{_PREFIX}{name}' cannot act: it must be off, for the settings of the gateway and"
                " of the realm say how revocation is checked"
            )
    if config.get(_TIMESTAMPS, "true").lower() == "false":
        raise UnusableSetting(
            f"'{_TIMESTAMPS}' must be on: an expired certificate never signs a user in"
        )


def _attributes(config: Mapping[str, str], source: IdentitySource) -> tuple[str, ...]:
    mapper = config.get(_MAPPER) or _BY_NAME
    if mapper not in {_BY_NAME, _BY_ATTRIBUTE}:
        raise UnusableSetting(f"'{_MAPPER}' must be '{_BY_NAME}' or '{_BY_ATTRIBUTE}'")
    if mapper == _BY_NAME:
        return ()
    names = tuple((config.get(_ATTRIBUTES) or "usercertificate").split(SEPARATOR))
    needed = 2 if source is IdentitySource.SERIAL_NUMBER_AND_ISSUER else 1
    if len(names) != needed or len(set(names)) != needed or not all(names):
        raise UnusableSetting(
            f"'{_ATTRIBUTES}' must name {needed} attribute(s), separated by '{SEPARATOR}', for"
            f" '{source}'"
        )
    return names


def _key_usages(config: Mapping[str, str]) -> tuple[str, ...]:
    known = {name.lower(): name for name in KEY_USAGES}
    given = _listed(config, _KEY_USAGES)
    unknown = [name for name in given if name.lower() not in known]
    if unknown:
        raise UnusableSetting(f"'{_KEY_USAGES}': '{unknown[0]}' is none of {', '.join(KEY_USAGES)}")
    return tuple(known[name.lower()] for name in given)


def _identifiers(config: Mapping[str, str], name: str, known: Mapping[str, str]) -> tuple[str, ...]:
    given = tuple(known.get(each.lower(), each) for each in _listed(config, name))
    malformed = [each for each in given if not DOTTED.fullmatch(each)]
    if malformed:
        raise UnusableSetting(f"'{name}': '{malformed[0]}' is not an object identifier")
    return given


def _listed(config: Mapping[str, str], name: str) -> list[str]:
    return [each.strip() for each in config.get(name, "").split(",") if each.strip()]


def _is_on(config: Mapping[str, str], name: str) -> bool:
    return config.get(name, "").lower() == "true"
