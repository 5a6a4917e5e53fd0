"""Client scopes of a token: granted by name, and the user's roles and claims that they allow."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary

from gateway.authentication.validity import OFFLINE_ACCESS
from gateway.domain.client_scopes import RoleBoundScope
from gateway.domain.clients import OPENID_CONNECT, Client, WithheldRoles
from gateway.domain.events import EventError
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.input_sizes import PREPARED_BYTES, scope_excess
from gateway.domain.ports.lookups import ClientEntry, RealmEntry, UserEntry
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import UserSession
from gateway.protocol.claims import EMPTY_PLAN, ClaimPlan, map_claims, mapped_roles, prepare_plan
from gateway.protocol.claims.mapper import ClaimsFor, MappedClaims
from gateway.protocol.claims.subject import TokenSubject, subject_identifier
from gateway.protocol.errors import OAuthError, refused

OPENID: Final = "openid"
_PREPARED_MAPPER: Final = 512
"""Bytes of one prepared mapper, measured; its configuration belongs to the realm."""


@dataclass(frozen=True, slots=True)
class ChosenScopes:
    """Some of a realm's scopes by name, and what their mappers do."""

    scopes: tuple[RoleBoundScope, ...]
    names: tuple[str, ...]
    text: str
    """The names a client may see, space separated."""
    plan: ClaimPlan = field(repr=False)
    bound: bool
    """Some are only for users who have a role."""


def _weigh(_key: tuple[int, int], chosen: ChosenScopes) -> int:
    mappers = sum(len(bound.scope.mappers) for bound in chosen.scopes)
    return 1024 + (16 * len(chosen.names) + len(chosen.text)) + _PREPARED_MAPPER * mappers


_CHOICES: Final[SizedCache[tuple[int, int], ChosenScopes]] = SizedCache(PREPARED_BYTES, _weigh)
"""By the number of the realm's scopes and the set of the chosen ones, a bit each.

The order of names in a request, repeats and unknown names do not reach the key.
"""
_NUMBERS: Final = count()


class RealmScopes:
    """The prepared scopes of one realm. Spec: RFC 6749 §3.3; Keycloak: client scopes."""

    def __init__(self, scopes: Iterable[RoleBoundScope]) -> None:
        self._scopes = {
            bound.scope.name: bound for bound in scopes if bound.scope.protocol == OPENID_CONNECT
        }
        self.names = tuple(self._scopes)
        self._number = next(_NUMBERS)
        self._bits = {name: 1 << place for place, name in enumerate(self._scopes)}

    @property
    def shown(self) -> tuple[str, ...]:
        """The names in the realm's metadata."""
        return tuple(name for name, bound in self._scopes.items() if bound.scope.in_metadata)

    def chosen(self, always: tuple[str, ...], asked: tuple[str, ...]) -> ChosenScopes:
        chosen = 0
        for name in always:
            chosen |= self._bits.get(name, 0)
        for name in asked:
            chosen |= self._bits.get(name, 0)
        found = _CHOICES.get((self._number, chosen))
        if found is None:
            found = _chosen_scopes(
                [self._scopes[name] for name, bit in self._bits.items() if chosen & bit]
            )
            _CHOICES.put((self._number, chosen), found)
        return found


_PREPARED_SCOPES: Final[WeakKeyDictionary[RealmEntry, RealmScopes]] = WeakKeyDictionary()
"""Beside each realm entry, for as long as that is in use."""


def scopes_of(realm: RealmEntry) -> RealmScopes:
    """Return the scopes of the realm, prepared the first time."""
    found = _PREPARED_SCOPES.get(realm)
    if found is None:
        found = _PREPARED_SCOPES[realm] = RealmScopes(realm.client_scopes)
    return found


@dataclass(frozen=True, slots=True)
class GrantedScopes:
    """The scopes of one token."""

    chosen: ChosenScopes
    openid: bool

    @property
    def offline(self) -> bool:
        """Return whether an offline session is requested."""
        return OFFLINE_ACCESS in self.chosen.names

    @property
    def names(self) -> tuple[str, ...]:
        return (OPENID, *self.chosen.names) if self.openid else self.chosen.names

    @property
    def text(self) -> str:
        """Return the names a client may see, space separated."""
        text = self.chosen.text
        return (f"{OPENID} {text}" if text else OPENID) if self.openid else text

    def permitted_to(self, roles: EffectiveRoles) -> "GrantedScopes":
        """Return what a user with these roles gets of them: scopes without roles are for all."""
        if not self.chosen.bound:
            return self
        kept = [bound for bound in self.chosen.scopes if bound.is_permitted_to(roles)]
        if len(kept) == len(self.chosen.scopes):
            return self
        return GrantedScopes(_chosen_scopes(kept), self.openid)


