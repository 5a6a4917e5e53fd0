"""A realm's signing keys as an operator handles them: list, rotate with overlap, disable.

A rotation publishes the new key at once and lets it sign later, after every verifier that caches
the JWKS has fetched it. The old key signs until then and verifies until the last token it signed
has expired; `gateway.domain.keys` states the rule. So a rotation costs no verification.

Keycloak: KeysMetadata; the priority of key providers decides who signs there
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gateway.admin.access import Acting, find_realm
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.components import component_path
from gateway.admin.keys import run_key_work
from gateway.domain.clients import Client, ClientTokens
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.events import OperationType, ResourceType
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
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.components import render_component
from gateway.representations.keys import key_component

PUBLISH_FOR = timedelta(seconds=120)
"""The default: a JWKS may be cached for 60 s, and a gateway without messages and without the change
log keeps its copy for the age that is configured, 60 s where none is."""
SHORTEST_OVERLAP = timedelta(hours=1)
"""An old key verifies at least that long, however short the realm's tokens live."""
_LONGEST_LIFESPAN = timedelta(seconds=10**10)
"""A client's lifespan as long as this is a mistake, of which no key need know."""


@dataclass(frozen=True, slots=True)
class KeyState:
    """One key and its status now."""

    realm: str
    key: RealmKey
    standing: KeyStatus


@dataclass(frozen=True, slots=True)
class KeyChange:
    """The effect of a rotation or a disabling.

    `announced` is False when no message reached the gateways: they read the change log within
    seconds.
    """

    realm: str
    successor: RealmKey | None
    changed: tuple[RealmKey, ...]
    announced: bool


