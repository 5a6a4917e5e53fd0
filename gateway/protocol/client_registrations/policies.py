"""What clients may not register for themselves, whatever token they have.

Mappers that say what the registrar likes, and scopes that the realm does not give to everybody.
Keycloak: the client registration policies that a realm has by default, for authenticated requests
"""

from collections.abc import Iterable
from typing import Final

from gateway.admin.registration import ALLOWED_MAPPERS
from gateway.domain.clients import Client
from gateway.domain.ports.storage import Stores
from gateway.protocol.client_registrations.callers import refused_by_policy

_ALWAYS_GIVEN: Final = frozenset({"service_account"})
"""Scopes that come with a setting of the client."""


def require_allowed_mappers(after: Client, before: Client | None) -> None:
    """Raise OAuthError for a mapper that a client must not have; what it had, it keeps."""
    known = before.protocol_mappers if before else ()
    for mapper in after.protocol_mappers:
        if mapper not in known and mapper.mapper_type not in ALLOWED_MAPPERS:
            raise refused_by_policy(
                "Allowed Protocol Mapper Types", "ProtocolMapper type not allowed"
            )


async def require_allowed_scopes(
    stores: Stores, realm_id: str, wanted: Iterable[str], before: Client | None = None
) -> None:
    """Raise OAuthError for a scope that the realm does not offer to new clients."""
    offered = {
        scope.name
        for scope in await stores.client_scopes.list(realm_id)
        if scope.realm_default is not None
    }
    held = {*before.default_client_scopes, *before.optional_client_scopes} if before else set()
    if not {*wanted} <= offered | held | _ALWAYS_GIVEN:
        raise refused_by_policy(
            "Allowed Client Scopes", "Not permitted to use specified clientScope"
        )
