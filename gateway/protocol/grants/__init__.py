"""The grants of the token endpoint, with their table."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from gateway.client_policies import EventKind
from gateway.domain.events import EventType
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.grants import (
    authorization_code,
    client_credentials,
    device_code,
    password,
    refresh_token,
    token_exchange,
)
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_tokens import GrantServices
from gateway.protocol.tokens import TokenResponse


class Grant(Protocol):
    """Answers a token request of one grant type, after every check that all grants share."""

    @property
    def event(self) -> EventType:
        """What its use is called in events."""
        ...

    @property
    def policy_event(self) -> EventKind | None:
        """What client policies call its use; None where the grant has them judge it itself."""
        ...

    def __call__(
        self, request: ProtocolRequest, caller: AuthenticatedClient
    ) -> Awaitable[TokenResponse]: ...


GRANTS: Final[dict[str, Callable[[GrantServices], Grant]]] = {
    authorization_code.GRANT_TYPE: authorization_code.AuthorizationCodeGrant,
    client_credentials.GRANT_TYPE: client_credentials.ClientCredentials,
    device_code.GRANT_TYPE: device_code.DeviceCodeGrant,
    password.GRANT_TYPE: password.Password,
    refresh_token.GRANT_TYPE: refresh_token.RefreshToken,
    token_exchange.GRANT_TYPE: token_exchange.TokenExchange,
}
"""grant_type -> grant, made with what it needs."""
REPEATABLE: Final[dict[str, frozenset[str]]] = {
    token_exchange.GRANT_TYPE: token_exchange.REPEATABLE,
}
"""grant_type -> parameters that may be sent more than once; of others none may."""
