"""`acr`: how strongly the subject authenticated. Spec: OpenID Connect Core §2."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-acr-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the authentication context class."""
    claims["acr"] = subject.acr
