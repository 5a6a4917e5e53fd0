"""The interface of a client authentication method."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import ClassVar

from gateway.authentication.validity import Validity
from gateway.certificates import CertificateTrust
from gateway.client_policies import VerifiedClientAssertion, VerifiedClientCertificate
from gateway.domain.certificates import ClientCertificate
from gateway.domain.clients import Client
from gateway.domain.ports.client_keys import RegisteredCertificates
from gateway.domain.ports.client_signatures import ClientSignatures
from gateway.domain.ports.one_time_passwords import OneTimeMarks
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.requests import ProtocolRequest


@dataclass(frozen=True, slots=True)
class ProofServices:
    """What methods verify proofs with."""

    signatures: ClientSignatures
    certificates: RegisteredCertificates
    marks: OneTimeMarks
    validity: Validity
    trust: CertificateTrust


@dataclass(frozen=True, slots=True)
class ClientProof:
    """What a request has proved of its client.

    `certificate` is that of the request as it counts for the client, also where another credential
    authenticated it. The verified credential is the one that did; a secret has none.
    """

    certificate: ClientCertificate | None = None
    assertion: VerifiedClientAssertion | None = field(default=None, repr=False)
    verified_certificate: VerifiedClientCertificate | None = None


class ClientAuthenticationMethod(ABC):
    """A proof by which a confidential client authenticates."""

    authenticator: ClassVar[str]
    """Keycloak's id of the authenticator, the value of `clientAuthenticatorType`."""
    names: ClassVar[tuple[str, ...]]
    """The method's names in discovery. Spec: RFC 8414 §2, IANA OAuth parameters."""

    algorithms: ClassVar[tuple[str, ...]] = ()
    """The signatures that the method accepts, where it reads a JWT."""

    def __init__(self, services: ProofServices) -> None:
        self._services = services

    @abstractmethod
    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> ClientProof:
        """Return what the request has proved; the client may have anchors of its own.

        `credentials` are those of the Authorization header. Raises ClientAuthenticationFailed where
        the proof does not hold, or StoreUnavailable.
        """
