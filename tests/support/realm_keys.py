"""A realm's own keys from a gateway's database, with which only the gateway can sign."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from gateway.crypto.realm_keys import ParsedKey
from gateway.crypto.secrets_at_rest import AesGcmSecrets, load_or_create_keys
from gateway.domain.keys import RealmKey, SignatureAlgorithm, signing_key
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase


@dataclass(frozen=True, slots=True)
class StolenKeys:
    """Signs whatever claims it is given, also those that the gateway's key ring refuses to sign."""

    records: tuple[RealmKey, ...]

    def sign(self, claims: Mapping[str, Any], algorithm: SignatureAlgorithm, now: datetime) -> str:
        """Return a compact JWS signed by the realm's active key for `algorithm`."""
        record = signing_key(self.records, algorithm, now)
        assert record is not None, algorithm
        return ParsedKey(record).sign(orjson.dumps(claims))


def realm_keys(state: Path, realm_id: str) -> StolenKeys:
    """Return the keys of a realm of the gateway with this state folder."""
    return asyncio.run(_keys_of(state, realm_id))


async def _keys_of(state: Path, realm_id: str) -> StolenKeys:
    secrets = AesGcmSecrets(load_or_create_keys(state / "secrets" / "encryption.key"))
    database = SqlDatabase(Secret(f"sqlite:///{state}/realmgate.db"), secrets)
    try:
        async with database.read() as stores:
            return StolenKeys(tuple(await stores.keys.list_keys(realm_id)))
    finally:
        await database.dispose()
