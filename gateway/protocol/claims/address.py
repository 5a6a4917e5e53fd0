"""`address`, from attributes of the user. Spec: OpenID Connect Core §5.1.1."""

from typing import Final

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import EVERYWHERE, AddClaims, ClaimMapper
from gateway.protocol.claims.subject import TokenSubject
from gateway.protocol.claims.user_attribute import OWN

_PARTS: Final = {
    "formatted": "formatted",
    "street_address": "street",
    "locality": "locality",
    "region": "region",
    "postal_code": "postal_code",
    "country": "country",
}
"""Member of the claim -> Keycloak's name of it in the configuration, and of the attribute."""


def _prepare(mapper: ProtocolMapper) -> AddClaims:
    attributes = {
        member: mapper.config.get(f"user.attribute.{part}") or part
        for member, part in _PARTS.items()
    }

    def add(claims: MappedClaims, subject: TokenSubject) -> None:
        """Add the parts that are known; absent when none is."""
        parts = {member: _first(subject, name) for member, name in attributes.items()}
        known = {member: text for member, text in parts.items() if text}
        if known:
            claims.put(("address",), known)

    return add


def _first(subject: TokenSubject, name: str) -> str | None:
    read = OWN.get(name)
    if read is not None:
        return read(subject.user)
    values = subject.user.attributes.get(name)
    return values[0] if values else None


MAPPER: Final = ClaimMapper("oidc-address-mapper", EVERYWHERE, _prepare)
