"""Whether a refresh token is valid now: one check for everything that accepts one.

It must be genuine and unexpired, its session and user valid. Only the grant takes its turn in its
family. Spec: RFC 6749 §6; Keycloak: 1.7 refresh, 2.2 claims
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from gateway.authentication.validity import (
    Cause,
    ClientPart,
    IssuedCredential,
    NoLongerValid,
    SessionName,
    Validity,
    own_generation,
)
from gateway.domain.certificate_names import DEVICE_CLAIM
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.lookups import ClientEntry, UserEntry
from gateway.domain.ports.storage import Database
from gateway.domain.sessions import Rotation, UserSession, session_ends_at
from gateway.protocol.claims.protocol_claims import (
    CLIENT_SESSION,
    exchanged_from,
    exchanged_tokens,
    only_for,
    roles_left_out,
)
from gateway.protocol.claims.subject import is_subject
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.requests import EventDraft, ProtocolRequest
from gateway.protocol.sender_constraint.certificates import certificate_bound_to
from gateway.protocol.tokens.access_token_checks import without_left_out
from gateway.protocol.tokens.issuing import OFFLINE, REFRESH


@dataclass(frozen=True, slots=True)
class PresentedToken:
    """A genuine refresh token. Spec: Keycloak 2.2 claims."""

    claims: Mapping[str, Any]
    offline: bool

    @property
    def scopes(self) -> tuple[str, ...]:
        return tuple(str(self.claims.get("scope", "")).split())

    @property
    def family(self) -> str | None:
        """Return the family it rotates in; None where it was issued without one."""
        family = self.claims.get("reuse_id")
        return family if isinstance(family, str) else None

    @property
    def audiences(self) -> frozenset[str] | None:
        """Return the clients that its access tokens are for; None where that is not limited."""
        return only_for(self.claims)

    @property
    def id(self) -> str:
        return str(self.claims["jti"])

    @property
    def expires_at(self) -> datetime | None:
        """Return when it expires; None where its session alone ends it."""
        expires_at = self.claims.get("exp")
        return None if expires_at is None else datetime.fromtimestamp(expires_at, UTC)

    def is_of(self, client: Client) -> bool:
        return self.claims.get("azp") == client.client_id


@dataclass(frozen=True, slots=True)
class ActiveRefreshToken:
    """A refresh token that holds, its session, and the user it speaks for."""

    token: PresentedToken
    session: UserSession
    user: UserEntry


def verify_refresh_token(
    request: ProtocolRequest, token: str, *, may_be_expired: bool = False
) -> PresentedToken:
    """Return the token when this realm signed it and it has not expired; raises OAuthError."""
    try:
        claims = request.realm.key_ring.verify_of_ourselves(token, request.now)
    except InvalidToken as error:
        raise _refused("Invalid refresh token", str(error)) from error
    if claims.get("typ") not in {REFRESH, OFFLINE}:
        raise _refused("Invalid refresh token")
    if not may_be_expired and "exp" in claims and claims["exp"] <= request.now.timestamp():
        raise _refused("Token is not active")
    if claims.get("iss") != request.issuer:
        raise _refused(f"Invalid token issuer. Expected '{request.issuer}'")
    return PresentedToken(claims, offline=claims["typ"] == OFFLINE)


def read_refresh_token(
    request: ProtocolRequest, client: Client, token: str, *, may_be_expired: bool = False
) -> PresentedToken:
    """Return the token when it is genuine and the caller's own; raises OAuthError."""
    presented = verify_refresh_token(request, token, may_be_expired=may_be_expired)
    if not presented.is_of(client):
        raise _refused("Invalid refresh token. Token client and authorized client don't match")
    return presented


def note_refresh_token(event: EventDraft, token: PresentedToken) -> None:
    """Note the token in the event."""
    claims = token.claims
    event.session_id = str(claims.get("sid"))
    event.details[Detail.REFRESH_TOKEN_TYPE] = str(claims["typ"])
    event.details[Detail.REFRESH_TOKEN_ID] = str(claims.get("jti"))


