"""The checks of an authorization request, with their order at the end.

Before the redirect URI was verified a refusal is a page, afterwards it goes to the client; a check
may ask for a page there too. Keycloak: 12.10 authorization; attacks: C3
"""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from datetime import timedelta
from http import HTTPStatus
from typing import Any, Final

from gateway.client_policies import AuthorizationRequested
from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.errors import InvalidToken
from gateway.domain.events import Detail, EventError
from gateway.protocol.authorization import levels, pkce, request_object
from gateway.protocol.authorization.errors import (
    PageError,
    PageMessage,
    invalid_request_page,
    policy_refusal_page,
)
from gateway.protocol.authorization.request import (
    DPOP_KEY,
    LONGEST_PARAMETERS,
    AuthorizationDraft,
    Prompt,
    ResponseType,
)
from gateway.protocol.claims.protocol_claims import ID_TOKEN_TYPE
from gateway.protocol.errors import EventFailure, OAuthError, refused
from gateway.protocol.policy_checks import (
    check_authorization_request,
    check_authorization_start,
    current_demands,
    realm_policies,
)
from gateway.protocol.response_modes import JWT, ResponseMode
from gateway.protocol.scopes import OPENID, grant_scopes


def check_repeated_parameters(draft: AuthorizationDraft) -> None:
    """Refuse repeats. Spec: RFC 6749 §3.1; Keycloak: 12.10 authorization; attacks C19."""
    if draft.request.parameters.repeated:
        failure = EventFailure(EventError.INVALID_REQUEST)
        raise OAuthError("invalid_request", "duplicated parameter", event=failure)


async def check_client(draft: AuthorizationDraft) -> None:
    """Find the client; raises PageError or StoreUnavailable. Keycloak: 12.10 authorization."""
    if draft.entry is not None:
        return
    client_id = draft.parameters.get("client_id")
    if client_id is None or "client_id" in draft.request.parameters.repeated_names:
        reason = (
            "Parameter 'client_id' not present or present multiple times in the HTTP request"
            " parameters"
        )
        error = EventError.INVALID_REQUEST
        raise PageError(PageMessage.invalidRequestMessage, event_error=error, reason=reason)
    draft.request.event.client_id = client_id
    entry = await draft.services.directory.client(draft.request.realm.realm.id, client_id)
    if entry is None:
        error = EventError.CLIENT_NOT_FOUND
        raise PageError(PageMessage.clientNotFoundMessage, event_error=error)
    client = entry.client
    if not client.enabled:
        error = EventError.CLIENT_DISABLED
        raise PageError(PageMessage.clientDisabledMessage, event_error=error)
    if client.bearer_only:
        error, status = EventError.NOT_ALLOWED, HTTPStatus.FORBIDDEN
        raise PageError(PageMessage.bearerOnlyMessage, event_error=error, status=status)
    if client.protocol != OPENID_CONNECT:
        message, error = PageMessage.wrongClientProtocolMessage, EventError.INVALID_CLIENT
        raise PageError(message, event_error=error, reason=message.text())
    draft.entry = entry


PUSHED: Final = "urn:ietf:params:oauth:request_uri:"
USED_UP: Final = "PAR not found, not issued or used multiple times."


async def check_pushed_request(draft: AuthorizationDraft) -> None:
    """Take the pushed parameters alone; raises PageError or StoreUnavailable.

    The reference is used up with the response, so users may reload. Spec: RFC 9126 §4; Keycloak:
    12.8 PAR
    """
    uri = draft.parameters.get("request_uri")
    if uri is None or not uri.startswith(PUSHED):
        return
    if "request_uri" in draft.request.parameters.repeated_names:
        raise invalid_request_page("'request_uri' is present multiple times")
    if draft.parameters.get("request") is not None:
        raise invalid_request_page(
            "Illegal to use both 'request' and 'request_uri' parameters together"
        )
    realm_id, client = draft.request.realm.realm.id, draft.client.client
    reference = uri.removeprefix(PUSHED)
    pushed = await draft.services.pushed_requests.find_request(realm_id, client.id, reference)
    if pushed is None:
        raise invalid_request_page(USED_UP)
    draft.parameters, draft.certificate = pushed.values, pushed.certificate
    draft.was_signed = pushed.was_signed
    draft.pushed_reference = reference


