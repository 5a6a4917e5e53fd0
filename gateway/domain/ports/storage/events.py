"""Events that are kept."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from gateway.domain.events import AdminEvent, AdminEventQuery, EventPage, UserEvent, UserEventQuery


class UserEventRepository(Protocol):
    """What users and clients of realms did."""

    async def add_all(self, events: Sequence[UserEvent]) -> None:
        """Keep those that are not kept yet; what is of a realm that has gone is left out."""

    async def page(
        self, realm_id: str, query: UserEventQuery, page: EventPage
    ) -> tuple[UserEvent, ...]:
        """Return the events that match, a page of them."""

    async def remove(self, realm_id: str, before: datetime, most: int) -> int:
        """Remove what happened before that, at most so many of the oldest; return how many."""


class AdminEventRepository(Protocol):
    """What administrators did to realms."""

    async def add(self, event: AdminEvent) -> None:
        """Keep the event, with the change it tells of."""

    async def page(
        self, realm_id: str, query: AdminEventQuery, page: EventPage
    ) -> tuple[AdminEvent, ...]:
        """Return the events that match, a page of them."""

    async def remove(self, realm_id: str, before: datetime, most: int) -> int:
        """Remove what happened before that, at most so many of the oldest; return how many."""
