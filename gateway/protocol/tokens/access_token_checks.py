"""Whether an access token of this realm is valid now: one check for everything that accepts one.

Checked are signature, issuer, type, time, notBefore, client, session, user and revocation. The
claims must also agree with each other and with the stored session, so that a token with claims that
no grant decided is refused although the realm signed it.
Spec: RFC 8725 §3; RFC 7662 §4; Keycloak: 12.3, 12.4
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gateway.admin.access import Caller
from gateway.domain.clients import WithheldRoles
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.errors import InvalidToken
from gateway.domain.events import EventError
from gateway.domain.ports.certificates import DeniedCertificates
from gateway.domain.ports.directory import ClientEntry, Directory, RealmEntry, UserEntry
from gateway.domain.ports.storage import Database
from gateway.domain.realm import MASTER
from gateway.domain.roles import EffectiveRoles
from gateway.domain.sessions import UserSession
from gateway.domain.users import User
from gateway.protocol.claims.protocol_claims import (
    ACCESS_TOKEN_TYPES,
    ID_TOKEN_TYPE,
    ISSUED_SERIAL,
    only_for,
    roles_left_out,
)
from gateway.protocol.claims.subject_identifiers import is_subject
from gateway.protocol.devices import Devices
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import scope_of, still_granted, withheld_roles
from gateway.protocol.sender_constraint.certificate_binding import bound_to
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens.context import EXCHANGED, SessionKind, TokenContext, parse_token_id


class OtherKindOfToken(InvalidToken):
    """This realm signed it, and it is no access token."""


@dataclass(frozen=True, slots=True)
class ActiveToken:
    """A token that holds, the client it was issued to, and the user it speaks for.

    `session` is None for a transient one, such as a service account's. `user` has no roles of
    clients that a narrowed token is not for; `whole_user` has those too. Neither has roles that an
    exchanged token leaves out.
    """

    claims: Mapping[str, Any]
    context: TokenContext
    client: ClientEntry
    user: UserEntry
    session: UserSession | None
    whole_user: UserEntry


class AccessTokens:
    """Checks access tokens against keys, clients, sessions, users, devices and revocations."""

    def __init__(
        self,
        directory: Directory,
        database: Database,
        sessions: Sessions,
        denied: DeniedCertificates,
        devices: Devices,
    ) -> None:
        self._directory = directory
        self._database = database
        self._sessions = sessions
        self._denied = denied
        self._devices = devices

    async def active(self, request: ProtocolRequest, token: str) -> ActiveToken:
        """Return the token's claims; raises InvalidToken with the reason, or StoreUnavailable."""
        return await self.check(request, self.verify(request, token))

    async def check(self, request: ProtocolRequest, claims: Mapping[str, Any]) -> ActiveToken:
        """Return the token of verified claims; raises InvalidToken or StoreUnavailable."""
        active = await self.resolve(request, claims)
        if await self._database.lookups.is_revoked(request.realm.realm.id, str(claims["jti"])):
            raise InvalidToken("it was revoked")
        return active

    async def resolve(self, request: ProtocolRequest, claims: Mapping[str, Any]) -> ActiveToken:
        """Return the token of verified claims that was not revoked by its id.

        Raises InvalidToken or StoreUnavailable.
        """
        realm = request.realm.realm
        client_id = claims.get("azp")
        entry = (
            await self._directory.client(realm.id, client_id)
            if isinstance(client_id, str)
            else None
        )
        if entry is None or not entry.client.enabled:
            raise InvalidToken("its client is gone or disabled", EventError.CLIENT_DISABLED)
        context, session = await self._context(request, claims, entry)
        user = await self._user(request, claims, entry, session, context)
        user = without_left_out(request.realm, user, claims)
        not_before = max(realm.not_before, entry.client.not_before, user.user.not_before)
        if _instant(claims, "iat") < not_before:
            raise InvalidToken("issued before the realm's, the client's or the user's notBefore")
        # A resource server may ask that does not see the certificate itself.
        for named in filter(None, (bound_to(claims), claims.get(ISSUED_SERIAL))):
            if await self._denied.denies(realm, named, request.now):
                raise InvalidToken("the certificate that it is bound to is on a deny list")
        await self._devices.require_unlocked_token(realm.id, entry.client, claims, request.now)
        return ActiveToken(claims, context, entry, _limited(user, claims), session, user)

    def verify(
        self, request: ProtocolRequest, token: str, *, or_id_token: bool = False
    ) -> Mapping[str, Any]:
        """Return the claims of an unexpired access token that this realm signed.

        `or_id_token` is for callers that only describe a token: an ID token permits nothing.
        Raises InvalidToken.
        """
        claims = request.realm.key_ring.verify(token, request.now)
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

    async def _context(
        self, request: ProtocolRequest, claims: Mapping[str, Any], entry: ClientEntry
    ) -> tuple[TokenContext, UserSession | None]:
        """Return how the token was issued, and its stored session; None for a transient one."""
        if claims["typ"] in ACCESS_TOKEN_TYPES:
            context = parse_token_id(claims["jti"])
            return context, await self._session(request, claims, context, entry)
        # An ID token does not contain the kind of its session.
        online = SessionKind.ONLINE if "sid" in claims else SessionKind.TRANSIENT
        context = TokenContext(online, lightweight=False, grant="")
        try:
            return context, await self._session(request, claims, context, entry)
        except InvalidToken:
            context = TokenContext(SessionKind.OFFLINE, lightweight=False, grant="")
            return context, await self._session(request, claims, context, entry)

    async def _session(
        self,
        request: ProtocolRequest,
        claims: Mapping[str, Any],
        context: TokenContext,
        entry: ClientEntry,
    ) -> UserSession | None:
        """Return the stored session; None for a token of a transient one."""
        session_id = claims.get("sid")
        if context.session is SessionKind.TRANSIENT and "sid" not in claims:
            return None
        if context.session is SessionKind.TRANSIENT or not isinstance(session_id, str):
            raise InvalidToken(
                "its jti and its sid do not agree", EventError.USER_SESSION_NOT_FOUND
            )
        session = await self._sessions.find(
            request.realm.realm,
            session_id,
            offline=context.session is SessionKind.OFFLINE,
            now=request.now,
        )
        # Of an exchanged token, only the client of the first one takes part in the session.
        takes_part = session is not None and entry.client.id in session.clients
        if session is None or not (takes_part or context.grant == EXCHANGED):
            raise InvalidToken("its session is over", EventError.USER_SESSION_NOT_FOUND)
        begun = session.started_at
        if takes_part:
            begun = max(begun, session.clients[entry.client.id].started_at)
        if _instant(claims, "iat") < int((begun - CLOCK_LEEWAY).timestamp()):
            raise InvalidToken("issued before its session began", EventError.USER_SESSION_NOT_FOUND)
        return session

    async def _user(
        self,
        request: ProtocolRequest,
        claims: Mapping[str, Any],
        entry: ClientEntry,
        session: UserSession | None,
        context: TokenContext,
    ) -> UserEntry:
        if session is None and context.grant == EXCHANGED:
            return await self._account_of_other(request, claims)
        if session is None:
            account = _service_account(entry, claims)
            request.event.user_id = account.id
            return UserEntry(account, entry.roles)
        request.event.user_id = session.user_id
        user = await self._directory.user(request.realm.realm.id, session.user_id)
        if user is None or not user.user.enabled:
            raise InvalidToken("its user is gone or disabled", EventError.USER_DISABLED)
        subject = claims.get("sub", session.user_id)
        if not is_subject(subject, entry.client, session.user_id):
            raise InvalidToken("its session is another user's")
        return user

    async def _account_of_other(
        self, request: ProtocolRequest, claims: Mapping[str, Any]
    ) -> UserEntry:
        """Return the service account of another client, whose token was exchanged."""
        realm_id = request.realm.realm.id
        user = await self._directory.user(realm_id, str(claims.get("sub")))
        owner = None if user is None else user.user.service_account_client
        entry = None if owner is None else await self._directory.client_with_id(realm_id, owner)
        if user is None or entry is None or not (user.user.enabled and entry.client.enabled):
            raise InvalidToken("its user is gone or disabled", EventError.USER_DISABLED)
        if _instant(claims, "iat") < entry.client.not_before:
            raise InvalidToken("issued before the notBefore of the client of its user")
        request.event.user_id = user.user.id
        return UserEntry(_service_account(entry, claims), entry.roles)


