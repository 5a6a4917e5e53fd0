"""Roles and their holders, in SQL."""

from gateway.storage.sql.roles.catalogue import SqlRoleCatalogue
from gateway.storage.sql.roles.repository import SqlRoles, SqlRoleScopes
from gateway.storage.sql.roles.statements import (
    OWNED_BY_CLIENT,
    effective,
    names_in_client_scopes,
    names_in_scope_of,
    names_of_accounts,
    names_of_administrative_composites,
    names_of_held,
)
