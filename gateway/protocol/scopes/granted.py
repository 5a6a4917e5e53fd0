"""Client scopes: what a scope name in a request brings into the tokens.

The scopes are those of the realm; a client names the ones it gets always and those it may ask
for. Spec: RFC 6749 §3.3; Keycloak: client scopes
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Final
from weakref import WeakKeyDictionary

from gateway.authentication.validity import OFFLINE_ACCESS
from gateway.domain.client_scopes import RoleBoundScope
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.events import EventError
from gateway.domain.limits.caches import SizedCache
from gateway.domain.limits.scopes import PREPARED_BYTES, scope_excess
from gateway.domain.ports.directory import RealmEntry
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.claims.plans import ClaimPlan, prepare
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
    names = 16 * len(chosen.names) + len(chosen.text)
    return 1024 + names + _PREPARED_MAPPER * mappers


_CHOICES: Final[SizedCache[tuple[int, int], ChosenScopes]] = SizedCache(PREPARED_BYTES, _weigh)
"""By the number of the realm's scopes and the set of the chosen ones, a bit each.

The order of names in a request, repeats and unknown names do not reach the key.
"""
_NUMBERS: Final = count()


class RealmScopes:
    """The scopes of one realm, prepared."""

    def __init__(self, scopes: Iterable[RoleBoundScope]) -> None:
        """Take all scopes by name; those of other protocols are left out."""
        self._scopes = {
            bound.scope.name: bound for bound in scopes if bound.scope.protocol == OPENID_CONNECT
        }
        self._number = next(_NUMBERS)
        self._bits = {name: 1 << place for place, name in enumerate(self._scopes)}

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._scopes)

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
            found = _chosen(
                [self._scopes[name] for name, bit in self._bits.items() if chosen & bit]
            )
            _CHOICES.put((self._number, chosen), found)
        return found


_PREPARED: Final[WeakKeyDictionary[RealmEntry, RealmScopes]] = WeakKeyDictionary()
"""Beside each realm entry, for as long as that is in use."""


def scopes_of(realm: RealmEntry) -> RealmScopes:
    """Return the scopes of the realm, prepared the first time."""
    found = _PREPARED.get(realm)
    if found is None:
        found = _PREPARED[realm] = RealmScopes(realm.client_scopes)
    return found


@dataclass(frozen=True, slots=True)
class GrantedScopes:
    """The scopes of one token."""

    chosen: ChosenScopes
    openid: bool

    @property
    def offline(self) -> bool:
        """Tell whether an offline session is requested."""
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
        return GrantedScopes(_chosen(kept), self.openid)


def grant_scopes(realm: RealmEntry, client: Client, requested: str | None) -> GrantedScopes:
    """Return the client's default scopes plus the requested optional ones.

    None asks for nothing beyond the defaults. Raises invalid_scope on any name that the client
    was not given, and on more than `gateway.domain.limits.scopes` allows.
    """
    excess = scope_excess(requested) if requested else None
    if excess is not None:
        raise _invalid_scope(excess)
    names = _names(requested)
    prepared = scopes_of(realm)
    if names and not _allowed(prepared, client).issuperset(names):
        raise _invalid_scope(requested or "")
    return GrantedScopes(prepared.chosen(client.default_client_scopes, names), OPENID in names)


def still_granted(realm: RealmEntry, client: Client, names: Iterable[str]) -> GrantedScopes:
    """Return what is left of scopes granted earlier, and the client's default scopes."""
    prepared = scopes_of(realm)
    allowed = _allowed(prepared, client)
    left = tuple(name for name in names if name in allowed)
    return GrantedScopes(prepared.chosen(client.default_client_scopes, left), OPENID in left)


def _invalid_scope(what: str) -> OAuthError:
    return refused("invalid_scope", f"Invalid scopes: {what}", EventError.INVALID_REQUEST)


def _allowed(prepared: RealmScopes, client: Client) -> set[str]:
    given = {*client.default_client_scopes, *client.optional_client_scopes}
    return {OPENID, *given.intersection(prepared.names)}


def _chosen(scopes: Sequence[RoleBoundScope]) -> ChosenScopes:
    visible = [bound.scope.name for bound in scopes if bound.scope.in_token_scope]
    return ChosenScopes(
        tuple(scopes),
        tuple(bound.scope.name for bound in scopes),
        " ".join(visible),
        prepare(mapper for bound in scopes for mapper in bound.scope.mappers),
        any(bound.roles != EffectiveRoles() for bound in scopes),
    )


def _names(requested: str | None) -> tuple[str, ...]:
    """Split as Keycloak does: blanks alone ask for nothing, an empty text names a scope ""."""
    if requested is None or (requested and not requested.strip(" ")):
        return ()
    return tuple(requested.rstrip(" ").split(" "))
