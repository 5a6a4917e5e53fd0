"""Claims: each mapper type puts its own into an access token.

A mapper is one file and one line here; its id and its `config` are Keycloak's. What a client may
do is decided by protocol claims, so that a mapper with a `claim.name` must not forge one.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final, Protocol

from gateway.domain.clients import ProtocolMapper
from gateway.protocol.claims import (
    acr,
    allowed_origins,
    audience,
    audience_resolve,
    client_roles,
    full_name,
    group_membership,
    realm_roles,
    session_note,
    sub,
    user_property,
)
from gateway.protocol.claims.subject import TokenSubject


class ClaimMapper(Protocol):
    """Adds claims to `claims`, from what is known of the token's subject."""

    def __call__(
        self, claims: dict[str, Any], mapper: ProtocolMapper, subject: TokenSubject
    ) -> None:
        """Add this mapper's claims; absent values add nothing."""
        ...


RESERVED_CLAIMS: Final = frozenset(
    {
        *("iss", "sub", "aud", "exp", "nbf", "iat", "jti", "typ", "azp", "scope"),
        *("sid", "cnf", "acr", "amr", "auth_time", "nonce", "at_hash", "c_hash", "s_hash"),
        *("realm_access", "resource_access", "allowed-origins", "authorization", "act", "may_act"),
    }
)
"""Claims with rules of their own: no mapper writes them under a `claim.name` of its choice."""

CLAIM_MAPPERS: Final[dict[str, ClaimMapper]] = {
    sub.MAPPER_TYPE: sub.add,
    acr.MAPPER_TYPE: acr.add,
    allowed_origins.MAPPER_TYPE: allowed_origins.add,
    audience.MAPPER_TYPE: audience.add,
    audience_resolve.MAPPER_TYPE: audience_resolve.add,
    realm_roles.MAPPER_TYPE: realm_roles.add,
    client_roles.MAPPER_TYPE: client_roles.add,
    full_name.MAPPER_TYPE: full_name.add,
    group_membership.MAPPER_TYPE: group_membership.add,
    user_property.MAPPER_TYPE: user_property.add,
    session_note.MAPPER_TYPE: session_note.add,
}
"""Keycloak's protocol mapper id -> mapper."""


class ClaimsFor(StrEnum):
    """What claims are for: the mapper's option that must say `true`."""

    ACCESS_TOKEN = "access.token.claim"  # noqa: S105 - an option's name
    ID_TOKEN = "id.token.claim"  # noqa: S105 - the same
    USERINFO = "userinfo.token.claim"


def add_mapped_claims(
    claims: dict[str, Any],
    mappers: Iterable[ProtocolMapper],
    subject: TokenSubject,
    purpose: ClaimsFor = ClaimsFor.ACCESS_TOKEN,
) -> None:
    """Run every mapper of a known type whose options name the purpose."""
    for mapper in mappers:
        if mapper.config.get("claim.name") in RESERVED_CLAIMS:
            continue
        add = CLAIM_MAPPERS.get(mapper.mapper_type)
        if add is not None and mapper.config.get(purpose) == "true":
            add(claims, mapper, subject)
