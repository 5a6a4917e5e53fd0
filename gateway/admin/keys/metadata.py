"""The keys of a realm, and which of them signs now. Keycloak: KeyResource."""

from dataclasses import dataclass
from typing import Any

from gateway.domain.clock import Clock
from gateway.domain.keys import KeyStatus, RealmKey, effective_status, signing_key, verifies
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.keys import ShownKey, render_keys


@dataclass(frozen=True, slots=True)
class KeyMetadata:
    """The use case."""

    database: Database
    keys: KeyFactory
    clock: Clock

    async def of(self, realm: Realm) -> dict[str, Any]:
        async with self.database.read() as stores:
            keys = await stores.keys.list(realm.id)
        return render_keys(self._shown(key, keys) for key in keys)

    def _shown(self, key: RealmKey, keys: tuple[RealmKey, ...]) -> ShownKey:
        now = self.clock.now()
        signer = signing_key(keys, key.algorithm, now)
        signs = signer is not None and signer.id == key.id
        status = key.status if verifies(key, now) else KeyStatus.DISABLED
        if key.retire_at is not None:
            status = effective_status(key, keys, now)
        return ShownKey(key, self.keys.public_data(key), status, signs)
