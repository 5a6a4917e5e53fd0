"""`sub`: the user's id. Spec: RFC 7519 §4.1.2."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-sub-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the subject's id."""
    claims["sub"] = subject.user.id
