"""No parameter comes twice, known or not. Spec: RFC 6749 §3.1; Keycloak: 12.10; attacks C19."""

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.errors import EventFailure, OAuthError


def check(draft: AuthorizationDraft) -> None:
    """Raise OAuthError where a parameter comes twice."""
    if draft.request.parameters.repeated:
        failure = EventFailure(EventError.INVALID_REQUEST)
        raise OAuthError("invalid_request", "duplicated parameter", event=failure)
