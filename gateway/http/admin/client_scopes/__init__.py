"""Operations on client scopes. Keycloak: 7.3."""

from gateway.http.admin.client_scopes.operations import client_scope_operations
