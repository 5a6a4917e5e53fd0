"""Views of a realm: all of it, its head, or what every administrator of it needs.

Keycloak: 7.1 (briefRepresentation, the reduced body of weaker administrators), 8.1 (order)
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from gateway.domain.realm import Realm
from gateway.domain.roles import Role
from gateway.representations.realms.realm import write_realm
from gateway.representations.roles import role_members

_BRIEF: Final = ("id", "realm", "displayName", "displayNameHtml", "enabled")
_OF_USERS: Final = "registrationEmailAsUsername"
_REDUCED: Final = (
    *("realm", "displayName", "displayNameHtml", _OF_USERS, "bruteForceProtected"),
    *("supportedLocales", "organizationsEnabled"),
)
_AFTER_DEFAULTS: Final = "requiredCredentials"


def full_realm(
    realm: Realm, default_role: Mapping[str, Any] | None, default_groups: Sequence[str] = ()
) -> dict[str, Any]:
    """Return every setting, secrets masked, and the role and groups that new users have.

    Groups are named by path, where there are some.
    """
    answer: dict[str, Any] = {}
    for name, value in write_realm(realm).items():
        if name == _AFTER_DEFAULTS:
            if default_role is not None:
                answer["defaultRole"] = default_role
            if default_groups:
                answer["defaultGroups"] = list(default_groups)
        answer[name] = value
    return answer


def brief_realm(realm: Realm) -> dict[str, Any]:
    """Return the head of a realm."""
    answer = write_realm(realm)
    return {name: answer[name] for name in _BRIEF if name in answer}


def reduced_realm(realm: Realm, *, sees_users: bool) -> dict[str, Any]:
    """Return what an administrator sees without the right to view the realm's settings."""
    answer = write_realm(realm)
    hidden = set() if sees_users else {_OF_USERS}
    if not realm.localization.enabled:
        hidden.add("supportedLocales")
    return {name: answer[name] for name in _REDUCED if name in answer and name not in hidden}


def named_realm(realm: Realm) -> dict[str, Any]:
    """Return the name alone."""
    return {"realm": realm.name}


def default_role(role: Role, *, composite: bool) -> dict[str, Any]:
    """Return the role that new users have, as a realm shows it."""
    return role_members(role, composite=composite)
