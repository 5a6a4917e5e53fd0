"""The user profile of a realm. Keycloak: users/profile, users/profile/metadata; realm import."""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from gateway.admin.access import Acting, Change, Changes
from gateway.authentication.realm_profile import (
    profile_document,
    rules_in,
    store_profile,
    stored_profile,
)
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.realm import Realm
from gateway.representations.user_profiles import (
    StoredProfile,
    read_user_profile,
    require_usable_profile,
    write_metadata,
)


class UserProfiles:
    """The use cases. All raise StoreUnavailable."""

    def __init__(self, database: Database, changes: Changes) -> None:
        self._database = database
        self._changes = changes

    async def read(self, realm: Realm) -> Mapping[str, Any]:
        async with self._database.read() as stores:
            return await profile_document(stores, realm)

    async def metadata(self, realm: Realm) -> dict[str, Any]:
        """Return the profile metadata of new users."""
        document = await self.read(realm)
        return write_metadata(document, rules_in(realm, document), realm.login, known=False)

    async def replace(
        self, acting: Acting, document: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Store another profile, None for the standard one, and return it; raises InvalidInput."""
        kept = None
        if document is not None:  # in a thread: compiling many patterns takes long
            kept = await asyncio.to_thread(read_user_profile, document, None)
        async with self._changes.begin(acting, alone=True) as change:
            stores, realm = change.stores, change.realm
            change.require_match(await profile_document(stores, realm))
            before = await stored_profile(stores, realm.id)
            after = None if kept is None else StoredProfile(str(uuid4()), kept)
            if after is not None and before is not None:
                after = replace(after, id=before.id, name=before.name)
            await exchange_profile(change, after)
            stored = await profile_document(stores, realm)
            change.record(OperationType.UPDATE, ResourceType.USER_PROFILE, "users/profile", stored)
        return stored


async def exchange_profile(change: Change, profile: StoredProfile | None) -> None:
    """Store a profile within a change, None for the standard one; raises InvalidInput."""
    if profile is not None:
        await _require_usable(change.stores, change.realm, profile)
    await store_profile(change.stores, change.realm.id, profile)
    change.tell(realm_topic(change.realm.id))


async def import_profile(stores: Stores, realm: Realm, profile: StoredProfile | None) -> bool:
    """Replace the profile of the realm by that of a realm file; return whether it changed.

    Raises InvalidInput for client scopes that do not exist.
    """
    if profile is None:
        return False
    await _require_usable(stores, realm, profile)
    before = await stored_profile(stores, realm.id)
    if before is None:
        after = replace(profile, id=str(uuid4()))
    else:
        after = replace(profile, id=before.id, name=before.name)
    if before is not None and before.config == after.config:
        return False
    await store_profile(stores, realm.id, after)
    return True


async def _require_usable(stores: Stores, realm: Realm, profile: StoredProfile) -> None:
    scopes = await stores.client_scopes.list(realm.id)
    require_usable_profile(profile.document, [scope.name for scope in scopes])
