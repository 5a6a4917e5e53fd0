"""The caller who registers, views or changes a client, and how its requests are refused.

A bearer has the rights of its roles over the realm. A registration access token acts as its client
and has no administrative rights; an initial access token registers one more client. A caller
without a token registers clients as far as the policies for anonymous callers permit: those of a
new realm trust no host. Keycloak: client registration service
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from http import HTTPStatus
from typing import Final

from gateway.admin.access import Acting, AdminRole
from gateway.admin.registration.tokens import TokenKind
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError
from gateway.domain.ports.storage import Stores
from gateway.domain.refusals import ApiRefusal, MissingRights

_MANAGE: Final = (AdminRole.MANAGE_CLIENTS,)
_VIEW: Final = (AdminRole.VIEW_CLIENTS, *_MANAGE)
_CREATE: Final = (AdminRole.CREATE_CLIENT, *_MANAGE)
_POLICY: Final = "client_registration_policy"
NOT_VIEWED: Final = "Not authorized to view client. Not valid token or client credentials provided."
_FLOWS_OF_ADMINISTRATORS: Final = "The flows of a client are chosen by administrators"
_LEVELS_OF_ADMINISTRATORS: Final = "The levels of a client are named by administrators"
_NOT_CHANGED: Final = "Not authorized to update client. Maybe missing token or bad token type."


class RegistrationRefused(ApiRefusal):
    """A refusal with an OAuth error code; `str()` is its public description.

    `event` is the error in the event, with `detail` (name and value) beside it; without it nothing
    is recorded. `reason` is for the log.
    """

    def __init__(
        self,
        code: str,
        text: str,
        status: HTTPStatus = HTTPStatus.BAD_REQUEST,
        *,
        event: str | None = None,
        detail: tuple[str, str | None] = (Detail.REASON, None),
        reason: str | None = None,
        retry_after: timedelta | None = None,
    ) -> None:
        super().__init__(text)
        self.code = code
        self.status = status
        self.event = event
        self.detail = detail
        self.reason = reason
        self.retry_after = retry_after


@dataclass(frozen=True, slots=True)
class Registrar:
    """The caller. `token` is the sent token, `token_id` the id of a token of our own `kind`.

    `anonymous` where its client was registered without a token. Pages of `origins` may call for it,
    also with the registration access tokens that it gets.
    """

    acting: Acting
    kind: TokenKind | None = None
    token_id: str = ""
    anonymous: bool = False
    origins: tuple[str, ...] = ()
    token: str | None = field(default=None, repr=False)

    @property
    def is_client(self) -> bool:
        """Tell whether the caller acts as a registered client."""
        return self.kind is TokenKind.REGISTRATION

    @property
    def registers_anonymously(self) -> bool:
        """Return whether a client that the caller registers counts as one without a token."""
        return not self._is_bearer and self.kind is not TokenKind.INITIAL

    def require_new(self) -> None:
        """Raise RegistrationRefused for a bearer who may not register clients."""
        if self._is_bearer:
            self._require_role(*_CREATE)

    async def require_view(self, stores: Stores, client: Client | None) -> Client:
        """Return the client; raises RegistrationRefused unless the caller may view it."""
        if self.kind is TokenKind.INITIAL:
            raise not_authorized("Not initial access token allowed")
        return await self._require_one(stores, client, NOT_VIEWED, *_VIEW)

    async def require_change(self, stores: Stores, client: Client | None) -> Client:
        """Return the client; raises RegistrationRefused unless the caller may change it."""
        return await self._require_one(stores, client, _NOT_CHANGED, *_MANAGE)

    async def _require_one(
        self, stores: Stores, client: Client | None, text: str, *roles: AdminRole
    ) -> Client:
        if self._is_bearer:
            self._require_role(*roles)
            if client is None:
                raise RegistrationRefused(
                    "invalid_request",
                    "Client not found",
                    HTTPStatus.NOT_FOUND,
                    event=EventError.CLIENT_NOT_FOUND,
                )
            return client
        # A disabled client must not enable itself again.
        if client is None or not client.enabled or not self.is_client:
            raise not_authorized(text)
        if self.token_id != await stores.clients.registration_token(client.realm_id, client.id):
            raise not_authorized(text)
        return client

    def require_flows_and_levels_kept(self, after: Client, before: Client | None = None) -> None:
        """Raise RegistrationRefused where a caller who is no bearer chooses flows or names levels.

        By another flow users might prove less than the realm demands, and by another name of a
        level (`acr`) tokens would say that users have proven more than they have.
        """
        if self._is_bearer:
            return
        if after.flow_overrides != ({} if before is None else before.flow_overrides):
            raise _flows_refused(_FLOWS_OF_ADMINISTRATORS)
        if after.levels.names != ({} if before is None else before.levels.names):
            raise _flows_refused(_LEVELS_OF_ADMINISTRATORS)

    @contextmanager
    def rights_required(self) -> Iterator[None]:
        """Turn MissingRights into RegistrationRefused; only a bearer could have the rights."""
        try:
            yield
        except MissingRights as refusal:
            text = str(refusal) if self._is_bearer else _FLOWS_OF_ADMINISTRATORS
            raise _flows_refused(text) from refusal

    @property
    def _is_bearer(self) -> bool:
        return self.token is not None and self.kind is None

    def _require_role(self, *roles: AdminRole) -> None:
        if not self.acting.rights.has(*roles):
            raise forbidden()


def _flows_refused(text: str) -> RegistrationRefused:
    return RegistrationRefused(
        "insufficient_scope", text, HTTPStatus.FORBIDDEN, event=EventError.NOT_ALLOWED
    )


def not_authorized(text: str, *, reason: str | None = None) -> RegistrationRefused:
    """Return the refusal of an unknown caller."""
    return RegistrationRefused(
        "invalid_token",
        text,
        HTTPStatus.UNAUTHORIZED,
        event=EventError.INVALID_TOKEN,
        detail=(Detail.REASON, text),
        reason=reason,
    )


def forbidden() -> RegistrationRefused:
    """Return the refusal of a caller without the role."""
    return RegistrationRefused(
        "insufficient_scope", "Forbidden", HTTPStatus.FORBIDDEN, event=EventError.NOT_ALLOWED
    )


def too_many_registrations(window: timedelta) -> RegistrationRefused:
    """Return the refusal of a caller whose network has registered its share of clients."""
    return RegistrationRefused(
        "slow_down",
        "Too many clients were registered from this network",
        HTTPStatus.TOO_MANY_REQUESTS,
        event=EventError.SLOW_DOWN,
        retry_after=window,
    )


def refused_by_policy(policy: str, details: str) -> RegistrationRefused:
    """Return the refusal of what no client may register for itself."""
    text = f"Policy '{policy}' rejected request to client-registration service. Details: {details}"
    return RegistrationRefused(
        "insufficient_scope",
        text,
        HTTPStatus.FORBIDDEN,
        event=EventError.NOT_ALLOWED,
        detail=(_POLICY, policy),
    )
