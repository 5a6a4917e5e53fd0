"""The interface of a client authentication method."""

from abc import ABC, abstractmethod
from typing import ClassVar

from gateway.domain.clients import Client
from gateway.domain.ports.storage import Database
from gateway.protocol.client_authentication.basic_credentials import BasicCredentials
from gateway.protocol.requests import ProtocolRequest


class ClientAuthenticationMethod(ABC):
    """A proof by which a confidential client authenticates."""

    authenticator: ClassVar[str]
    """Keycloak's id of the authenticator, the value of `clientAuthenticatorType`."""
    names: ClassVar[tuple[str, ...]]
    """The method's names in discovery. Spec: RFC 8414 §2, IANA OAuth parameters."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @abstractmethod
    async def authenticate(
        self, client: Client, request: ProtocolRequest, credentials: BasicCredentials | None
    ) -> None:
        """Return when the proof holds.

        `credentials` are those of the Authorization header. Raises ClientAuthenticationFailed,
        or StoreUnavailable.
        """
