"""A realm can always sign with its default algorithm: the key is made when one is missing.

Keycloak: realm keys of a new realm
"""

import asyncio

from gateway.domain.clock import Clock
from gateway.domain.keys import KeyStatus
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm


async def ensure_signing_key(
    stores: Stores, realm: Realm, factory: KeyFactory, clock: Clock
) -> bool:
    """Add an active key for the realm's default algorithm unless it has one; tell whether."""
    algorithm = realm.default_signature_algorithm
    for key in await stores.keys.list(realm.id):
        if key.algorithm is algorithm and key.status is KeyStatus.ACTIVE:
            return False
    # Finding an RSA key takes a good part of a second: not on the event loop.
    key = await asyncio.to_thread(factory.generate, realm.id, realm.name, algorithm, clock.now())
    await stores.keys.add(key)
    return True
