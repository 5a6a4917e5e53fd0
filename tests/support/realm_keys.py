"""A realm's own keys from a gateway's database, with which only the gateway can sign."""

import asyncio
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gateway.crypto.encryption_keys import load_or_create_keys
from gateway.crypto.key_ring import PyJwtKeyRing
from gateway.crypto.secrets_at_rest import AesGcmSecrets
from gateway.crypto.signing_keys import PyJwtKeyFactory
from gateway.domain.keys import HeaderType, SignatureAlgorithm
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


def forged_token(ring: KeyRing, claims: Mapping[str, Any], algorithm: SignatureAlgorithm) -> str:
    """Return a token under the realm's key that the key ring itself would not sign for a client."""
    assert isinstance(ring, PyJwtKeyRing)
    signer = ring._signer(algorithm, datetime.now(UTC))
    payload = json.dumps(claims).encode()
    return str(ring._every_key[signer.kid].sign(payload, HeaderType.JWT))
