"""Which administrative roles of users tokens of a client may carry: decided by its last change.

The reach of a client is everything that decides who receives its tokens and what they may carry.
A change of the client's document decides on it: tokens then carry the administrative roles that
the caller has, at most. Other changes, as of its mappers, its secret, or a client scope that it
uses, only take roles away. The built-in clients, to which administrators sign in, have the reach of
everything: only a caller with the rights of all accounts of the realm changes it, and disables
them. A client that is enabled again carries at most the caller's roles: its tokens were refused.

Every client is stored by this module. See docs/decisions/0022-reach-of-clients.md
"""

from collections.abc import Mapping
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    is_administrative_client,
    reach_decided_by,
    require_rights_of_realm_accounts,
)
from gateway.admin.changes import Change
from gateway.domain.clients import EVERY_ADMINISTRATIVE_ROLE, AdministrativeReach, Client
from gateway.domain.ports.invalidation import client_topic
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.representations.clients import changes_reach, stated_reach, with_reach

BUILT_IN: Final = frozenset(
    {"account", "account-console", "admin-cli", "broker", "security-admin-console"}
)
"""Clients of every realm, which Keycloak does not remove."""


async def store_new_client(
    stores: Stores, acting: Acting, client: Client, document: Mapping[str, Any]
) -> Client:
    """Add a client with the reach that its document states, as far as the caller decides on it."""
    stated = stated_reach(document.get("attributes"))
    decided = with_reach(client, stated.within(reach_decided_by(acting)))
    await stores.clients.add(decided)
    return decided


async def store_changed_client(
    stores: Stores, acting: Acting, before: Client, after: Client
) -> Client:
    """Store a client whose document was changed; raises MissingRights for a built-in one."""
    decided = _with_reach_kept(acting, before, after)
    if changes_reach(before, after):
        _require_changeable(acting, before, after)
        decided = with_reach(after, reach_decided_by(acting))
    await stores.clients.replace(decided)
    return decided


async def store_changed_part(
    stores: Stores, acting: Acting, before: Client, after: Client
) -> Client:
    """Store a client of which a part was changed; raises MissingRights for a built-in one.

    The caller has not decided on the rest: the reach does not grow.
    """
    decided = _with_reach_kept(acting, before, after)
    if changes_reach(before, after):
        _require_changeable(acting, before, after)
        decided = with_reach(after, before.reach.within(reach_decided_by(acting)))
    await stores.clients.replace(decided)
    return decided


async def store_client_of_file(stores: Stores, client: Client, before: Client | None) -> None:
    """Store a client of a realm file, with the reach that the file states.

    Operators import files, and administrators create realms over which they have every right.
    """
    if before is None:
        await stores.clients.add(client)
    elif client != before:
        await stores.clients.replace(client)


async def store_built_in_client(stores: Stores, client: Client) -> None:
    """Add a client that every realm has."""
    await stores.clients.add(with_reach(client, EVERY_ADMINISTRATIVE_ROLE))


async def store_renamed_client(stores: Stores, client: Client) -> None:
    """Store a client whose name or addresses follow the name of a realm; its reach stays."""
    await stores.clients.replace(client)


async def rename_in_reaches(stores: Stores, master: Realm, before: str, after: str | None) -> None:
    """Rename the client that owns roles over a realm in reaches; None removes the roles.

    Another realm of the former name would have its roles in them otherwise.
    """
    for client in await stores.clients.list_clients(master.id):
        owned = {role for role in client.reach.roles if role.startswith(f"{before}/")}
        if owned:
            kept = client.reach.roles - owned
            if after is not None:
                kept |= {f"{after}/{role.removeprefix(f'{before}/')}" for role in owned}
            await stores.clients.replace(with_reach(client, AdministrativeReach(roles=kept)))


async def decide_on_client(change: Change, client: Client) -> Client:
    """Store that the caller approves the client as it is; raises MissingRights as above."""
    _require_changeable(change.acting, client, client)
    decided = with_reach(client, reach_decided_by(change.acting))
    await change.stores.clients.replace(decided)
    return decided


async def lower_reach(change: Change, client_id: str) -> None:
    """Lower the reach of a client of which something beside its document was changed."""
    client = await change.stores.clients.get_for_update(change.realm.id, client_id)
    if client is not None:
        await _lower(change, client)


async def lower_reach_of_scope(change: Change, *names: str) -> None:
    """Lower the reach of all clients that use a client scope of one of the names.

    Raises MissingRights where a built-in client is among them.
    """
    if reach_decided_by(change.acting).everything:
        return
    stores, realm_id = change.stores, change.realm.id
    for client in await stores.clients.named(realm_id, sorted(BUILT_IN)):
        if not {*client.default_client_scopes, *client.optional_client_scopes}.isdisjoint(names):
            _require_changeable(change.acting, client)
    for client in await stores.clients.using_scopes(realm_id, names):
        await lower_reach(change, client.id)


async def _lower(change: Change, client: Client) -> None:
    _require_changeable(change.acting, client, client)
    lowered = client.reach.within(reach_decided_by(change.acting))
    if lowered != client.reach:
        await change.stores.clients.replace(with_reach(client, lowered))
        change.invalidate(client_topic(client.realm_id, client.id))


def _with_reach_kept(acting: Acting, before: Client, after: Client) -> Client:
    """Return the client with its reach, lowered where it is enabled again.

    Raises MissingRights for a built-in client that tokens would be refused of, or issued again.
    """
    if before.enabled != after.enabled or before.not_before != after.not_before:
        _require_changeable(acting, before)
    if after.enabled and not before.enabled:
        return with_reach(after, before.reach.within(reach_decided_by(acting)))
    return with_reach(after, before.reach)


def _require_changeable(acting: Acting, *clients: Client) -> None:
    for client in clients:
        if is_built_in(acting.realm, client):
            require_rights_of_realm_accounts(acting, f"The client {client.client_id}")


def is_built_in(realm: Realm, client: Client) -> bool:
    """Return whether it is a client of every realm, or owns administrative roles."""
    name = client.client_id
    return name in BUILT_IN or is_administrative_client(realm, name)
