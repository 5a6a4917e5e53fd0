"""Operations on clients. Keycloak: 7.3."""

from gateway.http.admin.clients.operations import client_operations
