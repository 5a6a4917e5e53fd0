"""Realms: one JSON document each, the secrets of its mail server sealed beside it."""

import json
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import (
    Table,
    Text,
    bindparam,
    delete,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from gateway.domain.limits.caches import cached
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.representations.realms import parse_realm, render_realm
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.prepared_query import FixedQuery
from gateway.storage.sql.schema import admin_events, realms, user_events, users
from gateway.storage.sql.transaction import Transaction

_LARGE: Final = (user_events, admin_events, users)
_PARSED_BYTES: Final = 16 * 1024 * 1024
_AT_ONCE: Final = 10_000
"""Rows of one statement, which must end within seconds."""
_TEXT: Final = type_coerce(realms.c.document, Text).label(realms.c.document.key)
_AS_TEXT: Final = select(*(c for c in realms.c if c is not realms.c.document), _TEXT)
"""Realms with their documents as text."""
_BY_NAME: Final = FixedQuery(
    _AS_TEXT.where(realms.c.name == bindparam("wanted", type_=realms.c.name.type))
)


class SqlRealms:
    """RealmRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def find_by_name(self, name: str) -> Realm | None:
        if not is_name(name):
            return None
        rows = await self._transaction.fetch(_BY_NAME, wanted=name)
        return self._read(rows[0]) if rows else None

    async def find_by_id(self, realm_id: str) -> Realm | None:
        found = await self._transaction.execute(_AS_TEXT.where(realms.c.id == realm_id))
        row = found.first()
        return None if row is None else self._read(row)

    async def get_for_update(self, name: str) -> Realm | None:
        if is_name(name):
            realm = select(realms.c.id).where(realms.c.name == name)
            await self._transaction.execute(realm.with_for_update(key_share=True))
        return await self.find_by_name(name)

    async def exists(self, realm_id: str) -> bool:
        found = await self._transaction.execute(select(realms.c.id).where(realms.c.id == realm_id))
        return found.first() is not None

    async def find_name(self, realm_id: str) -> str | None:
        named = select(realms.c.name).where(realms.c.id == realm_id)
        return await self._transaction.first(named, _name)

    async def list(self) -> tuple[Realm, ...]:
        rows = await self._transaction.execute(_AS_TEXT.order_by(realms.c.name))
        return tuple(map(self._read, rows))

    async def add(self, realm: Realm) -> None:
        await self._transaction.execute(insert(realms), self._values(realm), taken=_taken(realm))

    async def replace(self, realm: Realm) -> None:
        one = update(realms).where(realms.c.id == realm.id).values(self._values(realm))
        await self._transaction.change(one, taken=_taken(realm))

    async def remove(self, realm_id: str) -> None:
        for table in _LARGE:
            await self._clear(table, realm_id)
        await self._transaction.execute(delete(realms).where(realms.c.id == realm_id))

    async def _clear(self, table: Table, realm_id: str) -> None:
        """Delete the realm's rows by ranges of ids: no statement walks over deleted rows."""
        of_realm, last = table.c.realm_id == realm_id, ""
        while True:
            some = select(table.c.id).where(of_realm, table.c.id > last).order_by(table.c.id)
            ends = select(func.max(some.limit(_AT_ONCE).subquery().c.id))
            end = (await self._transaction.execute(ends)).scalar_one()
            if end is None:
                return
            gone = delete(table).where(of_realm, table.c.id > last, table.c.id <= end)
            await self._transaction.execute(gone)
            last = end

    def _read(self, row: Any) -> Realm:
        return _with_secrets(_parsed(row.document), row, self._secrets)

    def _values(self, realm: Realm) -> dict[str, Any]:
        smtp = realm.smtp
        public = replace(realm, smtp=smtp.with_secrets(None, None), webhook_secret=None)
        return {
            "id": realm.id,
            "name": realm.name,
            "enabled": realm.enabled,
            "document": render_realm(public),
            "smtp_password": self._sealed(smtp.password, _password_of(realm.id)),
            "smtp_token_secret": self._sealed(smtp.token_secret, _token_secret_of(realm.id)),
            "webhook_secret": self._sealed(realm.webhook_secret, _webhook_secret_of(realm.id)),
        }

    def _sealed(self, secret: Secret | None, context: str) -> str | None:
        return None if secret is None else self._secrets.seal(secret.reveal(), context)


# Every change to a realm reads it again in its transaction.
@cached(_PARSED_BYTES)
def _parsed(text: str) -> Realm:
    return parse_realm(json.loads(text), report_ineffective=True)


def _name(row: Any) -> str:
    return str(row.name)


def read_realm_row(row: Any, secrets: SecretsAtRest) -> Realm:
    """Return the realm of a row whose document is decoded."""
    return _with_secrets(parse_realm(row.document, report_ineffective=True), row, secrets)


def _with_secrets(realm: Realm, row: Any, secrets: SecretsAtRest) -> Realm:
    sealed_ones = (row.smtp_password, row.smtp_token_secret, row.webhook_secret)
    if all(sealed is None for sealed in sealed_ones):
        return realm

    def opened(sealed: str | None, context: str) -> Secret | None:
        return None if sealed is None else Secret(secrets.unseal(sealed, context))

    password = opened(row.smtp_password, _password_of(row.id))
    # Before it had a column of its own it was in the document, like any other setting.
    token_secret = opened(row.smtp_token_secret, _token_secret_of(row.id))
    smtp = realm.smtp.with_secrets(password, token_secret or realm.smtp.token_secret)
    webhook_secret = opened(row.webhook_secret, _webhook_secret_of(row.id))
    return replace(realm, smtp=smtp, webhook_secret=webhook_secret)


def _password_of(realm_id: str) -> str:
    return f"smtp-password:{realm_id}"


def _token_secret_of(realm_id: str) -> str:
    return f"smtp-token-secret:{realm_id}"


def _webhook_secret_of(realm_id: str) -> str:
    return f"webhook-secret:{realm_id}"


def _taken(realm: Realm) -> str:
    return f"Realm {realm.name} already exists"