def grant_scopes(realm: RealmEntry, client: Client, requested: str | None) -> GrantedScopes:
    """Return default and requested scopes; raises invalid_scope for others and for too many."""
    excess = scope_excess(requested) if requested else None
    if excess is not None:
        raise _invalid_scope(excess)
    names = () if requested is None else _scope_names(requested)
    prepared = scopes_of(realm)
    if names and not _allowed_scopes(prepared, client).issuperset(names):
        raise _invalid_scope(requested or "")
    return GrantedScopes(prepared.chosen(client.default_client_scopes, names), OPENID in names)


def still_granted(realm: RealmEntry, client: Client, names: Iterable[str]) -> GrantedScopes:
    """Return what is left of scopes granted earlier, and the client's default scopes."""
    prepared = scopes_of(realm)
    allowed = _allowed_scopes(prepared, client)
    left = tuple(name for name in names if name in allowed)
    return GrantedScopes(prepared.chosen(client.default_client_scopes, left), OPENID in left)


def _invalid_scope(what: str) -> OAuthError:
    return refused("invalid_scope", f"Invalid scopes: {what}", EventError.INVALID_REQUEST)


def _allowed_scopes(prepared: RealmScopes, client: Client) -> set[str]:
    given = {*client.default_client_scopes, *client.optional_client_scopes}
    return {OPENID, *given.intersection(prepared.names)}


def _chosen_scopes(scopes: Sequence[RoleBoundScope]) -> ChosenScopes:
    visible = [bound.scope.name for bound in scopes if bound.scope.in_token_scope]
    return ChosenScopes(
        tuple(scopes),
        tuple(bound.scope.name for bound in scopes),
        " ".join(visible),
        prepare_plan(mapper for bound in scopes for mapper in bound.scope.mappers),
        any(bound.roles != EffectiveRoles() for bound in scopes),
    )


def _scope_names(requested: str) -> tuple[str, ...]:
    """Split as Keycloak does: blanks alone ask for nothing, an empty text names a scope ""."""
    if requested and not requested.strip(" "):
        return ()
    return tuple(requested.rstrip(" ").split(" "))


SIGNED_IN: Final = "1"
"""`acr` of a sign-in with one factor. Keycloak: 2.2 claims."""


@dataclass(frozen=True, slots=True)
class ClaimsContext:
    """The subject of tokens, the granted scopes, and the mappers of scopes and client.

    Without full scope a client gets its own roles and those of scope mappings. A client of limited
    reach gets no further administrative roles, except of its own account. Keycloak: 2.1 headers and
    keys, scope mappings
    """

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
        return replace(self, subject=replace(self.subject, roles=replace(roles, clients=kept)))


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
    roles = mapped_roles(plans, _carried_roles(client, within, permitted))
    if client.withheld is not None:
        roles = client.withheld.remove_from(roles, keep=_own_account_roles(client, user))
    subject = TokenSubject(
        user=user.user,
        client=client.client,
        identifier=subject_identifier(client.client, user.user.id)
        if plans[1].is_pairwise
        else user.user.id,
        roles=roles,
        session_notes=session.notes if session else notes or {},
        acr=(part and part.acr) or SIGNED_IN,
        groups=user.groups,
        group_attributes=user.group_attributes,
        session_id=session.id if session else None,
        authenticated_at=part.authenticated_at if part else None,
        requested_claims=part.claims if part else "",
    )
    removed = () if within is user else _removed(user.roles, within.roles)
    return ClaimsContext(subject, permitted, plans, removed)


_OWN_PLANS: Final[WeakKeyDictionary[ClientEntry, ClaimPlan]] = WeakKeyDictionary()
"""Beside each client that has mappers of its own, for as long as its entry is in use."""


def own_plan(client: ClientEntry) -> ClaimPlan:
    """Return what the client's own mappers do, prepared the first time."""
    mappers = client.client.protocol_mappers
    if not mappers:
        return EMPTY_PLAN
    found = _OWN_PLANS.get(client)
    if found is None:
        found = _OWN_PLANS[client] = prepare_plan(mappers)
    return found


def carried_roles(client: ClientEntry, user: UserEntry, granted: GrantedScopes) -> EffectiveRoles:
    """Return the roles of the user that tokens of the client may carry."""
    return _carried_roles(client, within_reach(client, user), granted)


def _carried_roles(client: ClientEntry, user: UserEntry, granted: GrantedScopes) -> EffectiveRoles:
    if client.client.full_scope_allowed:
        return user.roles
    return user.roles.within(scope_of(client, granted))


def within_reach(client: ClientEntry, user: UserEntry) -> UserEntry:
    """Return the user without roles beyond the client's reach, before scopes narrow them."""
    if client.withheld is None:
        return user
    withheld = withheld_roles(client, user)
    return user if withheld is None else replace(user, roles=withheld.remove_from(user.roles))


def withheld_roles(client: ClientEntry, user: UserEntry) -> WithheldRoles | None:
    """Return the roles that tokens for the user do not carry.

    None for the client's own account, and where nothing is withheld.
    """
    return None if _is_own_account(client, user) else client.withheld


def _removed(held: EffectiveRoles, kept: EffectiveRoles) -> tuple[str, ...]:
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
