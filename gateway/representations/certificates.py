"""JSON of a realm's certificate authorities, its deny list, and the expirations in it.

An authority is answered with the data of its certificate; those fields are ignored where they are
sent back. An entry of a deny list names a certificate by `thumbprint`, or by `issuer` and `serial`.
A thumbprint is parsed in hexadecimal, with or without colons, and as `x5t#S256`; it is written as
the latter, which tokens contain. Instants of expiry are RFC 3339.
"""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from gateway.domain import base64url
from gateway.domain.certificates import (
    MOST_AUTHORITIES,
    AuthorityDescription,
    AuthorityKind,
    DeniedCertificate,
    IssuedSerial,
    certificate_pem,
    serial_text,
)
from gateway.domain.distinguished_names import DistinguishedName, parse_distinguished_name
from gateway.domain.errors import FieldError
from gateway.domain.expiry import Expiration, RenewalKind, SeenCertificate
from gateway.representations.field_table import FieldTable, Setting, parse_strictly, without_none
from gateway.representations.refusals import (
    join,
    mistyped,
    parse_each,
    raise_all,
    refused,
    refused_items,
    refused_text,
    unknown_fields,
)
from gateway.representations.shapes import Choice, Milliseconds, OptionalText, Text, Verbatim

_LONGEST: Final = 96 * 1024
"""Characters of PEM: a certificate of 64 kB."""
_NAME: Final = "authority"


@dataclass(frozen=True, slots=True)
class AuthorityInput:
    """A certificate to register. `path` is its place in the document, for errors.

    Without a kind, a self-signed certificate is an anchor and any other one an intermediate.
    `client` is a client ID; only realm files have one.
    """

    certificate: str = field(default="", repr=False)
    kind: AuthorityKind | None = None
    client: str | None = None
    path: str = ""


AUTHORITY_FIELDS: Final = FieldTable(
    (
        Setting("kind", "kind", Choice(AuthorityKind), public=True),
        Setting("certificate", "certificate", Text(most=_LONGEST)),
        Setting("client", "client", Text(least=1, most=255), public=True),
    ),
    ignored={
        name: Text(most=100_000)
        for name in ("sha256", "keySha256", "subject", "issuer", "serial", "notBefore", "notAfter")
    },
)


def parse_authority(document: Any, path: str = "", *, with_client: bool = False) -> AuthorityInput:
    """Return the authority to register; raises InvalidInput with every wrong field."""
    if not isinstance(document, Mapping):
        raise mistyped(path or _NAME, document, "an object")
    errors: list[FieldError] = []
    given = AUTHORITY_FIELDS.collect(document, path, errors)
    known = {*AUTHORITY_FIELDS.shapes, *AUTHORITY_FIELDS.beside}
    if not with_client:
        known.discard("client")
    errors.extend(unknown_fields(path, given, f"an {_NAME}", sorted(known)))
    if "certificate" not in given:
        at = join(path, "certificate")
        errors.append(FieldError(at, "nothing", "a certificate in PEM", sentence="it is missing"))
    updates = AUTHORITY_FIELDS.read_settings(given, errors)
    raise_all(errors)
    return AUTHORITY_FIELDS.updated(AuthorityInput(path=path), updates)


def parse_authorities(value: Any, path: str) -> tuple[AuthorityInput, ...]:
    """Return the authorities of a realm file; raises InvalidInput with every wrong field."""
    if not isinstance(value, list) or len(value) > MOST_AUTHORITIES:
        allowed = f"a list of at most {MOST_AUTHORITIES} authorities"
        raise refused_items(path, value, list, allowed)
    return tuple(
        parse_each(value, lambda item, at: parse_authority(item, at, with_client=True), path)
    )


def render_authority(kind: AuthorityKind, description: AuthorityDescription) -> dict[str, Any]:
    """Return the JSON object; instants are RFC 3339."""
    return {
        "sha256": description.sha256,
        "keySha256": description.key_sha256,
        "kind": kind.value,
        "subject": description.subject,
        "issuer": description.issuer,
        "serial": description.serial,
        "notBefore": description.not_before.isoformat(),
        "notAfter": description.not_after.isoformat(),
        "certificate": certificate_pem(description.der),
    }


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
        digest = _digest(value) if isinstance(value, str) else None
        if digest is None:
            raise refused_text(path, value, _THUMBPRINT)
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
DENIED_CERTIFICATE_FIELDS: Final = FieldTable(
    (
        Setting("id", "id", Verbatim(), public=True, read_only=True),
        Setting("thumbprint", "thumbprint", Thumbprint(), public=True),
        Setting("issuer", "issuer", IssuerName(), public=True),
        Setting("serial", "serial", SerialNumber(), public=True),
        Setting("reason", "reason", OptionalText(most=255)),
        Setting("createdTimestamp", "created_at", _INSTANT, public=True, read_only=True),
        Setting("expirationTimestamp", "expires_at", _INSTANT, public=True),
    )
)


