"""Who asks to register, see or change a client: by which token, and with which rights.

A bearer has the rights of its roles over the realm. Whoever has a registration access token is that
client and no administrator; whoever has an initial access token may register one client more.
Nobody without a token is trusted, for no realm trusts a host. Keycloak: client registration
service, its default policies; Spec: RFC 6750 §2.1
"""

from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from gateway.admin.access import Acting, AdminAccess, AdminRole, Caller, Rights
from gateway.admin.registration import RegistrationTokens, TokenKind
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken
from gateway.domain.events import EventError
from gateway.domain.ports.storage import Stores
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.certificate_binding import require_binding
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.scopes import scope_of, still_granted
from gateway.protocol.tokens import AccessTokens

MANAGE: Final = (AdminRole.MANAGE_CLIENTS,)
VIEW: Final = (AdminRole.VIEW_CLIENTS, *MANAGE)
CREATE: Final = (AdminRole.CREATE_CLIENT, *MANAGE)
_PARTS: Final = 2
_POLICY: Final = "client_registration_policy"
_NOBODY: Final = Rights(frozenset(), EffectiveRoles())
NOT_VIEWED: Final = "Not authorized to view client. Not valid token or client credentials provided."
_NOT_CHANGED: Final = "Not authorized to update client. Maybe missing token or bad token type."


@dataclass(frozen=True, slots=True)
class Registrar:
    """Who asks, with which rights. `token` is the one that was sent, `token_id` of our own kind."""

    acting: Acting
    kind: TokenKind | None = None
    token_id: str = ""
    token: str | None = field(default=None, repr=False)

    @property
    def is_bearer(self) -> bool:
        """Tell whether it has rights by its roles."""
        return self.token is not None and self.kind is None

    @property
    def is_client(self) -> bool:
        """Tell whether it asks as a client that is registered."""
        return self.kind is TokenKind.REGISTRATION

    async def require_new(self) -> None:
        """Raise OAuthError unless it may register a client."""
        if self.is_bearer:
            self._require(*CREATE)
        elif self.kind is not TokenKind.INITIAL:
            raise refused_by_policy("Trusted Hosts", "Host not trusted.")

    async def require_view(self, stores: Stores, client: Client | None) -> Client:
        """Return the client; raises OAuthError unless it may see it."""
        if self.kind is TokenKind.INITIAL:
            raise not_authorized("Not initial access token allowed")
        return await self._require_one(stores, client, NOT_VIEWED, *VIEW)

    async def require_change(self, stores: Stores, client: Client | None) -> Client:
        """Return the client; raises OAuthError unless it may change it."""
        return await self._require_one(stores, client, _NOT_CHANGED, *MANAGE)

    async def _require_one(
        self, stores: Stores, client: Client | None, text: str, *roles: AdminRole
    ) -> Client:
        if self.is_bearer:
            self._require(*roles)
            if client is None:
                raise _unknown()
            return client
        # Who was switched off must not switch itself on again.
        if client is None or not client.enabled or not self.is_client:
            raise not_authorized(text)
        believed = await stores.clients.registration_token(client.realm_id, client.id)
        if believed is None or believed != self.token_id:
            raise not_authorized(text)
        return client

    def _require(self, *roles: AdminRole) -> None:
        if not self.acting.rights.has(*roles):
            raise forbidden()


class Registrars:
    """Finds out who asks."""

    def __init__(
        self, tokens: RegistrationTokens, access_tokens: AccessTokens, access: AdminAccess
    ) -> None:
        self._tokens = tokens
        self._access_tokens = access_tokens
        self._access = access

    async def of(self, request: ProtocolRequest) -> Registrar:
        """Return who asks; raises OAuthError for a token that must not be believed."""
        sent = (request.authorization or "").split()
        realm, address = request.realm.realm, request.remote_address
        if len(sent) != _PARTS or sent[0].lower() != "bearer":
            return Registrar(Acting(None, realm, _NOBODY, address))
        token = sent[1]
        try:
            ours = self._tokens.read(request.realm, token, request.now)
        except InvalidToken:
            return Registrar(await self._bearer(request, token), token=token)
        return Registrar(Acting(None, realm, _NOBODY, address), ours.kind, ours.id, token)

    async def _bearer(self, request: ProtocolRequest, token: str) -> Acting:
        realm = request.realm.realm
        try:
            active = await self._access_tokens.active(request, token)
            require_binding(active.claims, request.certificate)
        except InvalidToken as error:
            raise not_authorized("Failed decode token", reason=str(error)) from error
        finally:
            # Keycloak does not tell of whom the bearer's token is.
            request.event.user_id = None
        names = str(active.claims.get("scope", "")).split()
        granted = still_granted(request.realm, active.client.client, names)
        scope = scope_of(active.client, granted.permitted_to(active.user.roles))
        caller = Caller(realm, active.user.user, active.client.client, scope)
        rights = await self._access.rights(caller, realm)
        return Acting(caller, realm, rights, request.remote_address)


def not_authorized(text: str, *, reason: str | None = None) -> OAuthError:
    """Return the refusal of who is not known to ask."""
    return OAuthError(
        "invalid_token",
        text,
        status=HTTPStatus.UNAUTHORIZED,
        reason=reason,
        event=EventFailure(EventError.INVALID_TOKEN, text),
    )


def _unknown() -> OAuthError:
    return OAuthError(
        "invalid_request",
        "Client not found",
        status=HTTPStatus.NOT_FOUND,
        event=EventFailure(EventError.CLIENT_NOT_FOUND),
    )


def forbidden() -> OAuthError:
    """Return the refusal of who lacks the role."""
    return OAuthError(
        "insufficient_scope",
        "Forbidden",
        status=HTTPStatus.FORBIDDEN,
        event=EventFailure(EventError.NOT_ALLOWED),
    )


def refused_by_policy(policy: str, details: str) -> OAuthError:
    """Return the refusal of what no client may register for itself."""
    text = f"Policy '{policy}' rejected request to client-registration service. Details: {details}"
    return OAuthError(
        "insufficient_scope",
        text,
        status=HTTPStatus.FORBIDDEN,
        event=EventFailure(EventError.NOT_ALLOWED, policy, _POLICY),
    )
