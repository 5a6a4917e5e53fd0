"""A realm can always sign: a key is made for every algorithm it or one of its clients names.

Keycloak: realm keys of a new realm, and the fallback keys it makes for what clients ask
"""

import asyncio
from collections.abc import Iterable

from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.key_lifecycle import signing_key
from gateway.domain.keys import KeyAlgorithm, SecretAlgorithm, SignatureAlgorithm
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm


def signing_algorithms(realm: Realm, clients: Iterable[Client]) -> tuple[KeyAlgorithm, ...]:
    """Return what the realm must be able to sign with, its default algorithm first.

    Refresh tokens are the realm's own business: they take a secret key.
    """
    chosen = (client.attributes.get("access.token.signed.response.alg") for client in clients)
    return tuple(
        dict.fromkeys(
            (
                realm.default_signature_algorithm,
                SecretAlgorithm.HS512,
                *(SignatureAlgorithm(name) for name in chosen if name),
            )
        )
    )


async def ensure_signing_keys(
    stores: Stores,
    realm: Realm,
    algorithms: Iterable[KeyAlgorithm],
    factory: KeyFactory,
    clock: Clock,
) -> bool:
    """Add a key for every algorithm that none signs; tell whether any was added."""
    keys = await stores.keys.list(realm.id)
    added = False
    for algorithm in algorithms:
        if signing_key(keys, algorithm, clock.now()) is None:
            # Finding an RSA key takes a good part of a second: not on the event loop.
            key = await asyncio.to_thread(
                factory.generate, realm.id, realm.name, algorithm, clock.now()
            )
            await stores.keys.add(key)
            added = True
    return added
