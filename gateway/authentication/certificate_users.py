"""The user of a client certificate: its checks, the field in use, the matching account.

Keycloak: 11.2 certificate users (26.7), 10.2 (event details). Spec: RFC 5280 §4.2.1.3, §4.2.1.4,
§4.2.1.12
"""

import asyncio
import base64
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gateway.authentication.accounts import Account, Accounts, AmbiguousAttribute
from gateway.authentication.engine.sign_in import Config, SignInAttempt
from gateway.authentication.errors import CertificateRejected
from gateway.domain.certificates import CertificateUsage, ClientCertificate, PresentedCertificate
from gateway.domain.distinguished_names import DistinguishedName, canonical_name_of
from gateway.domain.errors import UnusableSetting
from gateway.domain.flows import (
    CERTIFICATE_SEPARATOR,
    CertificateOptions,
    IdentitySource,
    certificate_options,
)
from gateway.domain.limits.patterns import matches_with_group

_SHOWN: Final = 10
"""Policies of a certificate in a refusal, of which it may have thousands."""


def require_usage(usage: CertificateUsage, options: CertificateOptions) -> None:
    """Raise CertificateRejected for a certificate that the options do not permit.

    Keycloak requires a usage only of a certificate whose extension is critical; here it is required
    of every certificate, for a setting that is there has to act. Keycloak: 11.2 certificate users
    (26.7). Spec: RFC 5280 §4.2.1.3, §4.2.1.4, §4.2.1.12
    """
    if options.key_usages and usage.key_usages is None:
        raise CertificateRejected("Key usage extension is expected, but unavailable.")
    for name in options.key_usages:
        if name not in (usage.key_usages or ()):
            raise CertificateRejected(f"Key Usage bit '{name}' is not set.")
    if options.extended and not usage.extended:
        raise CertificateRejected("Extended key usage extension is expected, but unavailable")
    for identifier in options.extended:
        if identifier not in usage.extended:
            raise CertificateRejected(f"Extended Key Usage '{identifier}' is missing.")
    if options.policies:
        _require_policies(usage.policies, options)


def _require_policies(found: tuple[str, ...], options: CertificateOptions) -> None:
    if not found:
        raise CertificateRejected(
            "Certificate Policy validation was expected, but no certificate policy extensions were"
            " found"
        )
    missing = [identifier for identifier in options.policies if identifier not in found]
    if options.any_policy and len(missing) == len(options.policies):
        raise CertificateRejected(
            f"Certificate Policy check failed: mode = ANY, found = '{','.join(found[:_SHOWN])}',"
            f" expected = '{','.join(options.policies)}'."
        )
    if missing and not options.any_policy:
        raise CertificateRejected(
            f"Certificate Policy check failed: mode = ALL, certificate policy '{missing[0]}' is"
            " missing."
        )


_EMAIL_ADDRESS: Final = "1.2.840.113549.1.9.1"
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def identity_in(certificate: ClientCertificate | None, options: CertificateOptions) -> str:
    """Return the identity that the user is looked up by; raises CertificateRejected.

    To be called in a thread: a pattern takes up to 30 ms.

    Keycloak: 11.2 certificate users (26.7).
    """
    if certificate is None:
        raise CertificateRejected("X509 client certificate is missing.")
    if not certificate.identifies:
        reason = certificate.reason_for_caller
        raise CertificateRejected(f"Certificate validation's failed: {reason}")
    require_usage(certificate.leaf.usage, options)
    identity = _identity(certificate.leaf, options)
    if not identity or not _is_plain(identity, options):
        raise CertificateRejected("Unable to extract user identity from specified certificate")
    return identity


def _identity(leaf: PresentedCertificate, options: CertificateOptions) -> str | None:
    read = _SINGLE.get(options.source)
    if read is not None:
        return _only_value(read(leaf))
    match options.source:
        case IdentitySource.SUBJECT:
            return _matched_text(leaf.subject, options)
        case IdentitySource.ISSUER:
            return _matched_text(leaf.issuer, options)
        case IdentitySource.SERIAL_NUMBER:
            return _serial_number(leaf.serial, options)
        case IdentitySource.SERIAL_NUMBER_AND_ISSUER:
            issuer, _ = _rendered_name(leaf.issuer, options)
            return f"{_serial_number(leaf.serial, options)}{CERTIFICATE_SEPARATOR}{issuer}"
    return None


def _emails(name: DistinguishedName) -> Iterable[str | bytes]:
    return (each.value for each in name.attributes if each.oid == _EMAIL_ADDRESS)


_SINGLE: Final[Mapping[IdentitySource, Callable[[PresentedCertificate], Iterable[str | bytes]]]] = {
    IdentitySource.EMAIL: lambda leaf: _emails(leaf.subject),
    IdentitySource.ISSUER_EMAIL: lambda leaf: _emails(leaf.issuer),
    IdentitySource.COMMON_NAME: lambda leaf: leaf.subject.common_names,
    IdentitySource.ISSUER_COMMON_NAME: lambda leaf: leaf.issuer.common_names,
    IdentitySource.ALTERNATIVE_EMAIL: lambda leaf: leaf.emails,
    IdentitySource.PRINCIPAL_NAME: lambda leaf: leaf.principal_names,
    IdentitySource.THUMBPRINT: lambda leaf: (leaf.digest.hex(),),
    IdentitySource.PEM: lambda leaf: (base64.b64encode(leaf.der).decode("ascii"),),
}
"""The values of a certificate, of which there has to be exactly one."""


