"""The user profile of a realm file: it takes the place of the one that the realm has.

Keycloak: realm import, components
"""

from collections.abc import Mapping
from typing import Any

from gateway.authentication.realm_profile import PROFILE_NAME
from gateway.domain.ports.storage import DocumentKind, Stores
from gateway.domain.realm import Realm
from gateway.representations.user_profile import require_usable_profile


async def store_profile(stores: Stores, realm: Realm, profile: Mapping[str, Any] | None) -> bool:
    """Store the profile of a file, if it has one; tell whether that changed anything.

    The client scopes that it names must be there: raises InvalidInput.
    """
    if profile is None:
        return False
    scopes = await stores.client_scopes.list(realm.id)
    require_usable_profile(profile, [scope.name for scope in scopes])
    place = (realm.id, DocumentKind.USER_PROFILE, PROFILE_NAME)
    if await stores.documents.find(*place) == profile:
        return False
    await stores.documents.put(*place, profile)
    return True


async def stored_profile(stores: Stores, realm: Realm) -> Mapping[str, Any] | None:
    """Return the profile that was stored for the realm; None where the standard one holds."""
    return await stores.documents.find(realm.id, DocumentKind.USER_PROFILE, PROFILE_NAME)
