"""The clients of a realm file: new ones are added, known ones changed, none removed."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from gateway.admin.client_reach import store_client_of_file
from gateway.admin.client_scopes import ScopeChoice, inherited_from
from gateway.admin.clients.defaults import BROKER
from gateway.admin.clients.preparation import changed_client, prepared_client
from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import OWNER_OF_A_REALM, SECRET_CREATED, Client
from gateway.domain.clock import Clock
from gateway.domain.errors import FieldError
from gateway.domain.ports.storage import Stores
from gateway.representations.clients import (
    given_field,
    parse_client,
    stated_reach,
    with_import_attributes,
    with_reach,
)
from gateway.representations.field_table import snake_case
from gateway.representations.refusals import attempt, raise_all, repeated_names
from gateway.representations.shapes import MASK

_SCOPES: Final = "defaultClientScopes"
_AUTHENTICATOR: Final = "clientAuthenticatorType"
_OF_REALM: Final = frozenset({BROKER, OWNER_OF_A_REALM})
Items = Sequence[tuple[str, Mapping[str, Any]]]
"""Path and JSON object of each client."""


@dataclass(frozen=True, slots=True)
class ClientReplacement:
    """A client as it will be, and as it was; None for a new one.

    `names_authenticator` is false where the file leaves open how the client authenticates.
    """

    client: Client
    before: Client | None
    names_authenticator: bool = True

    async def store_client(self, stores: Stores) -> None:
        await store_client_of_file(stores, self.client, self.before)


async def read_clients(
    stores: Stores,
    realm_id: str,
    items: Items,
    at: str,
    clock: Clock,
    *,
    scopes: Sequence[ClientScope],
) -> tuple[ClientReplacement, ...]:
    """Return the changes of the file; `scopes` are the scopes of the realm after the import.

    A new client that names no scopes gets those of the realm's lists, and none that it lacks.

    The caller reports settings without effect. Raises InvalidInput with every wrong field.
    """
    # Very many clients take seconds to check: other requests go on meanwhile.
    names = await asyncio.to_thread(lambda: sorted({_name(item) for _, item in items}))
    found = await stores.clients.named(realm_id, names) if realm_id else ()
    known = {client.client_id: client for client in found}
    inherited = inherited_from(scopes)
    read = partial(parse_client, realm_id=realm_id, inherited=inherited, report_ineffective=True)
    prepare = partial(_prepared, clock=clock, choice=ScopeChoice(scopes))
    return await asyncio.to_thread(_changes, items, known, at, read, prepare)


def _changes(
    items: Items,
    known: Mapping[str, Client],
    at: str,
    read: Callable[..., Client],
    prepare: Callable[..., Client],
) -> tuple[ClientReplacement, ...]:
    errors: list[FieldError] = []
    changes: list[ClientReplacement] = []
    for path, item in items:
        before = known.get(_name(item))
        given = item if before is None else _without_time_of_secret(item)
        client = attempt(errors, None, partial(read, base=before, path=path), given)
        if client is not None:
            named = given_field(item, _AUTHENTICATOR) is not None
            changes.append(ClientReplacement(prepare(item, client, before), before, named))
    names = (change.client.client_id for change in changes)
    errors.extend(repeated_names(names, at, "each client once"))
    raise_all(errors)
    return tuple(changes)


def _without_time_of_secret(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the document of a known client; the time of a secret that it hides is not its own."""
    attributes = item.get("attributes")
    if given_field(item, "secret") not in (None, "", MASK) or not isinstance(attributes, Mapping):
        return item
    kept = {name: text for name, text in attributes.items() if name != SECRET_CREATED}
    return {**item, "attributes": kept}


def _name(item: Mapping[str, Any]) -> str:
    """Return the public name, empty where there is none."""
    client_id = item.get("clientId", item.get(snake_case("clientId")))
    return client_id if isinstance(client_id, str) else ""


def _prepared(
    item: Mapping[str, Any],
    client: Client,
    before: Client | None,
    *,
    clock: Clock,
    choice: ScopeChoice,
) -> Client:
    client = with_reach(client, stated_reach(item.get("attributes")))
    client = with_import_attributes(client, before, of_realm=client.client_id in _OF_REALM)
    if before:
        return choice.choose_scopes(changed_client(client, before, clock))
    prepared = prepared_client(client, clock, of_file=True)
    if given_field(item, _SCOPES) is not None:
        # As the file says, or the next import of the same file would change it.
        prepared = replace(prepared, default_client_scopes=client.default_client_scopes)
    return choice.choose_scopes(prepared)
