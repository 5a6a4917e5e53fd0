"""The interface of an executor of a client policy. Keycloak: client policies (26.7)."""

from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.client_policies.configuration import Configuration
from gateway.client_policies.enforced_flow import EnforcedFlow
from gateway.client_policies.events import (
    AuthorizationRequested,
    AuthorizationStart,
    ClientChange,
    ClientRequest,
)
from gateway.client_policies.settings import NOTHING, ClientSettings
from gateway.domain.clients import Client


@dataclass(frozen=True, slots=True)
class Executor:
    """An executor with its configuration: it does nothing but what it overrides.

    Each `check` raises PolicyRefusal for what the policy forbids.
    """

    provider: ClassVar[str]
    """Keycloak's id."""
    registration_only: ClassVar[str] = ""
    """Why requests of a client are not judged, only its creation and its changes."""

    @classmethod
    def read(cls, configuration: Configuration) -> Self:
        """Return the executor so configured; raises InvalidConfiguration."""
        del configuration
        return cls()

    def configure(self, change: ClientChange) -> ClientSettings:
        """Return what is set at a client that is created or changed, before it is checked."""
        del change
        return NOTHING

    def check_change(self, change: ClientChange) -> None:
        """Check a client that is about to be created or changed."""

    def check_access(self, access: ClientChange) -> None:
        """Check that a client may be viewed or removed."""

    def check_start(self, start: AuthorizationStart) -> None:
        """Check an authorization request before its parameters are verified."""

    def check_authorization(self, request: AuthorizationRequested) -> None:
        """Check a verified authorization request."""

    def enforced_flow(self) -> EnforcedFlow | None:
        """Return the flow that signs the user of an authorization request in."""
        return None

    def requires_consent(self) -> bool:
        """Return whether users are asked for their consent, whatever the client's setting."""
        return False

    def check_request(self, request: ClientRequest) -> None:
        """Check a request of a client to an endpoint that it calls itself."""

    def client_for_tokens(self, client: Client, request: ClientRequest) -> Client:
        """Return the client as tokens are issued to it, also where its own settings differ."""
        del request
        return client
