"""Administrative events. Keycloak: AdminEvent."""

from sqlalchemy import insert

from gateway.domain.events import AdminEvent
from gateway.storage.sql.schema import admin_events
from gateway.storage.sql.transaction import Transaction


class SqlAdminEvents:
    """AdminEventRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def add(self, event: AdminEvent) -> None:
        """Keep the event, with the change it tells of."""
        await self._transaction.execute(
            insert(admin_events),
            {
                "realm_id": event.realm_id,
                "id": event.id,
                "time": event.time,
                "operation_type": event.operation,
                "resource_type": event.resource,
                "resource_path": event.resource_path,
                "auth_realm_id": event.auth.realm_id,
                "auth_client": event.auth.client,
                "auth_user_id": event.auth.user_id,
                "ip_address": event.auth.ip_address,
                "representation": event.representation,
                "details": {},
            },
        )
