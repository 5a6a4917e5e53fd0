"""Stored events."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from gateway.domain.events import AdminEvent, AdminEventQuery, EventPage, UserEvent, UserEventQuery


class UserEventRepository(Protocol):
    """What users and clients did."""

    async def add_all(self, events: Sequence[UserEvent]) -> None:
        """Store the events that are not stored yet; events of removed realms are left out."""

    async def page(
        self, realm_id: str, query: UserEventQuery, page: EventPage
    ) -> tuple[UserEvent, ...]:
        """Return a page of the events that match."""

    async def remove(self, realm_id: str, before: datetime, most: int) -> int:
        """Remove up to `most` of the oldest events before the instant; return how many."""


class AdminEventRepository(Protocol):
    """What administrators did to realms."""

    async def add(self, event: AdminEvent) -> None:
        """Store the event in the transaction of its change."""

    async def page(
        self, realm_id: str, query: AdminEventQuery, page: EventPage
    ) -> tuple[AdminEvent, ...]:
        """Return a page of the events that match; raises InvalidInput for a costly path."""

    async def remove(self, realm_id: str, before: datetime, most: int) -> int:
        """Remove up to `most` of the oldest events before the instant; return how many."""
