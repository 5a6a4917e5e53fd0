"""The authorization endpoint, and the endpoint of pushed authorization requests."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.lookups import ClientEntry
from gateway.domain.ports.sign_in import PushedParameters, PushedRequestStore
from gateway.domain.realm import Realm
from gateway.protocol.authorization.checks import (
    CHECKS,
    PUSHED,
    USED_UP,
    Check,
    keep_current_demands,
)
from gateway.protocol.authorization.errors import (
    PageError,
    PageMessage,
    RedirectError,
    invalid_request_page,
)
from gateway.protocol.authorization.request import (
    DPOP_KEY,
    PARAMETERS,
    AuthorizationDraft,
    AuthorizationRequest,
    CheckServices,
    StoredRequestUnusable,
    restore_request,
)
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.errors import EventFailure, OAuthError, refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint import (
    SenderConstraint,
    bound_certificate,
    require_key_of_code,
)

_RESUMED: Final = ("client", "redirect_uri", "response_type", "response_mode", "flows")
"""The checks whose outcome administrators may have changed since the request was stored."""
_DEMANDS: Final = {"level": CHECKS["level"], "demands": keep_current_demands}
"""The present demands on the sign-in of a stored request."""


class AuthorizationEndpoint:
    """Checks authorization requests. Spec: RFC 6749 §3.1; Keycloak: 12.10 authorization."""

    def __init__(self, services: CheckServices) -> None:
        self._services = services

    async def check_request(self, request: ProtocolRequest) -> AuthorizationRequest:
        """Return the verified request. Raises PageError, RedirectError or StoreUnavailable."""
        request.event.kind = EventType.LOGIN
        draft = AuthorizationDraft(request, self._services, request.parameters.values)
        await _run_for_browser(draft, CHECKS)
        return draft.finished()

    async def resume_request(
        self, request: ProtocolRequest, stored: Mapping[str, str]
    ) -> AuthorizationRequest:
        """Return the request that was stored when the sign-in began, checked against the present.

        Client, redirect URI and flow must still be allowed; new demands of client and policies
        count too. Raises PageError, RedirectError or StoreUnavailable.
        """
        draft = AuthorizationDraft(request, self._services, stored)
        await _run_for_browser(draft, {name: CHECKS[name] for name in _RESUMED})
        try:
            restored = restore_request(stored, request.realm, draft.client)
        except StoredRequestUnusable as error:
            message, failure = PageMessage.expiredCodeMessage, EventError.EXPIRED_CODE
            client = _client_of(draft)
            raise PageError(
                message, event_error=failure, reason=str(error), client=client
            ) from error
        draft.scopes, draft.claims = restored.scopes, restored.claims
        await _run_for_browser(draft, _DEMANDS)
        return restored.with_demands(draft.level, draft.demands)

    async def find_client(self, request: ProtocolRequest, stored: Mapping[str, str]) -> ClientEntry:
        """Return the client of a stored request; raises PageError where it cannot be used now."""
        draft = AuthorizationDraft(request, self._services, stored)
        await _run_for_browser(draft, {"client": CHECKS["client"]})
        return draft.client

    async def use_up(
        self, request: ProtocolRequest, asked: AuthorizationRequest, reference: str
    ) -> None:
        """Use up a pushed request before its response; raises RedirectError after the first.

        The mark outlives every sign-in that the reference began. Spec: RFC 9126 §7.3
        """
        realm, client = request.realm.realm, asked.client.client
        lifespans = realm.token_lifespans
        longest = lifespans.access_code_login + lifespans.access_code_user_action
        if not await self._services.pushed_requests.use(realm.id, client.id, reference, longest):
            failure = EventFailure(EventError.INVALID_REQUEST, USED_UP)
            raise RedirectError("invalid_request_uri", USED_UP, asked.target, event=failure)


async def run_checks(draft: AuthorizationDraft, checks: Mapping[str, Check] = CHECKS) -> None:
    """Run the checks in their order; raises OAuthError or StoreUnavailable."""
    for check in checks.values():
        pending = check(draft)
        if pending is not None:
            await pending


async def _run_for_browser(draft: AuthorizationDraft, checks: Mapping[str, Check]) -> None:
    try:
        await run_checks(draft, checks)
    except PageError as refusal:
        refusal.client = _client_of(draft)  # the page leads back to the client
        raise
    except OAuthError as refusal:
        raise _sent_to_client(draft, refusal) from refusal


def _client_of(draft: AuthorizationDraft) -> Client | None:
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


_REFERENCE_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class PushedRequest:
    """The answer: the value for `request_uri`, and how long it may be used."""

    request_uri: str = field(repr=False)
    lifespan: timedelta


async def keep_pushed_request(
    store: PushedRequestStore, realm: Realm, client: Client, pushed: PushedParameters
) -> PushedRequest:
    """Keep a request of the client under a new reference; raises StoreUnavailable."""
    reference = secrets.token_urlsafe(_REFERENCE_BYTES)
    lifespan = realm.protocol.pushed_request_lifespan
    await store.add(realm.id, client.id, reference, pushed, lifespan)
    return PushedRequest(f"{PUSHED}{reference}", lifespan)


async def push_request(
    clients: ClientAuthenticator,
    checks: CheckServices,
    constraint: SenderConstraint,
    request: ProtocolRequest,
) -> tuple[AuthenticatedClient, PushedRequest]:
    """Keep a request and return its reference; raises OAuthError or StoreUnavailable.

    The client authenticates as at the token endpoint, so a browser carries only the reference.
    Spec: RFC 9126 §2, RFC 9449 §10.1; Keycloak: 12.8 PAR
    """
    request.event.kind = EventType.PUSHED_AUTHORIZATION_REQUEST
    caller = await clients.authenticate(request)
    check_caller(request, caller, EventKind.PUSHED_AUTHORIZATION_REQUEST)
    if request.parameters.raw("request_uri") is not None:
        text = "It is not allowed to include request_uri to PAR."
        raise refused("invalid_request", text, EventError.INVALID_REQUEST)
    request = await constraint.with_proved_key(request, caller.entry.client, required=False)
    draft = AuthorizationDraft(
        request, checks, request.parameters.values, is_push=True, entry=caller.entry
    )
    await run_checks(draft)
    return caller, await _keep_request(checks, draft, caller.certificate)


async def _keep_request(
    checks: CheckServices, draft: AuthorizationDraft, certificate: ClientCertificate | None
) -> PushedRequest:
    """Keep the request; `certificate` is its own, as it counts for the client."""
    realm, client = draft.request.realm.realm, draft.client.client
    kept = {name: draft.parameters[name] for name in PARAMETERS if name in draft.parameters}
    kept |= {"client_id": client.client_id}
    if draft.request.proof_key is not None:
        require_key_of_code(kept.get(DPOP_KEY), draft.request.proof_key)
        kept[DPOP_KEY] = draft.request.proof_key
    pushed = PushedParameters(
        kept,
        certificate=bound_certificate(client, certificate),
        was_signed=draft.request_object is not None,
        is_anonymous=client.public_client,
    )
    return await keep_pushed_request(checks.pushed_requests, realm, client, pushed)
