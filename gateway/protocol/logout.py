"""Logout: by the user's browser or a client's refresh token, and the notices to clients.

Spec: OpenID Connect RP-Initiated Logout §2, §3, Front-Channel Logout §2, §3, Back-Channel Logout
§2.4 to §2.8; Keycloak: 12.6 logout; attacks: C2, C3, C23
"""

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import urlencode

from gateway.client_policies import EventKind
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.clock import Clock
from gateway.domain.deliveries import FailedDelivery, LogoutNotice
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.keys import HeaderType, SecretAlgorithm, SignatureAlgorithm
from gateway.domain.ports.client_keys import ClientEncrypters
from gateway.domain.ports.lookups import ClientEntry, Directory, RealmEntry
from gateway.domain.ports.outgoing import NoticeNotReceived, NoticeSender
from gateway.domain.ports.storage import Database
from gateway.domain.sessions import UserSession
from gateway.protocol.authorization import (
    PageError,
    PageMessage,
    invalid_request_page,
    policy_refusal_page,
)
from gateway.protocol.claims.protocol_claims import ID_TOKEN_TYPE
from gateway.protocol.claims.subject import is_subject, subject_identifier
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import OAuthError, ProofRefused, duplicated_parameter
from gateway.protocol.identity_cookie import BrowserIdentity
from gateway.protocol.policy_checks import check_caller, check_client
from gateway.protocol.requests import Parameters, ProtocolRequest
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.sessions import Sessions
from gateway.protocol.tokens import (
    encrypt_id_token,
    id_token_encrypter,
    read_refresh_token,
)


@dataclass(frozen=True, slots=True)
class ClientFrame:
    """The address that a frame loads to log out at a client."""

    client: Client
    url: str = field(repr=False)


def logout_frames(
    session: UserSession, clients: Iterable[Client], issuer: str
) -> tuple[ClientFrame, ...]:
    """Return frames of the session's clients. Spec: OpenID Connect Front-Channel Logout §2, §3."""
    return tuple(
        ClientFrame(client, _frame_url(client, session, issuer))
        for client in clients
        if client.protocol == OPENID_CONNECT and client.enabled and client.logout.front_channel_url
    )


def _frame_url(client: Client, session: UserSession, issuer: str) -> str:
    url = client.logout.front_channel_url
    if not client.logout.front_channel_session_required:
        return url
    address, hash_sign, fragment = url.partition("#")
    separator = "&" if "?" in address else "?"
    named = urlencode({"iss": issuer, "sid": session.id})
    return f"{address}{separator}{named}{hash_sign}{fragment}"


_HINT_PARAMETER: Final = "id_token_hint"
_KEPT_PARAMETERS: Final = ("client_id", "post_logout_redirect_uri", "state")
_LONGEST_STATE: Final = 2_000
_NO_CLIENT: Final = (
    "Either the parameter 'client_id' or the parameter 'id_token_hint' is required when"
    " 'post_logout_redirect_uri' is used."
)
_OTHER_CLIENT: Final = (
    "Parameter client_id is different than the client for which ID Token was issued."
)


@dataclass(frozen=True, slots=True)
class LogoutRequest:
    """A checked request; `hint` are the claims of an ID token of `client`, if known."""

    client: Client | None = None
    redirect_uri: str = ""
    state: str = field(default="", repr=False)
    hint: Mapping[str, Any] | None = field(default=None, repr=False)

    @property
    def target(self) -> str:
        """The next address of the browser; empty where it stays on a page."""
        if not self.redirect_uri or not self.state:
            return self.redirect_uri
        address, hash_sign, fragment = self.redirect_uri.partition("#")
        path, _, query = address.partition("?")
        pairs = [pair for pair in query.split("&") if pair and pair.partition("=")[0] != "state"]
        query = "&".join([*pairs, urlencode({"state": self.state})])
        return f"{path}?{query}{hash_sign}{fragment}"

    @property
    def hinted_session(self) -> str | None:
        session_id = (self.hint or {}).get("sid")
        return session_id if isinstance(session_id, str) else None

    def stored(self) -> dict[str, str]:
        """Return what `check_logout_request` reads again once the user has confirmed."""
        client_id = "" if self.client is None else self.client.client_id
        values = zip(_KEPT_PARAMETERS, (client_id, self.redirect_uri, self.state), strict=True)
        return {name: text for name, text in values if text}


