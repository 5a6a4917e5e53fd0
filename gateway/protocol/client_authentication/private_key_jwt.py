"""private_key_jwt: a JWT that the client has signed with a registered key.

Spec: RFC 7523 §2.2, OpenID Connect Core §9; Keycloak: 1.2 (`client-jwt`)
"""

from typing import ClassVar

from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import SignatureAlgorithm
from gateway.domain.ports.client_signatures import NoUsableKey
from gateway.protocol.client_authentication import client_assertion
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.client_authentication.client_assertion import refused_assertion
from gateway.protocol.client_authentication.method import ClientAuthenticationMethod, ClientProof
from gateway.protocol.requests import ProtocolRequest


class PrivateKeyJwt(ClientAuthenticationMethod):
    """The client holds the private key of a registered public key."""

    authenticator: ClassVar = "client-jwt"
    names: ClassVar = ("private_key_jwt",)
    algorithms: ClassVar = tuple(SignatureAlgorithm)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        del credentials
        signatures = self._services.signatures
        token = client_assertion.required_assertion(request)
        said = client_assertion.read_assertion(signatures, token)
        client_assertion.check_issuer(client, said)
        client_assertion.check_header(client, said, self.algorithms)
        try:
            signed = await signatures.verify(client, token)
        except NoUsableKey as error:
            raise refused_assertion("Unable to load public key", reason=str(error)) from error
        except InvalidToken as error:
            text = (
                "Client authentication with signed JWT failed:"
                " Signature on JWT token failed validation"
            )
            raise refused_assertion(text, reason=str(error)) from error
        marks = self._services.marks
        assertion = await client_assertion.accept_assertion(client, request, signed, marks)
        return ClientProof(request.certificate, assertion=assertion)
