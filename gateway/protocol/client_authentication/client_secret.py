"""client_secret_basic and client_secret_post: the secret by header, or by form field.

What the form says overrides the header. A client may be limited to one of the two methods.
Spec: RFC 6749 §2.3.1; RFC 7591 §2 (token_endpoint_auth_method); Keycloak: `client-secret`
"""

from datetime import datetime
from typing import ClassVar, Final

from gateway.domain.clients import Client
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.client_authentication.method import ClientAuthenticationMethod, ClientProof
from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.requests import ProtocolRequest

_BASIC: Final = "client_secret_basic"
_POST: Final = "client_secret_post"


class ClientSecret(ClientAuthenticationMethod):
    """The client knows its secret."""

    authenticator: ClassVar = "client-secret"
    names: ClassVar = (_BASIC, _POST)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        given, used = request.parameters.raw("client_secret"), _POST
        if given is None and credentials is not None:
            given, used = credentials.secret, _BASIC
        if given is None:
            raise ClientAuthenticationFailed(
                "unauthorized_client", reason="no client secret was sent"
            )
        allowed = client.secret_settings.allowed_method
        if allowed and allowed != used:
            raise ClientAuthenticationFailed(
                "unauthorized_client", reason=f"the client may use {allowed!r} only, not {used!r}"
            )
        refusal = _secret_refusal(client, given, request.now)
        if refusal is not None:
            raise ClientAuthenticationFailed("unauthorized_client", reason=refusal)
        return ClientProof(request.certificate)


def _secret_refusal(client: Client, given: str, now: datetime) -> str | None:
    """Return why `given` is not accepted, for the log; None where it is.

    Accepted are the current secret and, until its expiration, the rotated one, unless the current
    secret has expired. Both are compared in constant time. Keycloak 26.7: `client-secret`;
    Spec: RFC 7591 §3.2.1
    """
    current = client.secret is not None and client.secret.matches(given)
    rotated = client.rotated_secret is not None and client.rotated_secret.matches(given)
    if not current and not (rotated and client.secret_settings.accepts_rotated(now)):
        return "the rotated client secret has expired" if rotated else "wrong client secret"
    return "the client secret has expired" if client.secret_settings.has_expired(now) else None
