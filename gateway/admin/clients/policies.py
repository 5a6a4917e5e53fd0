"""Client profiles and policies of a realm: read, replaced, and enforced for every client.

They apply to every way in which a client is created, changed, viewed or removed. Partial imports
and whole realms count too; of the files of an operator refusals are reported.
Keycloak: 7.1 (client-policies); it judges no client of a file (26.7)
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.access import Acting
from gateway.admin.changes import Administration
from gateway.client_policies import (
    ClientChange,
    EventKind,
    PolicyRefusal,
    Updater,
    UpdateSource,
    apply_to_change,
    list_global_profiles,
)
from gateway.domain.clients import Client
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.ports.users import RoleQuery
from gateway.domain.realm import Realm
from gateway.domain.refusals import InvalidRequest, WireFamily
from gateway.domain.roles import EffectiveRoles
from gateway.representations.clients import client_addresses, with_client_settings
from gateway.representations.realms import (
    policies_of,
    render_policies,
    render_profiles,
    with_policies,
    with_profiles,
)


@dataclass(frozen=True, slots=True)
class Part:
    """One of the two documents: `path` below the realm, how to render and how to replace it.

    `of_every_realm` is what no realm can change.
    """

    path: str
    shown: Callable[[Realm], dict[str, Any]]
    changed: Callable[[Realm, Mapping[str, Any]], Realm]
    of_every_realm: Mapping[str, Any]


PROFILES: Final = Part(
    *("client-policies/profiles", render_profiles, with_profiles),
    {"globalProfiles": list_global_profiles()},
)
POLICIES: Final = Part(
    *("client-policies/policies", render_policies, with_policies), {"globalPolicies": []}
)


class ClientPolicies(Administration):
    """Reads and replaces. All methods raise StoreUnavailable."""

    async def get_part(self, realm: Realm, part: Part) -> dict[str, Any]:
        async with self._database.read() as stores:
            stored = await stores.realms.find_by_name(realm.name)
        return part.shown(stored or realm)

    async def replace_part(self, acting: Acting, part: Part, document: Mapping[str, Any]) -> None:
        async with self._changes.begin(acting, alone=True) as change:
            change.require_match(part.shown, change.realm)
            realm = part.changed(change.realm, document)
            await change.replace_realm(realm)
            change.invalidate(realm_topic(realm.id))
            change.record(OperationType.UPDATE, ResourceType.REALM, part.path, document)


@dataclass(frozen=True, slots=True)
class PolicyCaller:
    """Who acts on clients, and by what right; `is_registration`: at the registration endpoint.

    `brought_roles` are the names of the roles that a file brings, by public name of the client.
    """

    acting: Acting
    source: UpdateSource = UpdateSource.USER
    is_registration: bool = False
    brought_roles: Mapping[str, frozenset[str]] = field(default_factory=dict)


async def enforce_policies(
    stores: Stores,
    realm: Realm,
    caller: PolicyCaller,
    kind: EventKind,
    proposed: Client,
    *,
    before: Client | None = None,
    names_authenticator: bool = True,
) -> Client:
    """Return the client as the realm's policies leave it; raises PolicyRefusal.

    `names_authenticator` is false where the request leaves open how the client authenticates.
    """
    policies = policies_of(realm)
    if not policies:
        return proposed
    change = ClientChange(
        kind,
        before,
        proposed,
        client_addresses,
        await updater_of(stores, realm, caller),
        is_registration=caller.is_registration,
        names_authenticator=names_authenticator,
        own_roles=await _own_roles(stores, realm, caller, before or proposed),
    )
    return apply_to_change(policies, change, with_client_settings)


@contextmanager
def refused_by_policies(path: str = "") -> Iterator[None]:
    """Turn a refusal into the answer of the admin API; `path` names one client of several."""
    try:
        yield
    except PolicyRefusal as refusal:
        text = f"{path}: {refusal.text}" if path else refusal.text
        raise InvalidRequest(text, WireFamily.OAUTH, code=refusal.error) from refusal


async def _own_roles(
    stores: Stores, realm: Realm, caller: PolicyCaller, client: Client
) -> frozenset[str]:
    """Return the names of the client's roles; a new client has the roles of its file."""
    found = await stores.role_catalogue.list_roles(realm.id, RoleQuery(container=client.id))
    brought = caller.brought_roles.get(client.client_id, frozenset())
    return brought.union(each.role.name for each in found)


async def updater_of(stores: Stores, realm: Realm, caller: PolicyCaller) -> Updater:
    """Return who acts, with the roles and groups that a user of the realm has.

    They are looked up only where the realm has policies.
    """
    found, address = caller.acting.caller, caller.acting.address
    if found is None or found.realm.id != realm.id or not policies_of(realm):
        return Updater(caller.source, address, EffectiveRoles())
    roles = await stores.roles.effective(realm.id, found.user.id)
    groups = await stores.groups.of_user(realm.id, found.user.id)
    return Updater(caller.source, address, roles, tuple(group.path for group in groups))
