"""Where a mapper writes: `claim.name` as a path. Keycloak: token claim name.

A dot goes one level deeper, a backslash escapes the character after it. A mapper whose path begins
with a protocol claim is refused when it is written and does nothing where it is stored;
`MappedClaims` ensures that no document is forged.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
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

WriteValues = Callable[[MappedClaims, Sequence[str]], None]
WriteAt = Callable[[tuple[str, ...], MappedClaims, Sequence[str]], None]
"""Writes values at a path in which nothing is left to substitute."""


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


def values_writer(config: Mapping[str, str], *, single: bool = False) -> WriteValues | None:
    """Return what writes values at `claim.name`; None where nothing may be written there."""
    path = claim_path(config)
    return None if path is None else partial(writer_at(config, single=single), path)


def writer_at(config: Mapping[str, str], *, single: bool = False) -> WriteAt:
    """Return what writes the first value, or all where `config` says so, unless `single` is set."""
    read = reader_of(config)
    if config.get(MULTIVALUED) == "true" and not single:

        def write_all(path: tuple[str, ...], claims: MappedClaims, values: Sequence[str]) -> None:
            claims.put_among(path, read_all(read, values))

        return write_all

    def write_first(path: tuple[str, ...], claims: MappedClaims, values: Sequence[str]) -> None:
        if values:
            value = values[0] if read is str else read(values[0])
            if value is not UNMAPPABLE:
                claims.put(path, value)

    return write_first
