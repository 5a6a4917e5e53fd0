"""Key providers: administrators add, change and remove a realm's keys.

A change applies to the next token: a key of higher priority signs at once, a passive one still
verifies, a disabled or removed one leaves the JWKS. If no key remains for an algorithm in use, one
is generated. Verifiers with a cached JWKS do not know a new key yet: add it inactive, wait, then
activate it. Changes require the rights of all accounts: whose owner has a private key of the realm
can issue any token.
Keycloak: org.keycloak.keys.KeyProvider
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
    duplicate_resource,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.components import NO_SUCH_COMPONENT, component_path
from gateway.admin.keys.maker import KeyMaker, require_no_subtype
from gateway.admin.keys.signing import ensure_fallback
from gateway.domain.clock import Clock
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.keys import IMPORTERS, KeyProvider, RealmKey
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.representations.component import Component, merged, render_component
from gateway.representations.keys import (
    KEY_PROVIDER_TYPE,
    KEY_PROVIDERS,
    KeySettings,
    key_component,
    parse_key_settings,
    same_material,
)

_OF_ONE_MATERIAL: Final = frozenset({KeyProvider.RSA_GENERATED, KeyProvider.RSA_ENC_GENERATED})
"""Providers whose key stays as it is where only its algorithm changes."""
_MAX_KEYS: Final = 100
"""Keys of a realm: every gateway holds all of them."""


@dataclass(frozen=True, slots=True)
class KeyComponents:
    """The components of one type: realm keys."""

    type = KEY_PROVIDER_TYPE
    providers = KEY_PROVIDERS

    database: Database
    changes: Changes
    keys: KeyFactory
    clock: Clock

    @property
    def _maker(self) -> KeyMaker:
        return KeyMaker(self.keys, self.clock)

    async def list(self, stores: Stores, realm: Realm) -> tuple[Component, ...]:
        return tuple(map(key_component, await stores.keys.list(realm.id)))

    async def create(self, acting: Acting, given: Component, document: Mapping[str, Any]) -> str:
        """Add a key and return its id."""
        provider, settings = self._maker.settings(given)
        key = await self._maker.new_key(acting.realm, given, provider, settings)
        async with self.changes.begin(acting) as change:
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

    async def replace(
        self, acting: Acting, key_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        while True:
            async with self.database.read() as stores:
                before = _one(await stores.keys.list(acting.realm.id), key_id)
            # Material is generated before any lock is held; the key may change meanwhile.
            key = await self._changed(acting.realm, before, given)
            async with self.changes.begin(acting) as change:
                if await self._exchanged(change, before, key):
                    path = component_path(key_id)
                    change.record(OperationType.UPDATE, ResourceType.COMPONENT, path, document)
                    return

    async def remove(self, acting: Acting, key_id: str) -> None:
        async with self.changes.begin(acting) as change:
            stores, realm = change.stores, change.realm
            key = _one(await stores.keys.list_for_update(realm.id), key_id)
            change.require_match(lambda: render_component(key_component(key)))
            await stores.keys.remove(realm.id, key.id)
            await ensure_fallback(stores, realm, key.algorithm, self.keys, change.now)
            change.invalidate(realm_topic(realm.id))
            change.record(OperationType.DELETE, ResourceType.COMPONENT, component_path(key.id))

    async def _exchanged(self, change: Change, before: RealmKey, key: RealmKey) -> bool:
        """Store the key unless it has changed since; return whether it was stored."""
        stores, realm = change.stores, change.realm
        keys = await stores.keys.list_for_update(realm.id)
        current = _one(keys, before.id)
        change.require_match(lambda: render_component(key_component(current)))
        if replace(current, private_key=before.private_key) != before:
            return False
        others = tuple(other for other in keys if other.id != before.id)
        await stores.keys.replace(self._maker.with_unique_kid(key, others), material=True)
        await ensure_fallback(stores, realm, before.algorithm, self.keys, change.now)
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
        return self.keys.certified(key, realm.name, self.clock.now())


def _one(keys: tuple[RealmKey, ...], key_id: str) -> RealmKey:
    key = next((key for key in keys if key.id == key_id), None)
    if key is None:
        raise NotFound(NO_SUCH_COMPONENT)
    return key
