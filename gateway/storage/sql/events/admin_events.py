"""Administrative events. Keycloak: AdminEvent."""

from datetime import datetime
from typing import Any

from sqlalchemy import Row

from gateway.domain.events import (
    AdminEvent,
    AdminEventQuery,
    AuthDetails,
    EventPage,
    OperationType,
    ResourceType,
)
from gateway.storage.sql.events.filters import filters_of, path_filter
from gateway.storage.sql.events.pages import EventPages, remove_oldest
from gateway.storage.sql.schema import admin_events
from gateway.storage.sql.transaction import Transaction


class SqlAdminEvents:
    """AdminEventRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def add(self, event: AdminEvent) -> None:
        await self._transaction.insert_later(
            admin_events,
            [
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
                    "details": event.details,
                }
            ],
        )

    async def page(
        self, realm_id: str, query: AdminEventQuery, page: EventPage
    ) -> tuple[AdminEvent, ...]:
        columns = admin_events.c
        operations = () if set(query.operations) == set(OperationType) else query.operations
        filters = filters_of(
            (columns.auth_user_id, query.auth_user_id),
            (columns.ip_address, query.ip_address),
            (columns.auth_client, query.auth_client),
            (columns.auth_realm_id, query.auth_realm_id),
            (columns.resource_type, query.resources),
            (columns.operation_type, operations),
        )
        path = path_filter(columns.resource_path, query.resource_path)
        if filters is None or path is None:
            return ()
        pages = EventPages(self._transaction, admin_events, realm_id, query.period)
        return tuple(map(_event, await pages.page([*path, *filters], page)))

    async def remove(self, realm_id: str, before: datetime, most: int) -> int:
        return await remove_oldest(self._transaction, admin_events, realm_id, before, most)


def _event(row: Row[Any]) -> AdminEvent:
    return AdminEvent(
        id=row.id,
        realm_id=row.realm_id,
        time=row.time,
        operation=OperationType(row.operation_type),
        resource=ResourceType(row.resource_type),
        resource_path=row.resource_path,
        auth=AuthDetails(row.auth_realm_id, row.auth_client, row.auth_user_id, row.ip_address),
        representation=row.representation,
        details=row.details,
    )
