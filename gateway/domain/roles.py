"""Realm and client roles, and what a user effectively has.

Keycloak: RoleRepresentation; composites are resolved transitively.
"""

from dataclasses import dataclass


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


@dataclass(frozen=True, slots=True)
class EffectiveRoles:
    """Role names after composites: realm roles, and per public client id the client roles."""

    realm: tuple[str, ...] = ()
    clients: tuple[tuple[str, tuple[str, ...]], ...] = ()
