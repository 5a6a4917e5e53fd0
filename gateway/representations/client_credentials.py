"""What a client proves itself by: whoever sets any of it may act as the client.

Keycloak: client authenticators and their attributes
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.clients import Client
from gateway.domain.secrets import Secret

_PREFIXES: Final = (
    "x509.",
    "jwt.credential",
    "jwks.",
    "use.jwks.",
    "client.secret",
    "token.endpoint.auth.",
    "tls.client.certificate.bound",
    "federated.",
)


@dataclass(frozen=True, slots=True)
class ClientCredentials:
    """All that decides whether somebody is the client."""

    public: bool
    bearer_only: bool
    service_account: bool
    authenticator: str
    secret: Secret | None = field(repr=False)
    rotated_secret: Secret | None = field(repr=False)
    attributes: Mapping[str, str] = field(repr=False)


def credentials_of(client: Client) -> ClientCredentials:
    """Return what the client proves itself by."""
    return ClientCredentials(
        client.public_client,
        client.bearer_only,
        client.service_accounts_enabled,
        client.client_authenticator_type,
        client.secret,
        client.rotated_secret,
        {
            name: text
            for name, text in client.attributes.items()
            if name.lower().startswith(_PREFIXES)
        },
    )
