"""Where in a document a mapper writes: `claim.name` as a path.

A dot goes one level deeper, a backslash takes the meaning from the character after it. A mapper
whose path begins with a protocol claim is refused when it is written and does nothing where it is
stored; that a document is not forged is up to `MappedClaims`. Keycloak: token claim name
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from gateway.protocol.claims.json_types import UNMAPPABLE, read_all, reader_of
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS

CLAIM_NAME: Final = "claim.name"
MULTIVALUED: Final = "multivalued"
DEEPEST_CLAIM: Final = 30
"""A path of more members makes a document that no reader of JSON need take. Spec: RFC 8259 §9."""
_COMPONENT: Final = re.compile(r"((?:\\.|[^\\.])+?)\.")
_ESCAPED: Final = re.compile(r"\\(.)")

WriteValue = Callable[[MappedClaims, str], None]
WriteValues = Callable[[MappedClaims, Sequence[str]], None]


def claim_path(config: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the path of `claim.name`; None where there is none, or it is a protocol claim's."""
    path = split_claim_path(config.get(CLAIM_NAME, ""))
    reserved = bool(path) and path[0] in RESERVED_CLAIMS
    return None if reserved or not 0 < len(path) <= DEEPEST_CLAIM else path


def split_claim_path(name: str) -> tuple[str, ...]:
    """Return the members to go down by."""
    if "." not in name and "\\" not in name:
        return (name,) if name else ()
    parts: list[str] = []
    start = 0
    while (found := _COMPONENT.match(name, start)) is not None:
        parts.append(found.group(1))
        start = found.end()
    if start < len(name):
        parts.append(name[start:])
    return tuple(_ESCAPED.sub(r"\1", part) for part in parts)


def value_writer(config: Mapping[str, str]) -> WriteValue | None:
    """Return what writes one value as `config` says: where, and of which type."""
    path = claim_path(config)
    if path is None:
        return None
    read = reader_of(config)
    if read is str:

        def write_text(claims: MappedClaims, text: str) -> None:
            claims.put(path, text)

        return write_text

    def write(claims: MappedClaims, text: str) -> None:
        value = read(text)
        if value is not UNMAPPABLE:
            claims.put(path, value)

    return write


def values_writer(config: Mapping[str, str]) -> WriteValues | None:
    """Return what writes the first of some values, or all of them where `config` says so."""
    path = claim_path(config)
    if path is None:
        return None
    if config.get(MULTIVALUED) == "true":
        read = reader_of(config)

        def write_all(claims: MappedClaims, values: Sequence[str]) -> None:
            claims.put_among(path, read_all(read, values))

        return write_all
    write_one = value_writer(config)
    if write_one is None:
        return None

    def write_first(claims: MappedClaims, values: Sequence[str]) -> None:
        if values:
            write_one(claims, values[0])

    return write_first
