"""Claims: the table of mappers, their checks, and the plans that run them for every token.

A mapper is one entry of the table; its id and its `config` are Keycloak's. A mapper with a
`claim.name` never writes a protocol claim, by which a resource server decides what a client may do.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.clients import OPENID_CONNECT, ProtocolMapper
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.refusals import NotFound
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims import roles, session_claims, user_claims
from gateway.protocol.claims.mapper import (
    CLAIM_NAME,
    DEEPEST_CLAIM,
    AddClaims,
    ChangeRoles,
    ClaimMapper,
    ClaimsFor,
    MappedClaims,
    RoleMapper,
    split_claim_path,
)
from gateway.protocol.claims.protocol_claims import RESERVED_CLAIMS
from gateway.protocol.claims.roles import role_path
from gateway.protocol.claims.subject import TokenSubject
from gateway.representations.client_scopes import PAIRWISE_MAPPER
from gateway.representations.refusals import describe

CLAIM_MAPPERS: Final[Mapping[str, ClaimMapper | RoleMapper]] = {
    mapper.mapper_type: mapper
    for mapper in (
        session_claims.SUB,
        session_claims.PAIRWISE_SUBJECT,
        session_claims.ACR,
        session_claims.AMR,
        session_claims.ALLOWED_ORIGINS,
        session_claims.AUDIENCE,
        session_claims.AUDIENCE_RESOLVE,
        roles.ROLE_NAME,
        roles.HARDCODED_ROLE,
        roles.REALM_ROLES,
        roles.CLIENT_ROLES,
        user_claims.FULL_NAME,
        user_claims.GROUP_MEMBERSHIP,
        user_claims.USER_ATTRIBUTE,
        user_claims.USER_PROPERTY,
        user_claims.ADDRESS,
        session_claims.HARDCODED_CLAIM,
        session_claims.SESSION_NOTE,
        user_claims.ESSENTIAL_CLAIMS,
        user_claims.VALUE_OF_CLAIM,
        session_claims.SESSION_STATE,
    )
}
"""Keycloak's protocol mapper id -> mapper."""


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """Prepared mappers: the changers of roles in their order, the adders of claims by purpose."""

    changes: tuple[tuple[int, ChangeRoles], ...] = ()
    adders: Mapping[ClaimsFor, tuple[AddClaims, ...]] = field(default_factory=dict)
    without_attributes: Mapping[ClaimsFor, tuple[AddClaims, ...]] = field(default_factory=dict)
    """The third of `adders` that can add a claim for a subject without attributes, such as most
    service accounts."""
    late: Mapping[ClaimsFor, tuple[AddClaims, ...]] = field(default_factory=dict)
    is_pairwise: bool = False
    """The client with these mappers knows its users by identifiers that no other sector gets."""


EMPTY_PLAN: Final = ClaimPlan()


def prepare_plan(mappers: Iterable[ProtocolMapper]) -> ClaimPlan:
    """Return what the mappers do; those of unknown types, and of other protocols, do nothing."""
    changes: list[tuple[int, ChangeRoles]] = []
    adders: dict[ClaimsFor, list[AddClaims]] = {}
    bare: dict[ClaimsFor, list[AddClaims]] = {}
    late: dict[ClaimsFor, list[AddClaims]] = {}
    is_pairwise = False
    for mapper in mappers:
        is_pairwise = is_pairwise or mapper.mapper_type == PAIRWISE_MAPPER
        kind = CLAIM_MAPPERS.get(mapper.mapper_type)
        if mapper.protocol != OPENID_CONNECT or kind is None:
            continue
        if isinstance(kind, RoleMapper):
            change = kind.prepare(mapper)
            if change is not None:
                changes.append((kind.order, change))
        else:
            needs_attributes = kind.needs_attributes is not None and kind.needs_attributes(mapper)
            several = [late] if kind.late else [adders] if needs_attributes else [adders, bare]
            _add_mapper(several, kind, mapper)
    every, of_bare, at_last = (
        {purpose: tuple(found) for purpose, found in some.items()} for some in (adders, bare, late)
    )
    return ClaimPlan(tuple(changes), every, of_bare, at_last, is_pairwise)


