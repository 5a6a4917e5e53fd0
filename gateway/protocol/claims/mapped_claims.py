"""The claims that mappers add to one document, apart from what the protocol decides.

A mapper adds free claims by path, and protocol claims by type: an audience, a role, or that the
subject is included. Free claims leave this object only through `document`, where no protocol claim
is taken from them.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final, cast

from gateway.protocol.claims.protocol_claims import (
    CLIENT_ID,
    RESERVED_CLAIMS,
    RESERVED_IN_TOKENS,
    IncludedClaims,
)
from gateway.protocol.claims.subject import TokenSubject

AUTH_TIME: Final = "AUTH_TIME"
"""The session note that holds the time of the sign-in, in seconds since the epoch."""
_SECONDS: Final = re.compile(r"[0-9]{1,15}")
_NO_MEANS: Final[tuple[str, ...]] = ()


class MappedClaims:
    """Collects what mappers add. The flags say which decided claims the document includes."""

    audiences: tuple[str, ...] = ()
    allowed_origins: tuple[str, ...] | None = None
    realm_roles: Sequence[str] = ()
    client_roles: dict[str, Sequence[str]] | None = None
    includes_acr = False
    includes_amr = False
    includes_auth_time = False
    includes_session_state = False
    includes_subject = False

    def __init__(self, purpose: str = "") -> None:
        """Collect claims for a purpose: the option of mappers that names it."""
        self.purpose = purpose
        self._free: dict[str, Any] = {}

    def put(self, path: tuple[str, ...], value: object) -> None:
        """Write a free claim.

        Nothing is written under a protocol claim, nor below a claim that is no object.
        """
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
        self.realm_roles = _joined(self.realm_roles, roles)

    def add_client_roles(self, client_id: str, roles: Sequence[str]) -> None:
        """Append to `resource_access.<client_id>.roles`, each once."""
        if self.client_roles is None:
            self.client_roles = {}
        self.client_roles[client_id] = _joined(self.client_roles.get(client_id, ()), roles)

    def included(self, subject: TokenSubject) -> IncludedClaims:
        return IncludedClaims(
            auth_time=_auth_time(subject) if self.includes_auth_time else None,
            session_state=subject.session_id if self.includes_session_state else None,
            acr=subject.acr if self.includes_acr else None,
            amr=_NO_MEANS if self.includes_amr else None,
            allowed_origins=self.allowed_origins,
            realm_roles=self.realm_roles,
            client_roles=self.client_roles,
            client_id=subject.client.client_id if CLIENT_ID in self._free else None,
        )

    def document(
        self,
        members: dict[str, Any],
        reserved: Collection[str] = RESERVED_IN_TOKENS,
        last: Sequence[str] = (),
    ) -> dict[str, Any]:
        """Return decided `members` with the free claims, `last` ones at the end.

        A free claim under a reserved name is dropped, even if the protocol claim is absent.
        """
        for name, value in self._free.items():
            if name not in reserved:
                members.setdefault(name, value)
        for name in last:
            members[name] = members.pop(name)
        return members

    def _parent(self, path: tuple[str, ...]) -> dict[str, Any] | None:
        """Return the object to write the last member of the path into, made where missing.

        The path is complete here: nothing is substituted after this check.
        """
        if path[0] in RESERVED_CLAIMS:
            return None
        parent: Any = self._free
        for name in path[:-1]:
            parent = parent.setdefault(name, {})
            if not isinstance(parent, dict):
                return None
        return cast("dict[str, Any]", parent)


def _joined(before: Sequence[str], roles: Sequence[str]) -> Sequence[str]:
    return tuple(dict.fromkeys((*before, *roles))) if before else roles


def _auth_time(subject: TokenSubject) -> int | None:
    if subject.authenticated_at is not None:
        return int(subject.authenticated_at.timestamp())
    text = subject.session_notes.get(AUTH_TIME)
    return int(text) if text and _SECONDS.fullmatch(text) else None
