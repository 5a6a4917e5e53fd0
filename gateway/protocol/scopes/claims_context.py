"""The claims of one user for one client: the roles in its scope, and the mappers that apply.

A client without full scope gets only roles that are its own, or in its scope mappings or in those
of the scopes it was granted. A client whose reach is limited gets no administrative roles beyond
that, except those of its own service account. Keycloak: 2.1, scope mappings
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from weakref import WeakKeyDictionary

from gateway.domain.clients import WithheldRoles
from gateway.domain.ports.directory import ClientEntry, UserEntry
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import UserSession
from gateway.protocol.claims.mapped_claims import MappedClaims
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.claims.plans import EMPTY_PLAN, ClaimPlan, map_claims, mapped_roles, prepare
from gateway.protocol.claims.subject import TokenSubject
from gateway.protocol.scopes.granted import GrantedScopes

SIGNED_IN: Final = "1"
"""`acr` of a sign-in with one factor. Keycloak: 2.2."""


@dataclass(frozen=True, slots=True)
class ClaimsContext:
    """The subject of tokens, the granted scopes, and the mappers of scopes and client."""

    subject: TokenSubject
    granted: GrantedScopes
    plans: tuple[ClaimPlan, ...]
    withheld: tuple[str, ...] = ()
    """Roles of the user beyond the reach of the client, as `name` or `client/name`, sorted."""

    def map_claims(self, purpose: ClaimsFor) -> MappedClaims:
        return map_claims(self.plans, self.subject, purpose)

    def within(self, audiences: frozenset[str]) -> "ClaimsContext":
        """Return the context without the roles of other clients than those."""
        roles = self.subject.roles
        kept = tuple((client, names) for client, names in roles.clients if client in audiences)
        subject = replace(self.subject, roles=replace(roles, clients=kept))
        return replace(self, subject=subject)


def resolve_claims(
    client: ClientEntry,
    user: UserEntry,
    granted: GrantedScopes,
    *,
    session: UserSession | None = None,
    notes: Mapping[str, str] | None = None,
) -> ClaimsContext:
    """Return what the client may learn; `notes` are those of a transient session."""
    within = within_reach(client, user)
    permitted = granted.permitted_to(within.roles)
    part = session.clients.get(client.client.id) if session else None
    plans = (permitted.chosen.plan, own_plan(client))
    roles = mapped_roles(plans, carried_roles(client, user, permitted))
    if client.withheld is not None:
        roles = client.withheld.remove_from(roles, keep=_own_account_roles(client, user))
    subject = TokenSubject(
        user=user.user,
        client=client.client,
        roles=roles,
        session_notes=session.notes if session else notes or {},
        acr=(part and part.acr) or SIGNED_IN,
        groups=user.groups,
        group_attributes=user.group_attributes,
        session_id=session.id if session else None,
        authenticated_at=part.authenticated_at if part else None,
        requested_claims=part.claims if part else "",
    )
    return ClaimsContext(subject, permitted, plans, _removed(user.roles, within.roles))


_OWN_PLANS: Final[WeakKeyDictionary[ClientEntry, ClaimPlan]] = WeakKeyDictionary()
"""Beside each client that has mappers of its own, for as long as its entry is in use."""


def own_plan(client: ClientEntry) -> ClaimPlan:
    """Return what the client's own mappers do, prepared the first time."""
    mappers = client.client.protocol_mappers
    if not mappers:
        return EMPTY_PLAN
    found = _OWN_PLANS.get(client)
    if found is None:
        found = _OWN_PLANS[client] = prepare(mappers)
    return found


def carried_roles(client: ClientEntry, user: UserEntry, granted: GrantedScopes) -> EffectiveRoles:
    """Return the roles of the user that tokens of the client may carry."""
    return within_reach(client, user).roles.within(scope_of(client, granted))


def within_reach(client: ClientEntry, user: UserEntry) -> UserEntry:
    """Return the user without the roles beyond the reach of the client.

    All roles of the user decide on it, before a scope or an audience leaves some of them out.
    """
    withheld = withheld_roles(client, user)
    return user if withheld is None else replace(user, roles=withheld.remove_from(user.roles))


def withheld_roles(client: ClientEntry, user: UserEntry) -> WithheldRoles | None:
    """Return the roles that tokens of the client for the user do not carry; None for no limit.

    The roles of its own service account were given to the client itself.
    """
    return None if _is_own_account(client, user) else client.withheld


def _removed(held: EffectiveRoles, kept: EffectiveRoles) -> tuple[str, ...]:
    if held is kept:
        return ()
    removed = frozenset(held.pairs()).difference(kept.pairs())
    return tuple(sorted(name if owner is None else f"{owner}/{name}" for owner, name in removed))


def _own_account_roles(client: ClientEntry, user: UserEntry) -> EffectiveRoles | None:
    return user.roles if _is_own_account(client, user) else None


def _is_own_account(client: ClientEntry, user: UserEntry) -> bool:
    return user.user.service_account_client == client.client.id


def scope_of(client: ClientEntry, granted: GrantedScopes) -> EffectiveRoles | None:
    """Return the roles that tokens of the client may carry; None where that is not limited."""
    if client.client.full_scope_allowed:
        return None
    realm: set[str] = set()
    clients: defaultdict[str, set[str]] = defaultdict(set)
    for scope in (client.scope_roles, *(bound.roles for bound in granted.chosen.scopes)):
        realm.update(scope.realm)
        for owner, names in scope.clients:
            clients[owner].update(names)
    of_clients = ((owner, tuple(sorted(names))) for owner, names in clients.items())
    return EffectiveRoles(tuple(sorted(realm)), tuple(sorted(of_clients)))
