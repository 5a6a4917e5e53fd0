"""`name`: first and last name together. Spec: OpenID Connect Core §5.1."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.subject import TokenSubject

MAPPER_TYPE: Final = "oidc-full-name-mapper"


def add(claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject) -> None:
    """Add the name; absent when neither part is known."""
    parts = (subject.user.first_name, subject.user.last_name)
    name = " ".join(part for part in parts if part)
    if name:
        claims["name"] = name
