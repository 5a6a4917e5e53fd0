"""Operations on clients. Keycloak: 7.3."""

from gateway.http.admin.clients.policies import ClientPolicyHandlers
from gateway.http.admin.clients.resources import ClientParts, client_operations

__all__ = [
    "ClientParts",
    "ClientPolicyHandlers",
    "client_operations",
]
