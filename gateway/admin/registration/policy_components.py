"""Client registration policies as components: listed, added, changed and removed.

Only what differs from a new realm is stored. Keycloak: components of
org.keycloak.services.clientregistration.policy.ClientRegistrationPolicy (26.7)
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final
from uuid import uuid4

from gateway.admin.access import (
    Acting,
    InvalidRequest,
    NotFound,
    WireFamily,
    duplicate_resource,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.components import (
    NO_SUCH_COMPONENT,
    NO_SUCH_PROVIDER,
    component_path,
)
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.storage import Database, DocumentKind, Stores
from gateway.domain.realm import Realm
from gateway.representations.component import Component, merged, render_component
from gateway.representations.flows import GONE
from gateway.representations.registration import (
    POLICY_PROVIDERS,
    POLICY_TYPE,
    checked_config,
    default_policies,
    described_policies,
    policies_in,
    policy_document,
)

_KIND: Final = DocumentKind.COMPONENT
_MOST: Final = 100
"""Policies of a realm: each registration reads all of them."""
_PROVIDERS: Final = frozenset(each.id for each in POLICY_PROVIDERS)


async def realm_policies(stores: Stores, realm_id: str) -> tuple[Component, ...]:
    """Return the policies of a realm."""
    return policies_in(realm_id, await stores.documents.list(realm_id, _KIND))


async def checked_policy(stores: Stores, realm_id: str, policy: Component) -> Component:
    """Return the policy with the settings that its provider has; raises UnusableSetting."""
    scopes = [scope.name for scope in await stores.client_scopes.list(realm_id)]
    return replace(policy, config=checked_config(str(policy.provider_id), policy.config, scopes))


async def put_policy(stores: Stores, realm_id: str, policy: Component) -> None:
    """Store a policy, in place of the one with its id."""
    await stores.documents.put(realm_id, _KIND, str(policy.id), policy_document(policy))


async def remove_policy(stores: Stores, realm_id: str, policy_id: str) -> None:
    """Remove a policy; one of every new realm is marked as removed."""
    if policy_id in default_policies(realm_id):
        await stores.documents.put(realm_id, _KIND, policy_id, GONE)
    else:
        await stores.documents.remove(realm_id, _KIND, policy_id)


class RegistrationPolicies:
    """The components of one type."""

    type = POLICY_TYPE
    providers = POLICY_PROVIDERS

    def __init__(self, changes: Changes) -> None:
        self._changes = changes

    async def list(self, stores: Stores, realm: Realm) -> tuple[Component, ...]:
        return await realm_policies(stores, realm.id)

    async def create(self, acting: Acting, given: Component, document: Mapping[str, Any]) -> str:
        """Add a policy and return its id; raises InvalidRequest and UnusableSetting."""
        if given.provider_id not in _PROVIDERS:
            raise InvalidRequest(NO_SUCH_PROVIDER, WireFamily.PROSE)
        policy = replace(given, id=given.id or str(uuid4()))
        async with self._changes.begin(acting, alone=True) as change:
            known = await realm_policies(change.stores, change.realm.id)
            if any(other.id == policy.id for other in known):
                raise duplicate_resource()
            if len(known) >= _MOST:
                raise InvalidRequest(f"A realm has at most {_MOST} client registration policies")
            policy = await checked_policy(change.stores, change.realm.id, policy)
            await put_policy(change.stores, change.realm.id, policy)
            path = component_path(str(policy.id))
            change.record(OperationType.CREATE, ResourceType.COMPONENT, path, document)
        return str(policy.id)

    async def replace(
        self, acting: Acting, component_id: str, given: Component, document: Mapping[str, Any]
    ) -> None:
        """Change a policy; raises NotFound, InvalidRequest, UnusableSetting, PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            current = await _one(change, component_id)
            if given.provider_id not in {None, current.provider_id}:
                raise InvalidRequest("The provider of a policy cannot be changed: add another one")
            policy = replace(
                current,
                name=given.name or current.name,
                sub_type=given.sub_type or current.sub_type,
                config=merged(current.config, given.config),
            )
            policy = await checked_policy(change.stores, change.realm.id, policy)
            if policy != current:
                await put_policy(change.stores, change.realm.id, policy)
            path = component_path(component_id)
            change.record(OperationType.UPDATE, ResourceType.COMPONENT, path, document)

    async def remove(self, acting: Acting, component_id: str) -> None:
        """Remove a policy; raises NotFound and PreconditionFailed."""
        async with self._changes.begin(acting, alone=True) as change:
            await _one(change, component_id)
            await remove_policy(change.stores, change.realm.id, component_id)
            path = component_path(component_id)
            change.record(OperationType.DELETE, ResourceType.COMPONENT, path)


class PolicyProviders:
    """Describes what policies a realm may be given; `mapper_types` are those of mappers."""

    def __init__(self, database: Database, mapper_types: Collection[str]) -> None:
        self._database = database
        self._mapper_types = mapper_types

    async def list(self, realm: Realm) -> list[dict[str, Any]]:
        """Return the providers with the client scopes and mapper types to choose from."""
        async with self._database.read() as stores:
            scopes = await stores.client_scopes.list(realm.id)
        names = (scope.name for scope in scopes)
        return list(described_policies(names, self._mapper_types))


async def _one(change: Change, component_id: str) -> Component:
    known = await realm_policies(change.stores, change.realm.id)
    found = next((each for each in known if each.id == component_id), None)
    if found is None:
        raise NotFound(NO_SUCH_COMPONENT)
    change.require_match(render_component, found)
    return found