def _add_mapper(
    several: Iterable[dict[ClaimsFor, list[AddClaims]]], kind: ClaimMapper, mapper: ProtocolMapper
) -> None:
    purposes = [purpose for purpose in kind.purposes if kind.serves(mapper, purpose)]
    add = kind.prepare(mapper) if purposes else None
    if add is not None:
        for adders in several:
            for purpose in purposes:
                adders.setdefault(purpose, []).append(add)


def mapped_roles(plans: Iterable[ClaimPlan], roles: EffectiveRoles) -> EffectiveRoles:
    """Return the roles as the mappers change them."""
    changes = [change for plan in plans for change in plan.changes]
    if not changes:
        return roles
    for _, change in sorted(changes, key=lambda ordered: ordered[0]):
        roles = change(roles)
    return roles


def map_claims(
    plans: Sequence[ClaimPlan], subject: TokenSubject, purpose: ClaimsFor
) -> MappedClaims:
    """Run the mappers that serve the purpose; return what they add."""
    claims = MappedClaims(purpose)
    bare = not subject.user.attributes and not subject.group_attributes
    for plan in plans:
        for add in (plan.without_attributes if bare else plan.adders).get(purpose, ()):
            add(claims, subject)
    for plan in plans:
        for add in plan.late.get(purpose, ()):
            add(claims, subject)
    return claims


STORED_ONLY: Final = frozenset(
    {
        *("oidc-nonce-backwards-compatible-mapper", "oidc-organization-membership-mapper"),
        *("oidc-organization-group-membership-mapper", "docker-v2-allow-all-mapper"),
        *("saml-audience-mapper", "saml-audience-resolve-mapper", "saml-user-property-mapper"),
        *("saml-authn-context-class-ref-mapper", "saml-group-membership-mapper"),
        *("saml-hardcode-attribute-mapper", "saml-hardcode-role-mapper", "saml-role-name-mapper"),
        *("saml-organization-membership-mapper", "saml-organization-group-membership-mapper"),
        *("saml-role-list-mapper", "saml-user-attribute-mapper"),
        *("saml-user-attribute-nameid-mapper", "saml-user-session-note-mapper"),
    }
)
"""Keycloak's mappers that are stored without an effect: what they serve is not supported."""
MAPPER_TYPES: Final = (*CLAIM_MAPPERS, *sorted(STORED_ONLY))
"""All types that a mapper may have."""

_ROLE_LISTS: Final = frozenset(
    {"oidc-usermodel-realm-role-mapper", "oidc-usermodel-client-role-mapper"}
)


def check_mapper(mapper: ProtocolMapper) -> None:
    """Raise NotFound for an unknown type, InvalidInput for an unusable configuration.

    Unlike in Keycloak, mappers that would fail or overwrite a protocol claim are refused. Keycloak:
    validation of mappers
    """
    kind = CLAIM_MAPPERS.get(mapper.mapper_type)
    if kind is None and mapper.mapper_type not in STORED_ONLY:
        raise NotFound("ProtocolMapper provider not found")
    _require_free_claim(mapper)
    error = None if kind is None or kind.check is None else kind.check(mapper.config)
    if error is not None:
        raise InvalidInput((error,))


def _require_free_claim(mapper: ProtocolMapper) -> None:
    name = mapper.config.get(CLAIM_NAME, "")
    path = split_claim_path(name)
    if mapper.mapper_type in STORED_ONLY:
        return
    if len(path) > DEEPEST_CLAIM:
        allowed = f"at most {DEEPEST_CLAIM} names with dots between them"
        raise InvalidInput((FieldError("config.claim.name", describe(name), allowed),))
    if not path or path[0] not in RESERVED_CLAIMS:
        return
    if mapper.mapper_type in _ROLE_LISTS and role_path(mapper.config) is not None:
        return
    own = mapper.mapper_type == "oidc-usersessionmodel-note-mapper" and name == "auth_time"
    if not own or mapper.config.get("user.session.note") != "AUTH_TIME":
        allowed = "a claim that the protocol does not need for itself"
        raise InvalidInput((FieldError("config.claim.name", describe(name), allowed),))
