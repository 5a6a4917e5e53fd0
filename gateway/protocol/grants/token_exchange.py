"""token-exchange: a client exchanges the access token that it received for one of its own.

What Keycloak calls standard token exchange: access tokens of the realm alone, and the same user. A
binding of the exchanged token is proved and kept. The new token ends with the session of the
exchanged one. The caller's own settings decide what it is for, and `audience` narrows that.
Spec: RFC 8693; Keycloak: 1.9 token exchange (26.7)
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import Final

from gateway.authentication.validity import is_usable_client
from gateway.domain.certificate_names import DEVICE_CLAIM
from gateway.domain.clients import Client, RoleKey
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.lookups import MOST_EXCHANGES
from gateway.domain.sessions import ClientSession, UserSession
from gateway.protocol.claims.mapper import ClaimsFor
from gateway.protocol.claims.protocol_claims import exchanged_from, revocable_ids, roles_left_out
from gateway.protocol.claims.subject import subject_identifier
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import EventFailure, OAuthError, ProofRefused, refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import (
    ClaimsContext,
    GrantedScopes,
    grant_scopes,
    resolve_claims,
    withheld_roles,
)
from gateway.protocol.sender_constraint import KEY, binding_of
from gateway.protocol.session_tokens import (
    ProtocolServices,
    begin_token_family,
    new_session_part,
)
from gateway.protocol.sessions import Participation
from gateway.protocol.tokens import (
    EXCHANGED,
    REFRESH,
    ActiveToken,
    Issue,
    SessionPart,
    TokenResponse,
    access_token_lifespan,
    id_token_encrypter,
    issue_tokens,
    without_left_out,
)

GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
REPEATABLE: Final = frozenset({"audience", "resource"})
"""Parameters that may be sent more than once. Spec: RFC 8693 §2.1"""
_TYPE: Final = "urn:ietf:params:oauth:token-type:"
_ACCESS: Final = f"{_TYPE}access_token"
_ID: Final = f"{_TYPE}id_token"
_REFRESH: Final = f"{_TYPE}refresh_token"
_NOT_APPLICABLE: Final = "N_A"
"""`token_type` of a token that is no access token. Spec: RFC 8693 §2.2.1"""
_MOST_AUDIENCES: Final = 20
_UNSUPPORTED: Final = ("requested_subject", "requested_issuer", "subject_issuer", "actor_token")
_FOREIGN: Final = (
    "Sender-constrained token exchange rejected as the token was not issued for the requesting"
    " client"
)
_NO_SESSION: Final = (
    "Refresh token not valid as requested_token_type because creating a new session is needed"
)
_KEY_BOUND: Final = (
    "Refresh token not valid as requested_token_type because the token is bound to a DPoP key"
)


@dataclass(frozen=True, slots=True)
class _Exchange:
    """A request that may have a token; `audiences` is empty where it names none."""

    subject: ActiveToken
    requested: str
    granted: GrantedScopes
    audiences: frozenset[str]
    binding: Mapping[str, str]
    """Of the exchanged token, proved by the request."""


async def exchange_token(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> TokenResponse:
    """Issue a token of the caller for the user of an access token that it received."""
    client = caller.entry.client
    request.event.details[Detail.AUTH_METHOD] = "token_exchange"
    exchange = await _accepted(services, request, client)
    granted, left_out = exchange.granted, _left_out(exchange.subject)
    user = without_left_out(request.realm, exchange.subject.whole_user, left_out)
    joined = _session_to_join(exchange, client)
    part = _part(exchange, client)
    context = resolve_claims(
        caller.entry, user, granted, session=None if part is None else part.session
    )
    audiences = _narrowed(context, exchange.audiences)
    if not await services.consents.holds(client, user, granted):
        text = f"Missing consents for Token Exchange in client {client.client_id}"
        raise refused("invalid_scope", text, EventError.CONSENT_DENIED)
    wants_id = exchange.requested == _ID
    encrypter = (
        await id_token_encrypter(services.encryption, client)
        if granted.openid or wants_id
        else None
    )
    if joined is not None:
        part = await _join(services, request, client, exchange, joined)
        context = resolve_claims(caller.entry, user, granted, session=part.session)
    issue = Issue(
        context.within(exchange.audiences) if exchange.audiences else context,
        EXCHANGED,
        part,
        id_token_encrypter=encrypter,
        lifespan=None if joined is not None else _lifespan(request, exchange.subject, client),
        refreshable=joined is not None,
        id_token_alone=wants_id,
        audiences=exchange.audiences or None,
        left_out=left_out,
        exchanged_from=_exchanged_from(exchange.subject),
        exchanged_tokens=revocable_ids(exchange.subject.claims),
        binding=exchange.binding,
    )
    tokens = issue_tokens(request, issue)
    if joined is not None and part is not None:
        request.event.details[Detail.REFRESH_TOKEN_TYPE] = REFRESH
        await begin_token_family(services, request, client, part)
    if audiences:
        request.event.details[Detail.AUDIENCE] = " ".join(audiences)
    return _typed(tokens, exchange.requested)


async def _accepted(
    services: ProtocolServices, request: ProtocolRequest, client: Client
) -> _Exchange:
    subject, binding = await _subject(services, request, client, _subject_token(request, client))
    requested = _requested_type(request, client)
    _require_confidential(client)
    audiences = await _audiences(services, request, client)
    _require_audience(subject, client)
    if len(revocable_ids(subject.claims)) > MOST_EXCHANGES:
        raise _invalid(f"At most {MOST_EXCHANGES} exchanges one after another")
    granted = grant_scopes(request.realm, client, request.parameters.raw("scope"))
    if granted.offline:
        raise _invalid("Scope offline_access not allowed for token exchange")
    return _Exchange(subject, requested, granted, audiences, binding)


async def _subject(
    services: ProtocolServices, request: ProtocolRequest, client: Client, token: str
) -> tuple[ActiveToken, Mapping[str, str]]:
    asked = request.parameters.raw("requested_token_type")
    if asked is not None:
        request.event.details[Detail.REQUESTED_TOKEN_TYPE] = asked
    try:
        subject = await services.access_tokens.find_active(request, token, begins_sign_in=True)
    except InvalidToken as error:
        raise _invalid_token(str(error)) from error
    binding = binding_of(subject.claims)
    if DEVICE_CLAIM in subject.claims and subject.client.client.id != client.id:
        # Its lock and its quota are rules of that client.
        raise _invalid("A token of a device is exchanged by the client of the device alone")
    if binding:
        if subject.client.client.id != client.id:
            raise _invalid(_FOREIGN)
        await _require_proved(services, request, subject)
    event, user = request.event, subject.user.user
    event.user_id = user.id
    event.details[Detail.USERNAME] = user.username
    event.details[Detail.SUBJECT_TOKEN_CLIENT_ID] = subject.client.client.client_id
    if subject.session is not None:
        event.session_id = subject.session.id
    return subject, binding


async def _require_proved(
    services: ProtocolServices, request: ProtocolRequest, subject: ActiveToken
) -> None:
    try:
        client = subject.client.client
        await services.constraint.require_of_exchanged(request, client, subject.claims)
    except ProofRefused as error:
        raise refused(
            "invalid_request", error.description or "", EventError.INVALID_DPOP_PROOF
        ) from error
    except OAuthError as error:
        raise OAuthError("invalid_request", error.description, event=error.event) from error


async def _audiences(
    services: ProtocolServices, request: ProtocolRequest, client: Client
) -> frozenset[str]:
    names = request.parameters.all("audience")
    if len(names) > _MOST_AUDIENCES:
        raise _invalid(f"At most {_MOST_AUDIENCES} audiences")
    found = [(name, await services.directory.client(client.realm_id, name)) for name in names]
    for name, entry in found:
        if entry is None:
            request.event.details[Detail.AUDIENCE] = name
            failure = EventFailure(EventError.CLIENT_NOT_FOUND, "audience not found")
            raise OAuthError("invalid_client", "Audience not found", event=failure)
    for name, entry in found:
        if not is_usable_client(entry):
            request.event.details[Detail.AUDIENCE] = name
            failure = EventFailure(EventError.CLIENT_DISABLED, "audience client disabled")
            raise OAuthError("invalid_client", "Client disabled", event=failure)
    return frozenset(names)


async def _join(
    services: ProtocolServices,
    request: ProtocolRequest,
    client: Client,
    exchange: _Exchange,
    session: UserSession,
) -> SessionPart:
    """Add the caller to the session of the exchanged token, as a client of its own."""
    source = _part_of_token(exchange.subject, client, session)
    participation = Participation(
        " ".join(exchange.granted.names), source.acr, source.authenticated_at
    )
    joined = await services.sessions.join(
        request.realm.realm, session, client, participation, request.now
    )
    if joined is None:
        raise _invalid_token("its session is over")
    return new_session_part(request, joined)


def _left_out(subject: ActiveToken) -> frozenset[RoleKey] | None:
    """Return the composites to leave out, so that reach does not grow; None for no limit."""
    left_out = roles_left_out(subject.claims)
    withheld = withheld_roles(subject.client, subject.whole_user)
    if withheld is None:
        return left_out
    held = subject.whole_user.roles.pairs()
    return (left_out or frozenset()) | withheld.composites.intersection(held)


def _subject_token(request: ProtocolRequest, client: Client) -> str:
    parameters = request.parameters
    for name in _UNSUPPORTED:
        if parameters.raw(name) is not None:
            raise _invalid(f"Parameter '{name}' is not supported for standard token exchange")
    if not client.tokens.exchange:
        raise _invalid("Standard token exchange is not enabled for the requested client")
    for name in ("subject_token", "subject_token_type"):
        if parameters.raw(name) is None:
            raise _invalid(f"Parameter '{name}' required for standard token exchange")
    if parameters.raw("subject_token_type") != _ACCESS:
        raise _invalid("Parameter 'subject_token' supports access tokens only")
    return parameters.raw("subject_token") or ""


def _requested_type(request: ProtocolRequest, client: Client) -> str:
    asked = request.parameters.raw("requested_token_type")
    requested = _ACCESS if asked is None else asked
    may_refresh = client.tokens.refresh_tokens and client.tokens.exchange_refreshes
    if requested not in {_ACCESS, _ID} and not (requested == _REFRESH and may_refresh):
        raise _invalid("requested_token_type unsupported")
    request.event.details[Detail.REQUESTED_TOKEN_TYPE] = requested
    return requested


def _require_confidential(client: Client) -> None:
    if client.public_client:
        text = "Public client is not allowed to exchange token"
        raise refused("invalid_client", text, EventError.INVALID_CLIENT)


def _require_audience(subject: ActiveToken, client: Client) -> None:
    """Refuse a client that the exchanged token was neither issued to nor meant for."""
    found = subject.claims.get("aud")
    audiences = found if isinstance(found, list) else [found]
    if subject.client.client.id != client.id and client.client_id not in audiences:
        text, forbidden = "Client is not within the token audience", HTTPStatus.FORBIDDEN
        failure = EventFailure(EventError.NOT_ALLOWED, "client is not within the token audience")
        raise OAuthError("access_denied", text, status=forbidden, event=failure)


def _session_to_join(exchange: _Exchange, client: Client) -> UserSession | None:
    """Return the session for a refresh token, None for other tokens; raises OAuthError."""
    if exchange.requested != _REFRESH:
        return None
    session = exchange.subject.session
    if session is None or session.offline:
        raise _invalid(_NO_SESSION)
    if KEY in exchange.binding and not client.tokens.dpop_bound:
        raise _invalid(_KEY_BOUND)
    return session


def _part(exchange: _Exchange, client: Client) -> SessionPart | None:
    """Return the session of the exchanged token, with an own or temporary part of the caller."""
    subject, session = exchange.subject, exchange.subject.session
    if session is None:
        user_id = subject.user.user.id
        if subject_identifier(client, user_id) != user_id:
            # Only `sub` says whose token it is, and a pairwise one names no user.
            raise _invalid("A client with pairwise subjects cannot exchange a token without sid")
        return None
    part = session.clients.get(client.id)
    is_stored = part is not None
    if part is None:
        part = _part_of_token(subject, client, session)
        session = replace(session, clients={**session.clients, client.id: part})
    return SessionPart(session, part, refresh_id="", is_stored=is_stored)


def _exchanged_from(subject: ActiveToken) -> Mapping[str, int]:
    client = subject.client.client.id
    part = None if subject.session is None else subject.session.clients.get(client)
    own = {} if part is None else {client: part.generation}
    return {**exchanged_from(subject.claims), **own}


def _part_of_token(subject: ActiveToken, client: Client, session: UserSession) -> ClientSession:
    acr, signed_in = subject.claims.get("acr"), subject.claims.get("auth_time")
    return ClientSession(
        client.id,
        started_at=session.started_at,
        refreshed_at=session.refreshed_at,
        acr=acr if isinstance(acr, str) else None,
        authenticated_at=(
            datetime.fromtimestamp(signed_in, UTC) if isinstance(signed_in, int) else None
        ),
    )


def _lifespan(request: ProtocolRequest, subject: ActiveToken, client: Client) -> timedelta | None:
    """Return a lifespan within that of the exchanged token; None where the caller has a part."""
    if subject.session is not None and client.id in subject.session.clients:
        return None
    left = datetime.fromtimestamp(subject.claims["exp"], UTC) - request.now
    return min(left, access_token_lifespan(request.realm.realm, client.tokens))


def _narrowed(context: ClaimsContext, wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the audiences that the token gets; raises OAuthError unless all wanted ones do."""
    found = context.map_claims(ClaimsFor.ACCESS_TOKEN).audiences
    missing = wanted.difference(found)
    if missing:
        raise _invalid(f"Requested audience not available: {', '.join(sorted(missing))}")
    return tuple(name for name in found if not wanted or name in wanted)


def _typed(tokens: TokenResponse, requested: str) -> TokenResponse:
    """Return the response with the issued type; an ID token is `access_token`. RFC 8693 §2.2.1."""
    if requested != _ID:
        return replace(tokens, issued_token_type=requested)
    return replace(
        tokens,
        access_token=tokens.id_token or "",
        id_token=None,
        token_type=_NOT_APPLICABLE,
        issued_token_type=requested,
    )


def _invalid(text: str) -> OAuthError:
    return refused("invalid_request", text, EventError.INVALID_REQUEST)


def _invalid_token(reason: str) -> OAuthError:
    failure = EventFailure(EventError.INVALID_TOKEN, "subject_token validation failure")
    return OAuthError("invalid_request", "Invalid token", reason=reason, event=failure)
