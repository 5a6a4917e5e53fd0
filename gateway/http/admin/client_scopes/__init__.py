"""Operations on client scopes, protocol mappers and scope mappings. Keycloak: 7.3."""

from gateway.http.admin.client_scopes.resources import scope_operations
