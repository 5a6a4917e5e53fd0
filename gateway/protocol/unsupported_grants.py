"""The grants of Keycloak that the gateway does not support.

Their requests pass the checks that all grants share, so that a client that fails to authenticate is
answered with 401. Spec: RFC 6749 §5.2; Keycloak: 1.1 (26.7)
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.events import EventType
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.tokens import TokenResponse

_EXTENSION: Final = "urn:ietf:params:oauth:grant-type"


@dataclass(frozen=True, slots=True)
class UnsupportedGrant:
    """Refuses every request; `event` is what Keycloak calls its use."""

    event: EventType
    policy_event: EventKind | None = None

    async def __call__(
        self,
        request: ProtocolRequest,  # noqa: ARG002
        caller: AuthenticatedClient,  # noqa: ARG002
    ) -> TokenResponse:
        raise unsupported_grant()


UNSUPPORTED_GRANTS: Final[Mapping[str, UnsupportedGrant]] = {
    f"{_EXTENSION}:jwt-bearer": UnsupportedGrant(EventType.JWT_AUTHORIZATION_GRANT),
    f"{_EXTENSION}:uma-ticket": UnsupportedGrant(EventType.PERMISSION_TOKEN),
    "urn:openid:params:grant-type:ciba": UnsupportedGrant(EventType.AUTHREQID_TO_TOKEN),
}
"""By grant_type."""


def unsupported_grant() -> OAuthError:
    """Return the refusal of a grant that is not supported."""
    return OAuthError("unsupported_grant_type", "Unsupported grant_type")
