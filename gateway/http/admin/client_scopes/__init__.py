"""Operations on client scopes, protocol mappers and scope mappings. Keycloak: 7.3."""

from gateway.http.admin.client_scopes.resources import ScopeParts, scope_operations

__all__ = [
    "ScopeParts",
    "scope_operations",
]
