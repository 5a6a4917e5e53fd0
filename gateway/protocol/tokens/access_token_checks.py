"""Whether an access token of this realm is valid now: one check for everything that accepts one.

Checked are signature, issuer, type, time, notBefore, client, session, user and revocation. The
claims must also agree with each other and with the stored session, so that a token with claims that
no grant decided is refused although the realm signed it.
Spec: RFC 8725 §3; RFC 7662 §4; Keycloak: 12.3 userinfo, 12.4 introspection
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.authentication.validity import (
    Cause,
    ClientPart,
    CurrentState,
    IssuedCredential,
    NoLongerValid,
    SessionName,
    Validity,
)
from gateway.domain.callers import Caller
from gateway.domain.certificate_names import DEVICE_CLAIM
from gateway.domain.clients import Client, RoleKey, WithheldRoles
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.errors import InvalidToken
from gateway.domain.events import EventError
from gateway.domain.ports.lookups import ClientEntry, Directory, RealmEntry, UserEntry
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import UserSession
from gateway.protocol.claims.protocol_claims import (
    ACCESS_TOKEN_TYPES,
    EXCHANGED_FROM,
    ID_TOKEN_TYPE,
    ISSUED_SERIAL,
    ONLY_FOR,
    TWIN_THUMBPRINT,
    WITHOUT_ROLES,
    exchanged_from,
    only_for,
    revocable_ids,
    roles_left_out,
)
from gateway.protocol.claims.subject import is_subject
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import scope_of, still_granted, withheld_roles, within_reach
from gateway.protocol.sender_constraint.certificates import certificate_bound_to
from gateway.protocol.tokens.issuing import EXCHANGED, SessionKind, TokenContext, parse_token_id


class OtherKindOfToken(InvalidToken):
    """This realm signed it, and it is no access token."""


@dataclass(frozen=True, slots=True)
class ActiveToken:
    """A valid token, its client and its user.

    `session` is None for a transient one. `user` has only roles within the client's reach and a
    narrowed token's clients; `whole_user` has all but those left out by an exchange.
    """

    claims: Mapping[str, Any]
    context: TokenContext
    client: ClientEntry
    user: UserEntry
    session: UserSession | None
    whole_user: UserEntry


class AccessTokens:
    """Checks access tokens: the claims here, what they rest on by `Validity`."""

    def __init__(self, directory: Directory, database: Database, validity: Validity) -> None:
        self._directory = directory
        self._database = database
        self._validity = validity

    async def find_active(
        self, request: ProtocolRequest, token: str, *, begins_sign_in: bool = False
    ) -> ActiveToken:
        """Return the valid token; raises InvalidToken. `begins_sign_in`: it yields new tokens."""
        return await self.find_unrevoked(
            request, self.verify_token(request, token), begins_sign_in=begins_sign_in
        )

    async def find_unrevoked(
        self,
        request: ProtocolRequest,
        claims: Mapping[str, Any],
        *,
        begins_sign_in: bool = False,
    ) -> ActiveToken:
        """Return the token of verified claims; raises InvalidToken or StoreUnavailable."""
        active = await self.resolve(request, claims, begins_sign_in=begins_sign_in)
        if await self._database.lookups.is_revoked(request.realm.realm.id, *revocable_ids(claims)):
            raise InvalidToken("it was revoked")
        return active

    async def resolve(
        self,
        request: ProtocolRequest,
        claims: Mapping[str, Any],
        *,
        begins_sign_in: bool = False,
    ) -> ActiveToken:
        """Return the token of verified claims, without a look at revocations by id."""
        client_id = claims.get("azp")
        entry = (
            await self._directory.client(request.realm.realm.id, client_id)
            if isinstance(client_id, str)
            else None
        )
        context = _context(claims)
        try:
            current = await self._current(request, claims, entry, context, begins_sign_in)
        except NoLongerValid as refusal:
            if claims["typ"] in ACCESS_TOKEN_TYPES or context.session is SessionKind.TRANSIENT:
                raise _no_longer_valid(request, refusal) from refusal
            context = replace(context, session=SessionKind.OFFLINE)
            try:
                current = await self._current(request, claims, entry, context, begins_sign_in)
            except NoLongerValid as of_offline:
                raise _no_longer_valid(request, of_offline) from of_offline
        if entry is None:
            raise InvalidToken(Cause.CLIENT_UNUSABLE, EventError.CLIENT_DISABLED)
        request.event.user_id = current.user.user.id
        _require_subject(claims, entry.client, context, current)
        user = current.user
        if WITHOUT_ROLES in claims:
            user = without_left_out(request.realm, user, roles_left_out(claims))
        limited = user if entry.withheld is None else within_reach(entry, user)
        if ONLY_FOR in claims:
            limited = _limited(limited, claims)
        return ActiveToken(claims, context, entry, limited, current.session, user)

    async def _current(
        self,
        request: ProtocolRequest,
        claims: Mapping[str, Any],
        entry: ClientEntry | None,
        context: TokenContext,
        begins_sign_in: bool,  # noqa: FBT001 - passed on
    ) -> CurrentState:
        exchanged = context.grant == EXCHANGED
        session = _session_name(claims, context)
        device = claims.get(DEVICE_CLAIM)
        generations = dict(exchanged_from(claims)) if EXCHANGED_FROM in claims else {}
        if entry is not None and session is not None and context.generation is not None:
            generations[entry.client.id] = context.generation
        # A resource server may ask that does not see the certificate itself.
        named = map(claims.get, (ISSUED_SERIAL, TWIN_THUMBPRINT))
        bound = filter(None, (certificate_bound_to(claims), *named))
        issued = IssuedCredential(
            issued_at=_instant(claims, "iat"),
            client=entry,
            session=session,
            part=ClientPart.NOT_NEEDED if exchanged else ClientPart.PRESENT,
            user_id=str(claims.get("sub")) if exchanged and session is None else None,
            audiences=only_for(claims) or frozenset(),
            certificates=tuple(map(str, bound)),
            device=device if isinstance(device, str) else None,
            generations=generations,
            account_generation=context.generation if session is None else None,
            begins_sign_in=begins_sign_in,
        )
        return await self._validity.require(request.realm, issued, request.now)

    def verify_token(
        self, request: ProtocolRequest, token: str, *, or_id_token: bool = False
    ) -> Mapping[str, Any]:
        """Return the claims of an unexpired access token that this realm signed.

        `or_id_token` accepts ID tokens too, for callers that only describe them. Raises
        InvalidToken.
        """
        claims = request.realm.key_ring.verify_token(token, request.now)
        if claims.get("iss") != request.issuer:
            raise InvalidToken("issued by another issuer")
        if claims.get("typ") in ACCESS_TOKEN_TYPES:
            parse_token_id(claims.get("jti"))
        elif not or_id_token or claims.get("typ") != ID_TOKEN_TYPE:
            raise OtherKindOfToken("not an access token")
        elif not isinstance(claims.get("jti"), str):
            raise InvalidToken("it has no jti")
        if _instant(claims, "exp") <= request.now.timestamp():
            raise InvalidToken("expired")
        if _instant(claims, "iat") > (request.now + CLOCK_LEEWAY).timestamp():
            raise InvalidToken("issued in the future")
        return claims


def _context(claims: Mapping[str, Any]) -> TokenContext:
    """Return how the token was issued; an ID token does not contain the kind of its session."""
    if claims["typ"] in ACCESS_TOKEN_TYPES:
        return parse_token_id(claims["jti"])
    kind = SessionKind.ONLINE if "sid" in claims else SessionKind.TRANSIENT
    return TokenContext(kind, lightweight=False, grant="")


def _session_name(claims: Mapping[str, Any], context: TokenContext) -> SessionName | None:
    """Return the session that the token names; None for a transient one."""
    session_id = claims.get("sid")
    if context.session is SessionKind.TRANSIENT and "sid" not in claims:
        return None
    if context.session is SessionKind.TRANSIENT or not isinstance(session_id, str):
        raise InvalidToken("its jti and its sid do not agree", EventError.USER_SESSION_NOT_FOUND)
    return SessionName(session_id, offline=context.session is SessionKind.OFFLINE)


def _require_subject(
    claims: Mapping[str, Any], client: Client, context: TokenContext, current: CurrentState
) -> None:
    """Raise InvalidToken where `sub` names another user than the session, or than the account."""
    user = current.user.user
    if current.session is not None:
        if not is_subject(claims.get("sub", user.id), client, user.id):
            raise InvalidToken("its session is another user's")
        return
    named = claims.get("sub") == user.id if context.grant == EXCHANGED else None
    if named is None:
        named = is_subject(claims.get("sub"), client, user.id)
    if not named or user.service_account_client is None:
        raise InvalidToken("its user is gone or disabled", EventError.USER_DISABLED)


_EVENT_ERRORS: Final[Mapping[Cause, str]] = {
    Cause.CLIENT_UNUSABLE: EventError.CLIENT_DISABLED,
    Cause.AUDIENCE_UNUSABLE: EventError.CLIENT_DISABLED,
    Cause.REALM_DISABLED: EventError.USER_SESSION_NOT_FOUND,
    Cause.SESSION_OVER: EventError.USER_SESSION_NOT_FOUND,
    Cause.CLIENT_NOT_IN_SESSION: EventError.USER_SESSION_NOT_FOUND,
    Cause.BEFORE_SESSION: EventError.USER_SESSION_NOT_FOUND,
    Cause.BEFORE_CLIENT_SESSION: EventError.USER_SESSION_NOT_FOUND,
    Cause.OFFLINE_ACCESS_WITHDRAWN: EventError.SESSION_EXPIRED,
    Cause.USER_REMOVED: EventError.USER_DISABLED,
    Cause.USER_DISABLED: EventError.USER_DISABLED,
    Cause.USER_LOCKED_OUT: EventError.USER_TEMPORARILY_DISABLED,
    Cause.DEVICE_LOCKED: EventError.USER_TEMPORARILY_DISABLED,
}
"""The errors of events; another cause is INVALID_TOKEN."""


def _no_longer_valid(request: ProtocolRequest, refusal: NoLongerValid) -> InvalidToken:
    if refusal.user_id is not None:
        request.event.user_id = refusal.user_id
    event_error = _EVENT_ERRORS.get(refusal.cause, EventError.INVALID_TOKEN)
    return InvalidToken(str(refusal), event_error)


def _administered_scope(realm: RealmEntry, active: ActiveToken) -> EffectiveRoles | None:
    """Return the roles that the token may administer with, as of now; None for no limit."""
    is_narrowed = only_for(active.claims) is not None
    if active.client.client.full_scope_allowed and not is_narrowed:
        return None
    names = str(active.claims.get("scope", "")).split()
    granted = still_granted(realm, active.client.client, names)
    scope = scope_of(active.client, granted.permitted_to(active.user.roles))
    return EffectiveRoles((), active.user.roles.within(scope).clients) if is_narrowed else scope


def administering_caller(realm: RealmEntry, active: ActiveToken) -> Caller:
    """Return the caller of the admin API who bears the token."""
    left_out = roles_left_out(active.claims) if WITHOUT_ROLES in active.claims else None
    withheld = active.client.withheld
    if left_out is not None:
        withheld = _roles_of_exchange(realm, left_out)
    elif withheld is not None:
        withheld = withheld_roles(active.client, active.user)
    scope = _administered_scope(realm, active)
    client, user = active.client.client, active.user
    return Caller(realm.realm, user.user, client, scope, user.roles, withheld, active.session)


def without_left_out(
    realm: RealmEntry, user: UserEntry, left_out: frozenset[RoleKey] | None
) -> UserEntry:
    """Return the user without the roles that an exchange leaves out; None leaves out no role."""
    if left_out is None:
        return user
    return replace(user, roles=_roles_of_exchange(realm, left_out).remove_from(user.roles))


def _roles_of_exchange(realm: RealmEntry, left_out: frozenset[RoleKey]) -> WithheldRoles:
    """Return the roles that an exchanged token leaves out: every administrative one, and these."""
    return WithheldRoles(realm.realm.name == MASTER, composites=left_out)


def _limited(user: UserEntry, claims: Mapping[str, Any]) -> UserEntry:
    wanted = only_for(claims)
    if wanted is None:
        return user
    kept = tuple((client, names) for client, names in user.roles.clients if client in wanted)
    return replace(user, roles=EffectiveRoles(user.roles.realm, kept))


def _instant(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidToken(f"{name} is not a number")
    return float(value)
