"""Claims: each type of mapper adds claims to documents, or changes the roles that others add.

A mapper is one entry here; its id and its `config` are Keycloak's. A mapper with a `claim.name`
never writes a protocol claim, by which a resource server decides what a client may do.
"""

from collections.abc import Mapping
from typing import Final

from gateway.protocol.claims import (
    audience,
    changed_roles,
    included_claims,
    pairwise_subject,
    requested_claims,
    role_lists,
    text_claims,
    user_claims,
)
from gateway.protocol.claims.mapper import ClaimMapper, RoleMapper

CLAIM_MAPPERS: Final[Mapping[str, ClaimMapper | RoleMapper]] = {
    mapper.mapper_type: mapper
    for mapper in (
        included_claims.SUB,
        pairwise_subject.PAIRWISE_SUBJECT,
        included_claims.ACR,
        included_claims.AMR,
        included_claims.ALLOWED_ORIGINS,
        audience.AUDIENCE,
        audience.AUDIENCE_RESOLVE,
        changed_roles.ROLE_NAME,
        changed_roles.HARDCODED_ROLE,
        role_lists.REALM_ROLES,
        role_lists.CLIENT_ROLES,
        user_claims.FULL_NAME,
        user_claims.GROUP_MEMBERSHIP,
        user_claims.USER_ATTRIBUTE,
        user_claims.USER_PROPERTY,
        user_claims.ADDRESS,
        text_claims.HARDCODED_CLAIM,
        text_claims.SESSION_NOTE,
        requested_claims.ESSENTIAL_CLAIMS,
        requested_claims.VALUE_OF_CLAIM,
        included_claims.SESSION_STATE,
    )
}
"""Keycloak's protocol mapper id -> mapper."""
