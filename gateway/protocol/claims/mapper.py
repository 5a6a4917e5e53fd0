"""Claim mappers: their types, the path and JSON type of a claim, and the claims that they add."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final, cast

from gateway.domain.clients import ProtocolMapper
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import IMPERSONATOR_ID, actor_of
from gateway.protocol.claims.protocol_claims import (
    CLIENT_ID,
    RESERVED_CLAIMS,
    RESERVED_IN_TOKENS,
    IncludedClaims,
)
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.json_input import parse_json

AUTH_TIME: Final = "AUTH_TIME"
"""The session note that holds the time of the sign-in, in seconds since the epoch."""
_SECONDS: Final = re.compile(r"[0-9]{1,15}")
_NO_MEANS: Final[tuple[str, ...]] = ()
"""`amr`: methods are named in configurations that no authenticator has here."""


class MappedClaims:
    """Collects free claims by path, and protocol claims by type.

    Free claims leave this object only through `document`, which takes no protocol claim from them.
    """

    audiences: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] | None = None
    realm_roles: Sequence[str] = ()
    client_roles: dict[str, Sequence[str]] | None = None

    def __init__(self, purpose: str = "") -> None:
        """Collect claims for a purpose: the option of mappers that names it."""
        self.purpose = purpose
        self.decided: set[str] = set()
        """Names of protocol claims that the document includes."""
        self._free: dict[str, Any] = {}

    def put_claim(self, path: tuple[str, ...], value: object) -> None:
        """Write a free claim, never under a protocol claim nor below a claim that is no object."""
        if len(path) == 1:
            if path[0] not in RESERVED_CLAIMS:
                self._free[path[0]] = value
            return
        parent = self._parent(path)
        if parent is not None:
            parent[path[-1]] = value

    def put_among(self, path: tuple[str, ...], values: list[Any]) -> None:
        """Append to a free claim that is a list, without repeating a value."""
        parent = self._parent(path) if values else None
        if parent is None:
            return
        there = parent.get(path[-1])
        if there is None:
            parent[path[-1]] = values
            return
        before = there if isinstance(there, list) else [there]
        parent[path[-1]] = [*before, *(value for value in values if value not in before)]

    def add_audiences(self, audiences: Iterable[str]) -> None:
        self.audiences = tuple(dict.fromkeys((*self.audiences, *audiences)))

    def add_realm_roles(self, roles: Sequence[str]) -> None:
        """Append to `realm_access.roles`, each once."""
        before = self.realm_roles
        self.realm_roles = tuple(dict.fromkeys((*before, *roles))) if before else roles

    def add_client_roles(self, client_id: str, roles: Sequence[str]) -> None:
        """Append to `resource_access.<client_id>.roles`, each once."""
        if self.client_roles is None:
            self.client_roles = {}
        before = self.client_roles.get(client_id, ())
        self.client_roles[client_id] = tuple(dict.fromkeys((*before, *roles))) if before else roles

    def included(self, subject: TokenSubject) -> IncludedClaims:
        return IncludedClaims(
            auth_time=_auth_time(subject) if "auth_time" in self.decided else None,
            session_state=subject.session_id if "session_state" in self.decided else None,
            acr=subject.acr if "acr" in self.decided else None,
            amr=_NO_MEANS if "amr" in self.decided else None,
            allowed_origins=self.allowed_origins,
            realm_roles=self.realm_roles,
            client_roles=self.client_roles,
            client_id=subject.client.client_id if CLIENT_ID in self._free else None,
            actor=actor_of(subject.session_notes)
            if IMPERSONATOR_ID in subject.session_notes
            else None,
        )

    def document(
        self,
        members: dict[str, Any],
        reserved: Collection[str] = RESERVED_IN_TOKENS,
        last: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return `members` with the free claims that are not `reserved`, and the `last` ones."""
        for name, value in self._free.items():
            if name not in reserved:
                members.setdefault(name, value)
        for name in last:
            members[name] = members.pop(name)
        return members

    def _parent(self, path: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the object for the last member of the complete path, made where missing."""
        if path[0] in RESERVED_CLAIMS:
            return None
        parent: Any = self._free
        for name in path[:-1]:
            parent = parent.setdefault(name, {})
            if not isinstance(parent, dict):
                return None
        return cast("dict[str, Any]", parent)


def _auth_time(subject: TokenSubject) -> int | None:
    if subject.authenticated_at is not None:
        return int(subject.authenticated_at.timestamp()) or None
    text = subject.session_notes.get(AUTH_TIME)
    return int(text) if text and _SECONDS.fullmatch(text) else None


AddClaims = Callable[[MappedClaims, TokenSubject], None]
"""Adds to the claims what is known of the subject; what is absent adds nothing."""
ChangeRoles = Callable[[EffectiveRoles], EffectiveRoles]
"""Returns the roles as tokens contain them."""
ConfigCheck = Callable[[Mapping[str, str]], FieldError | None]
"""Returns what is wrong with the configuration of a mapper, None for nothing."""


class ClaimsFor(StrEnum):
    """The document that claims are for: the mapper's option that must be `true`."""

    ACCESS_TOKEN = "access.token.claim"  # noqa: S105 - an option's name
    LIGHTWEIGHT_TOKEN = "lightweight.claim"  # noqa: S105 - the same
    ID_TOKEN = "id.token.claim"  # noqa: S105 - the same
    USERINFO = "userinfo.token.claim"
    INTROSPECTION = "introspection.token.claim"
    TOKEN_RESPONSE = "access.tokenResponse.claim"  # noqa: S105 - the same


_OLDER_OPTIONS: Final[Mapping[ClaimsFor, ClaimsFor]] = {
    ClaimsFor.USERINFO: ClaimsFor.ID_TOKEN,
    ClaimsFor.INTROSPECTION: ClaimsFor.ACCESS_TOKEN,
}
"""Options of later versions -> the option that counts where they are absent."""

ACCESS: Final = frozenset(
    {ClaimsFor.ACCESS_TOKEN, ClaimsFor.LIGHTWEIGHT_TOKEN, ClaimsFor.INTROSPECTION}
)
ALWAYS_IN_ACCESS: Final = ACCESS - {ClaimsFor.LIGHTWEIGHT_TOKEN}
TOKENS: Final = ACCESS | {ClaimsFor.ID_TOKEN}
EVERYWHERE: Final = TOKENS | {ClaimsFor.USERINFO}
RESPONSE_TOO: Final = EVERYWHERE | {ClaimsFor.TOKEN_RESPONSE}


@dataclass(frozen=True, slots=True)
class ClaimMapper:
    """A type of mapper that adds claims; `prepare` returns None where nothing can be added.

    It is prepared once for each scope or client; `late` ones run after all others. Keycloak:
    protocol mappers, their options and priorities
    """

    mapper_type: str
    purposes: frozenset[ClaimsFor]
    prepare: Callable[[ProtocolMapper], AddClaims | None]
    late: bool = False
    check: ConfigCheck | None = None
    needs_attributes: Callable[[ProtocolMapper], bool] | None = None
    """Whether a mapper adds nothing where neither the user nor its groups have attributes."""
    default_purposes: frozenset[ClaimsFor] = frozenset()
    """The purposes that it serves without an option: a type that had none once."""

    def serves(self, mapper: ProtocolMapper, purpose: ClaimsFor) -> bool:
        """Return whether the mapper's options name a purpose of its type."""
        option = mapper.config.get(purpose)
        if option is None and purpose in self.default_purposes:
            return True
        if option is None and purpose in _OLDER_OPTIONS:
            option = mapper.config.get(_OLDER_OPTIONS[purpose])
        return option == "true"


@dataclass(frozen=True, slots=True)
class RoleMapper:
    """A type of mapper that changes roles for every purpose; the lowest `order` goes first."""

    mapper_type: str
    order: int
    prepare: Callable[[ProtocolMapper], ChangeRoles | None]
    check: ConfigCheck | None = None


JSON_TYPE: Final = "jsonType.label"
UNMAPPABLE: Final = object()
"""Marks a text that is not of the type."""
_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}")


