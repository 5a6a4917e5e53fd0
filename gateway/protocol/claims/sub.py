"""`sub`: the user's id. Spec: RFC 7519 §4.1.2."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapper import ACCESS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: dict[str, Any], subject: TokenSubject) -> None:
    claims["sub"] = subject.user.id


MAPPER: Final = ClaimMapper("oidc-sub-mapper", ACCESS, _prepare)
