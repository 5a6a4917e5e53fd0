"""Realms, their keys and documents, and the log of changes in SQL."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import (
    Dialect,
    Table,
    Text,
    bindparam,
    func,
    insert,
    select,
    type_coerce,
    update,
)

from gateway.domain.keys import KeyProvider, KeyStatus, RealmKey, key_algorithm
from gateway.domain.limits.caches import cached
from gateway.domain.ports.invalidation import RecordedChange
from gateway.domain.ports.storage import DocumentKind
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret, SecretsAtRest
from gateway.storage.documents import DocumentCodec, UnreadableDocument
from gateway.storage.sql.column_types import is_name
from gateway.storage.sql.prepared_query import FixedQuery, PreparedQuery, QueryExecutor
from gateway.storage.sql.schema import (
    admin_events,
    change_log,
    realm_documents,
    realm_keys,
    realms,
    user_events,
    users,
)
from gateway.storage.sql.transaction import (
    SealedRepository,
    SqlRepository,
    has_given,
    is_row,
    values_of,
)

_SMTP_PASSWORD: Final = "smtp-password"  # noqa: S105 - the kind of a secret
_SMTP_TOKEN_SECRET: Final = "smtp-token-secret"  # noqa: S105
_WEBHOOK_SECRET: Final = "webhook-secret"  # noqa: S105
_LARGE: Final = (user_events, admin_events, users)
_PARSED_BYTES: Final = 16 * 1024 * 1024
_AT_ONCE: Final = 10_000
"""Rows of one statement, which must end within seconds."""
_CODEC: Final = DocumentCodec(Realm, ("id", "name", "enabled", "webhook_secret"))
_TEXT: Final = type_coerce(realms.c.settings, Text).label(realms.c.settings.key)
REALM_COLUMNS: Final = (*(c for c in realms.c if c is not realms.c.settings), _TEXT)
"""Those of a realm with its settings as text, as `read_realm_row` expects them."""
_AS_TEXT: Final = select(*REALM_COLUMNS)
_BY_NAME: Final = FixedQuery(_AS_TEXT.where(*has_given(realms, "name")))


class SqlRealms(SealedRepository):
    """RealmRepository on SQL."""

    async def find_by_name(self, name: str) -> Realm | None:
        if not is_name(name):
            return None
        rows = await self._transaction.fetch(_BY_NAME, name=name)
        return read_realm_row(rows[0], self._secrets) if rows else None

    async def find_by_id(self, realm_id: str) -> Realm | None:
        one = _AS_TEXT.where(realms.c.id == realm_id)
        return await self._transaction.first(one, lambda row: read_realm_row(row, self._secrets))

    async def get_for_update(self, name: str) -> Realm | None:
        # As in `Transaction.get_row`: SQLite has no such lock and needs none.
        if is_name(name) and self._transaction.dialect != "sqlite":
            realm = select(realms.c.id).where(realms.c.name == name)
            await self._transaction.execute(realm.with_for_update(key_share=True))
        return await self.find_by_name(name)

    async def exists(self, realm_id: str) -> bool:
        return await self.find_name(realm_id) is not None

    async def find_name(self, realm_id: str) -> str | None:
        named = select(realms.c.name).where(realms.c.id == realm_id)
        return await self._transaction.first(named, lambda row: str(row.name))

    async def list_realms(self) -> tuple[Realm, ...]:
        rows = await self._transaction.execute(_AS_TEXT.order_by(realms.c.name))
        return tuple(read_realm_row(row, self._secrets) for row in rows)

    async def list_names(self, most: int) -> tuple[str, ...]:
        rows = await self._transaction.execute(select(realms.c.name).limit(most))
        return tuple(str(row.name) for row in rows)

    async def add(self, realm: Realm) -> None:
        await self._transaction.execute(
            insert(realms), self._values(realm), taken=_realm_conflict(realm)
        )

    async def replace(self, realm: Realm) -> None:
        one = update(realms).where(realms.c.id == realm.id).values(self._values(realm))
        await self._transaction.change(one, taken=_realm_conflict(realm))

    async def remove_realm(self, realm_id: str) -> None:
        for table in _LARGE:
            await self._delete_rows_of(table, realm_id)
        await self._transaction.delete_rows(realms, id=realm_id)

    async def _delete_rows_of(self, table: Table, realm_id: str) -> None:
        """Delete the realm's rows by ranges of ids: no statement walks over deleted rows."""
        of_realm, last = table.c.realm_id == realm_id, ""
        while True:
            some = select(table.c.id).where(of_realm, table.c.id > last).order_by(table.c.id)
            ends = select(func.max(some.limit(_AT_ONCE).subquery().c.id))
            end = (await self._transaction.execute(ends)).scalar_one()
            if end is None:
                return
            await self._transaction.delete_rows(
                table, of_realm, table.c.id > last, table.c.id <= end
            )
            last = end

    def _values(self, realm: Realm) -> dict[str, Any]:
        smtp = realm.smtp
        public = replace(realm, smtp=smtp.with_secrets(None, None))
        return {
            "id": realm.id,
            "name": realm.name,
            "enabled": realm.enabled,
            "settings": _CODEC.encode(public),
            "smtp_password": self._sealed(smtp.password, _SMTP_PASSWORD, realm),
            "smtp_token_secret": self._sealed(smtp.token_secret, _SMTP_TOKEN_SECRET, realm),
            "webhook_secret": self._sealed(realm.webhook_secret, _WEBHOOK_SECRET, realm),
        }

    def _sealed(self, secret: Secret | None, kind: str, realm: Realm) -> str | None:
        if secret is None:
            return None
        return self._secrets.seal(secret.reveal(), f"{kind}:{realm.id}")


