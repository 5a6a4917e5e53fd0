"""The client scopes of a new client: those that it names and the realm has, or the realm's own.

Keycloak: POST clients, default and optional client scopes of the realm
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from gateway.domain.client_scopes import ClientScope, RealmDefault
from gateway.domain.clients import Client
from gateway.domain.ports.storage import Stores
from gateway.representations.clients import InheritedScopes


def inherited_from(scopes: Iterable[ClientScope]) -> InheritedScopes:
    """Return the client scopes that the realm gives to clients that name none."""
    listed = [(scope.name, scope.realm_default) for scope in scopes]
    default, optional = (
        tuple(name for name, kind in listed if kind is wanted)
        for wanted in (RealmDefault.DEFAULT, RealmDefault.OPTIONAL)
    )
    return InheritedScopes(default, optional)


class ScopeChoice:
    """Chooses among the client scopes of a realm those that a client may have."""

    def __init__(self, scopes: Iterable[ClientScope]) -> None:
        self._names: dict[str, set[str]] = defaultdict(set)
        for scope in scopes:
            self._names[scope.protocol].add(scope.name)

    def of(self, client: Client) -> Client:
        """Return the client without scopes that the realm lacks for its protocol."""
        known = self._names[client.protocol]
        default = tuple(name for name in client.default_client_scopes if name in known)
        return replace(
            client,
            default_client_scopes=default,
            optional_client_scopes=tuple(
                name
                for name in client.optional_client_scopes
                if name in known and name not in default
            ),
        )


async def chosen_scopes(stores: Stores, client: Client) -> Client:
    """Return the client without scopes that the realm lacks for its protocol."""
    return chosen_from(await stores.client_scopes.list(client.realm_id), client)


def chosen_from(scopes: Iterable[ClientScope], client: Client) -> Client:
    """Return the client without scopes that are not among these, or of another protocol."""
    return ScopeChoice(scopes).of(client)
