"""client_secret_basic and client_secret_post: the secret by header, or by form field.

What the form says overrides the header. Spec: RFC 6749 §2.3.1; Keycloak: `client-secret`
"""

from typing import Final

from gateway.domain.clients import Client
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.client_secrets import secret_refusal
from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.requests import ProtocolRequest

AUTHENTICATOR_ID: Final = "client-secret"


def authenticate(
    client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
) -> None:
    """Compare the secret in constant time; refuse one that has expired."""
    given = request.parameters.raw("client_secret")
    if given is None and credentials is not None:
        given = credentials.secret
    if given is None:
        raise ClientAuthenticationFailed("unauthorized_client", reason="no client secret was sent")
    refusal = secret_refusal(client, given, request.now)
    if refusal is not None:
        raise ClientAuthenticationFailed("unauthorized_client", reason=refusal)
