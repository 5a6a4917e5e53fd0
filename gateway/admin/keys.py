"""Keys of realms: generated, imported, and administered as components.

A key of 4096 bits takes a second of processor time. More requests at once than may wait are
refused, so administrators of one realm take no more than their share of a worker.

A change applies to the next token: a key of higher priority signs at once, a passive one still
verifies, a disabled or removed one leaves the JWKS. If no key remains for an algorithm in use, one
is generated. Verifiers with a cached JWKS do not know a new key yet: add it inactive, wait, then
activate it. Changes require the rights of all accounts: whose owner has a private key of the realm
can issue any token.
Keycloak: KeyResource; the factories of org.keycloak.keys.KeyProvider; realm keys of a new realm,
and the fallback keys it makes for what clients ask
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import Any, Final, ParamSpec, TypeVar

from gateway.admin.access import Acting, existing
from gateway.admin.changes import Administration, Change, Changes
from gateway.admin.components import NO_SUCH_COMPONENT, NO_SUCH_PROVIDER, component_path
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.keys import (
    FALLBACK_PRIORITY,
    IMPORTERS,
    EncryptionAlgorithm,
    KeyAlgorithm,
    KeyProvider,
    KeyStatus,
    RealmKey,
    SecretAlgorithm,
    SigningAlgorithm,
    effective_status,
    maker,
    signing_key,
    verifies,
)
from gateway.domain.limits.fair_share import FairThreads
from gateway.domain.limits.input_sizes import MAX_WAITING_KEY_JOBS
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, WireFamily, duplicate_resource
from gateway.domain.secrets import Secret
from gateway.representations.components import Component, merged, render_component
from gateway.representations.keys import (
    CERTIFICATE,
    KEY_PROVIDER_TYPE,
    KEY_PROVIDERS,
    KeySettings,
    ShownKey,
    key_component,
    parse_key_settings,
    render_keys,
    same_material,
    standard_config,
)

ParametersT = ParamSpec("ParametersT")
ResultT = TypeVar("ResultT")
_THREADS: Final = FairThreads("keys", 1, MAX_WAITING_KEY_JOBS)


async def run_key_work(
    realm_id: str,
    work: Callable[ParametersT, ResultT],
    *arguments: ParametersT.args,
    **named: ParametersT.kwargs,
) -> ResultT:
    """Return what `work` returns for a realm; raises Overloaded where too much waits already."""
    return await _THREADS.run(realm_id, partial(work, *arguments, **named))


_UNSUPPORTED: Final = {
    "ecdh-generated": "request objects are encrypted for RSA keys",
    "java-keystore": "keys are not read from files of the server: import one with 'rsa'",
}
"""Providers of Keycloak that could have no effect here, and why."""


def require_no_subtype(given: Component) -> None:
    """Raise InvalidRequest for a subtype: keys have none, so nothing would follow from it."""
    if given.sub_type:
        raise InvalidRequest("A key has no subtype")


@dataclass(frozen=True, slots=True)
class KeyMaker:
    """Generates and imports keys."""

    keys: KeyFactory
    clock: Clock

    def settings(self, given: Component) -> tuple[KeyProvider, KeySettings]:
        """Return the settings of a component; raises InvalidRequest and UnusableSetting."""
        if given.provider_id in _UNSUPPORTED:
            raise InvalidRequest(
                f"'{given.provider_id}' is not offered: {_UNSUPPORTED[given.provider_id]}"
            )
        require_no_subtype(given)
        if given.provider_id not in set(KeyProvider):
            raise InvalidRequest(NO_SUCH_PROVIDER, WireFamily.PROSE)
        provider = KeyProvider(given.provider_id)
        return provider, parse_key_settings(provider, merged({}, given.config))

    async def new_key(
        self, realm: Realm, given: Component, provider: KeyProvider, settings: KeySettings
    ) -> RealmKey:
        """Return a new key; raises UnusableSetting for material that cannot be imported."""
        made = await self.material(realm, provider, settings)
        key = replace(
            made,
            id=given.id or made.id,
            kid=settings.kid or made.kid,
            name=given.name,
            provider=provider,
            priority=settings.priority,
            status=settings.status,
        )
        return replace(key, config=self.kept(settings, key))

    async def material(
        self, realm: Realm, provider: KeyProvider, settings: KeySettings
    ) -> RealmKey:
        """Generate the material off the event loop: an RSA key takes up to a second."""
        make = partial(self.keys.generate, size=settings.size, certified=settings.certified)
        if provider in IMPORTERS:
            make = partial(
                self.keys.imported,
                private_key=settings.private_key or Secret(""),
                certificate=settings.certificate,
            )
        now = self.clock.now()
        return await run_key_work(realm.id, make, realm.id, realm.name, settings.algorithm, now)

    def with_unique_kid(
        self, key: RealmKey, others: tuple[RealmKey, ...], chosen: str | None = None
    ) -> RealmKey:
        """Return the key under a kid that no other has; raises InvalidRequest.

        A computed kid is exchanged; a kid that an administrator has `chosen` is refused.
        """
        taken = {other.kid for other in others}
        if key.kid not in taken:
            return key
        if key.kid == chosen:
            raise InvalidRequest(f"The realm has a key with the kid '{chosen}' already")
        key = self.keys.apart(key)
        if key.kid in taken:
            raise InvalidRequest("The realm has this key, with this algorithm, already")
        return key

    def kept(self, settings: KeySettings, key: RealmKey) -> Mapping[str, str]:
        """Return the settings to store: of an imported key also its certificate."""
        certificate = self.keys.public_data(key).certificate
        if key.provider not in IMPORTERS or certificate is None:
            return settings.config
        return {CERTIFICATE: certificate, **settings.config}


ENCRYPTION_OF_NEW_REALMS: Final = (EncryptionAlgorithm.RSA_OAEP, EncryptionAlgorithm.AES)
"""The encryption keys that a realm is created with."""


def signing_algorithms(realm: Realm, clients: Iterable[Client]) -> tuple[SigningAlgorithm, ...]:
    """Return the algorithms that the realm signs with, its default one first.

    Refresh tokens, which only the realm reads, take a secret key.
    """
    chosen = (algorithm for client in clients for algorithm in client.signing.algorithms())
    standard = (realm.signature_algorithm, SecretAlgorithm.HS512)
    return tuple(dict.fromkeys((*standard, *chosen)))


async def ensure_keys(
    stores: Stores,
    realm: Realm,
    algorithms: Iterable[KeyAlgorithm],
    factory: KeyFactory,
    clock: Clock,
) -> bool:
    """Add a key for every algorithm without one; return whether any was added."""
    keys = await stores.keys.list_keys(realm.id)
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
    return signing_key(await stores.keys.list_keys(realm.id), algorithm, now) is None


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
    return algorithm in signing_algorithms(realm, await stores.clients.list_clients(realm.id))


_OF_ONE_MATERIAL: Final = frozenset({KeyProvider.RSA_GENERATED, KeyProvider.RSA_ENC_GENERATED})
"""Providers whose key stays as it is where only its algorithm changes."""
_MAX_KEYS: Final = 100
"""Keys of a realm: every gateway holds all of them."""


class KeyComponents(Administration):
    """The components of one type: realm keys."""

    type = KEY_PROVIDER_TYPE
    providers = KEY_PROVIDERS

    def __init__(self, changes: Changes, keys: KeyFactory) -> None:
        super().__init__(changes)
        self._keys = keys
        self._maker = KeyMaker(keys, changes.clock)

    async def list_components(self, stores: Stores, realm: Realm) -> tuple[Component, ...]:
        return tuple(map(key_component, await stores.keys.list_keys(realm.id)))

    async def create_component(
        self, acting: Acting, given: Component, document: Mapping[str, Any]
    ) -> str:
        """Add a key and return its id."""
        provider, settings = self._maker.settings(given)
        key = await self._maker.new_key(acting.realm, given, provider, settings)
        async with self._changes.begin(acting) as change:
            keys = await change.stores.keys.list_for_update(change.realm.id)
            if len(keys) >= _MAX_KEYS:
                raise InvalidRequest(f"A realm has at most {_MAX_KEYS} keys: remove an old one")
            if any(other.id == key.id for other in keys):
                raise duplicate_resource()
            await change.stores.keys.add(self._maker.with_unique_kid(key, keys, settings.kid))
            change.invalidate(realm_topic(change.realm.id))
            path = component_path(key.id)
            change.record(OperationType.CREATE, ResourceType.COMPONENT, path, document)
        return key.id

    async def replace_component(
        self, acting: Acting, key_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        while True:
            async with self._database.read() as stores:
                before = _get_key(await stores.keys.list_keys(acting.realm.id), key_id)
            # Material is generated before any lock is held; the key may change meanwhile.
            key = await self._changed(acting.realm, before, given)
            async with self._changes.begin(acting) as change:
                if await self._exchanged(change, before, key):
                    path = component_path(key_id)
                    change.record(OperationType.UPDATE, ResourceType.COMPONENT, path, document)
                    return

    async def remove_component(self, acting: Acting, key_id: str) -> None:
        async with self._changes.begin(acting) as change:
            stores, realm = change.stores, change.realm
            key = _get_key(await stores.keys.list_for_update(realm.id), key_id)
            change.require_match(lambda: render_component(key_component(key)))
            await stores.keys.remove_key(realm.id, key.id)
            await ensure_fallback(stores, realm, key.algorithm, self._keys, change.now)
            change.invalidate(realm_topic(realm.id))
            change.record(OperationType.DELETE, ResourceType.COMPONENT, component_path(key.id))

    async def _exchanged(self, change: Change, before: RealmKey, key: RealmKey) -> bool:
        """Store the key unless it has changed since; return whether it was stored."""
        stores, realm = change.stores, change.realm
        keys = await stores.keys.list_for_update(realm.id)
        current = _get_key(keys, before.id)
        change.require_match(lambda: render_component(key_component(current)))
        if replace(current, private_key=before.private_key) != before:
            return False
        others = tuple(other for other in keys if other.id != before.id)
        await stores.keys.replace(self._maker.with_unique_kid(key, others), material=True)
        await ensure_fallback(stores, realm, before.algorithm, self._keys, change.now)
        change.invalidate(realm_topic(realm.id))
        return True

    async def _changed(self, realm: Realm, before: RealmKey, given: Component) -> RealmKey:
        """Return the changed key; raises InvalidRequest, UnusableSetting."""
        if given.provider_id not in {None, before.made_by.value}:
            raise InvalidRequest("The provider of a key cannot be changed: add another key")
        require_no_subtype(given)
        provider, shown = before.made_by, key_component(before).config
        was = parse_key_settings(provider, shown)
        settings = parse_key_settings(provider, merged(shown, given.config))
        key = before
        if not same_material(was, settings):
            key = await self._with_new_material(realm, before, was, settings)
        if (settings.priority, settings.status) != (was.priority, was.status):
            key = replace(key, status=settings.status, retire_at=None)
        name = key_component(before).name if given.name is None else given.name
        key = replace(key, name=name, provider=provider, priority=settings.priority)
        return replace(key, config=self._maker.kept(settings, key))

    async def _with_new_material(
        self, realm: Realm, before: RealmKey, was: KeySettings, settings: KeySettings
    ) -> RealmKey:
        """Return the key with only the changed material generated again."""
        provider = before.made_by
        if provider not in IMPORTERS and settings.size == was.size:
            if settings.algorithm is was.algorithm:
                return self._certified(realm, before, settings)
            if provider in _OF_ONE_MATERIAL:
                return replace(before, algorithm=settings.algorithm)
        sent = settings.private_key or before.private_key
        made = await self._maker.material(realm, provider, replace(settings, private_key=sent))
        same = made.private_key.matches(before.private_key.reveal())
        return replace(
            before,
            kid=before.kid if same else made.kid,
            algorithm=made.algorithm,
            private_key=made.private_key,
            certificate=made.certificate,
        )

    def _certified(self, realm: Realm, key: RealmKey, settings: KeySettings) -> RealmKey:
        if not settings.certified:
            return replace(key, certificate=None)
        return self._keys.certified(key, realm.name, self._clock.now())

    async def render_metadata(self, realm: Realm) -> dict[str, Any]:
        async with self._database.read() as stores:
            keys = await stores.keys.list_keys(realm.id)
        return render_keys(self._shown(key, keys) for key in keys)

    def _shown(self, key: RealmKey, keys: tuple[RealmKey, ...]) -> ShownKey:
        now = self._clock.now()
        signer = signing_key(keys, key.algorithm, now)
        signs = signer is not None and signer.id == key.id
        status = key.status if verifies(key, now) else KeyStatus.DISABLED
        if key.retire_at is not None:
            status = effective_status(key, keys, now)
        return ShownKey(key, self._keys.public_data(key), status, signs)


def _get_key(keys: tuple[RealmKey, ...], key_id: str) -> RealmKey:
    return existing(next((key for key in keys if key.id == key_id), None), NO_SUCH_COMPONENT)
