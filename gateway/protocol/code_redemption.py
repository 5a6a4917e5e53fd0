"""Sign-ins whose tokens a client requests later: the code is redeemed once, the session must last.

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
    own_generation,
)
from gateway.client_policies import EventKind, VerifiedCodeVerifier
from gateway.domain.authorization_codes import (
    LONGEST_REPLAY_WINDOW,
    AuthorizationCode,
    CodeName,
    Redemption,
)
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.lookups import UserEntry
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.authorization.pkce import require_verifier
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import OAuthError, refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, still_granted
from gateway.protocol.sender_constraint import presents_certificate, require_key_of_code
from gateway.protocol.session_tokens import (
    ProtocolServices,
    issue_in_session,
    require_offline_access,
)
from gateway.protocol.sessions import Joined, Participation
from gateway.protocol.tokens import TokenResponse, id_token_encrypter

GRANT_TYPE: Final = "authorization_code"


@dataclass(frozen=True, slots=True)
class PastSignIn:
    """A sign-in as the stores have it."""

    session: UserSession
    part: ClientSession
    user: UserEntry


async def find_past_sign_in(
    services: ProtocolServices,
    request: ProtocolRequest,
    issued: IssuedCredential,
    *,
    ended: OAuthError,
    revoked: OAuthError,
) -> PastSignIn:
    """Return a valid sign-in; raises `ended`, `revoked` if older than a notBefore, OAuthError."""
    try:
        current = await services.validity.require(request.realm, issued, request.now)
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


async def remaining_scopes(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: Client,
    user: UserEntry,
    scope: str,
) -> GrantedScopes:
    """Return the granted scopes that are left and consented to; raises OAuthError."""
    granted = still_granted(request.realm, client, scope.split(" "))
    if not await services.consents.holds(client, user, granted):
        text = "Client no longer has requested consent from user"
        raise refused("invalid_scope", text, EventError.NOT_ALLOWED)
    return granted


async def join_past_sign_in(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: Client,
    found: PastSignIn,
    participation: Participation,
    *,
    offline: bool,
) -> Joined:
    """Return the session with the client's part; raises OAuthError and StoreUnavailable."""
    if offline:
        require_offline_access(request, client, found.user)
        return await services.sessions.join_offline(
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


async def redeem_code(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: Client,
    *,
    only_online: bool = False,
) -> RedeemedSignIn:
    """Redeem the parameter `code` for an authenticated client; raises OAuthError, StoreUnavailable.

    The attempt spends the code; a repetition ends the client's part in the session with all its
    tokens. `only_online` begins no offline session. Spec: RFC 6749 §4.1.3, §4.1.2, RFC 7636 §4.6;
    Keycloak: 1.4 code grant; attacks: C4, C5, C7
    """
    code, found = await _spend_code(services, request)
    code_verifier = _require_request(request, client, code)
    granted = await remaining_scopes(services, request, client, found.user, code.scope)
    offline = granted.offline and not only_online
    participation = Participation(
        " ".join(granted.names), code.acr, code.authenticated_at, code.claims
    )
    joined = await join_past_sign_in(
        services, request, client, found, participation, offline=offline
    )
    if offline and await services.authorization_codes.was_replayed(client.realm_id, code.name):
        # The replay found no offline session that it could end.
        await _detach_client(services, request, code.name)
    return RedeemedSignIn(code, found.user, granted, joined, code_verifier)


async def _spend_code(
    services: ProtocolServices, request: ProtocolRequest
) -> tuple[AuthorizationCode, PastSignIn]:
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
    redeemed = await services.authorization_codes.redeem(realm.id, name, LONGEST_REPLAY_WINDOW)
    if redeemed.redemption is Redemption.REPLAYED:
        await _detach_client(services, request, name)
    code, session = redeemed.code, redeemed.session
    if code is None or session is None:
        raise _invalid_code()
    issued = IssuedCredential(
        issued_at=int(code.issued_at.timestamp()),
        client=await services.directory.client_with_id(realm.id, code.name.client),
        session=session,
        user_id=code.user_id,
        generations=own_generation(code.name.client, code.generation),
    )
    found = await find_past_sign_in(
        services, request, issued, ended=_invalid_code(), revoked=_invalid_code()
    )
    return code, found


async def _detach_client(
    services: ProtocolServices, request: ProtocolRequest, name: CodeName
) -> None:
    """End the client's part in the session of the code, online and offline."""
    await services.sessions.detach_client(request.realm.realm.id, name.session_id, name.client)


def _note_session(request: ProtocolRequest, name: CodeName) -> None:
    request.event.session_id = name.session_id
    request.event.details[Detail.CODE_ID] = name.session_id


def _require_request(
    request: ProtocolRequest, client: Client, code: AuthorizationCode
) -> VerifiedCodeVerifier | None:
    """Raise OAuthError unless the code was issued for this request, in Keycloak's order."""
    sent = request.parameters
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


async def exchange_code(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> TokenResponse:
    """Issue the tokens of a browser sign-in. Spec: RFC 6749 §4.1.3; Keycloak: 1.4 code grant."""
    client = caller.entry.client
    encrypter = await id_token_encrypter(services.encryption, client)
    redeemed = await redeem_code(services, request, client)
    return await issue_in_session(
        services,
        request,
        check_caller(
            request,
            caller,
            EventKind.TOKEN_REQUEST,
            scopes=redeemed.granted.names,
            code_verifier=redeemed.code_verifier,
        ),
        redeemed.user,
        redeemed.granted,
        joined=redeemed.joined,
        grant="ac",
        encrypter=encrypter,
        nonce=redeemed.code.nonce,
    )
