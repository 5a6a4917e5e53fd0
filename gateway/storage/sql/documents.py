"""JSON documents that belong to a realm, by kind and name."""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import ColumnElement, and_, bindparam, delete, select

from gateway.domain.ports.storage.documents import DocumentKind
from gateway.storage.sql.column_types import Name, is_name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.schema import realm_documents
from gateway.storage.sql.transaction import Transaction, insert_into

_COLUMNS: Final = realm_documents.c
_OF_KIND: Final = FixedQuery(
    select(_COLUMNS.name, _COLUMNS.document)
    .where(*(_COLUMNS[name] == bindparam(name, type_=Name) for name in ("realm_id", "kind")))
    .order_by(_COLUMNS.name)
)
_KEY: Final = ("realm_id", "kind", "name")
_ONE: Final = FixedQuery(
    select(_COLUMNS.document).where(
        *(_COLUMNS[name] == bindparam(name, type_=Name) for name in _KEY)
    )
)


class SqlDocuments:
    """RealmDocuments on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def find(self, realm_id: str, kind: DocumentKind, name: str) -> Mapping[str, Any] | None:
        if not is_name(name):
            return None
        rows = await self._transaction.fetch(_ONE, realm_id=realm_id, kind=kind, name=name)
        return rows[0].document if rows else None

    async def list(self, realm_id: str, kind: DocumentKind) -> Mapping[str, Mapping[str, Any]]:
        rows = await self._transaction.fetch(_OF_KIND, realm_id=realm_id, kind=kind)
        return dict(rows)

    def expect_find(self, realm_id: str, kind: DocumentKind, name: str) -> None:
        self._transaction.read_ahead(_ONE, realm_id=realm_id, kind=kind, name=name)

    def expect_list(self, realm_id: str, kind: DocumentKind) -> None:
        self._transaction.read_ahead(_OF_KIND, realm_id=realm_id, kind=kind)

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
