"""Certificate authorities of a realm: JSON to what is registered, and back.

What a certificate says itself is answered, and ignored where it is sent back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.domain.authorities import (
    MOST_AUTHORITIES,
    Authority,
    AuthorityDescription,
    AuthorityKind,
    certificate_pem,
)
from gateway.domain.errors import FieldError
from gateway.representations.field_table import FieldTable, Setting
from gateway.representations.refusals import (
    join,
    mistyped,
    parse_each,
    raise_all,
    refused_items,
    unknown_fields,
)
from gateway.representations.shapes import Choice, Text

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
    """Return what is to be registered; raises InvalidInput with every wrong field."""
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


def render_file_authority(authority: Authority, client_id: str | None) -> dict[str, Any]:
    """Return the JSON object in a realm file."""
    rendered = {"kind": authority.kind.value, "certificate": certificate_pem(authority.der)}
    return rendered if client_id is None else {**rendered, "client": client_id}
