"""What may be set of a sign-in by certificate, and what of it acts here.

The gateway always checks path, validity, purpose and, where it has revocation lists, revocation.
A setting that would demand more than that is refused.
Keycloak: 11.2
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from gateway.domain.errors import UnusableSetting
from gateway.domain.limits.patterns import pattern_problem

_PREFIX: Final = "x509-cert-auth."
_SOURCE: Final = f"{_PREFIX}mapping-source-selection"
PATTERN: Final = f"{_PREFIX}regular-expression"
_MAPPER: Final = f"{_PREFIX}mapper-selection"
_HEXADECIMAL: Final = f"{_PREFIX}serialnumber-hex-enabled"
_BY_NAME: Final = "Username or Email"
_EVERYTHING: Final = "(.*?)(?:$)"
_REFUSED_FLAGS: Final = (
    "canonical-dn-enabled",
    "crl-checking-enabled",
    "crldp-checking-enabled",
    "ocsp-checking-enabled",
)
_REFUSED_TEXTS: Final = ("keyusage", "extendedkeyusage", "certificate-policy")


class IdentitySource(StrEnum):
    """What of a certificate names the user, in Keycloak's words."""

    SUBJECT = "Match SubjectDN using regular expression"
    ISSUER = "Match IssuerDN using regular expression"
    EMAIL = "Subject's e-mail"
    ALTERNATIVE_EMAIL = "Subject's Alternative Name E-mail"
    PRINCIPAL_NAME = "Subject's Alternative Name otherName (UPN)"
    COMMON_NAME = "Subject's Common Name"
    SERIAL_NUMBER = "Certificate Serial Number"
    THUMBPRINT = "SHA-256 Thumbprint"


@dataclass(frozen=True, slots=True)
class CertificateOptions:
    """What of a certificate is looked up as user name or e-mail address.

    `pattern` applies to the sources that match: its first group is looked up.
    """

    source: IdentitySource = IdentitySource.SUBJECT
    pattern: str = _EVERYTHING
    hexadecimal: bool = False


def certificate_options(config: Mapping[str, str]) -> CertificateOptions:
    """Return the options; raises UnusableSetting for one that cannot act."""
    source = config.get(_SOURCE) or IdentitySource.SUBJECT
    if source not in set(IdentitySource):
        raise UnusableSetting(f"'{_SOURCE}': '{source}' cannot act yet")
    if config.get(_MAPPER, _BY_NAME) != _BY_NAME:
        raise UnusableSetting(f"'{_MAPPER}' must be '{_BY_NAME}'")
    for name in _REFUSED_FLAGS:
        if config.get(_PREFIX + name, "").lower() == "true":
            raise UnusableSetting(f"'{_PREFIX}{name}' cannot act: it must be off")
    for name in _REFUSED_TEXTS:
        if config.get(_PREFIX + name):
            raise UnusableSetting(f"'{_PREFIX}{name}' cannot act: it must be empty")
    pattern = config.get(PATTERN) or _EVERYTHING
    problem = pattern_problem(pattern)
    if problem is not None:
        raise UnusableSetting(f"'{PATTERN}' cannot act: {problem}")
    hexadecimal = config.get(_HEXADECIMAL, "").lower() == "true"
    return CertificateOptions(IdentitySource(source), pattern, hexadecimal=hexadecimal)
