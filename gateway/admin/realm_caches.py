"""Emptying what gateways remember of a realm: its settings, keys, clients and users.

Nothing of it is ever needed: what changes is announced. Keycloak: 7.1 (clear-realm-cache ...)
"""

from gateway.admin.access import Acting
from gateway.admin.changes import Changes
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import Invalidation, realm_topic


class RealmCaches:
    """Empties caches."""

    def __init__(self, changes: Changes, invalidation: Invalidation) -> None:
        """Tell the gateways by `invalidation`."""
        self._changes = changes
        self._invalidation = invalidation

    async def clear(self, acting: Acting, path: str) -> None:
        """Let every gateway forget the realm; raises StoreUnavailable where nobody can be told."""
        async with self._changes.begin(acting) as change:
            change.record(OperationType.ACTION, ResourceType.REALM, path)
        await self._invalidation.publish(realm_topic(acting.realm.id))
