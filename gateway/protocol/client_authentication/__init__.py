"""Client authentication: one function in front of every endpoint that clients call.

A client is bound to one method by its `clientAuthenticatorType`; there is no fallback from one
method to another. Spec: RFC 6749 §2.3; Keycloak: token endpoint, checks 5 to 8
"""

from dataclasses import dataclass
from http import HTTPStatus
from typing import Final, Protocol

from gateway.domain.clients import Client
from gateway.domain.events import (
    CLIENT_AUTH_METHOD,
    CLIENT_DISABLED,
    CLIENT_NOT_FOUND,
    DETAIL,
    INVALID_CLIENT,
    INVALID_REQUEST,
)
from gateway.domain.ports.directory import ClientEntry, Directory
from gateway.protocol.client_authentication import client_secret, tls_client_auth
from gateway.protocol.client_authentication.basic_credentials import (
    BasicCredentials,
    read_basic_credentials,
)
from gateway.protocol.errors import ClientAuthenticationFailed, EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest


class ClientAuthenticationMethod(Protocol):
    """Proves that the caller is the client, or raises ClientAuthenticationFailed."""

    def __call__(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> None:
        """Return when the proof holds."""
        ...


METHODS: Final[dict[str, ClientAuthenticationMethod]] = {
    client_secret.AUTHENTICATOR_ID: client_secret.authenticate,
    tls_client_auth.AUTHENTICATOR_ID: tls_client_auth.authenticate,
}
"""Keycloak's authenticator id -> method."""
_NO_PROOF: Final = "none"


@dataclass(frozen=True, slots=True)
class AuthenticatedClient:
    """A client that proved itself, or a public one that needed no proof."""

    entry: ClientEntry
    method: str


async def authenticate_client(
    request: ProtocolRequest, directory: Directory
) -> AuthenticatedClient:
    """Authenticate, and refuse bearer-only clients: they receive tokens, they ask for none.

    Raises ClientAuthenticationFailed, OAuthError or StoreUnavailable.
    """
    caller = await _authenticated(request, directory)
    if caller.entry.client.bearer_only:
        raise OAuthError("invalid_client", "Bearer-only not allowed")
    return caller


async def authenticate_confidential_client(
    request: ProtocolRequest, directory: Directory
) -> AuthenticatedClient:
    """Authenticate, and refuse public clients: they cannot prove who they are."""
    caller = await _authenticated(request, directory)
    if caller.entry.client.public_client:
        raise OAuthError(
            "invalid_request",
            "Client not allowed.",
            status=HTTPStatus.FORBIDDEN,
            event=EventFailure(INVALID_REQUEST, "Client not allowed.", DETAIL),
        )
    return caller


async def _authenticated(request: ProtocolRequest, directory: Directory) -> AuthenticatedClient:
    """Find the client that the request names and make it prove itself."""
    credentials = read_basic_credentials(request.authorization)
    client_id = request.parameters.raw("client_id")
    if client_id is None and credentials is not None:
        client_id = credentials.client_id
    if not client_id:
        raise ClientAuthenticationFailed(
            reason="the request names no client", event_error=CLIENT_NOT_FOUND
        )
    request.event.client_id = client_id
    entry = await directory.client(request.realm.realm.id, client_id)
    if entry is None:
        raise ClientAuthenticationFailed(reason="no such client", event_error=CLIENT_NOT_FOUND)
    client = entry.client
    if not client.enabled:
        raise ClientAuthenticationFailed(
            reason="the client is disabled", event_error=CLIENT_DISABLED
        )
    _require_offered(client, request)
    if not client.public_client:
        _prove(client, request, credentials)
    # Keycloak names the method also where a public client needed none.
    request.event.details[CLIENT_AUTH_METHOD] = client.client_authenticator_type
    if client.protocol != "openid-connect":
        raise OAuthError(
            "invalid_client", "Wrong client protocol.", event=EventFailure(INVALID_CLIENT)
        )
    method = _NO_PROOF if client.public_client else client.client_authenticator_type
    return AuthenticatedClient(entry, method)


def _require_offered(client: Client, request: ProtocolRequest) -> None:
    """Refuse a method that the realm's flow of clients has not; public clients stand by secrets."""
    wanted = client.client_authenticator_type
    if client.public_client:
        wanted = client_secret.AUTHENTICATOR_ID
    if wanted not in request.realm.sign_in.client_methods:
        raise ClientAuthenticationFailed(
            reason=f"the realm's flow of clients does not offer {wanted!r}",
            event_error=CLIENT_NOT_FOUND,
        )


def _prove(client: Client, request: ProtocolRequest, credentials: BasicCredentials | None) -> None:
    method = METHODS.get(client.client_authenticator_type)
    if method is None:
        raise ClientAuthenticationFailed(
            "unauthorized_client",
            reason=f"no client authentication method {client.client_authenticator_type!r} here",
        )
    method(client, request, credentials)