def check_sizes(draft: AuthorizationDraft) -> None:
    """Raise OAuthError for a parameter that is too long; Keycloak drops it. attacks C24."""
    for name, longest in LONGEST_PARAMETERS.items():
        text = draft.parameters.get(name)
        if text is not None and (len(text) > longest or "\0" in text):
            description = f"Invalid parameter: {name}"
            raise refused("invalid_request", description, EventError.INVALID_REQUEST)


def check_policies_at_start(draft: AuthorizationDraft) -> None:
    """Raise PageError where policies refuse the start. Keycloak: client policies (26.7)."""
    if draft.is_push:
        return
    client = draft.client.client
    uri = draft.parameters.get("redirect_uri") or client.redirects.only(draft.base_url)
    pushed = None if draft.pushed_reference is None else draft.parameters
    try:
        check_authorization_start(draft.request, draft.client, uri, pushed)
    except OAuthError as refusal:
        raise policy_refusal_page(refusal) from refusal


def check_redirect_uri(draft: AuthorizationDraft) -> None:
    """Keep the redirect URI and the state; raises PageError.

    A request without `openid` may omit the only one. Keycloak: 12.10 authorization; Spec: RFC 6749
    §3.1.2.3, OpenID Connect Core §3.1.2.1; attacks C1, C3
    """
    uri = draft.parameters.get("redirect_uri")
    found = uri
    if uri is None:
        found = _only_redirect_uri(draft)
    else:
        draft.request.event.details[Detail.REDIRECT_URI] = uri
        if not draft.client.client.redirects.match(uri, draft.base_url):
            found = None
    if found is None:
        message, error = PageMessage.invalidParameterMessage, EventError.INVALID_REDIRECT_URI
        raise PageError(message, "redirect_uri", event_error=error)
    draft.redirect_uri, draft.redirect_uri_sent = found, uri is not None
    state = draft.parameters.get("state")
    draft.state = state if state is not None and len(state) <= LONGEST_PARAMETERS["state"] else None


def _only_redirect_uri(draft: AuthorizationDraft) -> str | None:
    if OPENID in (draft.parameters.get("scope") or "").split(" "):
        return None
    return draft.client.client.redirects.only(draft.base_url)


RESPONSE_TYPES: Final = (
    *("code", "none", "id_token", "token", "id_token token"),
    *("code id_token", "code token", "code id_token token"),
)
"""The values that clients may ask for, in the order of discovery."""


def check_response_type(draft: AuthorizationDraft) -> None:
    """Keep the response type, its words in any order; raises OAuthError.

    Keycloak: 12.10 authorization; Spec: RFC 6749 §3.1.1, RFC 9101 §6.3
    """
    text = draft.parameters.get("response_type")
    if text is None:
        description = "Missing parameter: response_type"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    draft.request.event.details[Detail.RESPONSE_TYPE] = text
    outside = draft.request.parameters.values.get("response_type")
    if outside is not None and outside != text:
        description = "Parameter response_type does not match"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    try:
        found = frozenset(map(ResponseType, text.split(" ")))
    except ValueError as error:
        raise _unsupported_response_type("Unsupported response_type") from error
    if ResponseType.NONE in found and len(found) > 1:
        raise _unsupported_response_type("'None' not allowed with some other response_type")
    draft.response_type = found


def _unsupported_response_type(reason: str) -> OAuthError:
    failure = EventFailure(EventError.INVALID_REQUEST, reason)
    return OAuthError("unsupported_response_type", reason=reason, event=failure)


def check_response_mode(draft: AuthorizationDraft) -> None:
    """Keep the mode; raises OAuthError.

    Keycloak: 12.10 authorization; Spec: OAuth 2.0 Multiple Response Type Encoding Practices §3,
    JARM §2.3.1
    """
    text = draft.parameters.get("response_mode")
    if text in {None, JWT}:
        mode: ResponseMode | None = _default_response_mode(draft, text)
    else:
        mode = ResponseMode(text) if text in set(ResponseMode) else None
    if mode is None:
        description = "Invalid parameter: response_mode"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    if draft.implicit_or_hybrid and mode is ResponseMode.QUERY:
        description = "Response_mode 'query' not allowed for implicit or hybrid flow"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    encrypted = draft.client.client.encryption.authorization_response is not None
    # A signed response would hold readable tokens in a query.
    if draft.implicit_or_hybrid and mode is ResponseMode.QUERY_JWT and not encrypted:
        description = (
            "Response_mode 'query.jwt' is allowed only when the authorization response token is"
            " encrypted"
        )
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    draft.request.event.details[Detail.RESPONSE_MODE] = mode.replace(".", "_")
    draft.response_mode = mode


