"""The response mode is known, and keeps tokens out of queries, which servers log.

Keycloak: 12.10; Spec: OAuth 2.0 Multiple Response Type Encoding Practices §3, JARM §2.3.1
"""

from gateway.domain.events import Detail, EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.errors import refused
from gateway.protocol.response_modes import JWT, ResponseMode


def check(draft: AuthorizationDraft) -> None:
    """Keep the mode; raises OAuthError."""
    text = draft.get("response_mode")
    mode = _default(draft, text) if text in {None, JWT} else _named(text)
    if mode is None:
        description = "Invalid parameter: response_mode"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    if draft.implicit_or_hybrid and mode is ResponseMode.QUERY:
        description = "Response_mode 'query' not allowed for implicit or hybrid flow"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    if _shows_tokens(draft, mode):
        description = (
            "Response_mode 'query.jwt' is allowed only when the authorization response token is"
            " encrypted"
        )
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    draft.request.event.details[Detail.RESPONSE_MODE] = mode.replace(".", "_")
    draft.response_mode = mode


def _shows_tokens(draft: AuthorizationDraft, mode: ResponseMode) -> bool:
    """Tell whether a signed response would hold readable tokens in a query."""
    encrypted = draft.client.client.encryption.authorization_response is not None
    return draft.implicit_or_hybrid and mode is ResponseMode.QUERY_JWT and not encrypted


def _default(draft: AuthorizationDraft, text: str | None) -> ResponseMode:
    if draft.implicit_or_hybrid:
        return ResponseMode.FRAGMENT_JWT if text == JWT else ResponseMode.FRAGMENT
    return ResponseMode.QUERY_JWT if text == JWT else ResponseMode.QUERY


def _named(text: str | None) -> ResponseMode | None:
    return ResponseMode(text) if text in set(ResponseMode) else None
