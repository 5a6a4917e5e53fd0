"""Requests of clients that register themselves: the caller is authenticated, the event noted.

Spec: RFC 7591, RFC 7592, RFC 6750 §2.1, OpenID Connect Dynamic Client Registration 1.0 §5;
Keycloak: client registration service, its provider `install`, SHA256PairwiseSubMapper; attacks: C21
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from gateway.admin.access import Acting, AdminAccess, Rights
from gateway.admin.clients import sector_problem
from gateway.admin.registration import (
    NOT_VIEWED,
    ClientRegistration,
    ClientView,
    Format,
    Registrar,
    RegistrationRefused,
    RegistrationTokens,
    not_authorized,
)
from gateway.domain.errors import InvalidToken
from gateway.domain.events import EventType
from gateway.domain.ports.lookups import Directory
from gateway.domain.ports.outgoing import RemoteDocuments
from gateway.domain.roles import EffectiveRoles
from gateway.protocol.client_authentication import ClientAuthenticator
from gateway.protocol.errors import EventFailure, OAuthError
from gateway.protocol.requests import NO_PAGE, ProtocolRequest
from gateway.protocol.sender_constraint import SenderConstraint, TokenCredential, token_credential
from gateway.protocol.tokens import AccessTokens, administering_caller
from gateway.representations.clients import Installation

_INVALID_SECTOR: Final = "invalid_client_metadata"


def names_sector(metadata: Mapping[str, Any]) -> bool:
    """Return whether a document is to be fetched, which only callers with a right may cause."""
    return isinstance(metadata.get("sector_identifier_uri"), str)


async def check_sector(metadata: Mapping[str, Any], documents: RemoteDocuments) -> None:
    """Check the redirect URIs of a registration; raises RegistrationRefused.

    The document of the sector is fetched when a client registers itself. Spec: OpenID Connect
    Dynamic Client Registration 1.0 §5; Keycloak: SHA256PairwiseSubMapper; attacks C21
    """
    address, redirects = metadata["sector_identifier_uri"], metadata.get("redirect_uris")
    uris = redirects if isinstance(redirects, list) else []
    problem = await sector_problem(address, uris, documents)
    if problem is not None:
        raise RegistrationRefused(_INVALID_SECTOR, problem)


_NO_RIGHTS: Final = Rights(frozenset(), EffectiveRoles())


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistrationRequests:
    """Answers the requests. All methods raise OAuthError, UnknownField and StoreUnavailable.

    A bearer is an administrator with an access token; `install` also takes a client's own
    credentials. A public client has none and gets only what is public. Keycloak: client
    registration service, its provider `install`; Spec: RFC 6750 §2.1, RFC 7591, RFC 7592
    """

    registration: ClientRegistration
    tokens: RegistrationTokens
    access_tokens: AccessTokens
    constraint: SenderConstraint
    access: AdminAccess
    directory: Directory
    clients: ClientAuthenticator
    documents: RemoteDocuments

    async def register_client(
        self, request: ProtocolRequest, sent: Format, document: Mapping[str, Any]
    ) -> ClientView:
        with _recorded_event(request, EventType.CLIENT_REGISTER):
            registrar = await self._registrar(request)
            await self.registration.admit(registrar, sent, document)
            if names_sector(document):
                await check_sector(document, self.documents)
            view = await self.registration.register_client(registrar, sent, document)
        request.event.client_id = view.client.client_id
        return view

    async def view_client(self, request: ProtocolRequest, client_id: str) -> ClientView:
        with _recorded_event(request, EventType.CLIENT_INFO):
            view = await self.registration.view_client(await self._registrar(request), client_id)
        request.event.client_id = client_id
        return view

    async def change_client(
        self, request: ProtocolRequest, client_id: str, sent: Format, document: Mapping[str, Any]
    ) -> ClientView:
        with _recorded_event(request, EventType.CLIENT_UPDATE, client_id):
            registrar = await self._registrar(request)
            if names_sector(document):
                await self.registration.view_client(registrar, client_id)
                await check_sector(document, self.documents)
            return await self.registration.change(registrar, client_id, sent, document)

    async def remove_client(self, request: ProtocolRequest, client_id: str) -> None:
        with _recorded_event(request, EventType.CLIENT_DELETE, client_id):
            await self.registration.remove_client(await self._registrar(request), client_id)

    async def installation(
        self, request: ProtocolRequest, client_id: str, url: str
    ) -> Installation:
        """Return how an adapter of the client reaches the realm at `url`; it is not for pages."""
        request = replace(request, page=NO_PAGE)
        if token_credential(request.authorization) is not None:
            view = await self.view_client(request, client_id)
        else:
            with _recorded_event(request, EventType.CLIENT_INFO):
                view = await self._own_view(request, client_id)
        return Installation(
            request.realm.realm, view.client, url, has_roles=view.has_roles, masked=view.masked
        )

    async def _own_view(self, request: ProtocolRequest, client_id: str) -> ClientView:
        entry = await self.directory.client(request.realm.realm.id, client_id)
        if entry is None:
            raise not_authorized(NOT_VIEWED)
        if not entry.client.public_client:
            try:
                proven = await self.clients.authenticate(request)
            except OAuthError as error:
                raise not_authorized("Failed to authenticate client", reason=str(error)) from error
            if proven.entry.client.client_id != client_id:
                raise not_authorized("Different client authenticated")
        request.event.client_id = client_id
        acting = Acting(None, request.realm.realm, _NO_RIGHTS, request.remote_address)
        return await self.registration.view_itself(acting, entry.client)

    async def _registrar(self, request: ProtocolRequest) -> Registrar:
        """Return the caller; raises RegistrationRefused for an invalid token."""
        acting = Acting(None, request.realm.realm, _NO_RIGHTS, request.remote_address)
        credential = token_credential(request.authorization)
        if credential is None:
            request.page.require(())
            return Registrar(acting)
        token = credential.token
        try:
            ours = self.tokens.verify_token(request.realm, token, request.now)
        except InvalidToken:
            acting, origins = await self._bearer(request, credential)
            return Registrar(acting, token=token, origins=origins)
        request.page.require(ours.origins)
        return Registrar(acting, ours.kind, ours.id, ours.anonymous, ours.origins, token)

    async def _bearer(
        self, request: ProtocolRequest, credential: TokenCredential
    ) -> tuple[Acting, tuple[str, ...]]:
        """Return the administrator, and the web origins of the client in use."""
        realm = request.realm.realm
        try:
            active = await self.access_tokens.find_active(request, credential.token)
            client = active.client.client
            await self.constraint.require(request, client, active.claims, credential)
        except InvalidToken as error:
            raise not_authorized("Failed decode token", reason=str(error)) from error
        finally:
            # The event does not name the bearer, as in Keycloak.
            request.event.user_id = None
        origins = active.client.client.allowed_origins or ()
        request.page.require(origins)
        caller = administering_caller(request.realm, active)
        rights = await self.access.rights(caller, realm)
        return Acting(caller, realm, rights, request.remote_address), origins


@contextmanager
def _recorded_event(
    request: ProtocolRequest, kind: EventType, client_id: str | None = None
) -> Iterator[None]:
    """Begin the event, and turn a refusal into the answer of OAuth."""
    request.event.kind = kind
    if client_id is not None:
        request.event.client_id = client_id
    try:
        yield
    except RegistrationRefused as error:
        name, value = error.detail
        event = None if error.event is None else EventFailure(error.event, value, name)
        raise OAuthError(
            *(error.code, str(error)),
            status=error.status,
            reason=error.reason,
            event=event,
            retry_after=error.retry_after,
        ) from error
