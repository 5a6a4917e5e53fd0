"""The authorization endpoint: runs the checks of a request, in their order.

Spec: RFC 6749 §3.1; Keycloak: 12.10
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.clients import Client
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.directory import ClientEntry
from gateway.protocol.authorization.checks import CHECKS, Check
from gateway.protocol.authorization.checks.pushed_request import USED_UP
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
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest

_RESUMED: Final = ("client", "redirect_uri", "response_type", "response_mode", "flows")
"""The checks whose outcome administrators may have changed since the request was stored."""


class AuthorizationEndpoint:
    """Checks authorization requests of every realm."""

    def __init__(self, services: CheckServices) -> None:
        self._services = services

    async def check(self, request: ProtocolRequest) -> AuthorizationRequest:
        """Return the verified request.

        Raises PageError, RedirectError or StoreUnavailable.
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
            client = _client_of(draft)
            raise PageError(
                message, event_error=failure, reason=str(error), client=client
            ) from error

    async def find_client(self, request: ProtocolRequest, stored: Mapping[str, str]) -> ClientEntry:
        """Return the client of a stored request; raises PageError where it cannot be used now."""
        draft = AuthorizationDraft(request, self._services, stored)
        await _run_for_browser(draft, {"client": CHECKS["client"]})
        return draft.client

    async def use_up(self, request: ProtocolRequest, asked: AuthorizationRequest) -> None:
        """Use up the pushed request that was asked for, before its response is issued.

        The mark outlives every other sign-in that the reference began. Raises RedirectError where
        another one was answered, and StoreUnavailable. Spec: RFC 9126 §7.3
        """
        if asked.pushed_reference is None:
            return
        realm, client = request.realm.realm, asked.client.client
        lifespans = realm.token_lifespans
        longest = lifespans.access_code_login + lifespans.access_code_user_action
        pushed = self._services.pushed_requests
        if not await pushed.use(realm.id, client.id, asked.pushed_reference, longest):
            failure = EventFailure(EventError.INVALID_REQUEST, USED_UP)
            raise RedirectError("invalid_request_uri", USED_UP, asked.target, event=failure)


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
    except PageError as refusal:
        refusal.client = _client_of(draft)  # the page leads back to the client
        raise
    except OAuthError as refusal:
        raise _sent_to_client(draft, refusal) from refusal


def _client_of(draft: AuthorizationDraft) -> Client | None:
    """Return the client, if it was found."""
    return None if draft.entry is None else draft.entry.client


def _sent_to_client(draft: AuthorizationDraft, refusal: OAuthError) -> OAuthError:
    """Return the refusal as one for the client; a page until its redirect URI was verified."""
    target = draft.target()
    if target is None:
        reason = refusal.reason or refusal.error
        return invalid_request_page(reason, client=_client_of(draft))
    return RedirectError(
        refusal.error, refusal.description, target, event=refusal.event, reason=refusal.reason
    )
