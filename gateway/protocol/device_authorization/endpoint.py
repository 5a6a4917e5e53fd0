"""The endpoint where a device asks for its codes.

Client authentication, the client's permission, repeated parameters, sizes, PKCE, in this order.
Scopes that the client may not have are left out, as in Keycloak.
Spec: RFC 8628 §3.1, §3.2, §6.1; Keycloak: 12.9
"""

from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final
from urllib.parse import urlencode

from gateway.client_policies import EventKind
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.errors import Overloaded
from gateway.domain.events import EventError, EventType
from gateway.domain.limits.scopes import scope_excess
from gateway.domain.ports.sign_in.device_authorizations import DeviceAuthorizationStore
from gateway.domain.realm import TokenLifespans
from gateway.domain.sign_in.device_authorizations import (
    DeviceAuthorization,
    displayed_user_code,
    new_device_code,
    new_user_code,
)
from gateway.protocol.authorization import CheckServices, ResponseType
from gateway.protocol.authorization.checks import code_challenge, sizes
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.client_authentication import AuthenticatedClient, ClientAuthenticator
from gateway.protocol.errors import refused
from gateway.protocol.policy_checks import check_caller
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import still_granted
from gateway.protocol.sender_constraint import bound_certificate

_LONGEST: Final = timedelta(days=1)
_TRIES: Final = 5
"""User codes that are tried where others have them: one in 2.5e10 meets another."""


@dataclass(frozen=True, slots=True)
class IssuedDeviceCodes:
    """The answer to a device."""

    device_code: str = field(repr=False)
    user_code: str = field(repr=False)
    """As it is displayed."""
    verification_uri: str
    lifespan: timedelta
    interval: timedelta

    def document(self) -> dict[str, str | int]:
        """Return the response. Spec: RFC 8628 §3.2."""
        complete = f"{self.verification_uri}?{urlencode({'user_code': self.user_code})}"
        second = timedelta(seconds=1)
        return {
            "device_code": self.device_code,
            "user_code": self.user_code,
            "verification_uri": self.verification_uri,
            "verification_uri_complete": complete,
            "expires_in": self.lifespan // second,
            "interval": self.interval // second,
        }


def verification_uri(issuer: str) -> str:
    """Return the address that users open to type their code."""
    return f"{issuer}/device"


class DeviceAuthorizationEndpoint:
    """Answers devices of every realm."""

    def __init__(
        self,
        clients: ClientAuthenticator,
        devices: DeviceAuthorizationStore,
        services: CheckServices,
    ) -> None:
        self._clients = clients
        self._devices = devices
        self._services = services

    async def answer(
        self, request: ProtocolRequest
    ) -> tuple[AuthenticatedClient, IssuedDeviceCodes]:
        """Return who asked and the codes; raises OAuthError or StoreUnavailable."""
        request.event.begin(EventType.OAUTH2_DEVICE_AUTH)
        caller = await self._clients.authenticate(request)
        check_caller(request, caller, EventKind.DEVICE_AUTHORIZATION_REQUEST)
        client, lifespans = caller.entry.client, request.realm.realm.token_lifespans
        _require_permitted(client)
        draft = self._checked(request, caller)
        lifespan = min(client.device_grant.code_lifespan or lifespans.device_code, _LONGEST)
        interval = _interval(client, lifespans)
        asked = await self._store(request, draft, lifespan, interval, caller.certificate)
        codes = IssuedDeviceCodes(
            asked.device_code,
            displayed_user_code(asked.user_code),
            verification_uri(request.issuer),
            lifespan,
            asked.interval,
        )
        return caller, codes

    def _checked(self, request: ProtocolRequest, caller: AuthenticatedClient) -> AuthorizationDraft:
        """Run the checks that authorization requests of codes have too."""
        if request.parameters.repeated:
            raise refused("invalid_grant", "duplicated parameter", EventError.INVALID_REQUEST)
        draft = AuthorizationDraft(
            request,
            self._services,
            request.parameters.values,
            entry=caller.entry,
            response_type=frozenset({ResponseType.CODE}),
        )
        sizes.check(draft)
        code_challenge.check(draft)
        requested = draft.get("scope") or ""
        excess = scope_excess(requested)
        if excess is not None:
            text = f"Invalid scopes: {excess}"
            raise refused("invalid_scope", text, EventError.INVALID_REQUEST)
        draft.scopes = still_granted(request.realm, caller.entry.client, requested.split(" "))
        return draft

    async def _store(
        self,
        request: ProtocolRequest,
        draft: AuthorizationDraft,
        lifespan: timedelta,
        interval: timedelta,
        certificate: ClientCertificate | None,
    ) -> DeviceAuthorization:
        challenge = draft.code_challenge
        for _ in range(_TRIES):
            asked = DeviceAuthorization(
                device_code=new_device_code(),
                user_code=new_user_code(),
                client=draft.client.client.id,
                client_id=draft.client.client.client_id,
                scope=" ".join(draft.scopes.names) if draft.scopes else "",
                interval=interval,
                nonce=draft.get("nonce") or None,
                code_challenge=challenge.challenge if challenge else None,
                code_challenge_method=challenge.method if challenge else None,
                certificate=bound_certificate(draft.client.client, certificate),
                is_anonymous=draft.client.client.public_client,
            )
            if await self._devices.add(request.realm.realm.id, asked, lifespan):
                return asked
        raise Overloaded


def _interval(client: Client, lifespans: TokenLifespans) -> timedelta:
    return min(client.device_grant.polling_interval or lifespans.device_polling_interval, _LONGEST)


def _require_permitted(client: Client) -> None:
    if not client.device_grant.enabled:
        text = (
            "Client is not allowed to initiate OAuth 2.0 Device Authorization Grant."
            " The flow is disabled for the client."
        )
        raise refused("unauthorized_client", text, EventError.NOT_ALLOWED)
