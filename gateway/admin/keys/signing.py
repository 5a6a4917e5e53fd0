"""Keys for every algorithm that a realm or one of its clients uses.

Keycloak: realm keys of a new realm, and the fallback keys it makes for what clients ask
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from gateway.admin.keys.work import run_key_work
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.keys import (
    FALLBACK_PRIORITY,
    KeyAlgorithm,
    SecretAlgorithm,
    maker,
    signing_key,
)
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.keys import standard_config


def signing_algorithms(realm: Realm, clients: Iterable[Client]) -> tuple[KeyAlgorithm, ...]:
    """Return the algorithms that the realm signs with, its default one first.

    Refresh tokens, which only the realm reads, take a secret key.
    """
    chosen = (algorithm for client in clients for algorithm in client.signing.algorithms())
    standard = (realm.signature_algorithm, SecretAlgorithm.HS512)
    return tuple(dict.fromkeys((*standard, *chosen)))


async def ensure_signing_keys(
    stores: Stores,
    realm: Realm,
    algorithms: Iterable[KeyAlgorithm],
    factory: KeyFactory,
    clock: Clock,
) -> bool:
    """Add a key for every algorithm without one; return whether any was added."""
    keys = await stores.keys.list(realm.id)
    added = False
    for algorithm in algorithms:
        if signing_key(keys, algorithm, clock.now()) is None:
            # Finding an RSA key takes a good part of a second: not on the event loop.
            key = await run_key_work(
                realm.id, factory.generate, realm.id, realm.name, algorithm, clock.now()
            )
            await stores.keys.add(key)
            added = True
    return added


async def ensure_keys_of_client(
    stores: Stores, realm: Realm, client: Client, factory: KeyFactory, now: datetime
) -> bool:
    """Add a key for each algorithm of the client without one; return whether any was added."""
    lacking = [
        algorithm
        for algorithm in dict.fromkeys(client.signing.algorithms())
        if await _lacks(stores, realm, algorithm, now)
    ]
    for algorithm in lacking:
        await _add_fallback(stores, realm, algorithm, factory, now)
    return bool(lacking)


async def ensure_fallback(
    stores: Stores, realm: Realm, algorithm: KeyAlgorithm, factory: KeyFactory, now: datetime
) -> None:
    """Add a key for an algorithm without one, if the realm or a client uses it."""
    if await _lacks(stores, realm, algorithm, now) and await _is_used(stores, realm, algorithm):
        await _add_fallback(stores, realm, algorithm, factory, now)


async def _lacks(stores: Stores, realm: Realm, algorithm: KeyAlgorithm, now: datetime) -> bool:
    return signing_key(await stores.keys.list(realm.id), algorithm, now) is None


async def _add_fallback(
    stores: Stores, realm: Realm, algorithm: KeyAlgorithm, factory: KeyFactory, now: datetime
) -> None:
    """Keycloak: `fallback-<algorithm>`, which gives way to any that an administrator adds."""
    made = await run_key_work(realm.id, factory.generate, realm.id, realm.name, algorithm, now)
    await stores.keys.add(
        replace(
            made,
            name=f"fallback-{algorithm}",
            provider=maker(algorithm),
            priority=FALLBACK_PRIORITY,
            config=standard_config(algorithm, FALLBACK_PRIORITY),
        )
    )


async def _is_used(stores: Stores, realm: Realm, algorithm: KeyAlgorithm) -> bool:
    if algorithm in signing_algorithms(realm, ()):
        return True
    return algorithm in signing_algorithms(realm, await stores.clients.list(realm.id))