def _default_response_mode(draft: AuthorizationDraft, text: str | None) -> ResponseMode:
    if draft.implicit_or_hybrid:
        return ResponseMode.FRAGMENT_JWT if text == JWT else ResponseMode.FRAGMENT
    return ResponseMode.QUERY_JWT if text == JWT else ResponseMode.QUERY


def check_flows(draft: AuthorizationDraft) -> None:
    """Raise OAuthError for a disabled flow. Keycloak: 12.10 authorization."""
    client = draft.client.client
    of_code = draft.response_type & {ResponseType.CODE, ResponseType.NONE}
    if of_code and not client.standard_flow_enabled:
        raise _disabled_flow("Standard")
    if draft.implicit_or_hybrid and not client.implicit_flow_enabled:
        raise _disabled_flow("Implicit")
    if ResponseType.TOKEN in draft.response_type:
        _require_unbound(client)


def _require_unbound(client: Client) -> None:
    """Raise OAuthError for a client with bound tokens: nothing here would bind them."""
    for kind, is_bound in (
        ("DPoP", client.tokens.dpop_bound),
        ("Certificate", client.tokens.certificate_bound),
    ):
        if is_bound:
            text = (
                f"{kind} is not supported for implicit nor hybrid flows."
                f" Client requires {kind} bound access tokens."
            )
            raise refused("unauthorized_client", text, EventError.NOT_ALLOWED)


def _disabled_flow(flow: str) -> OAuthError:
    text = (
        "Client is not allowed to initiate browser login with given response_type."
        f" {flow} flow is disabled for the client."
    )
    return refused("unauthorized_client", text, EventError.NOT_ALLOWED)


def check_pushed_only(draft: AuthorizationDraft) -> None:
    """Raise OAuthError where a push is required. Spec: RFC 9126 §6; Keycloak: 12.8 PAR."""
    required = draft.client.client.authorization.pushed_requests_only
    if required and draft.pushed_reference is None and not draft.is_push:
        text = "Pushed Authorization Request is only allowed."
        raise refused("invalid_request", text, EventError.INVALID_REQUEST)


def check_nonce(draft: AuthorizationDraft) -> None:
    """Require a nonce for ID tokens. Spec: OpenID Connect Core §3.2.2.1, §3.3.2.11."""
    if ResponseType.ID_TOKEN in draft.response_type and draft.parameters.get("nonce") is None:
        raise refused("invalid_request", "Missing parameter: nonce", EventError.INVALID_REQUEST)


def check_scope(draft: AuthorizationDraft) -> None:
    """Keep the scopes; raises OAuthError. Spec: RFC 6749 §3.3; Keycloak: 12.10 authorization."""
    draft.scopes = grant_scopes(
        draft.request.realm, draft.client.client, draft.parameters.get("scope")
    )


_SECONDS: Final = re.compile("-?[0-9]{1,10}", re.ASCII)
_LARGEST_MAX_AGE: Final = 2**31 - 1


def check_max_age(draft: AuthorizationDraft) -> None:
    """Keep the seconds; raises PageError. Spec: OpenID Connect Core §3.1.2.1."""
    text = draft.parameters.get("max_age")
    if text is None:
        return
    if _SECONDS.fullmatch(text) is None or int(text) > _LARGEST_MAX_AGE:
        raise invalid_request_page("max_age is no number of seconds")
    # Of a negative one every sign-in is too old, as in Keycloak.
    draft.max_age = timedelta(seconds=max(int(text), 0))


PROMPTS: Final = (Prompt.NONE, Prompt.LOGIN, Prompt.CONSENT)
"""The values that every realm knows, in the order of discovery."""


def check_prompt(draft: AuthorizationDraft) -> None:
    """Keep the known words; raises OAuthError where `none` is not alone.

    `create` shows the page of registration, where the realm permits it. Spec: OpenID Connect Core
    §3.1.2.1; Keycloak: 12.10 authorization
    """
    words = frozenset((draft.parameters.get("prompt") or "").split())
    allowed = draft.request.realm.realm.login.registration_allowed
    if Prompt.CREATE in words and not allowed and not draft.is_push:
        message, error = PageMessage.registrationNotAllowedMessage, EventError.INVALID_REQUEST
        raise PageError(message, event_error=error, error="registration_disabled")
    if Prompt.NONE in words and len(words) > 1:
        raise refused("invalid_request", "Invalid parameter: prompt", EventError.INVALID_REQUEST)
    draft.prompt = frozenset(each for each in (*PROMPTS, Prompt.CREATE) if each in words)


