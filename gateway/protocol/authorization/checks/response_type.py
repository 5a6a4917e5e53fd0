"""The response type is known, and the same inside and outside a request object.

Its words may be in any order. Keycloak: 12.10; Spec: RFC 6749 §3.1.1, RFC 9101 §6.3
"""

from typing import Final

from gateway.domain.events import Detail, EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.request import ResponseType
from gateway.protocol.errors import EventFailure, OAuthError, refused

RESPONSE_TYPES: Final = (
    *("code", "none", "id_token", "token", "id_token token"),
    *("code id_token", "code token", "code id_token token"),
)
"""Those that clients may ask for, in the order of discovery."""


def check(draft: AuthorizationDraft) -> None:
    """Keep the response type; raises OAuthError."""
    text = draft.get("response_type")
    if text is None:
        description = "Missing parameter: response_type"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    draft.request.event.details[Detail.RESPONSE_TYPE] = text
    outside = draft.request.parameters.raw("response_type")
    if outside is not None and outside != text:
        description = "Parameter response_type does not match"
        raise refused("invalid_request", description, EventError.INVALID_REQUEST)
    try:
        found = frozenset(map(ResponseType, text.split(" ")))
    except ValueError as error:
        raise _unsupported("Unsupported response_type") from error
    if ResponseType.NONE in found and len(found) > 1:
        raise _unsupported("'None' not allowed with some other response_type")
    draft.response_type = found


def _unsupported(reason: str) -> OAuthError:
    failure = EventFailure(EventError.INVALID_REQUEST, reason)
    return OAuthError("unsupported_response_type", reason=reason, event=failure)
