"""client_credentials: a client asks for a token in its own name.

The session is transient: no refresh token, no `sid`. Spec: RFC 6749 §4.4; Keycloak: 1.6
"""

from http import HTTPStatus
from typing import Final

from gateway.domain.clients import Client
from gateway.domain.roles import EffectiveRoles
from gateway.domain.users import User
from gateway.protocol.claims.subject import TokenSubject
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.client_scopes import grant_scopes
from gateway.protocol.errors import OAuthError
from gateway.protocol.issuing import TokenResponse, issue_access_token
from gateway.protocol.requests import ProtocolRequest

GRANT_TYPE: Final = "client_credentials"
_TOKEN_CONTEXT: Final = "trrtcc"  # noqa: S105 - transient session, regular token, this grant
_ACR: Final = "1"


async def grant(request: ProtocolRequest, caller: AuthenticatedClient) -> TokenResponse:
    """Issue a token for the client's service account."""
    client = caller.entry.client
    user = _service_account(client, caller.entry.service_account)
    granted = grant_scopes(client, request.parameters.raw("scope"))
    subject = TokenSubject(
        user=user,
        client=client,
        roles=caller.entry.roles if client.full_scope_allowed else EffectiveRoles(),
        session_notes={
            "client_id": client.client_id,
            "clientHost": request.remote_address,
            "clientAddress": request.remote_address,
        },
        acr=_ACR,
    )
    return issue_access_token(request, subject, granted, _TOKEN_CONTEXT)


def _service_account(client: Client, user: User | None) -> User:
    if client.public_client:
        raise _refused(
            "unauthorized_client", "Public client not allowed to retrieve service account"
        )
    if not client.service_accounts_enabled:
        raise _refused("unauthorized_client", "Client not enabled to retrieve service account")
    if user is None:
        raise _refused(
            "invalid_request", "The associated service account for the client does not exist"
        )
    if not user.enabled:
        raise _refused("invalid_request", f"User '{user.username}' disabled")
    return user


def _refused(error: str, description: str) -> OAuthError:
    return OAuthError(error, description, status=HTTPStatus.UNAUTHORIZED)
