"""The user profile of a realm as a component, of which there is one or none.

Keycloak: the component of declarative-user-profile, which Ansible's keycloak_userprofile changes
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import Acting, BadRequest, Change, Changes, Missing
from gateway.admin.components import NO_SUCH_COMPONENT, NO_SUCH_PROVIDER, component_path
from gateway.admin.users.profiles import exchange_profile
from gateway.authentication.realm_profile import stored_profile
from gateway.domain.errors import AlreadyExists, UnusableSetting
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.component import Component, write_component
from gateway.representations.provider_properties import ProviderDescription
from gateway.representations.user_profiles import (
    PROFILE_CONFIG,
    PROFILE_PROVIDER,
    PROFILE_TYPE,
    StoredProfile,
    read_profile_text,
)

_RECORDED: Final = ResourceType.COMPONENT
_PROVIDER: Final = ProviderDescription(
    PROFILE_PROVIDER, "Which attributes users have, and what their values must be"
)


class ProfileComponents:
    """The components of one type: the user profile."""

    type = PROFILE_TYPE
    providers = (_PROVIDER,)

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def list(self, stores: Stores, realm: Realm) -> tuple[Component, ...]:
        stored = await stored_profile(stores, realm.id)
        return () if stored is None else (_component(realm, stored),)

    async def create(self, acting: Acting, given: Component, document: Mapping[str, Any]) -> str:
        """Store a profile and return its id.

        Raises BadRequest, UnusableSetting, InvalidInput, or AlreadyExists where there is one.
        """
        _require_provider(given)
        text = _text(given)
        if text is None:
            raise UnusableSetting(f"{PROFILE_CONFIG} is required")
        profile = StoredProfile(given.id or str(uuid4()), read_profile_text(text), text, given.name)
        async with self._changes.begin(acting, alone=True) as change:
            if await stored_profile(change.stores, change.realm.id) is not None:
                raise AlreadyExists("The realm has a user profile: change that")
            await exchange_profile(change, profile)
            change.record(OperationType.CREATE, _RECORDED, component_path(profile.id), document)
        return profile.id

    async def replace(
        self, acting: Acting, component_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        """Change the profile; raises what `create` does, and Missing."""
        _require_provider(given)
        text = _text(given)
        read = None if text is None else read_profile_text(text)
        async with self._changes.begin(acting, alone=True) as change:
            after = await _known(change, component_id)
            if read is not None:
                after = replace(after, document=read, text=text)
            await exchange_profile(change, replace(after, name=given.name or after.name))
            path = component_path(component_id)
            change.record(OperationType.UPDATE, _RECORDED, path, document)

    async def remove(self, acting: Acting, component_id: str) -> None:
        """Restore the standard profile; raises Missing."""
        async with self._changes.begin(acting, alone=True) as change:
            await _known(change, component_id)
            await exchange_profile(change, None)
            change.record(OperationType.DELETE, _RECORDED, component_path(component_id))


async def _known(change: Change, component_id: str) -> StoredProfile:
    stored = await stored_profile(change.stores, change.realm.id)
    if stored is None or stored.id != component_id:
        raise Missing(NO_SUCH_COMPONENT)
    change.require_match(write_component(_component(change.realm, stored)))
    return stored


def _component(realm: Realm, stored: StoredProfile) -> Component:
    return Component(
        id=stored.id,
        name=stored.name,
        provider_id=PROFILE_PROVIDER,
        provider_type=PROFILE_TYPE,
        parent_id=realm.id,
        config={PROFILE_CONFIG: (stored.config,)},
    )


def _require_provider(given: Component) -> None:
    if given.provider_id not in {None, PROFILE_PROVIDER}:
        raise BadRequest(NO_SUCH_PROVIDER)


def _text(given: Component) -> str | None:
    texts = given.config.get(PROFILE_CONFIG, ())
    if len(texts) > 1:
        raise UnusableSetting(f"{PROFILE_CONFIG} should be a single entry")
    return texts[0] if texts else None
