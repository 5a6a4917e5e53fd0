"""What realms keep beside their settings: JSON documents by kind and name."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import delete, select

from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.storage.documents import DocumentKind
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.inserts import insert_into
from gateway.storage.sql.schema import realm_documents
from gateway.storage.sql.transaction import Transaction


class SqlDocuments:
    """RealmDocuments on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def find(self, realm_id: str, kind: DocumentKind, name: str) -> Mapping[str, Any] | None:
        if not is_name(name):
            return None
        rows = await self._transaction.execute(
            select(realm_documents.c.document).where(
                realm_documents.c.realm_id == realm_id,
                realm_documents.c.kind == kind,
                realm_documents.c.name == name,
            )
        )
        row = rows.first()
        return None if row is None else row.document

    async def list(self, realm_id: str, kind: DocumentKind) -> Mapping[str, Mapping[str, Any]]:
        rows = await self._transaction.execute(
            select(realm_documents.c.name, realm_documents.c.document)
            .where(realm_documents.c.realm_id == realm_id, realm_documents.c.kind == kind)
            .order_by(realm_documents.c.name)
        )
        return {row.name: row.document async for row in in_slices(rows)}

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
        result = await self._transaction.execute(
            delete(realm_documents).where(
                realm_documents.c.realm_id == realm_id,
                realm_documents.c.kind == kind,
                realm_documents.c.name == name,
            )
        )
        return result.rowcount > 0
