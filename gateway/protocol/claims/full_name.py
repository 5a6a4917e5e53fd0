"""`name`: first and last name together. Spec: OpenID Connect Core §5.1."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: MappedClaims, subject: TokenSubject) -> None:
    """Add the name; absent when neither part is known."""
    user = subject.user
    if user.first_name and user.last_name:
        claims.put(("name",), f"{user.first_name} {user.last_name}")
    elif user.first_name or user.last_name:
        claims.put(("name",), user.first_name or user.last_name)


MAPPER: Final = ClaimMapper("oidc-full-name-mapper", EVERYWHERE, _prepare)
