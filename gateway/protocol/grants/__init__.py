"""The grants of the token endpoint: one file and one line each."""

from collections.abc import Awaitable
from typing import Final, Protocol

from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.grants import client_credentials
from gateway.protocol.issuing import TokenResponse
from gateway.protocol.requests import ProtocolRequest


class Grant(Protocol):
    """Answers a token request of one grant type, after every check that all grants share."""

    def __call__(
        self, request: ProtocolRequest, caller: AuthenticatedClient
    ) -> Awaitable[TokenResponse]:
        """Return the tokens, or raise OAuthError."""
        ...


GRANTS: Final[dict[str, Grant]] = {
    client_credentials.GRANT_TYPE: client_credentials.grant,
}
"""grant_type -> grant."""
