"""A realm's own keys from a gateway's database, with which only the gateway can sign."""

import asyncio
from pathlib import Path

from gateway.crypto.encryption_keys import load_or_create_keys
from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.crypto.signing_keys import PyJwtKeyFactory
from gateway.domain.ports.signing import KeyRing
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase


def realm_keys(state: Path, realm_id: str) -> KeyRing:
    """Return the keys of a realm of the gateway with this state folder."""
    return asyncio.run(_keys_of(state, realm_id))


async def _keys_of(state: Path, realm_id: str) -> KeyRing:
    secrets = AesGcmSecrets(load_or_create_keys(state / "secrets" / "encryption.key"))
    database = SqlDatabase(Secret(f"sqlite:///{state}/realmgate.db"), secrets)
    try:
        async with database.read() as stores:
            return PyJwtKeyFactory().ring(await stores.keys.list(realm_id))
    finally:
        await database.dispose()
