"""A client that has to push its requests has pushed this one. Spec: RFC 9126 §6; Keycloak: 12.8."""

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.errors import refused


def check(draft: AuthorizationDraft) -> None:
    """Raise OAuthError for a request that had to be pushed."""
    required = draft.client.client.authorization.pushed_requests_only
    if required and draft.pushed_reference is None and not draft.is_push:
        text = "Pushed Authorization Request is only allowed."
        raise refused("invalid_request", text, EventError.INVALID_REQUEST)
