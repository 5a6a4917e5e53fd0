"""The repository of every small resource: columns and attributes by their names.

A column type of `schema.py` turns the value of an attribute into that of the database and back, so
a kind needs no statement of its own.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Final, Generic

from sqlalchemy import func, insert, or_, select

from gateway.domain.resources import StoredKind, ValueT
from gateway.storage.sql.schema import metadata
from gateway.storage.sql.text_search import contains, may_contain
from gateway.storage.sql.transaction import Transaction, has

_REALM: Final = "realm_id"
_KEY: Final = (_REALM, "id")
_EVERY: Final[Mapping[str, str | None]] = MappingProxyType({})


class SqlResources(Generic[ValueT]):
    """ResourceRepository on SQL."""

    def __init__(self, transaction: Transaction, kind: StoredKind[ValueT]) -> None:
        self._transaction = transaction
        self._kind = kind
        self._table = metadata.tables[kind.table]

    async def list_values(
        self,
        realm_id: str,
        first: int = 0,
        maximum: int | None = None,
        *,
        search: str = "",
        where: Mapping[str, str | None] = _EVERY,
    ) -> Sequence[ValueT]:
        columns = self._table.c
        rows = select(self._table).where(has(self._table, realm_id=realm_id, **where))
        rows = rows.order_by(*(columns[name] for name in self._kind.order))
        if not search:
            page = rows.offset(first).limit(maximum)
            return await self._transaction.read_rows(page, self._value_of)
        likely = rows.where(
            or_(*(may_contain(columns[name], search) for name in self._kind.search))
        )
        found = await self._transaction.read_rows(likely, lambda row: row)
        names = self._kind.search
        matching = [row for row in found if contains((getattr(row, n) for n in names), search)]
        end = None if maximum is None else first + maximum
        return tuple(map(self._value_of, matching[first:end]))

    async def count_values(self, realm_id: str) -> int:
        of_realm = select(func.count()).where(self._table.c[_REALM] == realm_id)
        return await self._transaction.count_rows(of_realm)

    async def find_value(self, realm_id: str, identity: str) -> ValueT | None:
        return await self._transaction.get_row(self._table, realm_id, identity, self._value_of)

    async def add(self, realm_id: str, value: ValueT) -> None:
        row = self._row(realm_id, value)
        await self._transaction.execute(insert(self._table), row, taken=self._conflict(row))

    async def put_value(self, realm_id: str, value: ValueT) -> None:
        row = self._row(realm_id, value)
        await self._transaction.put_row(self._table, row, _KEY, taken=self._conflict(row))

    async def remove_value(self, realm_id: str, identity: str) -> bool:
        return await self._transaction.remove_row(self._table, realm_id, identity)

    def _conflict(self, row: Mapping[str, Any]) -> str:
        return self._kind.conflict_message.format_map(row)

    def _value_of(self, row: Any) -> ValueT:
        names = self._kind.columns
        return self._kind.value(
            **{
                each.name: getattr(row, names.get(each.name, each.name))
                for each in fields(self._kind.value)  # type: ignore[arg-type] # always a dataclass
            }
        )

    def _row(self, realm_id: str, value: ValueT) -> dict[str, Any]:
        attributes = {column: attribute for attribute, column in self._kind.columns.items()}
        own = (column.name for column in self._table.columns if column.name != _REALM)
        values = {name: getattr(value, attributes.get(name, name)) for name in own}
        return {_REALM: realm_id, **values}
