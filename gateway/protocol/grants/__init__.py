"""The grants of the token endpoint, with their table."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from gateway.client_policies import EventKind
from gateway.domain.events import EventType
from gateway.protocol import code_redemption
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.grants import (
    client_credentials,
    device_code,
    password,
    refresh_token,
    token_exchange,
)
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.session_tokens import ProtocolServices
from gateway.protocol.tokens import TokenResponse


@dataclass(frozen=True, slots=True)
class Grant:
    """A grant type; `issue` follows the shared checks, raises OAuthError and StoreUnavailable."""

    event: EventType
    policy_event: EventKind | None
    """None where the grant asks client policies itself, once scopes or token are known."""
    issue: Callable[
        [ProtocolServices, ProtocolRequest, AuthenticatedClient], Awaitable[TokenResponse]
    ]
    repeatable: frozenset[str] = frozenset()
    """Parameters that may be sent more than once."""


GRANTS: Final[Mapping[str, Grant]] = {
    code_redemption.GRANT_TYPE: Grant(EventType.CODE_TO_TOKEN, None, code_redemption.exchange_code),
    client_credentials.GRANT_TYPE: Grant(
        EventType.CLIENT_LOGIN,
        EventKind.SERVICE_ACCOUNT_TOKEN_REQUEST,
        client_credentials.issue_to_service_account,
    ),
    device_code.GRANT_TYPE: Grant(
        EventType.OAUTH2_DEVICE_CODE_TO_TOKEN, None, device_code.issue_to_device
    ),
    password.GRANT_TYPE: Grant(
        EventType.LOGIN,
        EventKind.RESOURCE_OWNER_PASSWORD_CREDENTIALS_REQUEST,
        password.sign_in_by_password,
    ),
    refresh_token.GRANT_TYPE: Grant(EventType.REFRESH_TOKEN, None, refresh_token.refresh_tokens),
    token_exchange.GRANT_TYPE: Grant(
        EventType.TOKEN_EXCHANGE,
        EventKind.TOKEN_EXCHANGE_REQUEST,
        token_exchange.exchange_token,
        token_exchange.REPEATABLE,
    ),
}
"""By `grant_type`."""
