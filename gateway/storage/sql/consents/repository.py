"""Consents: one row for each user and client; it goes with either."""

from dataclasses import fields
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, select

from gateway.domain.consents import Consent
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import user_consents as consents
from gateway.storage.sql.transaction import Transaction, insert_into

_FIELDS = tuple(field.name for field in fields(Consent))
_KEY = ("realm_id", "user_id", "client")


class SqlConsents:
    """ConsentRepository on SQL."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def find(self, realm_id: str, user_id: str, client: str) -> Consent | None:
        if not is_name(user_id) or not is_name(client):
            return None
        one = select(consents).where(_is_consent(realm_id, user_id, client))
        return await self._transaction.first(one, _read)

    async def of_user(self, realm_id: str, user_id: str) -> tuple[Consent, ...]:
        if not is_name(user_id):
            return ()
        of_user = select(consents).where(
            consents.c.realm_id == realm_id, consents.c.user_id == user_id
        )
        ordered = of_user.order_by(consents.c.created_at, consents.c.client)
        return await self._transaction.read(ordered, _read)

    async def put(self, consent: Consent) -> None:
        values = {name: getattr(consent, name) for name in _FIELDS}
        changed = {"scopes": consent.scopes, "updated_at": consent.updated_at}
        await self._transaction.execute(
            insert_into(consents, self._transaction.dialect)
            .values(values)
            .on_conflict_do_update(index_elements=_KEY, set_=changed)
        )

    async def remove(self, realm_id: str, user_id: str, client: str) -> bool:
        if not is_name(user_id) or not is_name(client):
            return False
        one = delete(consents).where(_is_consent(realm_id, user_id, client))
        return await self._transaction.count_changed(one) > 0


def _is_consent(realm_id: str, user_id: str, client: str) -> ColumnElement[bool]:
    return and_(
        consents.c.realm_id == realm_id,
        consents.c.user_id == user_id,
        consents.c.client == client,
    )


def _read(row: Any) -> Consent:
    return Consent(**{name: getattr(row, name) for name in _FIELDS})
