"""Client authentication: one function in front of every endpoint that clients call.

A client is bound to one method by its `clientAuthenticatorType`; there is no fallback from one
method to another. Spec: RFC 6749 §2.3; Keycloak: token endpoint, checks 5 to 8
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from gateway.certificates import evaluate_for_client
from gateway.client_policies import VerifiedClientAssertion, VerifiedClientCertificate
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.lookups import ClientEntry, Directory
from gateway.protocol.client_authentication.certificates import CertificateOwners, TlsClientAuth
from gateway.protocol.client_authentication.client_assertions import (
    ClientSecretJwt,
    PrivateKeyJwt,
    asserted_client_id,
)
from gateway.protocol.client_authentication.method import (
    BasicCredentials,
    ClientAuthenticationMethod,
    ClientProof,
    ClientSecret,
    ProofServices,
    read_basic_credentials,
)
from gateway.protocol.errors import ClientAuthenticationFailed, EventFailure, OAuthError, refused
from gateway.protocol.requests import ProtocolRequest

METHODS: Final[Mapping[str, type[ClientAuthenticationMethod]]] = {
    ClientSecret.authenticator: ClientSecret,
    PrivateKeyJwt.authenticator: PrivateKeyJwt,
    ClientSecretJwt.authenticator: ClientSecretJwt,
    TlsClientAuth.authenticator: TlsClientAuth,
}
"""Keycloak's authenticator id -> method."""
SIGNING_ALGORITHMS: Final = tuple(
    dict.fromkeys(algorithm for method in METHODS.values() for algorithm in method.algorithms)
)
"""The algorithms of assertions, as discovery lists them."""
METHOD_NAMES: Final = tuple(name for method in METHODS.values() for name in method.names)
"""The names of all methods, as discovery lists them."""
_SEVERAL_CREDENTIALS: Final = (
    "The request has a client_assertion beside a client secret, one client credential is allowed"
)


@dataclass(frozen=True, slots=True)
class AuthenticatedClient:
    """A client that proved itself, or a public client, which needs no proof."""

    entry: ClientEntry
    method: str
    certificate: ClientCertificate | None = None
    """The certificate of the request as it counts for the client, by its own anchors if any."""
    of_realm: ClientCertificate | None = None
    """The same certificate as it counts in the realm: for its users no anchors of a client do."""
    assertion: VerifiedClientAssertion | None = field(default=None, repr=False)
    """The assertion that authenticated the client."""
    verified_certificate: VerifiedClientCertificate | None = None
    """The certificate, where it authenticated the client."""


class ClientAuthenticator:
    """Authenticates the clients of every realm."""

    def __init__(
        self, directory: Directory, services: ProofServices, owners: CertificateOwners
    ) -> None:
        self._directory = directory
        self._owners = owners
        self._services = services
        self._methods = {name: method(services) for name, method in METHODS.items()}

    async def authenticate(self, request: ProtocolRequest) -> AuthenticatedClient:
        """Authenticate the client, unless bearer-only, and check the page's origin.

        Raises ClientAuthenticationFailed, OAuthError, OriginRefused or StoreUnavailable.
        """
        caller = await self._authenticated(request)
        request.page.require(caller.entry.client.allowed_origins)
        if caller.entry.client.bearer_only:
            raise OAuthError("invalid_client", "Bearer-only not allowed")
        return caller

    async def authenticate_confidential(self, request: ProtocolRequest) -> AuthenticatedClient:
        """Authenticate the client, and refuse a public one: it cannot prove who it is."""
        caller = await self._authenticated(request)
        if caller.entry.client.public_client:
            text, status = "Client not allowed.", HTTPStatus.FORBIDDEN
            error, detail = EventError.INVALID_REQUEST, Detail.DETAIL
            raise refused("invalid_request", text, error, status=status, detail=detail)
        return caller

    async def _authenticated(self, request: ProtocolRequest) -> AuthenticatedClient:
        header = request.authorization
        credentials = None if header is None else read_basic_credentials(header)
        client_id = request.parameters.raw("client_id")
        if client_id is None and credentials is not None:
            client_id = credentials.client_id
        if client_id is None:
            client_id = asserted_client_id(self._services.signatures, request)
        if client_id is None:
            client_id = await self._owners.client_id(request)
        if not client_id:
            raise ClientAuthenticationFailed(
                reason="the request names no client", event_error=EventError.CLIENT_NOT_FOUND
            )
        request.event.client_id = client_id
        _require_one_credential(request, credentials)
        entry = await self._directory.client(request.realm.realm.id, client_id)
        if entry is None:
            raise ClientAuthenticationFailed(
                reason="no such client", event_error=EventError.CLIENT_NOT_FOUND
            )
        client = entry.client
        if not client.enabled:
            raise ClientAuthenticationFailed(
                reason="the client is disabled", event_error=EventError.CLIENT_DISABLED
            )
        method = self._offered_method(client, request)
        proof = ClientProof(request.certificate)
        if method is not None:
            proof = await method.authenticate(client, request, credentials)
        certificate = proof.certificate
        if certificate is not None and certificate is request.certificate:
            trust, realm = self._services.trust, request.realm.realm
            now = request.now
            certificate = await evaluate_for_client(trust, certificate, realm, client.id, now)
        # Keycloak names the method also where a public client needed none.
        request.event.details[Detail.CLIENT_AUTH_METHOD] = client.client_authenticator_type
        if client.protocol != "openid-connect":
            failure = EventFailure(EventError.INVALID_CLIENT)
            raise OAuthError("invalid_client", "Wrong client protocol.", event=failure)
        name = "none" if client.public_client else client.client_authenticator_type
        return AuthenticatedClient(
            entry,
            name,
            certificate,
            request.certificate,
            proof.assertion,
            proof.verified_certificate,
        )

    def _offered_method(
        self, client: Client, request: ProtocolRequest
    ) -> ClientAuthenticationMethod | None:
        """Return the method, None for public clients; the realm's flow must have the method."""
        name = ClientSecret.authenticator
        if not client.public_client:
            name = client.client_authenticator_type
        if name not in request.realm.sign_in.client_methods:
            raise ClientAuthenticationFailed(
                reason=f"the realm's flow of clients does not offer {name!r}",
                event_error=EventError.CLIENT_NOT_FOUND,
            )
        method = self._methods.get(name)
        if method is None:
            raise ClientAuthenticationFailed(
                "unauthorized_client",
                reason=f"no client authentication method {client.client_authenticator_type!r} here",
            )
        return None if client.public_client else method


def _require_one_credential(request: ProtocolRequest, credentials: BasicCredentials | None) -> None:
    """Refuse an assertion beside a secret: only one would be verified.

    A secret in the form wins over the header, as in Keycloak. Client ids and certificates of the
    connection are no second credential. Spec: RFC 6749 §2.3, §5.2
    """
    of_header = credentials.secret if credentials is not None else ""
    secret = of_header or request.parameters.raw("client_secret")
    if secret and request.parameters.raw("client_assertion"):
        failure = EventFailure(EventError.INVALID_CLIENT_CREDENTIALS)
        raise OAuthError("invalid_request", _SEVERAL_CREDENTIALS, event=failure)