async def check_logout_request(
    request: ProtocolRequest, parameters: Parameters, directory: Directory
) -> LogoutRequest:
    """Return what the parameters ask for; raises PageError and StoreUnavailable.

    Spec: OpenID Connect RP-Initiated Logout §2, §3; Keycloak: 12.6 logout; attacks C2, C3, C23
    """
    if parameters.repeated:
        raise invalid_request_page("duplicated parameter")
    token, client_id, redirect_uri, state = map(
        parameters.get, (_HINT_PARAMETER, *_KEPT_PARAMETERS)
    )
    if redirect_uri is not None and token is None and client_id is None:
        message, error = PageMessage.missingParameterMessage, EventError.INVALID_REQUEST
        raise PageError(message, _HINT_PARAMETER, event_error=error, reason=_NO_CLIENT)
    hint = None if token is None else _verified_hint(request, token)
    issued_for = None if hint is None else hint.get("azp")
    if client_id is not None and issued_for is not None and issued_for != client_id:
        request.event.client_id = client_id
        raise _wrong_hint(_OTHER_CLIENT)
    named = client_id or issued_for
    entry = None if named is None else await directory.client(request.realm.realm.id, named)
    client = None if entry is None else entry.client
    request.event.client_id = None if client is None else client.client_id
    if redirect_uri is not None and not _is_registered(request, client, redirect_uri):
        request.event.details[Detail.REDIRECT_URI] = redirect_uri
        message = PageMessage.invalidRedirectUriMessage
        raise PageError(message, event_error=EventError.INVALID_REDIRECT_URI, client=client)
    if entry is not None:
        _require_policies(request, entry, redirect_uri)
    return LogoutRequest(
        client=client,
        redirect_uri=redirect_uri or "",
        state=state if state is not None and len(state) <= _LONGEST_STATE else "",
        hint=hint if client is not None else None,
    )


def _verified_hint(request: ProtocolRequest, token: str) -> Mapping[str, Any]:
    """Return the claims of an ID token of this realm, expired or not; raises PageError."""
    try:
        claims = request.realm.key_ring.verify_token(token, request.now)
    except InvalidToken as error:
        raise _wrong_hint(str(error)) from error
    if claims.get("iss") != request.issuer:
        raise _wrong_hint("Invalid token issuer")
    if claims.get("typ") != ID_TOKEN_TYPE or not isinstance(claims.get("azp"), str):
        raise _wrong_hint("Token type is incorrect")
    return claims


def _wrong_hint(reason: str) -> PageError:
    message, error = PageMessage.invalidParameterMessage, EventError.INVALID_TOKEN
    return PageError(message, _HINT_PARAMETER, event_error=error, reason=reason)


def _require_policies(
    request: ProtocolRequest, entry: ClientEntry, redirect_uri: str | None
) -> None:
    try:
        check_client(request, entry, EventKind.LOGOUT_REQUEST, redirect_uri=redirect_uri)
    except OAuthError as refusal:
        raise policy_refusal_page(refusal) from refusal


def _is_registered(request: ProtocolRequest, client: Client | None, uri: str) -> bool:
    base = request.issuer.rpartition("/realms/")[0]
    return client is not None and client.redirects.match_after_logout(uri, base)


@dataclass(frozen=True, slots=True)
class AskToLogOut:
    """The user has to confirm the logout; nothing has ended."""

    asked: LogoutRequest
    identity: BrowserIdentity


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """The browser goes to `target`, or to a page; `has_ended` where a session is over now."""

    client: Client | None
    target: str
    frames: tuple[ClientFrame, ...] = ()
    has_ended: bool = False


LogoutOutcome = AskToLogOut | LoggedOut


