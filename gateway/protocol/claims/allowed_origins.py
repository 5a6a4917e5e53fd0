"""`allowed-origins`: where a browser may use the token from. Keycloak: web origins."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-allowed-origins-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the client's web origins; absent when it has none."""
    if subject.client.web_origins:
        claims["allowed-origins"] = list(subject.client.web_origins)
