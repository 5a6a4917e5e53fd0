"""The endpoint of pushed authorization requests: checks a request, and keeps it for one use.

The client authenticates as at the token endpoint, so what a browser carries is a reference alone.
Spec: RFC 9126 §2, RFC 9449 §10.1; Keycloak: 12.8
"""

import secrets
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.events import EventError, EventType
from gateway.domain.ports.sign_in.pushed_requests import PushedParameters, PushedRequestStore
from gateway.domain.realm import Realm, pushed_request_lifespan
from gateway.protocol.authorization.checks.pushed_request import PUSHED
from gateway.protocol.authorization.draft import AuthorizationDraft, CheckServices
from gateway.protocol.authorization.endpoint import run_checks
from gateway.protocol.authorization.parameters import DPOP_KEY, PARAMETERS
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.errors import refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sender_constraint import (
    SenderConstraint,
    bound_certificate,
    require_key_of_code,
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
    lifespan = pushed_request_lifespan(realm)
    await store.add(realm.id, client.id, reference, pushed, lifespan)
    return PushedRequest(f"{PUSHED}{reference}", lifespan)


class PushedRequestEndpoint:
    """Keeps authorization requests of every realm."""

    def __init__(
        self, clients: ClientAuthenticator, services: CheckServices, constraint: SenderConstraint
    ) -> None:
        self._clients = clients
        self._constraint = constraint
        self._services = services

    async def answer(self, request: ProtocolRequest) -> tuple[AuthenticatedClient, PushedRequest]:
        """Return the reference; raises OAuthError or StoreUnavailable."""
        request.event.begin(EventType.PUSHED_AUTHORIZATION_REQUEST)
        caller = await self._clients.authenticate(request)
        check_caller(request, caller, EventKind.PUSHED_AUTHORIZATION_REQUEST)
        if request.parameters.raw("request_uri") is not None:
            text = "It is not allowed to include request_uri to PAR."
            raise refused("invalid_request", text, EventError.INVALID_REQUEST)
        request = await self._constraint.with_proved_key(
            request, caller.entry.client, required=False
        )
        draft = AuthorizationDraft(
            request, self._services, request.parameters.values, is_push=True, entry=caller.entry
        )
        await run_checks(draft)
        return caller, await self._keep(draft, caller.certificate)

    async def _keep(
        self, draft: AuthorizationDraft, certificate: ClientCertificate | None
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
        return await keep_pushed_request(self._services.pushed_requests, realm, client, pushed)