class BrowserLogout:
    """Ends sessions of browsers. OpenID Connect RP-Initiated Logout §2; Keycloak: 12.6 logout."""

    def __init__(self, directory: Directory, sessions: Sessions) -> None:
        self._directory = directory
        self._sessions = sessions

    async def begin(
        self, request: ProtocolRequest, identity: BrowserIdentity | None
    ) -> LogoutOutcome:
        """Answer a request of a client or of the user; raises PageError and StoreUnavailable."""
        request.event.kind = EventType.LOGOUT
        asked = await check_logout_request(request, request.parameters, self._directory)
        if identity is not None and not _may_end(asked, identity.session):
            request.event.withdraw()
            return AskToLogOut(asked, identity)
        if identity is not None:
            return await self._end(request, asked, identity.session)
        session = await self._hinted(request, asked)
        if session is not None:
            return await self._end(request, asked, session)
        if asked.hint is None:
            request.event.withdraw()
        else:
            request.event.session_id = asked.hinted_session
            request.event.error = EventError.SESSION_EXPIRED
        return LoggedOut(asked.client, asked.target, has_ended=asked.hint is not None)

    async def confirm(
        self, request: ProtocolRequest, identity: BrowserIdentity | None, stored: Parameters | None
    ) -> LoggedOut:
        """End the session; `stored` is None for an unsealed form. Raises PageError."""
        request.event.kind = EventType.LOGOUT
        if stored is None or identity is None:
            raise PageError(PageMessage.failedLogout, event_error=EventError.SESSION_EXPIRED)
        asked = await check_logout_request(request, stored, self._directory)
        return await self._end(request, asked, identity.session)

    async def find_client(self, request: ProtocolRequest) -> Client | None:
        """Return the enabled client that the URL names, if any; raises StoreUnavailable."""
        client_id = request.parameters.get("client_id")
        if not client_id:
            return None
        entry = await self._directory.client(request.realm.realm.id, client_id)
        return entry.client if entry is not None and entry.client.enabled else None

    async def _hinted(self, request: ProtocolRequest, asked: LogoutRequest) -> UserSession | None:
        """Return the session of the hint: the browser may have lost its cookies."""
        session_id = asked.hinted_session
        if session_id is None or asked.client is None or asked.hint is None:
            return None
        realm_id = request.realm.realm.id
        session = await self._sessions.find_stored(realm_id, session_id, offline=False)
        return session if session is not None and _may_end(asked, session) else None

    async def _end(
        self, request: ProtocolRequest, asked: LogoutRequest, session: UserSession
    ) -> LoggedOut:
        clients = await self._sessions.log_out_of_browser(session, request.now)
        event = request.event
        event.user_id, event.session_id = session.user_id, session.id
        if asked.redirect_uri:
            event.details[Detail.REDIRECT_URI] = asked.redirect_uri
        frames = logout_frames(session, clients, request.issuer)
        return LoggedOut(asked.client, asked.target, frames, has_ended=True)


def _may_end(asked: LogoutRequest, session: UserSession) -> bool:
    """Return whether the hint names the user of this session, and no other session.

    A token without `sid` names a user alone; one of a disabled client proves nothing.
    """
    if asked.hint is None or asked.client is None or not asked.client.enabled:
        return False
    if not is_subject(asked.hint.get("sub"), asked.client, session.user_id):
        return False
    return "sid" not in asked.hint or asked.hinted_session == session.id


async def log_out_by_token(
    services: ProtocolServices, request: ProtocolRequest
) -> AuthenticatedClient:
    """End the session of a refresh token, if it has not ended; raises OAuthError.

    An offline token ends the online session of its id too. Expired tokens are accepted; unlike in
    Keycloak, revoked ones and those of departed clients are not. Keycloak: 12.6 (POST with
    refresh_token)
    """
    request.event.kind = EventType.LOGOUT
    caller = await services.clients.authenticate(request)
    if request.parameters.repeated:
        raise duplicated_parameter()
    text = request.parameters.raw("refresh_token")
    if text is None:
        raise OAuthError("invalid_request", "No refresh token")
    client = caller.entry.client
    token = read_refresh_token(request, client, text, may_be_expired=True)
    await _require_binding(services, request, client, token.claims)
    check_caller(request, caller, EventKind.LOGOUT_REQUEST, presented=token.claims)
    request.event.session_id = str(token.claims["sid"])
    request.event.user_id = str(token.claims["sub"])
    session = await services.refresh_tokens.session_to_end(request, caller.entry, token)
    if session is None:
        request.event.withdraw()
    elif token.offline:
        await services.sessions.log_out(request.realm.realm.id, session.id, request.now)
    else:
        await services.sessions.log_out_of_browser(session, request.now)
    return caller


