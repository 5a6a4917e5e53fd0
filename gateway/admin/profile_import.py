"""The user profile of a realm file: it takes the place of the one that the realm has.

Keycloak: realm import, components
"""

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from gateway.authentication.realm_profile import store_profile, stored_profile
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.profile_component import StoredProfile
from gateway.representations.user_profile import require_usable_profile


async def import_profile(stores: Stores, realm: Realm, profile: Mapping[str, Any] | None) -> bool:
    """Store the profile of a file, if it has one; tell whether that changed anything.

    The client scopes that it names must be there: raises InvalidInput.
    """
    if profile is None:
        return False
    scopes = await stores.client_scopes.list(realm.id)
    require_usable_profile(profile, [scope.name for scope in scopes])
    before = await stored_profile(stores, realm.id)
    if before is not None and before.document == profile:
        return False
    identity = str(uuid4()) if before is None else before.id
    await store_profile(stores, realm.id, StoredProfile(identity, profile))
    return True
