"""Sign-ins whose tokens a client asks for later: the code, redeemed once, and what must still hold.

Spec: RFC 6749 §4.1.3, §4.1.2, RFC 7636 §4.6; Keycloak: 1.4 code grant, 1.8 device grant; attacks:
C4, C5, C7
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from gateway.authentication.validity import (
    Cause,
    IssuedCredential,
    NoLongerValid,
    Validity,
    own_generation,
)
from gateway.client_policies import VerifiedCodeVerifier
from gateway.domain.authorization_codes import (
    LONGEST_REPLAY_WINDOW,
    AuthorizationCode,
    CodeName,
    Redemption,
)
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.lookups import Directory, UserEntry
from gateway.domain.ports.sign_in import AuthorizationCodeStore
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.authorization.pkce import require_verifier
from gateway.protocol.consents import Consents
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, still_granted
from gateway.protocol.sender_constraint import presents_certificate, require_key_of_code
from gateway.protocol.session_tokens import require_offline_access
from gateway.protocol.sessions import Joined, Participation, Sessions


@dataclass(frozen=True, slots=True)
class PastSignIn:
    """What the stores have of a sign-in."""

    session: UserSession
    part: ClientSession
    user: UserEntry


class SignInRedemption:
    """Finds past sign-ins, and what their tokens are issued for.

    Session, user and consent must still hold. Keycloak: 1.4 (rows 3, 7, 12), 1.8 device grant
    """

    def __init__(self, validity: Validity, sessions: Sessions, consents: Consents) -> None:
        self._validity = validity
        self._sessions = sessions
        self._consents = consents

    async def find(
        self,
        request: ProtocolRequest,
        issued: IssuedCredential,
        *,
        ended: OAuthError,
        revoked: OAuthError,
    ) -> PastSignIn:
        """Return the sign-in of a code.

        Raises `ended` where its session is over, `revoked` where the code is older than a
        notBefore, OAuthError for another cause, and StoreUnavailable.
        """
        try:
            current = await self._validity.require(request.realm, issued, request.now)
        except NoLongerValid as refusal:
            if refusal.cause in _CAUSES_OF_USERS:
                request.event.user_id = refusal.user_id
            if refusal.cause is Cause.NOT_BEFORE:
                raise revoked from refusal
            failure = _FAILURES_OF_CAUSES.get(refusal.cause)
            raise (ended if failure is None else _refused(*failure)) from refusal
        request.event.user_id = current.user.user.id
        session = current.session
        if session is None or issued.client is None:
            raise ended
        return PastSignIn(session, session.clients[issued.client.client.id], current.user)

    async def scopes(
        self, request: ProtocolRequest, client: Client, user: UserEntry, scope: str
    ) -> GrantedScopes:
        """Return what is left of the granted scopes; the user's consent must cover it.

        Raises OAuthError and StoreUnavailable.
        """
        granted = still_granted(request.realm, client, scope.split(" "))
        if not await self._consents.holds(client, user, granted):
            text = "Client no longer has requested consent from user"
            raise refused("invalid_scope", text, EventError.NOT_ALLOWED)
        return granted

    async def join(
        self,
        request: ProtocolRequest,
        client: Client,
        found: PastSignIn,
        participation: Participation,
        *,
        offline: bool,
    ) -> Joined:
        """Return the session with the client's part as the sign-in decided it.

        Another tab may have signed in to the same client since, with another request. Raises
        OAuthError for an offline session that the user may not have, and StoreUnavailable.
        """
        if offline:
            require_offline_access(request, client, found.user)
            return await self._sessions.join_offline(
                request.realm.realm, found.session, client, participation, request.now
            )
        part = replace(
            found.part,
            acr=participation.acr,
            authenticated_at=participation.authenticated_at,
            claims=participation.claims,
        )
        clients = {**found.session.clients, client.id: part}
        return Joined(replace(found.session, clients=clients), part)


_NOT_IN_SESSION: Final = ("User session not found", EventError.USER_SESSION_NOT_FOUND)
_NOT_ACTIVE: Final = ("Session not active", EventError.USER_SESSION_NOT_FOUND)
_FAILURES_OF_CAUSES: Final[Mapping[Cause, tuple[str, str]]] = {
    Cause.OTHER_USER: _NOT_IN_SESSION,
    Cause.CLIENT_NOT_IN_SESSION: _NOT_IN_SESSION,
    Cause.CLIENT_SESSION_OVER: _NOT_ACTIVE,
    Cause.USER_REMOVED: ("User not found", EventError.USER_NOT_FOUND),
    Cause.USER_DISABLED: ("User disabled", EventError.USER_DISABLED),
    Cause.USER_LOCKED_OUT: ("Invalid user credentials", EventError.USER_TEMPORARILY_DISABLED),
}
"""Description and error of the event. Keycloak: 1.4 code grant, 1.8 device grant (26.7.5)"""
_CAUSES_OF_USERS: Final = frozenset({Cause.USER_DISABLED, Cause.USER_LOCKED_OUT})


def _refused(text: str, event_error: str) -> OAuthError:
    return refused("invalid_grant", text, event_error)


@dataclass(frozen=True, slots=True)
class RedeemedSignIn:
    """The sign-in of a code: its user, the scopes that still hold, the client's part."""

    code: AuthorizationCode
    user: UserEntry
    granted: GrantedScopes
    joined: Joined
    code_verifier: VerifiedCodeVerifier | None = None


