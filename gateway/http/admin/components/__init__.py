"""Operations on components and keys. Keycloak: 7.3."""

from gateway.http.admin.components.handlers import ComponentsHandlers, operations
