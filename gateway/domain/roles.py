"""Realm and client roles, and what a user effectively has.

Keycloak: RoleRepresentation; composites are resolved transitively.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from gateway.domain.groups import parse_names, render_names


@dataclass(frozen=True, slots=True)
class Role:
    """A role. `client` is the internal UUID of its client, None for a realm role."""

    id: str
    realm_id: str
    name: str
    description: str | None = None
    client: str | None = None
    composites: frozenset[str] = frozenset()
    """Ids of the roles this one contains, direct ones only."""
    attributes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ListedRole:
    """A role of a listing; `client_id` is the public name of its client, None for the realm."""

    role: Role
    composite: bool
    client_id: str | None = None


@dataclass(frozen=True, slots=True)
class EffectiveRoles:
    """Role names after composites: realm roles, and per public client id the client roles."""

    realm: tuple[str, ...] = ()
    clients: tuple[tuple[str, tuple[str, ...]], ...] = ()

    def pairs(self) -> Iterator[tuple[str | None, str]]:
        """Yield the public name of the client, None for a realm role, and the name of each."""
        for name in self.realm:
            yield None, name
        for client, names in self.clients:
            for name in names:
                yield client, name

    def within(self, scope: "EffectiveRoles | None") -> "EffectiveRoles":
        """Return those of the roles that are in `scope` too; None is a scope without limits."""
        if scope is None:
            return self
        allowed = {client: frozenset(names) for client, names in scope.clients}
        kept = (
            (client, tuple(name for name in names if name in allowed.get(client, ())))
            for client, names in self.clients
        )
        return EffectiveRoles(
            tuple(name for name in self.realm if name in scope.realm),
            tuple((client, names) for client, names in kept if names),
        )


def render_client_role(client_id: str, role: str) -> str:
    """Return `client/role`; slashes of the role are escaped, those of the clientId stay."""
    return render_names((*client_id.split("/"), role))


def parse_client_role(text: str) -> tuple[str, str]:
    """Return clientId and role; the clientId is empty for text without a separating slash."""
    *client, role = parse_names(text)
    return "/".join(client), role
