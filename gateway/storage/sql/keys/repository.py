"""Signing keys: the private part sealed for its realm and kid."""

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import insert, select, update

from gateway.domain.keys import KeyProvider, KeyStatus, RealmKey, key_algorithm
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.secrets import Secret
from gateway.storage.sql.schema import realm_keys, realms
from gateway.storage.sql.transaction import Transaction, is_row


class SqlKeys:
    """KeyRepository on SQL."""

    def __init__(self, transaction: Transaction, secrets: SecretsAtRest) -> None:
        self._transaction = transaction
        self._secrets = secrets

    async def list(self, realm_id: str) -> tuple[RealmKey, ...]:
        of_realm = select(realm_keys).where(realm_keys.c.realm_id == realm_id)
        newest_first = of_realm.order_by(realm_keys.c.created_at.desc(), realm_keys.c.kid)
        rows = await self._transaction.execute(newest_first)
        return tuple(read_key_row(row, self._secrets) for row in rows)

    async def list_for_update(self, realm_id: str) -> tuple[RealmKey, ...]:
        realm = select(realms.c.id).where(realms.c.id == realm_id)
        await self._transaction.execute(realm.with_for_update(key_share=True))
        return await self.list(realm_id)

    async def add(self, key: RealmKey) -> None:
        values = {
            "realm_id": key.realm_id,
            "id": key.id,
            "created_at": key.created_at,
            **self._material(key),
            **_changeable(key),
        }
        await self._transaction.execute(insert(realm_keys), values, taken=_taken(key))

    async def replace(self, key: RealmKey, *, material: bool = False) -> None:
        one = update(realm_keys).where(is_row(realm_keys, key.realm_id, key.id))
        values = {**(self._material(key) if material else {}), **_changeable(key)}
        await self._transaction.change(one.values(values), taken=_taken(key))

    async def remove(self, realm_id: str, key_id: str) -> bool:
        return await self._transaction.remove(realm_keys, realm_id, key_id)

    def _material(self, key: RealmKey) -> dict[str, Any]:
        context = _context(key.realm_id, key.kid)
        return {
            "kid": key.kid,
            "algorithm": key.algorithm.value,
            "private_key": self._secrets.seal(key.private_key.reveal(), context),
            "certificate": key.certificate,
        }


def read_key_row(row: Any, secrets: SecretsAtRest) -> RealmKey:
    """Return the key of a row."""
    private_key = secrets.unseal(row.private_key, _context(row.realm_id, row.kid))
    return RealmKey(
        id=row.id,
        realm_id=row.realm_id,
        kid=row.kid,
        algorithm=key_algorithm(row.algorithm),
        status=KeyStatus(row.status),
        created_at=row.created_at,
        active_from=row.active_from,
        private_key=Secret(private_key),
        certificate=row.certificate,
        retire_at=row.retire_at,
        name=row.name,
        provider=None if row.provider is None else KeyProvider(row.provider),
        priority=row.priority,
        config=_document(row.config),
    )


def _taken(key: RealmKey) -> str:
    return f"Key {key.kid} already exists"


def _context(realm_id: str, kid: str) -> str:
    return f"signing-key:{realm_id}:{kid}"


def _changeable(key: RealmKey) -> dict[str, Any]:
    return {
        "status": key.status.value,
        "active_from": key.active_from,
        "retire_at": key.retire_at,
        "name": key.name,
        "provider": None if key.provider is None else key.provider.value,
        "priority": key.priority,
        "config": dict(key.config),
    }


def _document(stored: Any) -> Mapping[str, str]:
    """Return the document of the column; a row from a JSON array holds its text."""
    found: Mapping[str, str] = json.loads(stored) if isinstance(stored, str) else stored
    return found
