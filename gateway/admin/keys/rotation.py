"""An operator's view of a realm's signing keys: list, rotate with overlap, disable.

A rotation publishes the new key at once; it signs later, when every verifier that caches the JWKS
has fetched it. The old key signs until then and verifies until its last token has expired;
`gateway.domain.keys.lifecycle` states the rule.
Keycloak: KeysMetadata; there the priority of key providers decides which key signs
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gateway.admin.access import find_realm
from gateway.admin.keys.work import run_key_work
from gateway.domain.clients import Client, ClientTokens
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput, StoreUnavailable
from gateway.domain.keys import (
    KeyAlgorithm,
    KeyStatus,
    RealmKey,
    SignatureAlgorithm,
    effective_status,
    foremost,
    lasting,
    signing_key,
    superseded,
    verifies,
)
from gateway.domain.ports.invalidation import Invalidation, realm_topic
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm

PUBLISH_FOR = timedelta(seconds=120)
"""The default: a JWKS may be cached for 60 s, and a gateway without messages and without the change
log keeps its copy for the age that is configured, 60 s where none is."""
SHORTEST_OVERLAP = timedelta(hours=1)
"""The shortest time for which an old key verifies."""
_LONGEST_LIFESPAN = timedelta(seconds=10**10)
"""A longer lifespan of a client is a mistake and does not extend keys."""


@dataclass(frozen=True, slots=True)
class KeyState:
    """One key and its current status."""

    realm: str
    key: RealmKey
    standing: KeyStatus


@dataclass(frozen=True, slots=True)
class KeyChange:
    """What a rotation or disabling changed.

    `announced` is False if no message was sent: gateways read the change log within seconds.
    """

    realm: str
    successor: RealmKey | None
    changed: tuple[RealmKey, ...]
    announced: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RealmKeys:
    """The use cases."""

    database: Database
    keys: KeyFactory
    clock: Clock
    invalidation: Invalidation | None = None

    async def list(self, realm_name: str | None = None) -> tuple[KeyState, ...]:
        """Return the keys of one realm, or of all; raises RealmNotFound."""
        now = self.clock.now()
        states: list[KeyState] = []
        async with self.database.read() as stores:
            for realm in await _realms(stores, realm_name):
                keys = await stores.keys.list(realm.id)
                states += [
                    KeyState(realm.name, key, effective_status(key, keys, now)) for key in keys
                ]
        return tuple(states)

    async def rotate(
        self,
        realm_name: str,
        *,
        algorithm: SignatureAlgorithm | None = None,
        publish_for: timedelta = PUBLISH_FOR,
    ) -> KeyChange:
        """Add a key that signs after `publish_for`, and set the end of those it replaces.

        `algorithm` None takes the realm's default one. Raises RealmNotFound.
        """
        async with self.database.read() as stores:
            (realm,) = await _realms(stores, realm_name)
            longest = longest_token(realm, await stores.clients.list(realm.id))
        chosen = algorithm or realm.default_signature_algorithm
        successor = await self._generate(realm, chosen, publish_for)
        async with self.database.write() as stores:
            changed = await self._install(stores, successor, longest)
            await stores.change_log.record([realm_topic(realm.id)])
        return KeyChange(realm.name, successor, changed, await self._announce(realm))

    async def disable(self, kid: str, realm_name: str | None = None) -> KeyChange:
        """Disable a compromised key, which rejects its tokens from now on.

        If no other key signs, a successor is stored in the same transaction. Raises InvalidInput
        when no realm has the key.
        """
        async with self.database.read() as stores:
            realm, key = await _find(stores, kid, realm_name)
            longest = longest_token(realm, await stores.clients.list(realm.id))
        done = await self._disable(realm, key, None, longest)
        if done is None:
            heir = await self._generate(realm, key.algorithm, timedelta())
            done = await self._disable(realm, key, heir, longest)
        successor, changed = done or (None, ())
        return KeyChange(realm.name, successor, changed, await self._announce(realm))

    async def _disable(
        self, realm: Realm, key: RealmKey, heir: RealmKey | None, longest: timedelta
    ) -> tuple[RealmKey | None, tuple[RealmKey, ...]] | None:
        """Disable the key as it is now; None, with nothing done, if `heir` is missing."""
        async with self.database.write() as stores:
            keys = await stores.keys.list_for_update(realm.id)
            (found,) = (other for other in keys if other.id == key.id)
            delay = self._succession(found, keys)
            if delay is not None and heir is None:
                return None
            disabled = replace(found, status=KeyStatus.DISABLED)
            await stores.keys.replace(disabled)
            await stores.change_log.record([realm_topic(realm.id)])
            if delay is None or heir is None:
                return None, (disabled,)
            successor = replace(heir, active_from=heir.active_from + delay)
            return successor, (disabled, *await self._install(stores, successor, longest))

    def _succession(self, key: RealmKey, keys: tuple[RealmKey, ...]) -> timedelta | None:
        """Return when a successor has to sign; None where a key remains that lasts."""
        peers = [other for other in keys if other.algorithm is key.algorithm and other != key]
        if key.status is not KeyStatus.ACTIVE or any(map(lasting, peers)):
            return None
        signer = signing_key(peers, key.algorithm, self.clock.now())
        return PUBLISH_FOR if signer else timedelta()

    async def _generate(
        self, realm: Realm, algorithm: KeyAlgorithm, publish_for: timedelta
    ) -> RealmKey:
        # Finding an RSA key takes a tenth of a second: off the loop, and before any lock is held.
        made = await run_key_work(
            realm.id, self.keys.generate, realm.id, realm.name, algorithm, self.clock.now()
        )
        return replace(made, active_from=made.active_from + publish_for)

    async def _install(
        self, stores: Stores, successor: RealmKey, longest: timedelta
    ) -> tuple[RealmKey, ...]:
        now = self.clock.now()
        keys = await stores.keys.list_for_update(successor.realm_id)
        retiring = superseded(keys, successor, now, longest)
        for key in (*retiring, *_expired(keys, now)):
            await stores.keys.replace(key)
        priority = foremost(keys, successor.algorithm)
        await stores.keys.add(replace(successor, priority=priority))
        return retiring

    async def _announce(self, realm: Realm) -> bool:
        """Publish the change; it is stored already, so a lost message is no failure."""
        if self.invalidation is None:
            return False
        try:
            await self.invalidation.publish([realm_topic(realm.id)])
        except StoreUnavailable:
            return False
        return True


def longest_token(realm: Realm, clients: tuple[Client, ...]) -> timedelta:
    """Return how long a token that is signed now may live, at the longest.

    A lifespan of -1, for the realm or for a client, is that of the session (Keycloak: 2.3).
    """
    lifespans, sessions = realm.token_lifespans, realm.session_limits
    return max(
        SHORTEST_OVERLAP,
        lifespans.access_token,
        lifespans.access_token_for_implicit_flow,
        sessions.max_lifespan,
        sessions.max_lifespan_remember_me,
        *(_own_lifespan(client.tokens) for client in clients),
    )


def _own_lifespan(tokens: ClientTokens) -> timedelta:
    own = tokens.access_token_lifespan
    return own if own is not None and own < _LONGEST_LIFESPAN else timedelta()


def _expired(keys: tuple[RealmKey, ...], now: datetime) -> tuple[RealmKey, ...]:
    """Return the expired keys disabled, so that gateways no longer parse them."""
    return tuple(
        replace(key, status=KeyStatus.DISABLED)
        for key in keys
        if key.status is not KeyStatus.DISABLED and not verifies(key, now)
    )


async def _realms(stores: Stores, name: str | None) -> tuple[Realm, ...]:
    return await stores.realms.list() if name is None else (await find_realm(stores, name),)


async def _find(stores: Stores, kid: str, realm_name: str | None) -> tuple[Realm, RealmKey]:
    for realm in await _realms(stores, realm_name):
        for key in await stores.keys.list(realm.id):
            if key.kid == kid:
                return realm, key
    raise InvalidInput((FieldError("kid", repr(kid), "the kid of a key (see `keys list`)"),))
