"""tls_client_auth: the TLS client certificate's subject is the credential.

Only the leaf counts, only the subject registered for this very client, and only a certificate
that leads to an anchor of the client, or else of its realm. A client may also name the authority:
any of the certificate's path up to the root, compared as parsed names.
Spec: RFC 8705 §2.1; Keycloak: `client-x509`
"""

from typing import ClassVar

from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.distinguished_names import DistinguishedName, subject_matches
from gateway.domain.limits.caches import cached
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.client_authentication.method import ClientAuthenticationMethod
from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.events import certificate_details
from gateway.protocol.requests import ProtocolRequest

_subject_matches = cached(512 * 1024)(subject_matches)
"""Cached: a device authenticates often, and parsing its registered name takes long."""


class TlsClientAuth(ClientAuthenticationMethod):
    """The client holds the key of a certificate with its registered subject."""

    authenticator: ClassVar = "client-x509"
    names: ClassVar = ("tls_client_auth",)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> None:
        certificate = request.certificate
        if certificate is None:
            raise _refused("no client certificate was presented")
        request.event.details |= certificate_details(certificate)
        # A client may have trust anchors of its own, in place of those of the realm.
        evaluated = await self._services.certificates.evaluate(
            certificate.evidence, request.realm.realm, request.now, client=client.id
        )
        require_registered_certificate(client, evaluated)


def require_registered_certificate(client: Client, certificate: ClientCertificate) -> None:
    """Raise ClientAuthenticationFailed for a certificate that does not authenticate the client."""
    if not certificate.identifies:
        raise _refused(f"the client certificate is not trusted: {certificate.reason}")
    registered = client.certificate_authentication
    if not registered.subject:
        raise _refused("no certificate subject is registered for the client")
    subject = certificate.leaf.subject
    if not _subject_matches(subject, registered.subject, regex=registered.is_pattern):
        raise _refused("the certificate's subject is not the one registered for the client")
    if registered.authority and not _leads_to(certificate, registered.authority):
        raise _refused("no authority of the certificate is the one registered for the client")


def _leads_to(certificate: ClientCertificate, expected: str) -> bool:
    return any(_is_named(authority, expected) for authority in certificate.authorities)


@cached(512 * 1024)
def _is_named(authority: DistinguishedName, expected: str) -> bool:
    """Return whether `expected` is the authority's name; a malformed one never is."""
    return subject_matches(authority, expected, regex=False)


def _refused(reason: str) -> ClientAuthenticationFailed:
    return ClientAuthenticationFailed("invalid_client", reason=reason)
