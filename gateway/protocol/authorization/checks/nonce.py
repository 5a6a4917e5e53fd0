"""An ID token in the response answers a nonce. Spec: OpenID Connect Core §3.2.2.1, §3.3.2.11."""

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.request import ResponseType
from gateway.protocol.errors import refused


def check(draft: AuthorizationDraft) -> None:
    """Raise OAuthError where the nonce is missing."""
    if ResponseType.ID_TOKEN in draft.response_type and draft.get("nonce") is None:
        text = "Missing parameter: nonce"
        raise refused("invalid_request", text, EventError.INVALID_REQUEST)
