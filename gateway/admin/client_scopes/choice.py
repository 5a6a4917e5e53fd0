"""The client scopes of a new client: those that it names and the realm has, or the realm's own.

Keycloak: POST clients, default and optional client scopes of the realm
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients import Client
from gateway.domain.ports.storage import Stores
from gateway.representations.clients import InheritedScopes


def inherited_from(scopes: Iterable[ClientScope]) -> InheritedScopes:
    """Return the client scopes that the realm gives to clients that name none."""
    return inherited_by_lists({scope.name: scope.realm_default for scope in scopes})


def inherited_by_lists(lists: Mapping[str, RealmDefault | None]) -> InheritedScopes:
    """Return the names that stand in each of the realm's lists."""
    default, optional = (
        tuple(name for name, listed in lists.items() if listed is kind)
        for kind in (RealmDefault.DEFAULT, RealmDefault.OPTIONAL)
    )
    return InheritedScopes(default, optional)


async def chosen_scopes(stores: Stores, client: Client) -> Client:
    """Return the client without scopes that the realm lacks for its protocol."""
    return chosen_from(await stores.client_scopes.list(client.realm_id), client)


def chosen_from(scopes: Iterable[ClientScope], client: Client) -> Client:
    """Return the client without scopes that are not among these, or of another protocol."""
    known = {scope.name for scope in scopes if scope.protocol == client.protocol}
    default = tuple(name for name in client.default_client_scopes if name in known)
    return replace(
        client,
        default_client_scopes=default,
        optional_client_scopes=tuple(
            name for name in client.optional_client_scopes if name in known and name not in default
        ),
    )
