"""The user profile of a realm file: it takes the place of the one that the realm has.

Keycloak: realm import, components
"""

from dataclasses import replace
from uuid import uuid4

from gateway.authentication.realm_profile import store_profile, stored_profile
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.user_profiles import StoredProfile, require_usable_profile


async def import_profile(stores: Stores, realm: Realm, profile: StoredProfile | None) -> bool:
    """Store the profile of a file, if it has one; tell whether that changed anything.

    The client scopes that it names must be there: raises InvalidInput.
    """
    if profile is None:
        return False
    scopes = await stores.client_scopes.list(realm.id)
    require_usable_profile(profile.document, [scope.name for scope in scopes])
    before = await stored_profile(stores, realm.id)
    if before is None:
        after = replace(profile, id=str(uuid4()))
    else:
        after = replace(profile, id=before.id, name=before.name)
    if before is not None and before.config == after.config:
        return False
    await store_profile(stores, realm.id, after)
    return True
