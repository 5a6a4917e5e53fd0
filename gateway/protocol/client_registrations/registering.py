"""Registering clients, and seeing, changing and removing them with the token that they were given.

What comes is a document of the admin API; `formats` turns it from, and into, others. A registration
access token is replaced by each change; the mask stands for a secret that the caller may not know.
Keycloak: clients-registrations; Spec: RFC 7591 §3, RFC 7592 §2
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.admin.access import (
    Change,
    Changes,
    ControlledObject,
    Forbidden,
    ObjectKind,
    RefusedByCode,
    require_changeable_clients,
    require_may_control,
)
from gateway.admin.client_scopes import chosen_scopes
from gateway.admin.clients import (
    AddressesRefused,
    ClientAdministration,
    clients_out_of_reach,
    has_roles,
    require_may_widen_scope,
)
from gateway.admin.registration import RegistrationTokens, TokenKind, use_up
from gateway.domain.clients import Client
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.events import EventType
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.secrets import Secret
from gateway.protocol.client_registrations.callers import (
    Registrar,
    Registrars,
    forbidden,
    not_authorized,
)
from gateway.protocol.client_registrations.formats import Format
from gateway.protocol.client_registrations.policies import (
    require_allowed_mappers,
    require_allowed_scopes,
)
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import ProtocolRequest
from gateway.representations.clients import given_field, new_client_document
from gateway.representations.refusals import UnknownField

_METADATA: Final = "invalid_client_metadata"
_REDIRECT: Final = "invalid_redirect_uri"


@dataclass(frozen=True, slots=True)
class Seen:
    """A client as the caller may see it. `token` is its registration access token, if told."""

    client: Client
    masked: bool = False
    has_roles: bool = False
    token: Secret | None = field(default=None, repr=False)


class ClientRegistrations:
    """The use cases. All raise OAuthError, UnknownField and StoreUnavailable."""

    def __init__(
        self,
        *,
        database: Database,
        changes: Changes,
        administration: ClientAdministration,
        registrars: Registrars,
        tokens: RegistrationTokens,
    ) -> None:
        self._database = database
        self._changes = changes
        self._administration = administration
        self._registrars = registrars
        self._tokens = tokens

    async def register(
        self, request: ProtocolRequest, sent: Format, document: Mapping[str, Any]
    ) -> Seen:
        """Register a client."""
        request.event.begin(EventType.CLIENT_REGISTER)
        registrar = await self._registrars.of(request)
        await registrar.require_new()
        with _metadata_refused():
            whole = new_client_document(sent.new_client(document))
            async with self._changes.begin(registrar.acting, alone=True) as change:
                if registrar.kind is TokenKind.INITIAL:
                    await _use_up(change, registrar)
                await _require_allowed(change.stores, request, whole)
                client = await self._registered(change, whole)
                require_allowed_mappers(client, None)
                token = await self._tokens.give(change, client)
        request.event.client_id = client.client_id
        return Seen(client, token=Secret(token))

    async def _registered(self, change: Change, whole: Mapping[str, Any]) -> Client:
        try:
            return await self._administration.register(change, whole)
        except AlreadyExists as error:
            raise OAuthError(_METADATA, "Client Identifier in use") from error

    async def see(self, request: ProtocolRequest, client_id: str) -> Seen:
        """Return a client by its public name."""
        request.event.begin(EventType.CLIENT_INFO)
        registrar = await self._registrars.of(request)
        async with self._database.read() as stores:
            found = await stores.clients.find_by_client_id(request.realm.realm.id, client_id)
            client = await registrar.require_view(stores, found)
            masked = bool(await clients_out_of_reach(registrar.acting, stores, [client]))
            roles = await has_roles(stores, client)
        request.event.client_id = client.client_id
        token = Secret(registrar.token) if registrar.is_client and registrar.token else None
        return Seen(client, masked=masked, has_roles=roles, token=token)

    async def own(self, client: Client) -> Seen:
        """Return a client that has proved itself to itself."""
        async with self._database.read() as stores:
            return Seen(client, has_roles=await has_roles(stores, client))

    async def change(
        self, request: ProtocolRequest, client_id: str, sent: Format, document: Mapping[str, Any]
    ) -> Seen:
        """Change a client; its token is replaced where it was used."""
        _begin(request, EventType.CLIENT_UPDATE, client_id)
        registrar = await self._registrars.of(request)
        with _metadata_refused():
            async with self._changes.begin(registrar.acting) as change:
                before = await self._alone(change, registrar, client_id)
                if sent.name(document) != client_id:
                    raise OAuthError(_METADATA, "Client Identifier modified")
                after = await self._merged(change, before, sent, document)
                await _require_changeable(change, before, after)
                by_itself = registrar.is_client
                after = await self._administration.store(change, before, after, by_itself=by_itself)
                token = await self._tokens.give(change, after) if registrar.is_client else None
                masked = bool(await clients_out_of_reach(registrar.acting, change.stores, [after]))
        return Seen(after, masked=masked, token=Secret(token) if token else None)

    async def _merged(
        self, change: Change, before: Client, sent: Format, document: Mapping[str, Any]
    ) -> Client:
        after = self._administration.merged(before, sent.changed_client(document))
        require_allowed_mappers(after, before)
        scopes = sent.scopes(document)
        if scopes is None:
            return after
        await require_allowed_scopes(change.stores, before.realm_id, scopes, before)
        return await chosen_scopes(change.stores, sent.with_scopes(after, scopes))

    async def remove(self, request: ProtocolRequest, client_id: str) -> None:
        """Remove a client."""
        _begin(request, EventType.CLIENT_DELETE, client_id)
        registrar = await self._registrars.of(request)
        async with self._changes.begin(registrar.acting) as change:
            client = await self._alone(change, registrar, client_id)
            try:
                self._administration.require_removable(registrar.acting, client)
                await self._administration.forget(change, client)
            except (Forbidden, RefusedByCode) as error:
                raise forbidden() from error

    async def _alone(self, change: Change, registrar: Registrar, client_id: str) -> Client:
        stores, realm_id = change.stores, change.realm.id
        found = await stores.clients.find_by_client_id(realm_id, client_id)
        client = await registrar.require_change(stores, found)
        controlled = ControlledObject(ObjectKind.CLIENT, client.id)
        try:
            await require_may_control(registrar.acting, stores, controlled, lock=True)
        except Forbidden as error:
            raise forbidden() from error
        alone = await stores.clients.get_for_update(realm_id, client.id)
        # Whoever used the token meanwhile has replaced it.
        return await registrar.require_change(stores, alone)


def _begin(request: ProtocolRequest, kind: EventType, client_id: str) -> None:
    request.event.begin(kind)
    request.event.client_id = client_id


async def _use_up(change: Change, registrar: Registrar) -> None:
    if not await use_up(change, registrar.token_id):
        raise not_authorized("No remaining count on initial access token")


async def _require_allowed(
    stores: Stores, request: ProtocolRequest, whole: Mapping[str, Any]
) -> None:
    wanted: list[str] = []
    for name in ("defaultClientScopes", "optionalClientScopes"):
        given = given_field(whole, name)
        wanted += [scope for scope in given or () if isinstance(scope, str)]
    await require_allowed_scopes(stores, request.realm.realm.id, wanted)


async def _require_changeable(change: Change, before: Client, after: Client) -> None:
    try:
        require_changeable_clients(change.acting, before.client_id, after.client_id)
        await require_may_widen_scope(change.acting, change.stores, before, after)
    except Forbidden as error:
        raise forbidden() from error


@contextmanager
def _metadata_refused() -> Iterator[None]:
    """Tell what is wrong with a client in the words of RFC 7591."""
    try:
        yield
    except UnknownField:
        raise
    except AddressesRefused as error:
        code = _REDIRECT if error.of_redirect else _METADATA
        raise OAuthError(code, str(error)) from error
    except (RefusedByCode, InvalidInput) as error:
        raise OAuthError(_METADATA, str(error)) from error
    except Forbidden as error:
        raise forbidden() from error
