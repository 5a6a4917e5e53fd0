"""Emptying what gateways remember of a realm: its settings, keys, clients and users.

Nothing of it is ever needed: what changes is announced. Keycloak: 7.1 (clear-realm-cache ...)
"""

from gateway.admin.access.access import Acting
from gateway.admin.access.changes import Changes
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic


class RealmCaches:
    """Empties caches."""

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def clear(self, acting: Acting, path: str) -> None:
        """Remove the realm from the caches of every gateway; raises StoreUnavailable."""
        async with self._changes.begin(acting) as change:
            change.record(OperationType.ACTION, ResourceType.REALM, path)
            change.tell(realm_topic(acting.realm.id))