class RealmKeys(Administration):
    """The use cases. Each stored key is an admin event of its key provider."""

    def __init__(self, changes: Changes, keys: KeyFactory) -> None:
        super().__init__(changes)
        self._factory = keys

    async def list_keys(self, realm_name: str | None = None) -> tuple[KeyState, ...]:
        """Return the keys of one realm, or of all; raises RealmNotFound."""
        now = self._clock.now()
        states: list[KeyState] = []
        async with self._database.read() as stores:
            for realm in await _realms(stores, realm_name):
                keys = await stores.keys.list_keys(realm.id)
                states += [
                    KeyState(realm.name, key, effective_status(key, keys, now)) for key in keys
                ]
        return tuple(states)

    async def find_realm_of_key(self, kid: str) -> Realm:
        """Return the realm that has the key; raises InvalidInput where none has."""
        async with self._database.read() as stores:
            for realm in await stores.realms.list_realms():
                if any(key.kid == kid for key in await stores.keys.list_keys(realm.id)):
                    return realm
        raise _unknown(kid)

    async def rotate_key(
        self,
        acting: Acting,
        *,
        algorithm: SignatureAlgorithm | None = None,
        publish_for: timedelta = PUBLISH_FOR,
    ) -> KeyChange:
        """Add a key that signs after `publish_for`, and set the end of those it replaces.

        `algorithm` None takes the realm's default one. Raises NotFound where the realm is gone.
        """
        realm = acting.realm
        async with self._database.read() as stores:
            longest = longest_token(realm, await stores.clients.list_clients(realm.id))
        chosen = algorithm or realm.signature_algorithm
        successor = await self._generate(realm, chosen, publish_for)
        async with self._changes.begin(acting) as change:
            changed = await self._install(change, successor, longest)
        return KeyChange(realm.name, successor, changed, change.published)

    async def disable_key(self, acting: Acting, kid: str) -> KeyChange:
        """Disable a compromised key at once: it neither signs nor verifies any longer.

        If no key would sign after it, a successor is stored in the same transaction, which
        looks at the keys alone. Raises InvalidInput when the realm does not have the key.
        """
        realm = acting.realm
        async with self._database.read() as stores:
            keys = await stores.keys.list_keys(realm.id)
            longest = longest_token(realm, await stores.clients.list_clients(realm.id))
        key = next((key for key in keys if key.kid == kid), None)
        if key is None:
            raise _unknown(kid)
        done = await self._disable(acting, key, None, longest)
        if done is None:
            heir = await self._generate(realm, key.algorithm, timedelta())
            done = await self._disable(acting, key, heir, longest)
        return done or KeyChange(realm.name, None, (), announced=False)

    async def _disable(
        self, acting: Acting, key: RealmKey, heir: RealmKey | None, longest: timedelta
    ) -> KeyChange | None:
        """Disable the key as it is now; None, and nothing is done, where an heir is missing."""
        successor, retired = None, tuple[RealmKey, ...]()
        async with self._changes.begin(acting) as change:
            keys = await change.stores.keys.list_for_update(change.realm.id)
            (found,) = (other for other in keys if other.id == key.id)
            delay = self._succession(found, keys)
            if delay is not None and heir is None:
                return None
            disabled = replace(found, status=KeyStatus.DISABLED)
            await change.stores.keys.replace(disabled)
            _record(change, OperationType.UPDATE, disabled)
            if delay is not None and heir is not None:
                successor = replace(heir, active_from=heir.active_from + delay)
                retired = await self._install(change, successor, longest)
        return KeyChange(acting.realm.name, successor, (disabled, *retired), change.published)

    def _succession(self, key: RealmKey, keys: tuple[RealmKey, ...]) -> timedelta | None:
        """Return when a successor has to sign; None where a key remains that lasts."""
        peers = [other for other in keys if other.algorithm is key.algorithm and other != key]
        if key.status is not KeyStatus.ACTIVE or any(map(lasting, peers)):
            return None
        signer = signing_key(peers, key.algorithm, self._clock.now())
        return PUBLISH_FOR if signer else timedelta()

    async def _generate(
        self, realm: Realm, algorithm: KeyAlgorithm, publish_for: timedelta
    ) -> RealmKey:
        # Finding an RSA key takes a tenth of a second: off the loop, and before any lock is held.
        made = await run_key_work(
            realm.id, self._factory.generate, realm.id, realm.name, algorithm, self._clock.now()
        )
        return replace(made, active_from=made.active_from + publish_for)

    async def _install(
        self, change: Change, successor: RealmKey, longest: timedelta
    ) -> tuple[RealmKey, ...]:
        now, repository = self._clock.now(), change.stores.keys
        keys = await repository.list_for_update(successor.realm_id)
        retiring = superseded(keys, successor, now, longest)
        for key in (*retiring, *_forgotten(keys, now)):
            await repository.replace(key)
        for key in retiring:
            _record(change, OperationType.UPDATE, key)
        added = replace(successor, priority=foremost(keys, successor.algorithm))
        await repository.add(added)
        _record(change, OperationType.CREATE, added)
        return retiring


def _record(change: Change, operation: OperationType, key: RealmKey) -> None:
    document = render_component(key_component(key))
    change.record(operation, ResourceType.COMPONENT, component_path(key.id), document)
    change.invalidate(realm_topic(key.realm_id))


def longest_token(realm: Realm, clients: tuple[Client, ...]) -> timedelta:
    """Return how long a token that is signed now may live, at the longest.

    A lifespan of -1, for the realm or for a client, is that of the session (Keycloak: 2.3
    lifetimes).
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


def _forgotten(keys: tuple[RealmKey, ...], now: datetime) -> tuple[RealmKey, ...]:
    """Mark the keys whose end has come, so that gateways no longer parse them."""
    return tuple(
        replace(key, status=KeyStatus.DISABLED)
        for key in keys
        if key.status is not KeyStatus.DISABLED and not verifies(key, now)
    )


async def _realms(stores: Stores, name: str | None) -> tuple[Realm, ...]:
    return await stores.realms.list_realms() if name is None else (await find_realm(stores, name),)


def _unknown(kid: str) -> InvalidInput:
    sentence = f"there is no key with the kid {kid!r} (see `realmgate keys list`)"
    return InvalidInput((FieldError("kid", repr(kid), "the kid of a key", sentence=sentence),))
