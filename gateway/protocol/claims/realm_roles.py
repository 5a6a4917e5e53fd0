"""`realm_access.roles`: the subject's realm roles, composites resolved."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-usermodel-realm-role-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the roles; absent when there are none."""
    if subject.roles.realm:
        claims["realm_access"] = {"roles": list(subject.roles.realm)}
