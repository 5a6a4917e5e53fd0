"""The completion of a sign-in in a browser: the session with the client's part, and the response.

Spec: RFC 6749 §4.1.2, OpenID Connect Core §3.1.2.5, §3.2.2.5, §3.3.2.5; Keycloak: 12.10
authorization, attachSession, OIDCLoginProtocol; attacks: session fixation
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final

from gateway.client_policies import EventKind
from gateway.domain.authorization_codes import AuthorizationCode, CodeName, IssuedCode
from gateway.domain.clients import OPENID_CONNECT
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.client_keys import ClientEncrypters, Encrypter
from gateway.domain.ports.lookups import UserEntry
from gateway.domain.sessions import ClientSession, UserSession, device_notes
from gateway.protocol.authorization import (
    AuthorizationRequest,
    ResponseType,
    SignInRequest,
)
from gateway.protocol.authorization.levels import acr_of, levels_of
from gateway.protocol.claims.mapper import AUTH_TIME
from gateway.protocol.consents import ConsentDetail
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.identity_cookie import authenticated_at
from gateway.protocol.policy_checks import check_client
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.response_modes import AuthorizationResponse
from gateway.protocol.scopes import resolve_claims
from gateway.protocol.sessions import (
    CodeIssue,
    Joined,
    NewSession,
    Participation,
    Sessions,
    no_code,
)
from gateway.protocol.tokens import Issue, SessionPart, id_token_encrypter, issue_to_browser


@dataclass(frozen=True, slots=True)
class FinishedSignIn:
    """The user who signed in, and how.

    `joins` is the session of the browser that was enough (single sign-on), `current` the one of its
    cookie in any case. `level` is None where the flow has no levels.
    """

    user: UserEntry
    joins: UserSession | None = None
    current: UserSession | None = None
    level: int | None = None
    remember_me: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)
    consent: ConsentDetail = ConsentDetail.NOT_REQUIRED
    action: Mapping[str, str] = field(default_factory=dict)
    """`kc_action` and `kc_action_status` of an action that the client asked for."""


class DifferentUser(OAuthError):
    """Another user is signed in in this browser and stays signed in.

    Answered with a page. Keycloak: OIDCLoginProtocol
    """

    def __init__(self) -> None:
        error = refused("access_denied", "", EventError.DIFFERENT_USER_AUTHENTICATED)
        super().__init__(error.error, event=error.event)


class SessionEnded(OAuthError):
    """The session ended while the user signed in: the sign-in has to begin again."""

    def __init__(self) -> None:
        error = refused("login_required", "", EventError.USER_SESSION_NOT_FOUND)
        super().__init__(error.error, event=error.event)


class SessionJoining:
    """Begins, joins and renews the sessions of sign-ins.

    A new session has an id of its own. A user who is signed in already keeps the session: the
    client joins it, and credentials that were asked for again renew it, or begin another one where
    it has ended meanwhile. Keycloak: attachSession, OIDCLoginProtocol; attacks: session fixation
    """

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def join(
        self,
        request: ProtocolRequest,
        asked: SignInRequest,
        finished: FinishedSignIn,
        issue: CodeIssue = no_code,
    ) -> Joined:
        """Return the session of the sign-in with the client's part, and the code for it.

        The event of `request` becomes LOGIN. Raises DifferentUser, SessionEnded and
        StoreUnavailable.
        """
        event, user = request.event, finished.user.user
        event.kind = EventType.LOGIN
        event.client_id, event.user_id = asked.client.client.client_id, user.id
        event.details |= {
            Detail.AUTH_METHOD: OPENID_CONNECT,
            **asked.event_details,
            Detail.CONSENT: str(finished.consent),
            Detail.USERNAME: user.username,
        }
        if finished.remember_me:
            event.details[Detail.REMEMBER_ME] = "true"
        joined = await self._joined(request, asked, finished, issue)
        event.session_id = joined.session.id
        event.details[Detail.CODE_ID] = joined.session.id
        return joined

    async def _joined(
        self,
        request: ProtocolRequest,
        asked: SignInRequest,
        finished: FinishedSignIn,
        issue: CodeIssue,
    ) -> Joined:
        realm, client, now = request.realm.realm, asked.client.client, request.now
        user, joins = finished.user.user, finished.joins
        current = joins or finished.current
        if current is not None and current.user_id != user.id:
            raise DifferentUser
        requested = _requested_acr(asked.claims) if asked.claims else ()
        names, fresh = levels_of(realm, client), joins is None
        part = Participation(
            scope=" ".join(asked.scopes.names),
            acr=acr_of(finished.level, names, fresh=fresh, requested=requested),
            authenticated_at=now if joins is None else authenticated_at(joins),
            claims=json.dumps(asked.claims, separators=(",", ":")) if asked.claims else "",
        )
        if joins is not None:
            joined = await self._sessions.join(realm, joins, client, part, now, issue=issue)
            if joined is None:
                raise SessionEnded
            return joined
        if current is not None:
            renewed = replace(
                current,
                username=user.username,
                ip_address=request.remote_address,
                remember_me=current.remember_me or finished.remember_me,
                notes=_session_notes(current.notes, finished, request),
            )
            joined = await self._sessions.join(
                realm, renewed, client, part, now, issue=issue, renews=True
            )
            if joined is not None:
                return joined
        new = NewSession(
            user,
            request.remote_address,
            remember_me=finished.remember_me,
            notes=_session_notes({}, finished, request),
        )
        return await self._sessions.begin(realm, client, new, part, now, issue=issue)


def _requested_acr(claims: Mapping[str, Any]) -> Sequence[str]:
    """Return the classes that the parameter `claims` names. Spec: OpenID Connect Core §5.5.1.1."""
    of_token = claims.get("id_token")
    wanted = of_token.get("acr") if isinstance(of_token, dict) else None
    if not isinstance(wanted, dict):
        return ()
    values = wanted.get("values")
    several = [wanted.get("value"), *(values if isinstance(values, list) else ())]
    return tuple(value for value in several if isinstance(value, str))


def _session_notes(
    before: Mapping[str, str], finished: FinishedSignIn, request: ProtocolRequest
) -> Mapping[str, str]:
    signed_in = str(int(request.now.timestamp()))
    device = device_notes(request.user_agent)
    return {**before, **device, **finished.notes, AUTH_TIME: signed_in}


_TOKENS: Final = frozenset({ResponseType.TOKEN, ResponseType.ID_TOKEN})
_NO_GRANT: Final = "na"
"""The letters in the jti of tokens that no grant issued. Keycloak: AccessTokenContext"""


class SignInCompletion:
    """Begins or joins the session, and issues the code and the tokens of the response.

    Spec: RFC 6749 §4.1.2, OpenID Connect Core §3.1.2.5, §3.2.2.5, §3.3.2.5; Keycloak: 12.10
    authorization
    """

    def __init__(self, sessions: Sessions, encryption: ClientEncrypters) -> None:
        self._joining = SessionJoining(sessions)
        self._encryption = encryption

    async def complete(
        self, request: ProtocolRequest, asked: AuthorizationRequest, finished: FinishedSignIn
    ) -> tuple[AuthorizationResponse, UserSession]:
        """Return the response and the session; the event of `request` becomes LOGIN.

        Raises DifferentUser, SessionEnded, OAuthError as `issue_tokens` does, and
        StoreUnavailable.
        """
        encrypter, shows_tokens = None, bool(asked.response_type & _TOKENS)
        if shows_tokens:
            kind, scopes = EventKind.IMPLICIT_HYBRID_TOKEN_RESPONSE, asked.scopes.names
            client = check_client(request, asked.client, kind, scopes=scopes)
            asked = replace(asked, client=client)
        if ResponseType.ID_TOKEN in asked.response_type:
            encrypter = await id_token_encrypter(self._encryption, asked.client.client)
        issue = partial(_issue_code, request, asked)
        joined = await self._joining.join(request, asked, finished, issue)
        parameters = {"session_state": joined.session.id, **finished.action}
        code = None if joined.code is None else joined.code.code.name.text
        if code is not None:
            parameters["code"] = code
        if shows_tokens:
            parameters |= _issue_tokens(
                request, asked, finished.user, joined, code=code, encrypter=encrypter
            )
        return AuthorizationResponse(asked.target, parameters), joined.session


def _issue_code(
    request: ProtocolRequest,
    asked: AuthorizationRequest,
    session: UserSession,
    part: ClientSession,
) -> IssuedCode | None:
    """Return a new code where the client asked for one."""
    if ResponseType.CODE not in asked.response_type:
        return None
    challenge = asked.code_challenge
    code = AuthorizationCode(
        name=CodeName.new(session.id, part.client),
        user_id=session.user_id,
        scope=part.scope,
        issued_at=request.now,
        redirect_uri=asked.redirect_uri if asked.redirect_uri_sent else None,
        nonce=asked.nonce,
        code_challenge=challenge.challenge if challenge else None,
        code_challenge_method=challenge.method if challenge else None,
        certificate=asked.certificate,
        proof_key=asked.proof_key,
        acr=part.acr,
        authenticated_at=part.authenticated_at,
        claims=part.claims,
        generation=part.generation,
    )
    return IssuedCode(code, request.realm.realm.token_lifespans.access_code)


def _issue_tokens(
    request: ProtocolRequest,
    asked: AuthorizationRequest,
    user: UserEntry,
    joined: Joined,
    *,
    code: str | None,
    encrypter: Encrypter | None,
) -> Mapping[str, str]:
    """Return the parameters of the tokens that the client asked for, in Keycloak's order."""
    wants_access = ResponseType.TOKEN in asked.response_type
    wants_id = ResponseType.ID_TOKEN in asked.response_type
    context = resolve_claims(asked.client, user, asked.scopes, session=joined.session)
    part = SessionPart(joined.session, joined.client_session, refresh_id="")
    tokens = issue_to_browser(
        request,
        Issue(context, _NO_GRANT, part, nonce=asked.nonce, id_token_encrypter=encrypter),
        access_token=wants_access,
        id_token=wants_id,
        code=code,
        state=asked.state,
    )
    request.event.details |= {
        Detail.TOKEN_ID: tokens.token_id,
        Detail.SCOPE: context.granted.text,
    }
    found: dict[str, str] = {}
    if tokens.id_token is not None:
        found["id_token"] = tokens.id_token
    if tokens.access_token is not None:
        found["access_token"] = tokens.access_token
        found["token_type"] = tokens.token_type
        found["expires_in"] = str(tokens.expires_in)
    return found
