"""What the mappers of a scope or a client do, prepared once and run for every token."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.clients import OPENID_CONNECT, ProtocolMapper
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims import CLAIM_MAPPERS
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import (
    AddClaims,
    ChangeRoles,
    ClaimMapper,
    ClaimsFor,
    RoleMapper,
)
from gateway.protocol.claims.subject import TokenSubject


@dataclass(frozen=True, slots=True)
class ClaimPlan:
    """Prepared mappers: those that change roles in their order, those that add by purpose."""

    changes: tuple[tuple[int, ChangeRoles], ...] = ()
    adders: Mapping[ClaimsFor, tuple[AddClaims, ...]] = field(default_factory=dict)
    without_attributes: Mapping[ClaimsFor, tuple[AddClaims, ...]] = field(default_factory=dict)
    """Those of `adders` that can add something for a subject without attributes, as most service
    accounts are: a third of the usual ones."""
    late: Mapping[ClaimsFor, tuple[AddClaims, ...]] = field(default_factory=dict)


EMPTY_PLAN: Final = ClaimPlan()


def prepare(mappers: Iterable[ProtocolMapper]) -> ClaimPlan:
    """Return what the mappers do; those of unknown types, and of other protocols, do nothing."""
    changes: list[tuple[int, ChangeRoles]] = []
    adders: dict[ClaimsFor, list[AddClaims]] = {}
    bare: dict[ClaimsFor, list[AddClaims]] = {}
    late: dict[ClaimsFor, list[AddClaims]] = {}
    for mapper in mappers:
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
            _add(several, kind, mapper)
    return ClaimPlan(
        tuple(changes),
        *(
            {purpose: tuple(found) for purpose, found in some.items()}
            for some in (adders, bare, late)
        ),
    )


def _add(
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