def check_claims(draft: AuthorizationDraft) -> None:
    """Keep the claims; raises OAuthError for unreadable ones. Spec: OpenID Connect Core §5.5."""
    text = draft.parameters.get("claims")
    if not text:
        return
    try:
        found = json.loads(text)
        # Half characters and infinite numbers could not be stored.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError) as error:
        raise _refused_claims() from error
    if not isinstance(found, dict):
        raise _refused_claims()
    if not all(isinstance(member, dict | None) for member in found.values()):
        raise _refused_claims()
    draft.claims = found


def _refused_claims() -> OAuthError:
    return refused("invalid_request", "Invalid parameter: claims", EventError.INVALID_REQUEST)


def check_id_token_hint(draft: AuthorizationDraft) -> None:
    """Keep the user of a valid hint; an invalid one is ignored, as in Keycloak.

    Spec: OpenID Connect Core §3.1.2.1; attacks C23
    """
    token = draft.parameters.get("id_token_hint")
    if not token:
        return
    try:
        claims = draft.request.realm.key_ring.verify_token(token, draft.request.now)
    except InvalidToken:
        return
    subject = claims.get("sub")
    is_ours = claims.get("iss") == draft.request.issuer and claims.get("typ") == ID_TOKEN_TYPE
    if is_ours and _is_for_client(draft, claims.get("aud")) and isinstance(subject, str):
        draft.hinted_user = subject


def _is_for_client(draft: AuthorizationDraft, audience: Any) -> bool:
    return draft.client.client.client_id in (audience if isinstance(audience, list) else [audience])


def check_policies(draft: AuthorizationDraft) -> None:
    """Keep the policies' demands; raises OAuthError. Pushed requests are judged twice."""
    if realm_policies(draft.request.realm):
        draft.demands = check_authorization_request(draft.request, _judged(draft))


def keep_current_demands(draft: AuthorizationDraft) -> None:
    """Keep what the policies demand now of the sign-in of a request that they accepted before."""
    if realm_policies(draft.request.realm):
        draft.demands = current_demands(draft.request, _judged(draft))


def _judged(draft: AuthorizationDraft) -> AuthorizationRequested:
    request = draft.request
    return AuthorizationRequested(
        draft.client.client,
        request.now,
        _with_key(draft),
        request.parameters.values,
        frozenset(str(each) for each in draft.response_type),
        draft.redirect_uri,
        base_url=draft.base_url,
        realm_algorithm=request.realm.realm.signature_algorithm.value,
        request_object=draft.request_object,
        is_push=draft.is_push,
        was_pushed=draft.pushed_reference is not None,
        was_signed=draft.was_signed,
        scopes=frozenset(draft.scopes.names if draft.scopes else ()),
        own_roles=draft.client.own_roles,
        acr_values=draft.acr_values,
    )


def _with_key(draft: AuthorizationDraft) -> Mapping[str, str]:
    """Return the parameters; the proof of a push counts as `dpop_jkt`. Spec: RFC 9449 §10.1."""
    proved = draft.request.proof_key
    return draft.parameters if proved is None else {DPOP_KEY: proved, **draft.parameters}


Check = Callable[[AuthorizationDraft], Awaitable[None] | None]
"""Fills in what it has verified; raises OAuthError, PageError among it, or StoreUnavailable."""

CHECKS: Final[Mapping[str, Check]] = {
    "client": check_client,
    "pushed_request": check_pushed_request,
    "request_object": request_object.check_request_object,
    "policies_at_start": check_policies_at_start,
    "max_age": check_max_age,
    "redirect_uri": check_redirect_uri,
    "response_type": check_response_type,
    "response_mode": check_response_mode,
    "flows": check_flows,
    "pushed_only": check_pushed_only,
    "repeated_parameters": check_repeated_parameters,
    "sizes": check_sizes,
    "scope": check_scope,
    "nonce": check_nonce,
    "code_challenge": pkce.check_code_challenge,
    "prompt": check_prompt,
    "claims": check_claims,
    "level": levels.check_level,
    "id_token_hint": check_id_token_hint,
    "policies": check_policies,
}
"""Name -> check, in the order in which they run."""