@dataclass(frozen=True, slots=True)
class _Redeemed:
    """A code that was redeemed now, and its sign-in."""

    code: AuthorizationCode
    sign_in: PastSignIn


class CodeRedemption:
    """Redeems codes for a client that the caller has authenticated.

    The code is spent by the attempt, whatever comes of it. One that is presented again ends the
    client's part in the session, and with it every token that was issued for the code. Spec: RFC
    6749 §4.1.3, §4.1.2, RFC 7636 §4.6; Keycloak: 1.4 code grant; attacks: C4, C5, C7
    """

    def __init__(
        self,
        codes: AuthorizationCodeStore,
        directory: Directory,
        validity: Validity,
        sessions: Sessions,
        consents: Consents,
    ) -> None:
        self._codes = codes
        self._directory = directory
        self._sessions = sessions
        self._redemption = SignInRedemption(validity, sessions, consents)

    async def redeem(
        self, request: ProtocolRequest, client: Client, *, only_online: bool = False
    ) -> RedeemedSignIn:
        """Redeem the parameter `code`; raises OAuthError and StoreUnavailable.

        With `only_online` no offline session begins, although the scopes would allow one.
        """
        redeemed = await self._redeem(request)
        code_verifier = _require_request(request, client, redeemed)
        user, code = redeemed.sign_in.user, redeemed.code
        granted = await self._redemption.scopes(request, client, user, code.scope)
        offline = granted.offline and not only_online
        joined = await self._join(request, client, redeemed, granted, offline=offline)
        return RedeemedSignIn(code, user, granted, joined, code_verifier)

    async def _redeem(self, request: ProtocolRequest) -> _Redeemed:
        text = request.parameters.raw("code")
        if text is None:
            raise refused("invalid_request", "Missing parameter: code", EventError.INVALID_CODE)
        name = CodeName.parse_name(text)
        if name is None:
            raise _invalid_code()
        realm = request.realm.realm
        _note_session(request, name)
        # The session as it was when the code was redeemed: of many at once one succeeds, though the
        # others, which are replays, end the client's part meanwhile.
        redeemed = await self._codes.redeem(realm.id, name, LONGEST_REPLAY_WINDOW)
        if redeemed.redemption is Redemption.REPLAYED:
            await self._revoke(request, name)
        code, session = redeemed.code, redeemed.session
        if code is None or session is None:
            raise _invalid_code()
        issued = IssuedCredential(
            issued_at=int(code.issued_at.timestamp()),
            client=await self._directory.client_with_id(realm.id, code.name.client),
            session=session,
            user_id=code.user_id,
            generations=own_generation(code.name.client, code.generation),
        )
        found = await self._redemption.find(
            request, issued, ended=_invalid_code(), revoked=_invalid_code()
        )
        return _Redeemed(code, found)

    async def _revoke(self, request: ProtocolRequest, name: CodeName) -> None:
        """End the client's part in the session of the code, online and offline."""
        await self._sessions.detach_client(request.realm.realm.id, name.session_id, name.client)

    async def _join(
        self,
        request: ProtocolRequest,
        client: Client,
        redeemed: _Redeemed,
        granted: GrantedScopes,
        *,
        offline: bool,
    ) -> Joined:
        code, realm = redeemed.code, request.realm.realm
        participation = Participation(
            " ".join(granted.names), code.acr, code.authenticated_at, code.claims
        )
        joined = await self._redemption.join(
            request, client, redeemed.sign_in, participation, offline=offline
        )
        if offline and await self._codes.was_replayed(realm.id, code.name):
            # The replay found no offline session that it could end.
            await self._revoke(request, code.name)
        return joined


def _note_session(request: ProtocolRequest, name: CodeName) -> None:
    request.event.session_id = name.session_id
    request.event.details[Detail.CODE_ID] = name.session_id


def _require_request(
    request: ProtocolRequest, client: Client, redeemed: _Redeemed
) -> VerifiedCodeVerifier | None:
    """Raise OAuthError unless the code was issued for this request, in Keycloak's order."""
    code, sent = redeemed.code, request.parameters
    if code.redirect_uri is not None and sent.raw("redirect_uri") != code.redirect_uri:
        raise _refused("Incorrect redirect_uri", EventError.INVALID_REDIRECT_URI)
    if code.name.client != client.id:
        text = "Auth error: Found different client_id in clientSession"
        raise _refused(text, EventError.INVALID_CLIENT)
    if not client.standard_flow_enabled:
        raise _refused("Client not allowed to exchange code", EventError.NOT_ALLOWED)
    code_verifier = require_verifier(
        sent.raw("code_verifier"),
        code.code_challenge,
        code.code_challenge_method,
        enforced=bool(client.authorization.code_challenge_method),
    )
    require_key_of_code(code.proof_key, request.proof_key)
    if not presents_certificate(request.certificate, code.certificate):
        raise _invalid_code()
    return code_verifier


def _invalid_code() -> OAuthError:
    return _refused("Code not valid", EventError.INVALID_CODE)
