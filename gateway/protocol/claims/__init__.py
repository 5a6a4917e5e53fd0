"""Claims: each mapper type puts its own into tokens, or changes the roles that others tell of.

A mapper is one file and one line here; its id and its `config` are Keycloak's. What a client may
do is decided by protocol claims, so that a mapper with a `claim.name` must not forge one.
"""

from collections.abc import Mapping
from typing import Final

from gateway.protocol.claims import (
    acr,
    address,
    allowed_origins,
    amr,
    audience,
    audience_resolve,
    client_roles,
    full_name,
    group_membership,
    hardcoded_claim,
    hardcoded_role,
    realm_roles,
    role_name,
    session_note,
    session_state,
    sub,
    user_attribute,
    user_property,
)
from gateway.protocol.claims.mapper import ClaimMapper, RoleMapper

CLAIM_MAPPERS: Final[Mapping[str, ClaimMapper | RoleMapper]] = {
    mapper.mapper_type: mapper
    for mapper in (
        sub.MAPPER,
        acr.MAPPER,
        amr.MAPPER,
        allowed_origins.MAPPER,
        audience.MAPPER,
        audience_resolve.MAPPER,
        role_name.MAPPER,
        hardcoded_role.MAPPER,
        realm_roles.MAPPER,
        client_roles.MAPPER,
        full_name.MAPPER,
        group_membership.MAPPER,
        user_attribute.MAPPER,
        user_property.MAPPER,
        address.MAPPER,
        hardcoded_claim.MAPPER,
        session_note.MAPPER,
        session_state.MAPPER,
    )
}
"""Keycloak's protocol mapper id -> mapper."""
