"""Roles as mappers change them: a role put in or taken out by name. Keycloak: role mappers."""

from gateway.domain.roles import EffectiveRoles


def parse_role(text: str) -> tuple[str | None, str]:
    """Return client and name of `client.name`; the client is None for a realm role."""
    client, dot, name = text.rpartition(".")
    return (client if dot else None, name)


def has_role(roles: EffectiveRoles, client: str | None, name: str) -> bool:
    """Tell whether the role is among them."""
    return name in _names(roles, client)


def with_role(roles: EffectiveRoles, client: str | None, name: str) -> EffectiveRoles:
    """Return the roles and one more."""
    return _changed(roles, client, {*_names(roles, client), name})


def without_role(roles: EffectiveRoles, client: str | None, name: str) -> EffectiveRoles:
    """Return the roles but one."""
    return _changed(roles, client, {*_names(roles, client)} - {name})


def _names(roles: EffectiveRoles, client: str | None) -> tuple[str, ...]:
    return roles.realm if client is None else dict(roles.clients).get(client, ())


def _changed(roles: EffectiveRoles, client: str | None, names: set[str]) -> EffectiveRoles:
    if client is None:
        return EffectiveRoles(tuple(sorted(names)), roles.clients)
    clients = {**dict(roles.clients), client: tuple(sorted(names))}
    kept = sorted((owner, held) for owner, held in clients.items() if held)
    return EffectiveRoles(roles.realm, tuple(kept))
