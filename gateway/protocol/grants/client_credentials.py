"""client_credentials: a client asks for a token in its own name.

The session is transient: no refresh token, no `sid`. A client with
`client_credentials.use_refresh_token` gets a session that lasts. Spec: RFC 6749 §4.4; Keycloak: 1.6
client_credentials
"""

from http import HTTPStatus
from typing import Any, Final

from gateway.domain.events import Detail, EventError
from gateway.domain.ports.lookups import UserEntry
from gateway.protocol.client_authentication import AuthenticatedClient
from gateway.protocol.errors import refused
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import GrantedScopes, grant_scopes, resolve_claims
from gateway.protocol.sender_constraint import confirmation_claim
from gateway.protocol.session_tokens import ProtocolServices, issue_with_session
from gateway.protocol.tokens import (
    Issue,
    TokenResponse,
    access_claims,
    id_token_encrypter,
    issue_tokens,
)

GRANT_TYPE: Final = "client_credentials"
_GRANT_SHORTCUT: Final = "cc"
_UNAUTHORIZED: Final = HTTPStatus.UNAUTHORIZED


async def issue_to_service_account(
    services: ProtocolServices, request: ProtocolRequest, caller: AuthenticatedClient
) -> TokenResponse:
    """Issue a token for the service account of the client."""
    client = caller.entry.client
    account, granted, notes = _granted(request, caller)
    if client.tokens.refresh_tokens_of_service_account:
        return await issue_with_session(
            services,
            request,
            caller.entry,
            account,
            granted,
            grant=_GRANT_SHORTCUT,
            notes=notes,
            always_refreshable=True,  # `use.refresh.tokens` is for tokens of users
        )
    encrypter = await id_token_encrypter(services.encryption, client) if granted.openid else None
    context = resolve_claims(caller.entry, account, granted, notes=notes)
    return issue_tokens(request, Issue(context, _GRANT_SHORTCUT, id_token_encrypter=encrypter))


def preview_access_token(request: ProtocolRequest, caller: AuthenticatedClient) -> dict[str, Any]:
    """Return claims of an unsigned token, without `sid`; raises OAuthError as the grant does."""
    account, granted, notes = _granted(request, caller)
    context = resolve_claims(caller.entry, account, granted, notes=notes)
    confirmation = confirmation_claim(caller.entry.client, request.certificate, request.proof_key)
    return access_claims(request, Issue(context, _GRANT_SHORTCUT), confirmation).document


def _granted(
    request: ProtocolRequest, caller: AuthenticatedClient
) -> tuple[UserEntry, GrantedScopes, dict[str, str]]:
    client, user = caller.entry.client, caller.entry.service_account
    if client.public_client or not client.service_accounts_enabled:
        public = "Public client not allowed to retrieve service account"
        text = public if client.public_client else "Client not enabled to retrieve service account"
        raise refused("unauthorized_client", text, EventError.INVALID_CLIENT, status=_UNAUTHORIZED)
    if user is None:
        text = "The associated service account for the client does not exist"
        raise refused("invalid_request", text, EventError.USER_NOT_FOUND, status=_UNAUTHORIZED)
    request.event.user_id = user.id
    request.event.details[Detail.USERNAME] = user.username
    if not user.enabled:
        text = f"User '{user.username}' disabled"
        raise refused("invalid_request", text, EventError.USER_DISABLED, status=_UNAUTHORIZED)
    notes = {
        "client_id": client.client_id,
        "clientHost": request.remote_address,
        "clientAddress": request.remote_address,
    }
    granted = grant_scopes(request.realm, client, request.parameters.raw("scope"))
    return UserEntry(user, caller.entry.roles), granted, notes
