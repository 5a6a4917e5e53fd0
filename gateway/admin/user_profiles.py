"""The user profile of a realm: what it is, what forms are made of it, and another one.

Keycloak: users/profile, users/profile/metadata; the component of declarative-user-profile
"""

from collections.abc import Mapping
from typing import Any

from gateway.admin.access import Acting
from gateway.admin.changes import Change, Changes
from gateway.authentication.realm_profile import PROFILE_NAME, profile_document, rules_in
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database, DocumentKind
from gateway.domain.realm import Realm
from gateway.representations.user_profile import read_user_profile
from gateway.representations.user_profile_metadata import write_metadata


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
        async with self._changes.begin(acting, alone=True) as change:
            change.require_match(await profile_document(change.stores, change.realm))
            stored = await self.replace_within(change, document)
            change.record(OperationType.UPDATE, ResourceType.USER_PROFILE, "users/profile", stored)
        return stored

    async def replace_within(
        self, change: Change, document: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Do the same as a part of another change, and leave the event to it."""
        realm, documents = change.realm, change.stores.documents
        if document is None:
            await documents.remove(realm.id, DocumentKind.USER_PROFILE, PROFILE_NAME)
        else:
            scopes = await change.stores.client_scopes.list(realm.id)
            kept = read_user_profile(document, [scope.name for scope in scopes])
            await documents.put(realm.id, DocumentKind.USER_PROFILE, PROFILE_NAME, kept)
        change.tell(realm_topic(realm.id))
        return await profile_document(change.stores, realm)
