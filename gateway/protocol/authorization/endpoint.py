"""The authorization endpoint: runs the checks of a request, in their order.

Spec: RFC 6749 §3.1; Keycloak: 12.10
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.events import EventError, EventType
from gateway.protocol.authorization.checks import CHECKS, Check
from gateway.protocol.authorization.draft import AuthorizationDraft, CheckServices
from gateway.protocol.authorization.errors import (
    PageError,
    PageMessage,
    RedirectError,
    invalid_request_page,
)
from gateway.protocol.authorization.request import (
    AuthorizationRequest,
    StoredRequestUnusable,
    restore,
)
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest

_RESUMED: Final = ("client", "redirect_uri", "response_type", "response_mode", "flows")
"""The checks whose outcome administrators may have changed since the request was stored."""


class AuthorizationEndpoint:
    """Checks authorization requests of every realm."""

    def __init__(self, services: CheckServices) -> None:
        self._services = services

    async def check(self, request: ProtocolRequest) -> AuthorizationRequest:
        """Return the verified request.

        Raises PageError, RedirectError or StoreUnavailable. A pushed request is used up.
        """
        request.event.begin(EventType.LOGIN)
        draft = AuthorizationDraft(request, self._services, request.parameters.values)
        await _run_for_browser(draft, CHECKS)
        return draft.finished()

    async def resume(
        self, request: ProtocolRequest, stored: Mapping[str, str]
    ) -> AuthorizationRequest:
        """Return the request that was stored when the sign-in began.

        The client must still exist, be enabled, have the redirect URI and may use the flow: a
        browser keeps a request for as long as it likes. Raises PageError, RedirectError or
        StoreUnavailable.
        """
        draft = AuthorizationDraft(request, self._services, stored)
        await _run_for_browser(draft, {name: CHECKS[name] for name in _RESUMED})
        try:
            return restore(stored, request.realm, draft.client)
        except StoredRequestUnusable as error:
            message, failure = PageMessage.expiredCodeMessage, EventError.EXPIRED_CODE
            raise PageError(message, event_error=failure, reason=str(error)) from error


async def run_checks(draft: AuthorizationDraft, checks: Mapping[str, Check] = CHECKS) -> None:
    """Run the checks in their order; raises OAuthError or StoreUnavailable."""
    for check in checks.values():
        pending = check(draft)
        if pending is not None:
            await pending


async def _run_for_browser(draft: AuthorizationDraft, checks: Mapping[str, Check]) -> None:
    """Run the checks; raises PageError, RedirectError or StoreUnavailable."""
    try:
        await run_checks(draft, checks)
    except PageError:
        raise
    except OAuthError as refusal:
        raise _sent_to_client(draft, refusal) from refusal


def _sent_to_client(draft: AuthorizationDraft, refusal: OAuthError) -> OAuthError:
    """Return the refusal as one for the client; a page until its redirect URI was verified."""
    target = draft.target()
    if target is None:
        return invalid_request_page(refusal.reason or refusal.error)
    return RedirectError(
        refusal.error, refusal.description, target, event=refusal.event, reason=refusal.reason
    )
