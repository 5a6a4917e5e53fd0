"""JSON documents that belong to a realm, by kind and name."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select

from gateway.domain.ports.storage.documents import DocumentKind
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import realm_documents
from gateway.storage.sql.transaction import Transaction, insert_into


class SqlDocuments:
    """RealmDocuments on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def find(self, realm_id: str, kind: DocumentKind, name: str) -> Mapping[str, Any] | None:
        if not is_name(name):
            return None
        one = select(realm_documents.c.document).where(_is(realm_id, kind, name))
        return await self._transaction.first(one, lambda row: row.document)

    async def list(self, realm_id: str, kind: DocumentKind) -> Mapping[str, Mapping[str, Any]]:
        statement = (
            select(realm_documents.c.name, realm_documents.c.document)
            .where(realm_documents.c.realm_id == realm_id, realm_documents.c.kind == kind)
            .order_by(realm_documents.c.name)
        )
        return dict(await self._transaction.read(statement, tuple))

    async def put(
        self, realm_id: str, kind: DocumentKind, name: str, document: Mapping[str, Any]
    ) -> None:
        values = {"realm_id": realm_id, "kind": kind, "name": name, "document": document}
        statement = insert_into(realm_documents, self._transaction.dialect).values(values)
        await self._transaction.execute(
            statement.on_conflict_do_update(
                index_elements=["realm_id", "kind", "name"], set_={"document": document}
            )
        )

    async def remove(self, realm_id: str, kind: DocumentKind, name: str) -> bool:
        if not is_name(name):
            return False
        one = delete(realm_documents).where(_is(realm_id, kind, name))
        return await self._transaction.count_changed(one) > 0


def _is(realm_id: str, kind: DocumentKind, name: str) -> ColumnElement[bool]:
    columns = realm_documents.c
    return and_(columns.realm_id == realm_id, columns.kind == kind, columns.name == name)
