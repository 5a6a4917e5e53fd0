"""The client scopes of a new client: those that it names and the realm has, or the realm's own.

Keycloak: POST clients, default and optional client scopes of the realm
"""

from collections.abc import Mapping
from dataclasses import replace

from gateway.domain.client_scopes import RealmDefault
from gateway.domain.clients import Client
from gateway.domain.ports.storage import Stores
from gateway.representations.clients import InheritedScopes


async def inherited_scopes(stores: Stores, realm_id: str) -> InheritedScopes:
    """Return the client scopes that the realm gives to clients that name none."""
    scopes = await stores.client_scopes.list(realm_id)
    return inherited_from({scope.name: scope.realm_default for scope in scopes})


def inherited_from(lists: Mapping[str, RealmDefault | None]) -> InheritedScopes:
    """Return the names that stand in each of the realm's lists."""
    default, optional = (
        tuple(name for name, listed in lists.items() if listed is kind)
        for kind in (RealmDefault.DEFAULT, RealmDefault.OPTIONAL)
    )
    return InheritedScopes(default, optional)


async def chosen_scopes(stores: Stores, client: Client) -> Client:
    """Return the client without scopes that the realm lacks for its protocol."""
    known = {
        scope.name
        for scope in await stores.client_scopes.list(client.realm_id)
        if scope.protocol == client.protocol
    }
    default = tuple(name for name in client.default_client_scopes if name in known)
    return replace(
        client,
        default_client_scopes=default,
        optional_client_scopes=tuple(
            name for name in client.optional_client_scopes if name in known and name not in default
        ),
    )
