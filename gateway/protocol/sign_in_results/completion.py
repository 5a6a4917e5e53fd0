"""The response that a client gets after a sign-in that it asked for.

Spec: RFC 6749 §4.1.2, OpenID Connect Core §3.1.2.5, §3.2.2.5, §3.3.2.5; Keycloak: 12.10
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.events import Detail
from gateway.domain.ports.client_encryption import ClientEncrypters, Encrypter
from gateway.domain.ports.directory import UserEntry
from gateway.domain.sessions import ClientSession, UserSession
from gateway.domain.sign_in.authorization_codes import AuthorizationCode, CodeName, IssuedCode
from gateway.protocol.authorization import AuthorizationRequest, ResponseType
from gateway.protocol.policy_checks import check_client
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.response_modes import AuthorizationResponse
from gateway.protocol.scopes import resolve_claims
from gateway.protocol.sessions import Joined, Sessions
from gateway.protocol.sign_in_results.session_joining import FinishedSignIn, SessionJoining
from gateway.protocol.tokens import Issue, SessionPart, id_token_encrypter, issue_to_browser

_NO_GRANT: Final = "na"
"""The letters in the jti of tokens that no grant issued. Keycloak: AccessTokenContext"""


@dataclass(frozen=True, slots=True)
class CompletedSignIn:
    """The response for the client, and the session whose cookies the browser gets."""

    response: AuthorizationResponse
    session: UserSession


class SignInCompletion:
    """Begins or joins the session, and issues what the client asked for."""

    def __init__(self, sessions: Sessions, encryption: ClientEncrypters) -> None:
        self._joining = SessionJoining(sessions)
        self._encryption = encryption

    async def complete(
        self, request: ProtocolRequest, asked: AuthorizationRequest, finished: FinishedSignIn
    ) -> CompletedSignIn:
        """Return the response and the session; the event of `request` becomes LOGIN.

        Raises DifferentUser, SessionEnded, OAuthError as `issue_tokens` does, and
        StoreUnavailable.
        """
        asked = _accepted_by_policies(request, asked)
        encrypter = None
        if asked.wants(ResponseType.ID_TOKEN):
            encrypter = await id_token_encrypter(self._encryption, asked.client.client)
        issue = partial(_issue_code, request, asked)
        joined = await self._joining.join(request, asked, finished, issue)
        parameters = {"session_state": joined.session.id, **finished.action}
        code = None if joined.code is None else joined.code.text
        if code is not None:
            parameters["code"] = code
        parameters |= _tokens(request, asked, finished.user, joined, code=code, encrypter=encrypter)
        return CompletedSignIn(AuthorizationResponse(asked.target, parameters), joined.session)


def _accepted_by_policies(
    request: ProtocolRequest, asked: AuthorizationRequest
) -> AuthorizationRequest:
    """Return the request with its client as tokens of the response are issued to it."""
    if not asked.response_type & {ResponseType.TOKEN, ResponseType.ID_TOKEN}:
        return asked
    kind, scopes = EventKind.IMPLICIT_HYBRID_TOKEN_RESPONSE, asked.scopes.names
    return replace(asked, client=check_client(request, asked.client, kind, scopes=scopes))


def _issue_code(
    request: ProtocolRequest,
    asked: AuthorizationRequest,
    session: UserSession,
    part: ClientSession,
) -> IssuedCode | None:
    """Return a new code where the client asked for one."""
    if not asked.wants(ResponseType.CODE):
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
    )
    return IssuedCode(code, request.realm.realm.token_lifespans.access_code)


def _tokens(
    request: ProtocolRequest,
    asked: AuthorizationRequest,
    user: UserEntry,
    joined: Joined,
    *,
    code: str | None,
    encrypter: Encrypter | None,
) -> Mapping[str, str]:
    """Return the parameters of the tokens that the client asked for, in Keycloak's order."""
    wants_access, wants_id = asked.wants(ResponseType.TOKEN), asked.wants(ResponseType.ID_TOKEN)
    if not wants_access and not wants_id:
        return {}
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
