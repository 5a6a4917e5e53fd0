"""The redirect URI is one of the client's: from here on errors may be sent there.

A request without `openid` may leave it out where the client has one alone.
Keycloak: 12.10; Spec: RFC 6749 §3.1.2.3, OpenID Connect Core §3.1.2.1; attacks C1, C3
"""

from gateway.domain.events import Detail, EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.errors import PageError, PageMessage
from gateway.protocol.authorization.parameters import LONGEST
from gateway.protocol.scopes import OPENID


def check(draft: AuthorizationDraft) -> None:
    """Keep the redirect URI and the state; raises PageError."""
    uri = draft.get("redirect_uri")
    found = _only(draft) if uri is None else _registered(draft, uri)
    if uri is not None:
        draft.request.event.details[Detail.REDIRECT_URI] = uri
    if found is None:
        message, error = PageMessage.invalidParameterMessage, EventError.INVALID_REDIRECT_URI
        raise PageError(message, "redirect_uri", event_error=error)
    draft.redirect_uri, draft.redirect_uri_sent = found, uri is not None
    state = draft.get("state")
    draft.state = state if state is not None and len(state) <= LONGEST["state"] else None


def _registered(draft: AuthorizationDraft, uri: str) -> str | None:
    return uri if draft.client.client.redirects.match(uri, draft.base_url) else None


def _only(draft: AuthorizationDraft) -> str | None:
    if OPENID in (draft.get("scope") or "").split(" "):
        return None
    return draft.client.client.redirects.only(draft.base_url)