def parse_denied_certificate(document: Mapping[str, Any], now: datetime) -> DeniedCertificate:
    """Return the entry, made `now`; raises UnknownField, or InvalidInput with every wrong field."""
    given = parse_strictly(document, DENIED_CERTIFICATE_FIELDS.writable, DENIED_CERTIFICATE)
    expires_at = given.get("expirationTimestamp")
    errors: list[FieldError] = []
    identity = given.get("thumbprint", "")
    names = sorted(given.keys() & {"thumbprint", "issuer", "serial"})
    if names == ["issuer", "serial"]:
        identity = IssuedSerial(given["issuer"], given["serial"]).digest
    elif names != ["thumbprint"]:
        allowed = "thumbprint alone, or issuer and serial"
        errors.append(FieldError("thumbprint", " and ".join(names) or "none", allowed))
    if expires_at is not None and expires_at <= now:
        errors.append(FieldError("expirationTimestamp", "a past instant", "a future instant"))
    raise_all(errors)
    named = given.get("issuer"), given.get("serial")
    return DeniedCertificate(identity, now, *named, given.get("reason"), expires_at)


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


SEEN_DEVICE: Final = "SeenDeviceRepresentation"
EXPIRATION: Final = "ExpirationRepresentation"
_RENEWALS: Final[Mapping[RenewalKind, str]] = {
    RenewalKind.COMMAND: "{}",
    RenewalKind.SOURCE: "{}",
    RenewalKind.ISSUER: "at its issuer, {}",
    RenewalKind.CLIENT_ATTRIBUTES: "attribute jwt.credential.certificate or jwks.string of the"
    " client",
}


def render_expiration(expiration: Expiration) -> dict[str, Any]:
    """Return the JSON object; without `realm` for files of the settings."""
    seen_at = expiration.last_seen_at
    return without_none(
        {
            "kind": expiration.kind.value,
            "id": expiration.id,
            "realm": expiration.realm,
            "subject": expiration.subject,
            "issuer": expiration.issuer,
            "notBefore": expiration.begins_at.isoformat(),
            "notAfter": expiration.expires_at.isoformat(),
            "owner": owner_text(expiration),
            "renewal": renewal_text(expiration),
            "lastSeen": None if seen_at is None else seen_at.date().isoformat(),
        }
    )


def owner_text(expiration: Expiration) -> str:
    """Return whose it is, such as `client device-1, user ada`."""
    named = (f"{owner.kind.value} {owner.name}".rstrip() for owner in expiration.owners)
    return ", ".join(named) or "not known"


def renewal_text(expiration: Expiration) -> str:
    """Return where to renew it: a command, files and URLs, or a place in words."""
    renewal = expiration.renewal
    return _RENEWALS[renewal.kind].format(renewal.value)


def render_seen_certificate(
    seen: SeenCertificate, *, device: str | None, spiffe_id: str | None, state: str
) -> dict[str, Any]:
    """Return the JSON object of a device; days of sightings, and the hour of the last token."""
    return without_none(
        {
            "device": device,
            "client": seen.client,
            "user": seen.username,
            "subject": seen.subject,
            "spiffeId": spiffe_id,
            "names": {kind: list(names) for kind, names in seen.alternative_names.items()} or None,
            "issuer": seen.issuer,
            "serial": None if seen.serial is None else serial_text(seen.serial),
            "thumbprint": seen.id,
            "notBefore": seen.begins_at.isoformat(),
            "notAfter": seen.expires_at.isoformat(),
            "firstSeen": _isoformat(seen.first_seen_at),
            "lastSeen": seen.last_seen_at.date().isoformat(),
            "lastToken": _isoformat(seen.last_token_at),
            "state": state,
        }
    )


def _isoformat(instant: datetime | None) -> str | None:
    return None if instant is None else instant.isoformat(timespec="seconds")