async def _require_binding(
    services: ProtocolServices, request: ProtocolRequest, client: Client, claims: Mapping[str, Any]
) -> None:
    try:
        await services.constraint.require_of_parameter(request, client, claims)
    except ProofRefused:
        raise
    except OAuthError as error:
        # Keycloak's code, as for a refresh.
        code, status = "unauthorized_client", error.status
        raise OAuthError(code, error.description, status=status, event=error.event) from error


_LOGOUT_TOKEN_LIFESPAN: Final = timedelta(minutes=2)
_LOGOUT_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"


def logout_token(
    realm: RealmEntry, issuer: str, client: Client, notice: LogoutNotice, now: datetime
) -> str:
    """Return a token signed as the client's ID tokens are; raises LookupError without a key.

    Spec: OpenID Connect Back-Channel Logout §2.4, §2.6; Keycloak: 12.6 logout
    """
    events: dict[str, Any] = {_LOGOUT_EVENT: {}}
    if client.logout.revoke_offline_tokens:
        events["revoke_offline_access"] = True
    claims: dict[str, Any] = {
        "exp": int((now + _LOGOUT_TOKEN_LIFESPAN).timestamp()),
        "iat": int(now.timestamp()),
        "jti": str(uuid.uuid4()),
        "iss": issuer,
        "aud": client.client_id,
        "sub": subject_identifier(client, notice.user_id),
        "typ": "Logout",
        "events": events,
    }
    if client.logout.back_channel_session_required:
        claims["sid"] = notice.session_id
    algorithm = client.signing.id_token or realm.realm.signature_algorithm
    if isinstance(algorithm, SignatureAlgorithm | SecretAlgorithm):
        return realm.key_ring.sign(claims, algorithm, now, HeaderType.LOGOUT)
    raise LookupError(f"no key for {algorithm}")


NOTICE_LEASE: Final = timedelta(seconds=15)
"""Longer than one attempt takes: then the notice of a worker that died is due again."""


class NoticeDelivery:
    """Delivers notices; `issuer` returns the issuer of a realm by its name.

    A notice stays queued until a client confirms it, so it may come twice. Spec: OpenID Connect
    Back-Channel Logout §2.5, §2.8
    """

    def __init__(
        self,
        database: Database,
        directory: Directory,
        sender: NoticeSender,
        clock: Clock,
        issuer: Callable[[str], str],
        *,
        encryption: ClientEncrypters,
    ) -> None:
        self._database = database
        self._directory = directory
        self._sender = sender
        self._clock = clock
        self._issuer = issuer
        self._encryption = encryption

    async def claim(self, most: int, busy: Collection[str] = ()) -> tuple[LogoutNotice, ...]:
        now = self._clock.now()
        async with self._database.read() as stores:
            if not await stores.logout_notices.has_due(now, busy):
                return ()
        async with self._database.write() as stores:
            return await stores.logout_notices.claim(now, NOTICE_LEASE, most, busy)

    async def deliver(self, claimed: LogoutNotice) -> FailedDelivery | None:
        again, failed = None, None
        async with self._database.read() as stores:
            client = await stores.clients.find_by_id(claimed.realm_id, claimed.client)
            name = await stores.realms.find_name(claimed.realm_id)
        realm = None if name is None else await self._directory.realm(name)
        if client is not None and realm is not None and client.logout.back_channel_url:
            try:
                await self._send(realm, client, claimed)
            except (NoticeNotReceived, LookupError, OAuthError) as failure:
                again = claimed.next_attempt_at(self._clock.now())
                failed = FailedDelivery(
                    realm_id=claimed.realm_id,
                    subject=client.client_id,
                    attempts=claimed.attempts,
                    reason=str(failure),
                    is_last=again is None,
                )
        async with self._database.write() as stores:
            if again is None:
                await stores.logout_notices.remove_notice(claimed)
            else:
                await stores.logout_notices.postpone(claimed, again)
        return failed

    async def _send(self, realm: RealmEntry, client: Client, notice: LogoutNotice) -> None:
        issuer = self._issuer(realm.realm.name)
        encrypter = await id_token_encrypter(self._encryption, client)
        signed = logout_token(realm, issuer, client, notice, self._clock.now())
        token = encrypt_id_token(client, encrypter, signed)
        await self._sender.send(client.logout.back_channel_url, token)
