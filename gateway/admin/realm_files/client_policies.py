"""Client policies that judge the clients of a realm file, by the policies that the realm will have.

A caller's file is refused as a whole, and its clients get what the policies demand, as one by one.
The operator's file is stored as it is, and refusals are reported: it may be older than the
policies. The clients of every realm are not judged, since they are made without policies.
Keycloak 26.7 judges no client of a file.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from gateway.admin.access import Acting, is_administrative_client, operator
from gateway.admin.clients import (
    ClientChange,
    PolicyCaller,
    default_clients,
    enforce_policies,
    refused_by_policies,
    updater_of,
    with_rotation_applied,
)
from gateway.client_policies import EventKind, PolicyRefusal
from gateway.domain.clients import Client
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError
from gateway.domain.limits.event_loop import in_slices
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.realms import policies_of
from gateway.representations.refusals import describe_name
from gateway.representations.roles import RoleInput

ClientChanges = tuple[ClientChange, ...]


def roles_of_clients(roles: Iterable[RoleInput]) -> Mapping[str, frozenset[str]]:
    """Return the names of the roles of a file by the public name of their client."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for role in roles:
        if role.role.client is not None:
            found[role.role.client].add(role.role.name)
    return {client: frozenset(names) for client, names in found.items()}


async def apply_policies(
    stores: Stores,
    realm: Realm,
    changes: ClientChanges,
    roles: Iterable[RoleInput],
    *,
    acting: Acting,
    clock: Clock,
) -> ClientChanges:
    """Return the clients as the policies leave them; raises InvalidRequest for a refused one."""
    if not policies_of(realm):
        return changes
    caller = PolicyCaller(acting, brought_roles=roles_of_clients(roles))
    updater = await updater_of(stores, realm, caller)
    exempt = _Exempt(realm)
    applied: list[ClientChange] = []
    async for change in in_slices(changes):
        client = change.client
        if not exempt.covers(client):
            with refused_by_policies(place_of_client(client.client_id)):
                client = await _judged(stores, realm, caller, change)
            client = with_rotation_applied(realm, client, clock, updater)
        applied.append(replace(change, client=client))
    return tuple(applied)


async def list_policy_refusals(
    stores: Stores, realm: Realm, changes: ClientChanges, roles: Iterable[RoleInput]
) -> tuple[FieldError, ...]:
    """Return the refused clients of an operator's file, each with the text of the policy."""
    if not policies_of(realm):
        return ()
    caller = PolicyCaller(operator(realm), brought_roles=roles_of_clients(roles))
    exempt = _Exempt(realm)
    found: list[FieldError] = []
    async for change in in_slices(changes):
        if exempt.covers(change.client):
            continue
        try:
            await _judged(stores, realm, caller, change)
        except PolicyRefusal as refusal:
            sentence = f"a client policy of the realm refuses the client: {refusal.text}"
            given = describe_name(change.client.client_id)
            place = place_of_client(change.client.client_id)
            found.append(FieldError(place, given, "a client by the policies", sentence=sentence))
    return tuple(found)


async def _judged(
    stores: Stores, realm: Realm, caller: PolicyCaller, change: ClientChange
) -> Client:
    return await enforce_policies(
        stores,
        realm,
        caller,
        EventKind.REGISTER if change.before is None else EventKind.UPDATE,
        change.client,
        before=change.before,
        names_authenticator=change.names_authenticator or change.before is not None,
    )


class _Exempt:
    """The clients that a realm has from its creation, and those of administrative roles."""

    def __init__(self, realm: Realm) -> None:
        self._realm = realm
        self._names = {document["clientId"] for document in default_clients(realm)}

    def covers(self, client: Client) -> bool:
        name = client.client_id
        return name in self._names or is_administrative_client(self._realm, name)


def place_of_client(client_id: str) -> str:
    """Return how errors name a client of a file."""
    return f"clients[{describe_name(client_id)}]"
