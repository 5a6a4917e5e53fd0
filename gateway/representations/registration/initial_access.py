"""Initial access tokens: requests, stored documents and answers.

Keycloak: ClientInitialAccessCreatePresentation, ClientInitialAccessPresentation
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from gateway.representations.field_table import parse_strictly
from gateway.representations.shapes import MAX_INTEGER, Count, Shape, TextList

_REPRESENTATION: Final = "ClientInitialAccessCreatePresentation"
_FIELDS: Final[Mapping[str, Shape]] = {
    "expiration": Count(least=-MAX_INTEGER, unit="seconds"),
    "count": Count(least=-MAX_INTEGER),
    "webOrigins": TextList(),
}
_MEMBERS: Final = {
    **{name: name for name in ("id", "timestamp", "expiration", "count")},
    "remainingCount": "remaining",
}


@dataclass(frozen=True, slots=True)
class InitialAccess:
    """A token by which some clients may be registered. Instants are seconds since 1970.

    `expiration` is for how many seconds it holds, 0 for ever.
    """

    id: str
    timestamp: int
    expiration: int
    count: int
    remaining: int
    web_origins: tuple[str, ...] = ()

    @property
    def expires_at(self) -> int:
        """When it stops holding, 0 for never."""
        return self.timestamp + self.expiration if self.expiration else 0

    def is_spent(self, now: int) -> bool:
        return self.remaining == 0 or 0 < self.expires_at <= now


def parse_initial_access(document: Mapping[str, Any]) -> tuple[int, int, tuple[str, ...]]:
    """Return expiration, count and web origins as they were sent; raises InvalidInput."""
    given = parse_strictly(document, _FIELDS, _REPRESENTATION)
    return given.get("expiration", 0), given.get("count", 1), given.get("webOrigins", ())


def render_initial_access(access: InitialAccess) -> dict[str, Any]:
    """Return the JSON object of one."""
    return {name: getattr(access, attribute) for name, attribute in _MEMBERS.items()}


def stored_initial_access(access: InitialAccess) -> dict[str, Any]:
    """Return the stored document of one."""
    return {**render_initial_access(access), "webOrigins": list(access.web_origins)}


def restore_initial_access(document: Mapping[str, Any]) -> InitialAccess:
    """Return one from its stored document."""
    values = {attribute: document[name] for name, attribute in _MEMBERS.items()}
    return InitialAccess(**values, web_origins=tuple(document["webOrigins"]))
