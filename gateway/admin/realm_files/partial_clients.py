"""Clients of a partial import, as the client policies of the realm leave them.

Keycloak: 7.1 (partialImport), where policies do not judge them
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gateway.admin.access import (
    ControlledObject,
    ObjectKind,
    is_administrative_client,
    require_may_control,
)
from gateway.admin.changes import Change
from gateway.admin.clients import (
    ClientAdministration,
    PolicyCaller,
    default_clients,
    enforce_policies,
    refused_by_policies,
)
from gateway.admin.realm_files.client_policies import place_of_client, roles_of_clients
from gateway.client_policies import EventKind
from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import Client
from gateway.domain.errors import AlreadyExists, FieldError
from gateway.domain.limits.event_loop import free_in_slices, in_slices
from gateway.domain.realm import Realm
from gateway.representations.clients import given_field, new_client_document
from gateway.representations.masking import MASK
from gateway.representations.realm_files import Action, IfExists, Kind, Outcome
from gateway.representations.refusals import describe, raise_all, repeated_names
from gateway.representations.roles import RoleInput


class PartialClients:
    """Adds, skips or replaces clients. `new` has the ids of the added and replaced ones."""

    def __init__(
        self,
        change: Change,
        administration: ClientAdministration,
        policy: IfExists,
        roles: Iterable[RoleInput],
    ) -> None:
        """Take the roles that are imported with the clients: client policies judge by them."""
        self._change = change
        self._caller = PolicyCaller(change.acting, brought_roles=roles_of_clients(roles))
        self._administration = administration
        self._policy = policy
        self.new: dict[str, str] = {}

    async def store(self, items: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Outcome]:
        """Store the clients; raises AlreadyExists, Forbidden, InvalidRequest and InvalidInput."""
        realm = self._change.realm
        wanted = await asyncio.to_thread(_wanted, items, realm)
        stores, realm_id = self._change.stores, self._change.realm.id
        found = await stores.clients.named(realm_id, [name for name, _ in wanted])
        known = {client.client_id: client for client in found}
        if known and self._policy is IfExists.FAIL:
            first = next(name for name, _ in wanted if name in known)
            raise AlreadyExists(f"Client id '{first}' already exists")
        scopes = await stores.client_scopes.list(realm_id)
        outcomes = [
            await self._store(known.get(name), item, scopes)
            async for name, item in in_slices(wanted)
        ]
        held: list[object] = [*found]
        del found, known
        await free_in_slices(held)
        return outcomes

    async def _store(
        self, before: Client | None, item: Mapping[str, Any], scopes: Sequence[ClientScope]
    ) -> Outcome:
        if before is None:
            return await self._add(item, scopes, Action.ADDED)
        if self._policy is IfExists.SKIP:
            return Outcome(Action.SKIPPED, Kind.CLIENT, before.client_id, before.id)
        controlled = ControlledObject(ObjectKind.CLIENT, before.id)
        stores, realm = self._change.stores, self._change.realm
        await require_may_control(self._change.acting, stores, controlled, lock=True)
        with refused_by_policies(place_of_client(before.client_id)):
            await enforce_policies(
                stores, realm, self._caller, EventKind.UNREGISTER, before, before=before
            )
        await self._administration.remove_client(self._change, before)
        whole = {**item, **_kept(before, item)}
        return await self._add(whole, scopes, Action.OVERWRITTEN, before)

    async def _add(
        self,
        item: Mapping[str, Any],
        scopes: Sequence[ClientScope],
        action: Action,
        replaced: Client | None = None,
    ) -> Outcome:
        at = place_of_client(given_field(item, "clientId"))
        with refused_by_policies(at):
            client = await self._administration.add_client(
                self._change,
                new_client_document(item),
                scopes=scopes,
                report_ineffective=True,
                policies=self._caller,
                sent=item,
                replaced=replaced,
            )
        self.new[client.client_id] = client.id
        return Outcome(action, Kind.CLIENT, client.client_id, client.id)


def _wanted(
    items: Sequence[tuple[str, Mapping[str, Any]]], realm: Realm
) -> list[tuple[str, Mapping[str, Any]]]:
    built_in = {document["clientId"] for document in default_clients(realm)}
    return [
        (name, item)
        for name, item in _named(items)
        if name not in built_in and not is_administrative_client(realm, name)
    ]


def _named(
    items: Sequence[tuple[str, Mapping[str, Any]]],
) -> list[tuple[str, Mapping[str, Any]]]:
    named = [(at, given_field(item, "clientId"), item) for at, item in items]
    raise_all(
        FieldError(f"{at}.clientId", describe(name), "the client's public name")
        for at, name, _ in named
        if not isinstance(name, str)
    )
    raise_all(repeated_names((name for _, name, _ in named), "clients", "each client once"))
    return [(name, item) for _, name, item in named]


def _kept(before: Client, item: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"id": before.id}
    if before.secret is not None and given_field(item, "secret") in {None, "", MASK}:
        kept["secret"] = before.secret.reveal()
    return kept
