"""tls_client_auth and self_signed_tls_client_auth: the TLS client certificate is the credential.

With the first, the certificate leads to an anchor of the client, or else of its realm, and has the
client's registered name. With the second, the certificate or its key is itself registered for the
client; it needs no authority, but whatever refuses a certificate refuses it, such as its end, its
revocation or a weak key.
Spec: RFC 8705 §2.1, §2.2; Keycloak: `client-x509`; attacks A6
"""

from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.authentication.validity import NoLongerValid
from gateway.certificates import NotRegistered, evaluate_for_client, require_registered
from gateway.client_policies import VerifiedClientCertificate
from gateway.domain.certificates import ClientCertificate, TrustLevel, reason_for_caller
from gateway.domain.clients import (
    CERTIFICATE_AUTHENTICATOR,
    SELF_SIGNED_METHOD,
    TLS_METHOD,
    Client,
)
from gateway.domain.ports.client_signatures import NoUsableKey
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.client_authentication.method import ClientAuthenticationMethod, ClientProof
from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.events import certificate_details
from gateway.protocol.requests import ProtocolRequest

_NOT_HELD: Final = "neither the client certificate nor its key is registered for the client"


@dataclass(frozen=True, slots=True)
class _AcceptedCertificate(VerifiedClientCertificate):
    """Created by TlsClientAuth alone."""


class TlsClientAuth(ClientAuthenticationMethod):
    """The client holds the key of a certificate that is its own."""

    authenticator: ClassVar = CERTIFICATE_AUTHENTICATOR
    names: ClassVar = (TLS_METHOD, SELF_SIGNED_METHOD)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        certificate = request.certificate
        if certificate is None:
            raise _refused("no client certificate was presented")
        request.event.details |= certificate_details(certificate)
        if client.certificate_authentication.self_signed:
            await self._require_held(client, certificate)
            return _proof(certificate, is_registered=True)
        trust, realm = self._services.trust, request.realm.realm
        certificate = await evaluate_for_client(trust, certificate, realm, client.id, request.now)
        try:
            require_registered(client, certificate)
        except NotRegistered as error:
            raise _refused(str(error)) from error
        device = client.devices.device_of(certificate)
        if device is not None:
            try:
                await self._services.validity.require_unlocked(
                    realm, client, device.name, request.now
                )
            except NoLongerValid as error:
                raise _refused(f"the device {device.name} is locked") from error
        return _proof(certificate, is_registered=False)

    async def _require_held(self, client: Client, certificate: ClientCertificate) -> None:
        if certificate.trust_level is TrustLevel.REFUSED:
            raise _refused(f"the client certificate is refused: {certificate.reason}")
        try:
            held = await self._services.certificates.holds(client, certificate.leaf)
        except NoUsableKey as error:
            raise _refused(str(error)) from error
        if not held:
            raise _refused(_NOT_HELD)


def _proof(certificate: ClientCertificate, *, is_registered: bool) -> ClientProof:
    verified = _AcceptedCertificate(certificate, is_registered=is_registered)
    return ClientProof(certificate, verified_certificate=verified)


def _refused(reason: str) -> ClientAuthenticationFailed:
    # A certificate is no secret that answers could help to guess: who holds it learns what to mend.
    text = f"{ClientAuthenticationFailed.public_text}: {reason_for_caller(reason)}"
    return ClientAuthenticationFailed("invalid_client", text, reason=reason)