# A stored realm is parsed once: lookups and changes read it again and again.
@cached(_PARSED_BYTES)
def _parsed(text: str, realm_id: str, name: str, enabled: bool) -> Realm:  # noqa: FBT001 - the key of the cache
    try:
        return _CODEC.decode(json.loads(text), id=realm_id, name=name, enabled=enabled)
    except UnreadableDocument as error:
        raise error.inside(f"realm {name}: ") from None


def read_realm_row(row: Any, secrets: SecretsAtRest) -> Realm:
    """Return the realm of a row of REALM_COLUMNS."""
    realm = _parsed(row.settings, row.id, row.name, bool(row.enabled))
    sealed_ones = (row.smtp_password, row.smtp_token_secret, row.webhook_secret)
    if all(sealed is None for sealed in sealed_ones):
        return realm

    def opened(sealed: str | None, kind: str) -> Secret | None:
        return None if sealed is None else Secret(secrets.unseal(sealed, f"{kind}:{row.id}"))

    password = opened(row.smtp_password, _SMTP_PASSWORD)
    # Before it had a column of its own it was in the document, like any other setting.
    token_secret = opened(row.smtp_token_secret, _SMTP_TOKEN_SECRET)
    smtp = realm.smtp.with_secrets(password, token_secret or realm.smtp.token_secret)
    webhook_secret = opened(row.webhook_secret, _WEBHOOK_SECRET)
    return replace(realm, smtp=smtp, webhook_secret=webhook_secret)


def _realm_conflict(realm: Realm) -> str:
    return f"Realm {realm.name} already exists"


class SqlKeys(SealedRepository):
    """KeyRepository on SQL."""

    async def list_keys(self, realm_id: str) -> tuple[RealmKey, ...]:
        of_realm = select(realm_keys).where(realm_keys.c.realm_id == realm_id)
        newest_first = of_realm.order_by(realm_keys.c.created_at.desc(), realm_keys.c.kid)
        rows = await self._transaction.execute(newest_first)
        return tuple(read_key_row(row, self._secrets) for row in rows)

    async def list_for_update(self, realm_id: str) -> tuple[RealmKey, ...]:
        realm = select(realms.c.id).where(realms.c.id == realm_id)
        await self._transaction.execute(realm.with_for_update(key_share=True))
        return await self.list_keys(realm_id)

    async def add(self, key: RealmKey) -> None:
        own = values_of(key, ("realm_id", "id", "created_at"))
        values = own | self._material(key) | _changeable(key)
        await self._transaction.execute(insert(realm_keys), values, taken=_key_conflict(key))

    async def replace(self, key: RealmKey, *, material: bool = False) -> None:
        one = update(realm_keys).where(is_row(realm_keys, key.realm_id, key.id))
        values = {**(self._material(key) if material else {}), **_changeable(key)}
        await self._transaction.change(one.values(values), taken=_key_conflict(key))

    async def remove_key(self, realm_id: str, key_id: str) -> bool:
        return await self._transaction.remove_row(realm_keys, realm_id, key_id)

    def _material(self, key: RealmKey) -> dict[str, Any]:
        context = _context(key.realm_id, key.kid)
        return {
            "kid": key.kid,
            "algorithm": key.algorithm.value,
            "private_key": self._secrets.seal(key.private_key.reveal(), context),
            "certificate": key.certificate,
        }


_CHANGEABLE: Final = ("active_from", "retire_at", "name", "priority")


