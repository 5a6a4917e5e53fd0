"""Queries of recorded events; a criterion that is not given is None, or empty. Keycloak: 10.5."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

STANDARD_PAGE: Final = 100
LARGEST_PAGE: Final = 10_000
"""More come in several pages: each is one answer, held in memory whole."""


@dataclass(frozen=True, slots=True)
class Period:
    """From `since` on, and until before `before`."""

    since: datetime | None = None
    before: datetime | None = None


@dataclass(frozen=True, slots=True)
class EventPage:
    """Which of the events that match; `maximum` is at most LARGEST_PAGE."""

    first: int = 0
    maximum: int = STANDARD_PAGE
    newest_first: bool = True


@dataclass(frozen=True, slots=True)
class UserEventQuery:
    """Which user events; `names` are of types, failures apart."""

    names: tuple[str, ...] = ()
    client_id: str | None = None
    user_id: str | None = None
    ip_address: str | None = None
    period: Period = field(default_factory=Period)


@dataclass(frozen=True, slots=True)
class AdminEventQuery:
    """Which admin events; in `resource_path` each `*` stands for anything."""

    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_path: str | None = None
    auth_realm_id: str | None = None
    auth_client: str | None = None
    auth_user_id: str | None = None
    ip_address: str | None = None
    period: Period = field(default_factory=Period)
