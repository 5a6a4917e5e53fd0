"""Operations on users. Keycloak: 7.2."""

from gateway.http.admin.users.operations import user_operations
