"""JSON of an entry of a deny list: a certificate by `thumbprint`, or by `issuer` and `serial`.

A thumbprint is read in hexadecimal, with or without colons, and as `x5t#S256`; it is written as the
latter, which tokens contain.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

from gateway.domain import base64url
from gateway.domain.denied_certificates import DeniedCertificate, IssuedSerial
from gateway.domain.distinguished_names import DistinguishedName, parse_distinguished_name
from gateway.domain.errors import FieldError
from gateway.representations.field_table import parse_strictly, without_none
from gateway.representations.refusals import mistyped, raise_all, refused
from gateway.representations.shapes import Milliseconds, OptionalText, Shape, Verbatim

_SHA256_BYTES: Final = 32
_LONGEST_ISSUER: Final = 1000
_LARGEST_SERIAL: Final = 1 << 160
"""Spec: RFC 5280 §4.1.2.2."""
_HEXADECIMAL: Final = re.compile("[0-9A-Fa-f]{1,40}")
_THUMBPRINT: Final = (
    "the SHA-256 of a certificate: 64 hexadecimal digits, or base64url of 43 characters"
)
_SERIAL: Final = "a positive serial number of at most 40 hexadecimal digits"
_ISSUER: Final = f"a distinguished name of at most {_LONGEST_ISSUER} characters"


class Thumbprint(Verbatim):
    """The SHA-256 of a certificate as `x5t#S256`; hexadecimal digits are accepted."""

    def read(self, value: Any, path: str) -> str:
        if not isinstance(value, str):
            raise mistyped(path, value, _THUMBPRINT)
        digest = _digest(value)
        if digest is None:
            raise refused(path, value, _THUMBPRINT)
        return base64url.encode(digest)


class SerialNumber:
    """A serial number in hexadecimal digits, as `realmgate certs show` and openssl write it."""

    def read(self, value: Any, path: str) -> int:
        if not isinstance(value, str):
            raise mistyped(path, value, _SERIAL)
        digits = value.replace(":", "").removeprefix("0x")
        serial = int(digits, 16) if _HEXADECIMAL.fullmatch(digits) else 0
        if not 0 < serial < _LARGEST_SERIAL:
            raise refused(path, value, _SERIAL)
        return serial

    def write(self, value: int) -> str:
        return f"{value:x}"


class IssuerName:
    """A distinguished name as text, as RFC 4514 writes it."""

    def read(self, value: Any, path: str) -> DistinguishedName:
        if not isinstance(value, str):
            raise mistyped(path, value, _ISSUER)
        try:
            name = parse_distinguished_name(value)
        except ValueError as error:
            raise refused(path, value, f"{_ISSUER} ({error})") from error
        if not name.relative_names or len(str(name)) > _LONGEST_ISSUER:
            raise refused(path, value, _ISSUER)
        return name

    def write(self, value: DistinguishedName) -> str:
        return str(value)


DENIED_CERTIFICATE: Final = "DeniedCertificateRepresentation"
_INSTANT: Final = Milliseconds()
DENIED_CERTIFICATE_FIELDS: Final[Mapping[str, Shape]] = {
    "thumbprint": Thumbprint(),
    "issuer": IssuerName(),
    "serial": SerialNumber(),
    "reason": OptionalText(most=255),
    "expirationTimestamp": _INSTANT,
}


def parse_denied_certificate(document: Mapping[str, Any], now: datetime) -> DeniedCertificate:
    """Return the entry, made `now`; raises UnknownField, or InvalidInput with every wrong field."""
    given = parse_strictly(document, DENIED_CERTIFICATE_FIELDS, DENIED_CERTIFICATE)
    expires_at = given.get("expirationTimestamp")
    errors: list[FieldError] = []
    certificate: str | IssuedSerial = given.get("thumbprint", "")
    names = sorted(given.keys() & {"thumbprint", "issuer", "serial"})
    if names == ["issuer", "serial"]:
        certificate = IssuedSerial(given["issuer"], given["serial"])
    elif names != ["thumbprint"]:
        allowed = "thumbprint alone, or issuer and serial"
        errors.append(FieldError("thumbprint", " and ".join(names) or "none", allowed))
    if expires_at is not None and expires_at <= now:
        errors.append(FieldError("expirationTimestamp", "a past instant", "a future instant"))
    raise_all(errors)
    return DeniedCertificate(certificate, now, given.get("reason"), expires_at)


def render_denied_certificate(entry: DeniedCertificate) -> dict[str, Any]:
    """Return the JSON object of an entry."""
    certificate = entry.certificate
    by_serial = isinstance(certificate, IssuedSerial)
    return without_none(
        {
            "id": entry.id,
            "thumbprint": None if by_serial else certificate,
            "issuer": str(certificate.issuer) if isinstance(certificate, IssuedSerial) else None,
            "serial": f"{certificate.serial:x}" if isinstance(certificate, IssuedSerial) else None,
            "reason": entry.reason,
            "createdTimestamp": _INSTANT.write(entry.created_at),
            "expirationTimestamp": None
            if entry.expires_at is None
            else _INSTANT.write(entry.expires_at),
        }
    )


def _digest(text: str) -> bytes | None:
    """Return the bytes of a thumbprint in either form; None for anything else."""
    digits = text.replace(":", "")
    try:
        if len(digits) == 2 * _SHA256_BYTES:
            return bytes.fromhex(digits) if digits.isalnum() else None
        digest = base64.b64decode(text.encode("ascii") + b"=", b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    canonical = base64url.encode(digest) == text
    return digest if canonical and len(digest) == _SHA256_BYTES else None