def read_key_row(row: Any, secrets: SecretsAtRest) -> RealmKey:
    """Return the key of a row."""
    private_key = secrets.unseal(row.private_key, _context(row.realm_id, row.kid))
    return RealmKey(
        **values_of(row, ("id", "realm_id", "kid", "created_at", "certificate", *_CHANGEABLE)),
        algorithm=key_algorithm(row.algorithm),
        status=KeyStatus(row.status),
        private_key=Secret(private_key),
        provider=None if row.provider is None else KeyProvider(row.provider),
        config=_document(row.config),
    )


def _key_conflict(key: RealmKey) -> str:
    return f"Key {key.kid} already exists"


def _context(realm_id: str, kid: str) -> str:
    return f"signing-key:{realm_id}:{kid}"


def _changeable(key: RealmKey) -> dict[str, Any]:
    return values_of(key, _CHANGEABLE) | {
        "status": key.status.value,
        "provider": None if key.provider is None else key.provider.value,
        "config": dict(key.config),
    }


def _document(stored: Any) -> Mapping[str, str]:
    """Return the document of the column; a row from a JSON array holds its text."""
    found: Mapping[str, str] = json.loads(stored) if isinstance(stored, str) else stored
    return found


_COLUMNS: Final = realm_documents.c
_OF_KIND: Final = FixedQuery(
    select(_COLUMNS.name, _COLUMNS.document)
    .where(*has_given(realm_documents, "realm_id", "kind"))
    .order_by(_COLUMNS.name)
)
_KEY: Final = ("realm_id", "kind", "name")
_ONE: Final = FixedQuery(select(_COLUMNS.document).where(*has_given(realm_documents, *_KEY)))


class SqlDocuments(SqlRepository):
    """RealmDocuments on SQL."""

    async def find_document(
        self, realm_id: str, kind: DocumentKind, name: str
    ) -> Mapping[str, Any] | None:
        if not is_name(name):
            return None
        rows = await self._transaction.fetch(_ONE, realm_id=realm_id, kind=kind, name=name)
        return rows[0].document if rows else None

    async def list_documents(
        self, realm_id: str, kind: DocumentKind
    ) -> Mapping[str, Mapping[str, Any]]:
        rows = await self._transaction.fetch(_OF_KIND, realm_id=realm_id, kind=kind)
        return dict(rows)

    def expect_document(self, realm_id: str, kind: DocumentKind, name: str) -> None:
        self._transaction.read_ahead(_ONE, realm_id=realm_id, kind=kind, name=name)

    def expect_documents(self, realm_id: str, kind: DocumentKind) -> None:
        self._transaction.read_ahead(_OF_KIND, realm_id=realm_id, kind=kind)

    async def put_document(
        self, realm_id: str, kind: DocumentKind, name: str, document: Mapping[str, Any]
    ) -> None:
        row = {"realm_id": realm_id, "kind": kind, "name": name, "document": document}
        await self._transaction.put_row(realm_documents, row, _KEY)

    async def remove_document(self, realm_id: str, kind: DocumentKind, name: str) -> bool:
        key = {"realm_id": realm_id, "kind": kind, "name": name}
        return await self._transaction.delete_rows(realm_documents, **key) > 0


KEPT: Final = 10_000
"""Records that a purge leaves: far more than the changes between two reads."""


class SqlChangeLog(SqlRepository):
    """ChangeLog on SQL."""

    async def record(self, topics: Sequence[str]) -> None:
        if topics:
            values = {"topics": tuple(dict.fromkeys(topics))}
            await self._transaction.insert_later(change_log, [values])

    async def purge(self) -> int:
        newest = select(func.max(change_log.c.id)).scalar_subquery()
        return await self._transaction.delete_rows(change_log, change_log.c.id <= newest - KEPT)


class SqlChangeLogReader:
    """ChangeLogReader by prepared queries."""

    def __init__(self, executor: QueryExecutor, dialect: Dialect) -> None:
        self._executor = executor
        columns = change_log.c
        later = columns.id > bindparam("identity", type_=columns.id.type)
        after = select(columns.id, columns.topics).where(later).order_by(columns.id)
        self._newest = PreparedQuery(select(func.max(columns.id).label("newest")), dialect)
        self._after = PreparedQuery(after, dialect)

    async def newest(self) -> int:
        rows = await self._executor.execute(self._newest, self._newest.arguments())
        return int(rows[0][0] or 0)

    async def after(self, identity: int) -> Sequence[RecordedChange]:
        rows = await self._executor.execute(self._after, self._after.arguments(identity=identity))
        return [RecordedChange(*self._after.parse_row(row)) for row in rows]