def _serial_number(number: int, options: CertificateOptions) -> str:
    """Return the number; in hexadecimal as Java's BigInteger.toByteArray, a sign bit included."""
    if not options.hexadecimal:
        return str(number)
    return number.to_bytes(number.bit_length() // 8 + 1).hex()


def _rendered_name(
    name: DistinguishedName, options: CertificateOptions
) -> tuple[str, tuple[tuple[int, int], ...]]:
    """Return the name, and the places of values that could be read as further attributes.

    Raises CertificateRejected for a name that the canonical form would make equal to another.
    """
    if not options.canonical:
        text = name.legacy_rendering()
        return text, tuple(match.span() for match in _QUOTED.finditer(text))
    if not all(_is_stable(item.value) for item in name.attributes if isinstance(item.value, str)):
        raise CertificateRejected("Unable to extract user identity from specified certificate")
    written = canonical_name_of(name)
    # A piece of a value is told apart by its ends, which quotes would be.
    return written.text, tuple((begin - 1, end + 1) for begin, end in written.ambiguous)


def _matched_text(name: DistinguishedName, options: CertificateOptions) -> str | None:
    """Return the group of the pattern's matches; None where they differ.

    None also where it is a piece of a quoted value: `OU="CN=admin,"` is no common name (attacks:
    A15).
    """
    text, values = _rendered_name(name, options)
    found = matches_with_group(options.pattern, text)
    if any(_is_piece(match.span(1), value) for match in found for value in values):
        return None
    return _only_value({match[1] for match in found})


def _is_piece(group: tuple[int, int], quoted: tuple[int, int]) -> bool:
    """Tell whether a group has some of a quoted value, and not all of it."""
    (begin, end), (first, last) = group, quoted
    apart = end <= first or last <= begin
    return not apart and not (begin <= first + 1 and last - 1 <= end)


def _only_value(values: Iterable[str | bytes]) -> str | None:
    """Return the only value; None without any, for several values, and for a value without text."""
    found = tuple(values)
    return found[0] if len(found) == 1 and isinstance(found[0], str) else None


def _is_plain(identity: str, options: CertificateOptions) -> bool:
    """Tell whether an identity is only itself: no control character, no look-alike of a letter.

    Looking a name up folds case, and `\u212a` (Kelvin) is a `k` then. The canonical form is
    decomposed on purpose; what it is made from was checked.
    """
    return identity.isprintable() and (options.canonical or _is_stable(identity))


def _is_stable(text: str) -> bool:
    """Tell whether normalization leaves a text as it is, and it has no control characters."""
    return text.isprintable() and unicodedata.is_normalized("NFKC", text)


CERTIFICATE_CREDENTIAL: Final = "cert"
"""Keycloak's name of the kind of credential."""
_LONGEST_NAME: Final = 255
"""Characters of an identity in events: that of a whole certificate is longer."""


async def prove_certificate(admitted: bool) -> bool:  # noqa: FBT001 - a callback
    """Return `admitted`: TLS has proved the certificate, the guard decides about the account."""
    return admitted


class CertificateUsers:
    """Finds the account of the certificate of a request.

    Keycloak: 11.2 certificate users (26.7).
    """

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def find_account(
        self, sign_in: SignInAttempt, config: Config
    ) -> tuple[Account, str, CertificateOptions]:
        """Return the account, the name for events, and the options of the step.

        The account has no user where no user matches the certificate. Raises
        CertificateRejected or StoreUnavailable.
        """
        options = _identity_options(config)
        identity = await asyncio.to_thread(identity_in, sign_in.context.certificate, options)
        account = await self._account(sign_in, identity, options)
        name = identity[:_LONGEST_NAME] if account.user is None else account.user.username
        return account, name, options

    async def _account(
        self, sign_in: SignInAttempt, identity: str, options: CertificateOptions
    ) -> Account:
        if not options.attributes:
            return await self._accounts.get_named_account(sign_in.realm, identity, is_asserted=True)
        values = identity.split(CERTIFICATE_SEPARATOR, len(options.attributes) - 1)
        wanted = dict(zip(options.attributes, values, strict=True))
        try:
            return await self._accounts.get_account_by_attributes(sign_in.realm.id, wanted)
        except AmbiguousAttribute as error:
            raise CertificateRejected("X509 certificate authentication's failed.") from error


def _identity_options(config: Config) -> CertificateOptions:
    """Return the options; raises CertificateRejected for a step that cannot act."""
    if not config:
        raise CertificateRejected("Configuration is missing.")
    try:
        return certificate_options(config)
    except UnusableSetting as error:
        raise CertificateRejected("Configuration cannot be used.") from error
