"""client_secret_jwt: a JWT with a MAC that is made with the client's secret.

A rotated secret is accepted until it expires. Spec: RFC 7523 §2.2, OpenID Connect Core §9;
Keycloak: `client-secret-jwt`
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from typing import ClassVar

from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import SecretAlgorithm
from gateway.domain.ports.client_signatures import VerifiedClaims
from gateway.protocol.client_authentication import client_assertion
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.client_authentication.client_assertion import refused_assertion
from gateway.protocol.client_authentication.method import ClientAuthenticationMethod, ClientProof
from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.requests import ProtocolRequest


class ClientSecretJwt(ClientAuthenticationMethod):
    """The client knows its secret and does not send it."""

    authenticator: ClassVar = "client-secret-jwt"
    names: ClassVar = ("client_secret_jwt",)
    algorithms: ClassVar = tuple(SecretAlgorithm)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        del credentials
        token = client_assertion.required_assertion(request)
        said = client_assertion.read_assertion(self._services.signatures, token)
        client_assertion.check_issuer(client, said)
        client_assertion.check_header(client, said, self.algorithms)
        if client.secret is None or client.secret_settings.has_expired(request.now):
            raise ClientAuthenticationFailed(reason="the client has no secret that is valid now")
        signed = await self._verified(client, token, request.now)
        marks = self._services.marks
        assertion = await client_assertion.accept_assertion(client, request, signed, marks)
        return ClientProof(request.certificate, assertion=assertion)

    async def _verified(self, client: Client, token: str, now: datetime) -> VerifiedClaims:
        reason = ""
        for holder in _with_each_secret(client, now):
            try:
                return await self._services.signatures.verify(holder, token)
            except InvalidToken as error:
                reason = str(error)
        text = (
            "Client authentication with client secret signed JWT failed:"
            " Signature on JWT token by client secret  failed validation"
        )
        raise refused_assertion(text, error="unauthorized_client", reason=reason)


def _with_each_secret(client: Client, now: datetime) -> Iterator[Client]:
    yield client
    if client.rotated_secret is not None and client.secret_settings.accepts_rotated(now):
        yield replace(client, secret=client.rotated_secret)
