"""The user profile of a realm: a document, or a component of which there is one or none.

Keycloak: users/profile, users/profile/metadata; realm import; the component of
declarative-user-profile, which Ansible's keycloak_userprofile changes
"""

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.changes import Administration, Change
from gateway.admin.components import NO_SUCH_COMPONENT, NO_SUCH_PROVIDER, component_path
from gateway.authentication.realm_profile import (
    profile_document,
    rules_in,
    store_profile,
    stored_profile,
)
from gateway.domain.errors import AlreadyExists, UnusableSetting
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.random_values import uuid4
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, NotFound, WireFamily
from gateway.domain.stored_profile import PROFILE_PROVIDER
from gateway.representations.components import Component, ProviderDescription, render_component
from gateway.representations.stored_user_profile import (
    PROFILE_CONFIG,
    PROFILE_TYPE,
    StoredProfile,
    parse_profile_text,
    profile_component,
)
from gateway.representations.user_profile import (
    parse_user_profile,
    render_metadata,
    require_usable_profile,
)

_RECORDED: Final = ResourceType.COMPONENT
_PROVIDER: Final = ProviderDescription(
    PROFILE_PROVIDER, "Which attributes users have, and what their values must be"
)


class UserProfiles(Administration):
    """The use cases. All raise StoreUnavailable."""

    async def get_profile(self, realm: Realm) -> Mapping[str, Any]:
        async with self._database.read() as stores:
            return await profile_document(stores, realm)

    async def get_metadata(self, realm: Realm) -> dict[str, Any]:
        """Return the profile metadata of new users."""
        document = await self.get_profile(realm)
        return render_metadata(document, rules_in(realm, document), realm.login, known=False)

    async def replace_profile(
        self, acting: Acting, document: Mapping[str, Any] | None
    ) -> Mapping[str, Any]:
        """Store another profile, None for the standard one, and return it; raises InvalidInput."""
        kept = None
        if document is not None:  # in a thread: compiling many patterns takes long
            kept = await asyncio.to_thread(parse_user_profile, document, None)
        async with self._changes.begin(acting, alone=True) as change:
            stores, realm = change.stores, change.realm
            current = await profile_document(stores, realm)
            change.require_match(lambda: current)
            before = await stored_profile(stores, realm.id)
            unchanged = before is None and kept == current
            after = None if kept is None or unchanged else StoredProfile(str(uuid4()), kept)
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
    change.invalidate(realm_topic(change.realm.id))


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
    scopes = await stores.client_scopes.list_values(realm.id)
    require_usable_profile(profile.document, [scope.name for scope in scopes])


async def profile_components(stores: Stores, realm: Realm) -> tuple[Component, ...]:
    """Return the user profile as a component, where the realm has one of its own."""
    stored = await stored_profile(stores, realm.id)
    return () if stored is None else (profile_component(realm.id, stored),)


class ProfileComponents(Administration):
    """The components of one type: the user profile."""

    type = PROFILE_TYPE
    providers = (_PROVIDER,)

    async def list_components(self, stores: Stores, realm: Realm) -> tuple[Component, ...]:
        return await profile_components(stores, realm)

    async def create_component(
        self, acting: Acting, given: Component, document: Mapping[str, Any]
    ) -> str:
        """Store a profile and return its id.

        Raises InvalidRequest, UnusableSetting, InvalidInput, or AlreadyExists where there is one.
        """
        _require_provider(given)
        text = _text(given)
        if text is None:
            raise UnusableSetting(f"{PROFILE_CONFIG} is required")
        profile = StoredProfile(
            given.id or str(uuid4()), parse_profile_text(text), text, given.name
        )
        async with self._changes.begin(acting, alone=True) as change:
            if await stored_profile(change.stores, change.realm.id) is not None:
                raise AlreadyExists("The realm has a user profile: change that")
            await exchange_profile(change, profile)
            change.record(OperationType.CREATE, _RECORDED, component_path(profile.id), document)
        return profile.id

    async def replace_component(
        self, acting: Acting, component_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        """Change the profile; raises the errors of `create_component`, and NotFound."""
        _require_provider(given)
        text = _text(given)
        read = None if text is None else parse_profile_text(text)
        async with self._changes.begin(acting, alone=True) as change:
            after = await _known(change, component_id)
            if read is not None:
                after = replace(after, document=read, text=text)
            await exchange_profile(change, replace(after, name=given.name or after.name))
            path = component_path(component_id)
            change.record(OperationType.UPDATE, _RECORDED, path, document)

    async def remove_component(self, acting: Acting, component_id: str) -> None:
        """Restore the standard profile; raises NotFound."""
        async with self._changes.begin(acting, alone=True) as change:
            await _known(change, component_id)
            await exchange_profile(change, None)
            change.record(OperationType.DELETE, _RECORDED, component_path(component_id))


async def _known(change: Change, component_id: str) -> StoredProfile:
    stored = await stored_profile(change.stores, change.realm.id)
    if stored is None or stored.id != component_id:
        raise NotFound(NO_SUCH_COMPONENT)
    change.require_match(render_component, profile_component(change.realm.id, stored))
    return stored


def _require_provider(given: Component) -> None:
    if given.provider_id not in {None, PROFILE_PROVIDER}:
        raise InvalidRequest(NO_SUCH_PROVIDER, WireFamily.PROSE)


def _text(given: Component) -> str | None:
    texts = given.config.get(PROFILE_CONFIG, ())
    if len(texts) > 1:
        raise UnusableSetting(f"{PROFILE_CONFIG} should be a single entry")
    return texts[0] if texts else None