def _administered_scope(realm: RealmEntry, active: ActiveToken) -> EffectiveRoles | None:
    """Return the roles that the token may use to administer; None where they are not limited.

    They follow from the current settings. A narrowed token has those of its clients alone, and none
    of the realm, which give rights over all of it.
    """
    names = str(active.claims.get("scope", "")).split()
    granted = still_granted(realm, active.client.client, names)
    scope = scope_of(active.client, granted.permitted_to(active.user.roles))
    if only_for(active.claims) is None:
        return scope
    return EffectiveRoles((), active.user.roles.within(scope).clients)


def administering_caller(realm: RealmEntry, active: ActiveToken) -> Caller:
    """Return the caller of the admin API who bears the token."""
    left_out = roles_left_out(active.claims)
    withheld = withheld_roles(active.client, active.user)
    if left_out is not None:
        withheld = WithheldRoles(realm.realm.name == MASTER, composites=left_out)
    scope = _administered_scope(realm, active)
    client, user = active.client.client, active.user
    return Caller(realm.realm, user.user, client, scope, user.roles, withheld)


def without_left_out(realm: RealmEntry, user: UserEntry, claims: Mapping[str, Any]) -> UserEntry:
    """Return the user without the roles that an exchanged token leaves out."""
    left_out = roles_left_out(claims)
    if left_out is None:
        return user
    withheld = WithheldRoles(realm.realm.name == MASTER, composites=left_out)
    return replace(user, roles=withheld.remove_from(user.roles))


def _limited(user: UserEntry, claims: Mapping[str, Any]) -> UserEntry:
    """Return the user without roles of clients that a narrowed token is not for."""
    wanted = only_for(claims)
    if wanted is None:
        return user
    kept = tuple((client, names) for client, names in user.roles.clients if client in wanted)
    return replace(user, roles=EffectiveRoles(user.roles.realm, kept))


def _service_account(entry: ClientEntry, claims: Mapping[str, Any]) -> User:
    user = entry.service_account
    if not entry.client.service_accounts_enabled or user is None or not user.enabled:
        raise InvalidToken("its user is gone or disabled", EventError.USER_DISABLED)
    if not is_subject(claims.get("sub"), entry.client, user.id):
        raise InvalidToken("its user is gone or disabled", EventError.USER_DISABLED)
    return user


def _instant(claims: Mapping[str, Any], name: str) -> float:
    value = claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidToken(f"{name} is not a number")
    return float(value)
