"""`acr`: how strongly the subject authenticated. Spec: OpenID Connect Core §2."""

from typing import Any, Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapper import TOKENS, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject


def _prepare(_: ProtocolMapper) -> AddClaims:
    return _add


def _add(claims: dict[str, Any], subject: TokenSubject) -> None:
    claims["acr"] = subject.acr


MAPPER: Final = ClaimMapper("oidc-acr-mapper", TOKENS, _prepare)