class RefreshTokens:
    """Checks refresh tokens: the claims here, what they rest on by `Validity`."""

    def __init__(self, database: Database, validity: Validity) -> None:
        self._database = database
        self._validity = validity

    async def active(
        self, request: ProtocolRequest, client: ClientEntry, token: PresentedToken
    ) -> ActiveRefreshToken:
        """Return the token's session and user; raises OAuthError or StoreUnavailable."""
        issued = replace(_issued(client, token), audiences=token.audiences or frozenset())
        await self._require_sources(request, token)
        try:
            current = await self._validity.require(request.realm, issued, request.now)
        except NoLongerValid as refusal:
            raise _no_longer_valid(refusal, token) from refusal
        session, user = current.session, current.user
        subject = token.claims.get("sub")
        if session is None or not is_subject(subject, client.client, user.user.id):
            raise session_is_over(token)
        left_out = roles_left_out(token.claims)
        return ActiveRefreshToken(token, session, without_left_out(request.realm, user, left_out))

    async def session_to_end(
        self, request: ProtocolRequest, client: ClientEntry, token: PresentedToken
    ) -> UserSession | None:
        """Return the session to end, None if it has ended.

        The token may be expired, and the client's part idle for too long. Raises OAuthError and
        StoreUnavailable.
        """
        issued = replace(_issued(client, token), part=ClientPart.PRESENT)
        return await self._session_of(request, client, token, issued)

    async def session_to_leave(
        self, request: ProtocolRequest, client: ClientEntry, token: PresentedToken
    ) -> UserSession:
        """Return the session that a client leaves, also where its use is refused now.

        A refusal of user, certificate or device may end; the revocation does not. Raises OAuthError
        or StoreUnavailable.
        """
        issued = replace(_issued(client, token), part=ClientPart.PRESENT)
        issued = replace(issued, certificates=(), device=None)
        session = await self._session_of(request, client, token, issued)
        if session is None:
            raise session_is_over(token)
        return session

    async def _session_of(
        self,
        request: ProtocolRequest,
        client: ClientEntry,
        token: PresentedToken,
        issued: IssuedCredential,
    ) -> UserSession | None:
        await self._require_sources(request, token)
        try:
            session = await self._validity.find_session_to_end(request.realm, issued, request.now)
        except NoLongerValid as refusal:
            raise _no_longer_valid(refusal, token) from refusal
        if session is not None and not is_subject(
            token.claims.get("sub"), client.client, session.user_id
        ):
            raise session_is_over(token)
        return session

    async def _require_sources(self, request: ProtocolRequest, token: PresentedToken) -> None:
        """Raise OAuthError where a token was revoked that this one was exchanged from."""
        sources = exchanged_tokens(token.claims)
        if sources and await self._database.lookups.is_revoked(request.realm.realm.id, *sources):
            raise _refused("Invalid refresh token", "it was exchanged from a revoked token")

    async def is_next(self, request: ProtocolRequest, token: PresentedToken) -> bool:
        """Return whether the token's family would take it now; asking changes nothing."""
        realm, rotations = request.realm.realm, self._database.rotations
        max_reuse = realm.refresh_tokens.max_reuse
        if not realm.refresh_tokens.revoke_on_use:
            return True
        if token.family is None:
            return await rotations.is_next_without_family(realm.id, token.id, max_reuse=max_reuse)
        return await rotations.is_next(realm.id, token.family, token.id, max_reuse=max_reuse)

    async def rotate(
        self,
        request: ProtocolRequest,
        session: UserSession,
        token: PresentedToken,
        successor: str,
    ) -> tuple[Rotation, str | None]:
        """Use the token; return the answer and the family of the `successor`, which is an id.

        The family is None without rotation. A token that is older than rotation begins a family
        under its own id. Raises StoreUnavailable.
        """
        realm, rotations = request.realm.realm, self._database.rotations
        max_reuse = realm.refresh_tokens.max_reuse
        if not realm.refresh_tokens.revoke_on_use:
            return Rotation.ACCEPTED, None
        end = session_ends_at(realm.session_limits, session)
        if token.family is None:
            rotation = await rotations.rotate_without_family(
                realm.id,
                token.id,
                session_id=session.id,
                successor=successor,
                max_reuse=max_reuse,
                expires_at=max(end, token.expires_at or end),
            )
            return rotation, token.id
        rotation = await rotations.rotate(
            realm.id,
            token.family,
            token.id,
            successor=successor,
            max_reuse=max_reuse,
            expires_at=end,
        )
        return rotation, token.family


_TEXTS: Final[Mapping[Cause, str]] = {
    Cause.CLIENT_NOT_IN_SESSION: "Session doesn't have required client",
    Cause.CLIENT_SESSION_OVER: "Client session not active",
    Cause.BEFORE_SESSION: "Refresh token issued before the user session started",
    Cause.BEFORE_CLIENT_SESSION: "refresh token issued before the client session started",
    Cause.USER_REMOVED: "Unknown user",
    Cause.USER_DISABLED: "User disabled",
    Cause.NOT_BEFORE: "Stale token",
    Cause.OFFLINE_ACCESS_WITHDRAWN: (
        "Offline session invalid because offline access not granted anymore"
    ),
    Cause.AUDIENCE_UNUSABLE: "Audience client not found or disabled",
    Cause.CERTIFICATE_DENIED: "Certificate of the token not accepted anymore",
    Cause.DEVICE_LOCKED: "Device locked",
}
"""Descriptions of refusals, Keycloak's where it has the refusal; another cause ends the session."""


def _no_longer_valid(refusal: NoLongerValid, token: PresentedToken) -> OAuthError:
    text = _TEXTS.get(refusal.cause)
    return session_is_over(token) if text is None else _refused(text)


def session_is_over(token: PresentedToken) -> OAuthError:
    """Return the refusal of a token whose session has ended."""
    return _refused("Offline user session not found" if token.offline else "Session not active")


def _issued(client: ClientEntry, token: PresentedToken) -> IssuedCredential:
    device = token.claims.get(DEVICE_CLAIM)
    return IssuedCredential(
        issued_at=_issued_at(token),
        client=client,
        session=SessionName(str(token.claims.get("sid")), offline=token.offline),
        certificates=tuple(filter(None, (certificate_bound_to(token.claims),))),
        device=device if isinstance(device, str) else None,
        generations={
            **exchanged_from(token.claims),
            **own_generation(client.client.id, token.claims.get(CLIENT_SESSION)),
        },
    )


def _issued_at(token: PresentedToken) -> int:
    issued_at = token.claims.get("iat")
    if not isinstance(issued_at, int):
        raise _refused("Invalid refresh token")
    return issued_at


def _refused(description: str, reason: str | None = None) -> OAuthError:
    return refused("invalid_grant", description, EventError.INVALID_TOKEN, reason=reason)
