"""Operations on clients. Keycloak: 7.3."""

from gateway.http.admin.clients.policies import ClientPolicyHandlers
from gateway.http.admin.clients.resources import client_operations
