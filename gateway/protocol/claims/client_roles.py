"""`resource_access.<client>.roles`: the subject's client roles, composites resolved."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-usermodel-client-role-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the roles by client; absent when there are none."""
    if subject.roles.clients:
        claims["resource_access"] = {
            client: {"roles": list(roles)} for client, roles in subject.roles.clients
        }
