"""The rights of a user for a client, as the user has them now.

A token grants no more than it says, and no more than its user still has. Keycloak: 2.1
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.domain.ports.directory import ClientEntry, RealmEntry, UserEntry
from gateway.domain.roles import render_client_role
from gateway.protocol.scopes import carried_roles, still_granted


@dataclass(frozen=True, slots=True)
class Rights:
    """Realm roles by name, client roles as `render_client_role` writes them, and scopes."""

    realm_roles: frozenset[str]
    client_roles: frozenset[str]
    scopes: frozenset[str]

    def within_token(self, claims: Mapping[str, Any]) -> "Rights":
        """Return those roles that a token's claims contain too."""
        return Rights(
            self.realm_roles.intersection(_names(claims.get("realm_access"))),
            self.client_roles.intersection(_client_roles(claims.get("resource_access"))),
            self.scopes,
        )


def current_rights(
    realm: RealmEntry, client: ClientEntry, user: UserEntry, scopes: Iterable[str]
) -> Rights:
    """Return the rights of the user for the client with the scopes that were granted."""
    names = frozenset(scopes)
    granted = still_granted(realm, client.client, names).permitted_to(user.roles)
    roles = carried_roles(client, user, granted)
    return Rights(
        frozenset(roles.realm),
        frozenset(
            render_client_role(owner, name) for owner, owned in roles.clients for name in owned
        ),
        names.intersection(granted.names),
    )


def _names(access: Any) -> frozenset[str]:
    roles = access.get("roles") if isinstance(access, dict) else None
    return frozenset(map(str, roles)) if isinstance(roles, list) else frozenset()


def _client_roles(access: Any) -> frozenset[str]:
    owners = access.items() if isinstance(access, dict) else ()
    return frozenset(
        render_client_role(str(owner), name) for owner, roles in owners for name in _names(roles)
    )
