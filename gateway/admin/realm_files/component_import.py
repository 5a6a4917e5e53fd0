"""Keys and client registration policies of a realm file.

Those of a new realm replace what a realm is created with; a realm that exists keeps its keys, gets
the missing ones, and the policies as the file has them. Keycloak: realm import, components
"""

from dataclasses import replace
from uuid import uuid4

from gateway.admin.access import InvalidRequest
from gateway.admin.keys import ENCRYPTION_OF_NEW_REALMS, KeyMaker, ensure_keys
from gateway.admin.registration import (
    checked_policy,
    put_policy,
    realm_policies,
    remove_policy,
)
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError, InvalidInput, UnusableSetting
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.component import Component
from gateway.representations.component_files import ComponentsInput
from gateway.representations.keys import KEY_PROVIDER_TYPE, key_component
from gateway.representations.registration import POLICY_TYPE, policy_document


async def store_keys(
    stores: Stores,
    realm: Realm,
    given: ComponentsInput,
    factory: KeyFactory,
    clock: Clock,
    *,
    new: bool,
) -> bool:
    """Add the keys of the file; return whether any was added. Raises InvalidInput."""
    if new and not given.keys:
        return await ensure_keys(stores, realm, ENCRYPTION_OF_NEW_REALMS, factory, clock)
    maker, changed = KeyMaker(factory, clock), False
    for component in given.keys:
        keys = await stores.keys.list(realm.id)
        known = [key_component(key) for key in keys]
        if any(_is_same(component, other) for other in known):
            continue
        try:
            provider, settings = maker.settings(component)
            key = await maker.new_key(realm, component, provider, settings)
            await stores.keys.add(maker.with_unique_kid(key, keys, settings.kid))
        except (InvalidRequest, UnusableSetting) as error:
            raise _refused(KEY_PROVIDER_TYPE, component, str(error)) from error
        changed = True
    return changed


async def store_policies(
    stores: Stores, realm: Realm, given: ComponentsInput, *, new: bool
) -> None:
    """Store the policies of the file; raises InvalidInput."""
    if not given.policies:
        return
    known = await realm_policies(stores, realm.id)
    if new:
        for policy in known:
            await remove_policy(stores, realm.id, str(policy.id))
        known = ()
    for component in given.policies:
        same = next((other for other in known if _is_same(component, other)), None)
        policy_id = same.id if same else component.id or str(uuid4())
        try:
            policy = await checked_policy(stores, realm.id, replace(component, id=policy_id))
        except UnusableSetting as error:
            raise _refused(POLICY_TYPE, component, str(error)) from error
        if same is None or policy_document(policy) != policy_document(same):
            await put_policy(stores, realm.id, policy)


def _is_same(given: Component, known: Component) -> bool:
    if given.id is not None and given.id == known.id:
        return True
    names = (known.name, known.provider_id, known.sub_type)
    return (given.name, given.provider_id, given.sub_type) == names


def _refused(kind: str, component: Component, reason: str) -> InvalidInput:
    path = f"components.{kind}[{component.name or component.provider_id}]"
    sentence = f"this component cannot be used: {reason}"
    return InvalidInput((FieldError(path, "a component", "a usable one", sentence=sentence),))