def reader_of(config: Mapping[str, str]) -> Callable[[str], Any]:
    """Return the conversion of texts to the JSON type, or str. Keycloak: claim JSON type."""
    return _READERS.get(config.get(JSON_TYPE, ""), str)


def convert_texts(read: Callable[[str], Any], texts: Sequence[str]) -> list[Any]:
    """Return the values of the texts that are of the type."""
    if read is str:
        return list(texts)
    return [value for value in map(read, texts) if value is not UNMAPPABLE]


def _as_boolean(text: str) -> bool:
    return text.lower() == "true"


def _as_integer(bits: int) -> Callable[[str], Any]:
    bound = 1 << (bits - 1)

    def convert(text: str) -> Any:
        number = int(text) if _INTEGER.fullmatch(text) else bound
        return number if -bound <= number < bound else UNMAPPABLE

    return convert


def _as_json(text: str) -> Any:
    try:
        return parse_json(text.encode("utf-8", "surrogatepass"), "a claim")
    except InvalidInput:
        return UNMAPPABLE


_READERS: Final[Mapping[str, Callable[[str], Any]]] = {
    "String": str,
    "boolean": _as_boolean,
    "int": _as_integer(32),
    "long": _as_integer(64),
    "JSON": _as_json,
}


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
    """Return the path of `claim.name`; None if missing or of a protocol claim.

    Dots go one level deeper, a backslash escapes. Keycloak: token claim name.
    """
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
            claims.put_among(path, convert_texts(read, values))

        return write_all

    def write_first(path: tuple[str, ...], claims: MappedClaims, values: Sequence[str]) -> None:
        if values:
            value = values[0] if read is str else read(values[0])
            if value is not UNMAPPABLE:
                claims.put_claim(path, value)

    return write_first
