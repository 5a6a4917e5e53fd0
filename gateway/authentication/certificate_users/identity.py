"""What of a certificate names its user. Keycloak: 11.2 (26.7)."""

import base64
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from gateway.authentication.certificate_users.usage import require_usage
from gateway.authentication.errors import CertificateRejected
from gateway.domain.certificates import ClientCertificate, PresentedCertificate
from gateway.domain.distinguished_names import DistinguishedName, canonical_name_of
from gateway.domain.flows import CERTIFICATE_SEPARATOR, CertificateOptions, IdentitySource
from gateway.domain.limits.patterns import matches_with_group

_EMAIL_ADDRESS: Final = "1.2.840.113549.1.9.1"
_QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def identity_in(certificate: ClientCertificate | None, options: CertificateOptions) -> str:
    """Return what the user is looked up by; raises CertificateRejected.

    To be called in a thread: a pattern takes up to 30 ms.
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
        return _only(read(leaf))
    match options.source:
        case IdentitySource.SUBJECT:
            return _matched(leaf.subject, options)
        case IdentitySource.ISSUER:
            return _matched(leaf.issuer, options)
        case IdentitySource.SERIAL_NUMBER:
            return _serial(leaf.serial, options)
        case IdentitySource.SERIAL_NUMBER_AND_ISSUER:
            issuer, _ = _rendered(leaf.issuer, options)
            return f"{_serial(leaf.serial, options)}{CERTIFICATE_SEPARATOR}{issuer}"
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


def _serial(number: int, options: CertificateOptions) -> str:
    """Return the number; in hexadecimal as Java's BigInteger.toByteArray, a sign bit included."""
    if not options.hexadecimal:
        return str(number)
    return number.to_bytes(number.bit_length() // 8 + 1).hex()


def _rendered(
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


def _matched(name: DistinguishedName, options: CertificateOptions) -> str | None:
    """Return the group of the pattern's matches; None where they differ.

    None also where it is a piece of a quoted value: `OU="CN=admin,"` is no common name (attacks:
    A15).
    """
    text, values = _rendered(name, options)
    found = matches_with_group(options.pattern, text)
    if any(_is_piece(match.span(1), value) for match in found for value in values):
        return None
    return _only({match[1] for match in found})


def _is_piece(group: tuple[int, int], quoted: tuple[int, int]) -> bool:
    """Tell whether a group has some of a quoted value, and not all of it."""
    (begin, end), (first, last) = group, quoted
    apart = end <= first or last <= begin
    return not apart and not (begin <= first + 1 and last - 1 <= end)


def _only(values: Iterable[str | bytes]) -> str | None:
    """Return the only value; None where there is none, several, or one that is not text."""
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
