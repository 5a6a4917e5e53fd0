"""The client may use the flow that the response type belongs to. Keycloak: 12.10."""

from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.request import ResponseType
from gateway.protocol.errors import OAuthError, refused


def check(draft: AuthorizationDraft) -> None:
    """Raise OAuthError for a flow that is disabled for the client."""
    client = draft.client.client
    of_code = draft.response_type & {ResponseType.CODE, ResponseType.NONE}
    if of_code and not client.standard_flow_enabled:
        raise _disabled("Standard")
    if draft.implicit_or_hybrid and not client.implicit_flow_enabled:
        raise _disabled("Implicit")


def _disabled(flow: str) -> OAuthError:
    text = (
        "Client is not allowed to initiate browser login with given response_type."
        f" {flow} flow is disabled for the client."
    )
    return refused("unauthorized_client", text, EventError.NOT_ALLOWED)
