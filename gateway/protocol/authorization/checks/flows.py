"""The client may use the flow that the response type belongs to. Keycloak: 12.10."""

from gateway.domain.clients import Client
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


def _disabled(flow: str) -> OAuthError:
    text = (
        "Client is not allowed to initiate browser login with given response_type."
        f" {flow} flow is disabled for the client."
    )
    return refused("unauthorized_client", text, EventError.NOT_ALLOWED)
