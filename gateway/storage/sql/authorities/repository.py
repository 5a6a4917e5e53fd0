"""Registered certificate authorities: one row each, its certificate as base64."""

import base64
from typing import Any

from sqlalchemy import delete, select

from gateway.domain.authorities import Authority, AuthorityKind
from gateway.storage.sql.authorities.tables import authorities
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.transaction import Transaction, insert_into


class SqlAuthorities:
    """AuthorityRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def list(self, realm_id: str) -> tuple[Authority, ...]:
        found = select(authorities).where(authorities.c.realm_id == realm_id)
        return await self._transaction.read(found.order_by(authorities.c.id), _read)

    async def find(self, realm_id: str, client: str | None, sha256: str) -> Authority | None:
        identity = _identity(client, sha256)
        if not is_name(identity):
            return None
        one = select(authorities).where(
            authorities.c.realm_id == realm_id, authorities.c.id == identity
        )
        return await self._transaction.first(one, _read)

    async def put(self, realm_id: str, authority: Authority) -> None:
        values = {
            "realm_id": realm_id,
            "id": _identity(authority.client, authority.sha256),
            "client": authority.client,
            "sha256": authority.sha256,
            "kind": authority.kind.value,
            "certificate": base64.b64encode(authority.der).decode("ascii"),
        }
        await self._transaction.execute(
            insert_into(authorities, self._transaction.dialect)
            .values(values)
            .on_conflict_do_update(
                index_elements=["realm_id", "id"], set_={"kind": authority.kind.value}
            )
        )

    async def remove(self, realm_id: str, client: str | None, sha256: str) -> bool:
        identity = _identity(client, sha256)
        if not is_name(identity):
            return False
        one = delete(authorities).where(
            authorities.c.realm_id == realm_id, authorities.c.id == identity
        )
        return await self._transaction.count_changed(one) > 0


def _identity(client: str | None, sha256: str) -> str:
    return f"{client or ''}:{sha256}"


def _read(row: Any) -> Authority:
    der = base64.b64decode(row.certificate)
    return Authority(row.sha256, AuthorityKind(row.kind), der, row.client)
