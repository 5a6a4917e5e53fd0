"""Makes keys from components: what an administrator, or a realm file, asks for.

Keycloak: the factories of org.keycloak.keys.KeyProvider
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from gateway.admin.access import InvalidRequest, WireFamily
from gateway.admin.components import NO_SUCH_PROVIDER
from gateway.admin.keys.work import run_key_work
from gateway.domain.clock import Clock
from gateway.domain.keys import IMPORTERS, KeyProvider, RealmKey
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.realm import Realm
from gateway.domain.secrets import Secret
from gateway.representations.component import Component, merged
from gateway.representations.keys import CERTIFICATE, KeySettings, parse_key_settings

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
        """Return what a component asks for; raises InvalidRequest and UnusableSetting."""
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

        A computed kid is exchanged; the one that an administrator has `chosen` is refused.
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
