"""Where in a document a mapper writes: `claim.name` as a path, and the claims it must not touch.

A dot goes one level deeper, a backslash takes the meaning from the character after it. What a
client may do is decided by protocol claims, so a mapper must not forge one.
Keycloak: token claim name
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from gateway.protocol.claims.json_types import UNMAPPABLE, read_all, reader_of

CLAIM_NAME: Final = "claim.name"
MULTIVALUED: Final = "multivalued"
DEEPEST_CLAIM: Final = 30
"""A path of more members makes a document that no reader of JSON need take. Spec: RFC 8259 §9."""
_COMPONENT: Final = re.compile(r"((?:\\.|[^\\.])+?)\.")
_ESCAPED: Final = re.compile(r"\\(.)")

RESERVED_CLAIMS: Final = frozenset(
    {
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "typ", "azp", "scope"),
        *("sid", "cnf", "acr", "amr", "auth_time", "nonce", "at_hash", "c_hash", "s_hash"),
        *("realm_access", "resource_access", "allowed-origins", "authorization", "act", "may_act"),
    }
)
"""Claims with rules of their own: no mapper writes them under a `claim.name` of its choice."""

WriteValue = Callable[[dict[str, Any], str], None]
WriteValues = Callable[[dict[str, Any], Sequence[str]], None]


def claim_path(config: Mapping[str, str], allowed: str = "") -> tuple[str, ...] | None:
    """Return the path of `claim.name`; None where there is none, or it is not for mappers.

    `allowed` is the one reserved claim that the mapper is there for.
    """
    path = split_claim_path(config.get(CLAIM_NAME, ""))
    reserved = bool(path) and path[0] in RESERVED_CLAIMS and path != (allowed,)
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


def put(claims: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    """Write the value; nothing where a claim that is no object stands in the way."""
    parent = _parent(claims, path)
    if parent is not None:
        parent[path[-1]] = value


def put_among(claims: dict[str, Any], path: tuple[str, ...], values: list[Any]) -> None:
    """Write a list of values, after those that stand there already and without repeating them."""
    parent = _parent(claims, path) if values else None
    if parent is None:
        return
    there = parent.get(path[-1])
    if there is None:
        parent[path[-1]] = values
        return
    before = there if isinstance(there, list) else [there]
    parent[path[-1]] = [*before, *(value for value in values if value not in before)]


def value_writer(config: Mapping[str, str], allowed: str = "") -> WriteValue | None:
    """Return what writes one value as `config` says: where, and of which type."""
    path = claim_path(config, allowed)
    if path is None:
        return None
    read = reader_of(config)
    (*above, name) = path
    if not above and read is str:

        def write_text(claims: dict[str, Any], text: str) -> None:
            claims[name] = text

        return write_text

    def write(claims: dict[str, Any], text: str) -> None:
        value = read(text)
        if value is not UNMAPPABLE:
            put(claims, path, value)

    return write


def values_writer(config: Mapping[str, str]) -> WriteValues | None:
    """Return what writes the first of some values, or all of them where `config` says so."""
    path = claim_path(config)
    if path is None:
        return None
    if config.get(MULTIVALUED) == "true":
        read = reader_of(config)

        def write_all(claims: dict[str, Any], values: Sequence[str]) -> None:
            put_among(claims, path, read_all(read, values))

        return write_all
    write_one = value_writer(config)
    if write_one is None:
        return None

    def write_first(claims: dict[str, Any], values: Sequence[str]) -> None:
        if values:
            write_one(claims, values[0])

    return write_first


def _parent(claims: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any] | None:
    """Return the object that the last member of the path stands in, made where it is missing."""
    parent: Any = claims
    for name in path[:-1]:
        parent = parent.setdefault(name, {})
        if not isinstance(parent, dict):
            return None
    return cast("dict[str, Any]", parent)
