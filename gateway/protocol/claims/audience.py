"""An explicit audience: a client id, or any text. Keycloak: audience mapper."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.audiences import add_audiences
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-audience-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the configured client, or else the configured text."""
    audience = mapper.config.get("included.client.audience") or mapper.config.get(
        "included.custom.audience"
    )
    if audience:
        add_audiences(claims, (audience,))
