"""Adding, changing and removing clients, with their service accounts and sessions.

Keycloak: POST clients, PUT and DELETE clients/{id} (26.7)
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    Change,
    Changes,
    Missing,
    RefusedByCode,
    default_role_ids,
    require_changeable_clients,
    require_may_grant,
)
from gateway.admin.client_scopes import chosen_scopes, inherited_scopes
from gateway.admin.clients.access import (
    find_client_alone,
    has_roles,
    require_may_widen_scope,
    shown_client,
)
from gateway.admin.clients.preparation import (
    changed_client,
    ensure_service_account,
    prepared_client,
    service_account_name,
)
from gateway.admin.clients.protocol_mappers import CheckMapper
from gateway.admin.clients.secret_rotation import with_rotation_applied
from gateway.admin.flows import require_usable_overrides
from gateway.admin.keys import ensure_keys_of_client
from gateway.domain.clients import Client, ProtocolMapper
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic, realm_topic, user_topic
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.storage.role_catalogue import RoleQuery
from gateway.representations.clients import (
    WrongAddress,
    changed_client_document,
    explained,
    given_field,
    new_client_document,
    read_client,
    wrong_addresses,
)

_BUILT_IN: Final = frozenset(
    {"account", "account-console", "admin-cli", "broker", "security-admin-console"}
)
"""What every realm has, and Keycloak does not let go."""


class AddressesRefused(RefusedByCode):
    """Addresses of a client that lead nowhere or astray; `of_redirect` tells of redirect URIs."""

    def __init__(self, wrong: Sequence[WrongAddress]) -> None:
        super().__init__("invalid_input", explained(wrong))
        self.of_redirect = any(address.is_redirect for address in wrong)


class ClientAdministration:
    """Changes clients. All methods raise Forbidden and StoreUnavailable."""

    def __init__(
        self,
        changes: Changes,
        clock: Clock,
        online_sessions: OnlineSessionStore,
        check_mapper: CheckMapper,
        keys: KeyFactory,
    ) -> None:
        """End the sessions in `online_sessions` of clients that go; judge by `check_mapper`.

        Make by `keys` what the realm lacks to sign as a client asks.
        """
        self._changes = changes
        self._clock = clock
        self._online_sessions = online_sessions
        self._check_mapper = check_mapper
        self._keys = keys

    async def add(self, acting: Acting, document: Mapping[str, Any]) -> Client:
        """Add a client; raises UnknownField, InvalidInput, RefusedByCode and AlreadyExists."""
        whole = new_client_document(document)
        async with self._changes.begin(acting) as change:
            client = await self.register(change, whole)
            path = f"clients/{client.id}"
            sent = {"id": client.id, **document}
            change.record(OperationType.CREATE, ResourceType.CLIENT, path, sent)
        return client

    async def register(
        self, change: Change, whole: Mapping[str, Any], *, report_ineffective: bool = False
    ) -> Client:
        """Add the client that a whole document describes, as part of a change.

        Settings without effect are refused unless the caller reports them.
        """
        _require_name(whole)
        stores, realm = change.stores, change.realm
        inherited = await inherited_scopes(stores, realm.id)
        client = read_client(
            whole, realm.id, inherited=inherited, report_ineffective=report_ineffective
        )
        require_changeable_clients(change.acting, client.client_id)
        _refuse(wrong_addresses(client))
        self._require_mappers(client, ())
        await require_usable_overrides(stores, realm, client)
        client = prepared_client(await chosen_scopes(stores, client), self._clock)
        client = with_rotation_applied(realm, client, self._clock)
        await stores.clients.add(client)
        await self._add_account(change, client)
        change.tell(client_topic(realm.id, client.id))
        await self._ensure_keys(change, client)
        return client

    async def change(self, acting: Acting, client_id: str, document: Mapping[str, Any]) -> None:
        """Merge the document into a client.

        Raises Missing, PreconditionFailed, UnknownField, InvalidInput and RefusedByCode.
        """
        async with self._changes.begin(acting) as change:
            before = await find_client_alone(change.stores, acting.realm.id, client_id)
            change.require_match(await shown_client(acting, change.stores, before))
            after = self.merged(before, document)
            require_changeable_clients(acting, before.client_id, after.client_id)
            await require_may_widen_scope(acting, change.stores, before, after)
            await self.store(change, before, after)
            path = f"clients/{before.id}"
            change.record(OperationType.UPDATE, ResourceType.CLIENT, path, document)

    def merged(self, before: Client, document: Mapping[str, Any]) -> Client:
        """Return the client as it is to be; what was wrong with it before may stay wrong."""
        sent = changed_client_document(document, before)
        _require_name(sent)
        after = read_client(sent, before.realm_id, base=before)
        known = wrong_addresses(before)
        _refuse(tuple(wrong for wrong in wrong_addresses(after) if wrong not in known))
        self._require_mappers(after, before.protocol_mappers)
        return changed_client(after, before, self._clock)

    def _require_mappers(self, client: Client, known: Sequence[ProtocolMapper]) -> None:
        """Raise InvalidInput for a new mapper that could not act; an unknown kind is kept."""
        for place, mapper in enumerate(client.protocol_mappers):
            if mapper not in known:
                with suppress(Missing), _told_of(f"protocolMappers[{place}]."):
                    self._check_mapper(mapper)

    async def store(
        self, change: Change, before: Client, after: Client, *, by_itself: bool = False
    ) -> Client:
        """Write what has changed, its service account included; return the client as it is now.

        A client policy of the realm may give it another secret; `by_itself` says that the client
        changes itself.
        """
        after = with_rotation_applied(change.realm, after, self._clock, by_itself=by_itself)
        if after == before:
            return after
        await require_usable_overrides(change.stores, change.realm, after, before)
        try:
            await change.stores.clients.replace(after)
        except AlreadyExists as error:
            raise _taken() from error
        await self._change_account(change, before, after)
        renamed = after.client_id != before.client_id
        _tell(change, after, roles=renamed and await has_roles(change.stores, after))
        await self._ensure_keys(change, after)
        return after

    async def remove(self, acting: Acting, client_id: str) -> None:
        """Remove a client with its roles, its service account and its sessions.

        Raises Missing, Forbidden, PreconditionFailed and RefusedByCode.
        """
        async with self._changes.begin(acting) as change:
            client = await find_client_alone(change.stores, acting.realm.id, client_id)
            self.require_removable(acting, client)
            change.require_match(await shown_client(acting, change.stores, client))
            await self.forget(change, client)
            gone = {"id": client.id, "clientId": client.client_id}
            path = f"clients/{client.id}"
            change.record(OperationType.DELETE, ResourceType.CLIENT, path, gone)

    def require_removable(self, acting: Acting, client: Client) -> None:
        """Raise Forbidden, or RefusedByCode for what every realm has."""
        require_changeable_clients(acting, client.client_id)
        if client.client_id in _BUILT_IN:
            raise RefusedByCode("invalid_request", "Could not delete client")

    async def forget(self, change: Change, client: Client) -> None:
        """Remove a client as part of a change: nothing is removed where its sessions cannot be.

        Raises Forbidden where the roles that go with it contain one that the caller lacks: an
        account with more rights would lose them.
        """
        query = RoleQuery(container=client.id)
        owned = await change.stores.role_catalogue.list(client.realm_id, query)
        await require_may_grant(change.acting, change.stores, [role.role.id for role in owned])
        _tell(change, client, roles=await has_roles(change.stores, client))
        await change.stores.offline_sessions.leave_all(client.realm_id, client.id)
        await change.stores.clients.remove(client.realm_id, client.id)
        await self._online_sessions.leave_all(client.realm_id, client.id)

    async def _ensure_keys(self, change: Change, client: Client) -> None:
        """Let the realm be able to sign as the client asks, from its next token on."""
        stores, realm = change.stores, change.realm
        if await ensure_keys_of_client(stores, realm, client, self._keys, change.now):
            change.tell(realm_topic(realm.id))

    async def _add_account(self, change: Change, client: Client) -> None:
        stores, realm = change.stores, change.realm
        granted = await default_role_ids(stores, realm)
        try:
            await ensure_service_account(stores, client, granted, self._clock)
        except AlreadyExists as error:
            raise AlreadyExists(f"Client {client.client_id} already exists") from error

    async def _change_account(self, change: Change, before: Client, after: Client) -> None:
        stores = change.stores
        account = await stores.users.find_service_account(after.realm_id, after.id)
        if not after.service_accounts_enabled:
            if before.service_accounts_enabled and account is not None:
                await stores.clients.remove_service_account(after.realm_id, after.id)
                change.tell(user_topic(after.realm_id, account.id))
            return
        if account is None:
            await self._add_account(change, after)
        elif account.username != service_account_name(after):
            try:
                await stores.users.replace(replace(account, username=service_account_name(after)))
            except AlreadyExists as error:
                raise _taken() from error
            change.tell(user_topic(after.realm_id, account.id))


@contextmanager
def _told_of(place: str) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(
            tuple(replace(wrong, path=place + wrong.path) for wrong in error.errors)
        ) from error


def _tell(change: Change, client: Client, *, roles: bool) -> None:
    """Tell of a change to a client, and to its roles: whoever has them has others now."""
    topic = realm_topic(client.realm_id) if roles else client_topic(client.realm_id, client.id)
    change.tell(topic)


def _require_name(document: Mapping[str, Any]) -> None:
    if given_field(document, "clientId") == "":
        raise RefusedByCode("invalid_input", "Client ID cannot be blank")


def _refuse(wrong: Sequence[WrongAddress]) -> None:
    if wrong:
        raise AddressesRefused(wrong)


def _taken() -> RefusedByCode:
    return RefusedByCode("conflict", "Duplicate resource error", conflict=True)
