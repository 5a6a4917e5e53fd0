"""Realms: one JSON document each, the mail password sealed beside it."""

from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, delete, insert, select, update

from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.representations.realm import read_realm, write_realm
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.schema import realms
from gateway.storage.sql.transaction import Transaction


class SqlRealms:
    """RealmRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def find_by_name(self, name: str) -> Realm | None:
        """Return the realm named exactly `name`."""
        if not is_name(name):
            return None
        found = await self._select(realms.c.name == name)
        return found[0] if found else None

    async def find_alone(self, name: str) -> Realm | None:
        """Return the same, and let nobody else change the realm until the transaction ends."""
        if is_name(name):
            # SQLite has no such lock and needs none: a transaction that may write is alone.
            await self._transaction.execute(
                select(realms.c.id).where(realms.c.name == name).with_for_update(key_share=True)
            )
        return await self.find_by_name(name)

    async def list(self) -> tuple[Realm, ...]:
        """Return every realm, by name."""
        return await self._select()

    async def _select(self, *conditions: ColumnElement[bool]) -> tuple[Realm, ...]:
        rows = await self._transaction.execute(
            select(realms).where(*conditions).order_by(realms.c.name)
        )
        return tuple(read_row(row, self._secrets) for row in rows)

    async def add(self, realm: Realm) -> None:
        """Store a new realm; raises AlreadyExists."""
        await self._transaction.execute(insert(realms), self._values(realm), taken=_taken(realm))

    async def replace(self, realm: Realm) -> None:
        """Overwrite the realm with the same id; raises AlreadyExists when its new name is taken."""
        await self._transaction.change(
            update(realms).where(realms.c.id == realm.id).values(self._values(realm)),
            taken=_taken(realm),
        )

    async def remove(self, realm_id: str) -> None:
        """Forget the realm and all that is in it; one that is gone is gone."""
        await self._transaction.execute(delete(realms).where(realms.c.id == realm_id))

    def _values(self, realm: Realm) -> dict[str, Any]:
        password = realm.smtp.password
        public = replace(realm, smtp=realm.smtp.with_password(None))
        return {
            "id": realm.id,
            "name": realm.name,
            "enabled": realm.enabled,
            "document": write_realm(public),
            "smtp_password": password and self._secrets.seal(password.reveal(), _context(realm.id)),
        }


def read_row(row: Any, secrets: SecretsAtRest) -> Realm:
    """Return the realm of a row."""
    realm = read_realm(row.document)
    if row.smtp_password is None:
        return realm
    password = Secret(secrets.unseal(row.smtp_password, _context(row.id)))
    return replace(realm, smtp=realm.smtp.with_password(password))


def _context(realm_id: str) -> str:
    return f"smtp-password:{realm_id}"


def _taken(realm: Realm) -> str:
    return f"Realm {realm.name} already exists"
