"""The roles that give administrative rights over a realm, and the clients that own them.

A realm's own administrators have them from its client `realm-management`, those of the realm
`master` from the client `<realm>-realm` there. Keycloak: 9
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from gateway.domain.clients import OWNER_IN_MASTER, OWNER_OF_A_REALM

REALM_MANAGEMENT: Final = OWNER_OF_A_REALM
"""The client of a realm that holds the roles over it."""
REALM_ADMIN: Final = "realm-admin"
"""The role of `realm-management` that contains all the others."""


class AdminRole(StrEnum):
    """A right over one realm."""

    CREATE_CLIENT = "create-client"
    IMPERSONATION = "impersonation"
    MANAGE_AUTHORIZATION = "manage-authorization"
    MANAGE_CLIENTS = "manage-clients"
    MANAGE_EVENTS = "manage-events"
    MANAGE_IDENTITY_PROVIDERS = "manage-identity-providers"
    MANAGE_ORGANIZATIONS = "manage-organizations"
    MANAGE_REALM = "manage-realm"
    MANAGE_USERS = "manage-users"
    QUERY_CLIENTS = "query-clients"
    QUERY_GROUPS = "query-groups"
    QUERY_ORGANIZATIONS = "query-organizations"
    QUERY_REALMS = "query-realms"
    QUERY_USERS = "query-users"
    VIEW_AUTHORIZATION = "view-authorization"
    VIEW_CLIENTS = "view-clients"
    VIEW_EVENTS = "view-events"
    VIEW_IDENTITY_PROVIDERS = "view-identity-providers"
    VIEW_ORGANIZATIONS = "view-organizations"
    VIEW_REALM = "view-realm"
    VIEW_USERS = "view-users"


CONTAINED: Final[Mapping[AdminRole, tuple[AdminRole, ...]]] = {
    AdminRole.VIEW_CLIENTS: (AdminRole.QUERY_CLIENTS,),
    AdminRole.VIEW_ORGANIZATIONS: (AdminRole.QUERY_ORGANIZATIONS,),
    AdminRole.VIEW_USERS: (AdminRole.QUERY_USERS, AdminRole.QUERY_GROUPS),
}
"""The right to view all objects of a kind contains the right to query them."""

FREE: Final = frozenset(role for role in AdminRole if role.startswith("query-"))
"""Roles that show nothing by themselves: any caller that may grant roles may grant them."""

IMPLIED: Final[Mapping[AdminRole, tuple[AdminRole, ...]]] = {
    AdminRole.MANAGE_AUTHORIZATION: (AdminRole.VIEW_AUTHORIZATION,),
    AdminRole.MANAGE_CLIENTS: (
        AdminRole.CREATE_CLIENT,
        AdminRole.MANAGE_AUTHORIZATION,
        AdminRole.VIEW_AUTHORIZATION,
        AdminRole.VIEW_CLIENTS,
    ),
    AdminRole.MANAGE_EVENTS: (AdminRole.VIEW_EVENTS,),
    AdminRole.MANAGE_IDENTITY_PROVIDERS: (AdminRole.VIEW_IDENTITY_PROVIDERS,),
    AdminRole.MANAGE_ORGANIZATIONS: (AdminRole.VIEW_ORGANIZATIONS,),
    AdminRole.MANAGE_REALM: (
        AdminRole.MANAGE_ORGANIZATIONS,
        AdminRole.VIEW_ORGANIZATIONS,
        AdminRole.VIEW_REALM,
    ),
    AdminRole.MANAGE_USERS: (AdminRole.VIEW_USERS,),
    AdminRole.VIEW_CLIENTS: (AdminRole.VIEW_AUTHORIZATION,),
}
"""A caller with the first role may grant the others, since it has their rights already.

As Keycloak 26.7 answers: this is less than `CONTAINED`, and not the same.
"""


def administration_client(realm_name: str) -> str:
    """Return the client of `master` that holds the roles over a realm."""
    return f"{realm_name}{OWNER_IN_MASTER}"
