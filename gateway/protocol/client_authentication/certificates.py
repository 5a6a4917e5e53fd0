"""Client authentication by TLS client certificate, also for requests that name no client."""

from dataclasses import dataclass
from typing import ClassVar, Final

from gateway.authentication.validity import NoLongerValid
from gateway.certificates import NotRegistered, evaluate_for_client, owns, require_registered
from gateway.client_policies import VerifiedClientCertificate
from gateway.domain.certificates import ClientCertificate, TrustLevel, reason_for_caller
from gateway.domain.clients import (
    CERTIFICATE_AUTHENTICATOR,
    SELF_SIGNED_METHOD,
    TLS_METHOD,
    Client,
    terms_of_certificate,
)
from gateway.domain.events import EventError
from gateway.domain.ports.client_keys import NoUsableKey
from gateway.domain.ports.lookups import CertificateOwnerIndex, Directory
from gateway.protocol.client_authentication.method import (
    BasicCredentials,
    ClientAuthenticationMethod,
    ClientProof,
)
from gateway.protocol.errors import ClientAuthenticationFailed
from gateway.protocol.requests import ProtocolRequest

_NOT_HELD: Final = "neither the client certificate nor its key is registered for the client"


@dataclass(frozen=True, slots=True)
class _AcceptedCertificate(VerifiedClientCertificate):
    """Created by TlsClientAuth alone."""


class TlsClientAuth(ClientAuthenticationMethod):
    """The client holds the key of its certificate.

    With tls_client_auth the certificate leads to an anchor of client or realm and has the
    registered name; with self_signed_tls_client_auth it or its key is registered. Expiry,
    revocation and weak keys refuse both. Spec: RFC 8705 §2.1, §2.2; Keycloak: `client-x509`;
    attacks A6
    """

    authenticator: ClassVar = CERTIFICATE_AUTHENTICATOR
    names: ClassVar = (TLS_METHOD, SELF_SIGNED_METHOD)

    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        certificate = request.certificate
        if certificate is None:
            raise _refused_certificate("no client certificate was presented")
        request.event.details |= certificate.evidence.leaf.event_details
        if client.certificate_authentication.self_signed:
            await self._require_held(client, certificate)
            verified = _AcceptedCertificate(certificate, is_registered=True)
            return ClientProof(certificate, verified_certificate=verified)
        trust, realm = self._services.trust, request.realm.realm
        certificate = await evaluate_for_client(trust, certificate, realm, client.id, request.now)
        try:
            require_registered(client, certificate)
        except NotRegistered as error:
            raise _refused_certificate(str(error)) from error
        device = client.devices.device_of(certificate) if client.devices.template else None
        if device is not None:
            try:
                await self._services.validity.require_unlocked(
                    realm, client, device.name, request.now
                )
            except NoLongerValid as error:
                raise _refused_certificate(f"the device {device.name} is locked") from error
        verified = _AcceptedCertificate(certificate, is_registered=False)
        return ClientProof(certificate, verified_certificate=verified)

    async def _require_held(self, client: Client, certificate: ClientCertificate) -> None:
        if certificate.trust_level is TrustLevel.REFUSED:
            raise _refused_certificate(f"the client certificate is refused: {certificate.reason}")
        try:
            held = await self._services.certificates.holds(client, certificate.leaf)
        except NoUsableKey as error:
            raise _refused_certificate(str(error)) from error
        if not held:
            raise _refused_certificate(_NOT_HELD)


def _refused_certificate(reason: str) -> ClientAuthenticationFailed:
    # A certificate is no secret that answers could help to guess: who holds it learns what to mend.
    text = f"{ClientAuthenticationFailed.public_text}: {reason_for_caller(reason)}"
    return ClientAuthenticationFailed("invalid_client", text, reason=reason)


_MOST_CANDIDATES: Final = 50
"""Clients that are compared with one certificate: those with templates of the same shape."""
_MOST_WITH_REGISTERED: Final = 1000
"""With more clients than this, clients that registered themselves are left out."""


class CertificateOwners:
    """Finds the client of a certificate in requests without client_id, beyond RFC 8705 §2.

    Names are looked up in an index; patterns are not searched. Clients of administrators win over
    clients that registered themselves.
    """

    def __init__(self, directory: Directory, index: CertificateOwnerIndex) -> None:
        self._directory = directory
        self._index = index

    async def client_id(self, request: ProtocolRequest) -> str | None:
        """Return the owner's client_id; None without a certificate.

        Raises ClientAuthenticationFailed where it identifies nobody, or where no client or several
        clients own it, and StoreUnavailable.
        """
        certificate, realm_id = request.certificate, request.realm.realm.id
        if certificate is None:
            return None
        if not certificate.identifies:
            raise _undecided(f"its certificate is not trusted: {certificate.reason}")
        terms = terms_of_certificate(certificate.leaf)
        candidates = await self._index.with_terms(realm_id, terms, _MOST_CANDIDATES + 1)
        if len(candidates) > _MOST_CANDIDATES:
            every = await self._index.with_terms(realm_id, terms, _MOST_WITH_REGISTERED)
            candidates = await self._index.without_registered(realm_id, every)
        if len(candidates) > _MOST_CANDIDATES:
            raise _undecided(f"more than {_MOST_CANDIDATES} clients may own the certificate")
        owning = [each for each in candidates if await self._owns(realm_id, each, certificate)]
        owners = await self._index.without_registered(realm_id, owning)
        if len(owners) != 1:
            if owners:
                raise _undecided(f"the clients {', '.join(owners)} own the certificate")
            raise _undecided(f"no client owns the certificate: tried {_names_of(certificate)}")
        return owners[0]

    async def _owns(self, realm_id: str, client_id: str, certificate: ClientCertificate) -> bool:
        entry = await self._directory.client(realm_id, client_id)
        return entry is not None and owns(entry.client, certificate)


_SHOWN_NAMES: Final = 5
_LONGEST_NAME: Final = 200


def _names_of(certificate: ClientCertificate) -> str:
    """Return the names by which clients and templates are found, for the log."""
    leaf = certificate.leaf
    kinds = (
        ("subject", (leaf.subject.rfc4514(),)),
        ("DNS name", leaf.dns_names),
        ("URI", leaf.uris),
        ("e-mail", leaf.emails),
        ("IP address", leaf.ip_addresses),
    )
    shown = []
    for kind, names in kinds:
        more = f" and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else ""
        texts = (f"{name:.{_LONGEST_NAME}}" for name in names[:_SHOWN_NAMES])
        if names:
            shown.append(f"{kind} {', '.join(texts)}{more}")
    return f"{'; '.join(shown)}. Clients with a subject expression need client_id"


def _undecided(reason: str) -> ClientAuthenticationFailed:
    return ClientAuthenticationFailed(
        reason=f"the request names no client, and {reason}",
        event_error=EventError.CLIENT_NOT_FOUND,
    )
