"""Roles and who has them, in SQL."""

from gateway.storage.sql.roles.account_roles import by_owner, roles_of_accounts
from gateway.storage.sql.roles.catalogue import SqlRoleCatalogue
from gateway.storage.sql.roles.repository import SqlRoles, effective, names_of_held
from gateway.storage.sql.roles.scoped_roles import names_in_client_scopes, names_in_scope_of
from gateway.storage.sql.roles.scopes import SqlRoleScopes
