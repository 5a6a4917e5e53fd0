"""The values of `clientAuthenticatorType`: the one list of them, whichever are implemented.

Keycloak: client-authenticator-providers, their texts and order in the flow `clients`.
Spec: RFC 7591 §2 (token_endpoint_auth_method)
"""

from dataclasses import dataclass
from typing import Final

CERTIFICATE_AUTHENTICATOR: Final = "client-x509"
"""The id of the authenticator by client certificate."""
TLS_METHOD: Final = "tls_client_auth"
SELF_SIGNED_METHOD: Final = "self_signed_tls_client_auth"
"""Of a certificate that is registered itself. Spec: RFC 8705 §2.2."""


@dataclass(frozen=True, slots=True)
class ClientAuthenticatorType:
    """A way of client authentication; `help` says in a sentence what it does."""

    id: str
    name: str
    help: str
    methods: tuple[str, ...] = ()
    """Its names in client metadata; the first is the one of a client that chose none of them."""
    uses_secret: bool = False
    """The proof is made with the client's secret, so a new client gets one."""


CLIENT_AUTHENTICATORS: Final = (
    ClientAuthenticatorType(
        *("client-secret", "Client Id and Secret", "Compares the client's secret"),
        methods=("client_secret_basic", "client_secret_post"),
        uses_secret=True,
    ),
    ClientAuthenticatorType(
        *("client-jwt", "Signed JWT", "Verifies a JWT that the client has signed"),
        methods=("private_key_jwt",),
    ),
    ClientAuthenticatorType(
        *("client-secret-jwt", "Signed JWT with Client Secret"),
        "Verifies a JWT that is signed with the client's secret",
        methods=("client_secret_jwt",),
        uses_secret=True,
    ),
    ClientAuthenticatorType(
        CERTIFICATE_AUTHENTICATOR,
        "X509 Certificate",
        "Compares the subject of the TLS certificate",
        methods=(TLS_METHOD, SELF_SIGNED_METHOD),
    ),
    ClientAuthenticatorType(
        "federated-jwt", "Signed JWT - Federated", "Verifies a JWT of another provider"
    ),
)
"""In the order of the flow `clients` of a new realm."""
WITH_SECRET: Final = frozenset(each.id for each in CLIENT_AUTHENTICATORS if each.uses_secret)
"""The ids of those that use the client's secret."""
