"""Operations on roles and role mappings. Keycloak: 7.2, 7.3."""

from gateway.http.admin.roles.resources import role_operations
