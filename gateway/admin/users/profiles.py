"""The user profile of a realm: what it is, what forms are made of it, and another one.

Keycloak: users/profile, users/profile/metadata
"""

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
from gateway.domain.ports.storage import Database
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
        """Return the profile."""
        async with self._database.read() as stores:
            return await profile_document(stores, realm)

    async def metadata(self, realm: Realm) -> dict[str, Any]:
        """Return what forms for a new user are made of."""
        document = await self.read(realm)
        return write_metadata(document, rules_in(realm, document), realm.login, known=False)

    async def replace(
        self, acting: Acting, document: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Store another profile, None for the standard one, and return it; raises InvalidInput."""
        kept = None if document is None else await _read(document)
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


async def _read(document: Mapping[str, Any]) -> dict[str, Any]:
    """Read in a thread: compiling many patterns takes long."""
    return await asyncio.to_thread(read_user_profile, document, None)


async def exchange_profile(change: Change, profile: StoredProfile | None) -> None:
    """Store a profile within a change, None for the standard one; raises InvalidInput."""
    if profile is not None:
        scopes = await change.stores.client_scopes.list(change.realm.id)
        require_usable_profile(profile.document, [scope.name for scope in scopes])
    await store_profile(change.stores, change.realm.id, profile)
    change.tell(realm_topic(change.realm.id))
