"""Events that are kept."""

from typing import Protocol

from gateway.domain.events import AdminEvent


class AdminEventRepository(Protocol):
    """Administrative events of realms."""

    async def add(self, event: AdminEvent) -> None:
        """Keep the event, with the change it tells of."""
        ...
