"""The client is known, enabled, and may use the endpoint. Keycloak: 12.10."""

from http import HTTPStatus

from gateway.domain.clients import OPENID_CONNECT
from gateway.domain.events import EventError
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.errors import PageError, PageMessage


async def check(draft: AuthorizationDraft) -> None:
    """Find the client; raises PageError or StoreUnavailable."""
    if draft.entry is not None:
        return
    client_id = draft.get("client_id")
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
