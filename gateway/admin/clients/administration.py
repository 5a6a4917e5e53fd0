"""Adding, changing and removing clients, with their service accounts and sessions.

An administrator who has examined a client, which another one has changed, approves the
administrative roles that its tokens may carry. A client's part of a session may not last longer
than the session; files are not checked.
Keycloak: POST clients, PUT and DELETE clients/{id}, client registration (26.7)
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from gateway.admin.access import (
    Acting,
    require_changeable_clients,
    require_may_change_client,
    require_may_grant,
)
from gateway.admin.changes import Change, Changes, names_state, require_match
from gateway.admin.client_reach import (
    BUILT_IN,
    decide_on_client,
    store_changed_client,
    store_changed_part,
    store_new_client,
)
from gateway.admin.client_scopes import chosen_from, inherited_from
from gateway.admin.clients.listing import (
    get_client,
    get_client_for_update,
    has_roles,
    load_client_document,
    require_may_widen_scope,
)
from gateway.admin.clients.policies import (
    PolicyCaller,
    enforce_policies,
    refused_by_policies,
    updater_of,
)
from gateway.admin.clients.preparation import (
    add_service_account,
    changed_client,
    lacks_service_account,
    prepared_client,
    service_account_name,
    with_rotation_applied,
)
from gateway.admin.clients.protocol_mappers import CheckMapper
from gateway.admin.clients.sector_identifiers import SectorIdentifiers
from gateway.admin.flows import require_existing_overrides
from gateway.admin.keys import ensure_keys_of_client
from gateway.authentication.new_users import default_role_ids
from gateway.authentication.unique_names import require_free_names
from gateway.client_policies import EventKind
from gateway.domain.client_scopes import ClientScope
from gateway.domain.clients import AdministrativeReach, Client, ClientSessionLimits, ProtocolMapper
from gateway.domain.clock import Clock
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.events import OperationType, ResourceType
from gateway.domain.ports.invalidation import client_topic, realm_topic, user_topic
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.signing import KeyFactory
from gateway.domain.ports.users import RoleQuery
from gateway.domain.realm import SessionLimits
from gateway.domain.refusals import InvalidRequest, NotFound, WireFamily, duplicate_resource
from gateway.representations.clients import (
    WrongAddress,
    changed_client_document,
    client_representation,
    explained,
    given_field,
    new_client_document,
    parse_client,
    with_protocol_defaults,
    wrong_addresses,
)


def require_within_session(of_client: ClientSessionLimits, limits: SessionLimits) -> None:
    """Raise InvalidRequest for a limit that exceeds the realm's."""
    if of_client.idle > limits.idle:
        raise _refused("Client session idle timeout", "idle timeout")
    if of_client.max_lifespan > limits.max_lifespan:
        raise _refused("Client session max lifespan", "max lifespan")


def _refused(setting: str, limit: str) -> InvalidRequest:
    text = f"{setting} cannot exceed realm SSO session {limit}."
    return InvalidRequest(text, WireFamily.OAUTH, code="invalid_input")


@dataclass(frozen=True, slots=True)
class DecidedReach:
    """The roles as JSON, and a document whose tag changes with them and with the client."""

    roles: dict[str, Any]
    version: object


def record_reach(change: Change, client: Client) -> None:
    """Record in the admin events which administrative roles tokens of the client may carry."""
    path = f"clients/{client.id}/administrative-roles"
    change.record(OperationType.UPDATE, ResourceType.CLIENT, path, render_reach(client.reach))


def render_reach(reach: AdministrativeReach) -> dict[str, Any]:
    """Return the roles as JSON; `all` where the list is empty because there is no limit."""
    return {"all": reach.everything, "roles": sorted(reach.roles)}


def _decided(client: Client) -> DecidedReach:
    roles = render_reach(client.reach)
    return DecidedReach(roles, {**client_representation(client, masked=True), "reach": roles})


class AddressesRefused(InvalidRequest):
    """Invalid addresses of a client; `of_redirect` where redirect URIs are among them."""

    def __init__(self, wrong: Sequence[WrongAddress]) -> None:
        super().__init__(explained(wrong), WireFamily.OAUTH, code="invalid_input")
        self.of_redirect = any(address.is_redirect for address in wrong)


@dataclass(frozen=True, slots=True)
class ClientAdministration:
    """Changes clients. All methods raise NotFound, Forbidden, PreconditionFailed, StoreUnavailable.

    Documents are refused with UnknownField, InvalidInput, InvalidRequest and AlreadyExists.
    """

    changes: Changes
    clock: Clock
    online_sessions: OnlineSessionStore
    check_mapper: CheckMapper
    keys: KeyFactory
    sectors: SectorIdentifiers

    async def create_client(self, acting: Acting, document: Mapping[str, Any]) -> Client:
        await self.sectors.require_of_new_client(document)
        whole = new_client_document(with_protocol_defaults(document))
        async with self.changes.begin(acting) as change:
            with refused_by_policies():
                client = await self.add_client(
                    change, whole, policies=PolicyCaller(acting), sent=document
                )
            path = f"clients/{client.id}"
            sent = {"id": client.id, **document}
            change.record(OperationType.CREATE, ResourceType.CLIENT, path, sent)
        return client

    async def add_client(
        self,
        change: Change,
        whole: Mapping[str, Any],
        *,
        scopes: Sequence[ClientScope] | None = None,
        report_ineffective: bool = False,
        policies: PolicyCaller | None = None,
        sent: Mapping[str, Any] | None = None,
        replaced: Client | None = None,
    ) -> Client:
        """Add the client of a complete document, as part of a change.

        `replaced` is the client of the same id that was removed for it.

        `scopes` are the realm's client scopes, where the caller has them. Settings without effect
        are refused unless the caller reports them. The realm's client policies judge the client
        where `policies` names who adds it; `sent` is the document before it was completed. Raises
        PolicyRefusal then.
        """
        _require_name(whole)
        stores, realm = change.stores, change.realm
        if scopes is None:
            scopes = await stores.client_scopes.list_values(realm.id)
        client = parse_client(
            whole,
            realm.id,
            inherited=inherited_from(scopes),
            report_ineffective=report_ineffective,
        )
        if policies is not None:
            named = given_field(sent or whole, "clientAuthenticatorType") is not None
            client = await enforce_policies(
                *(stores, realm, policies, EventKind.REGISTER, client), names_authenticator=named
            )
        require_changeable_clients(change.acting, client.client_id)
        _require_valid(wrong_addresses(client))
        if not report_ineffective:
            require_within_session(client.session_limits, realm.session_limits)
        self._require_mappers(client, ())
        await require_existing_overrides(stores, realm, client)
        require_may_change_client(change.acting, replaced, client)
        client = prepared_client(chosen_from(scopes, client), self.clock)
        caller = policies or PolicyCaller(change.acting)
        updater = await updater_of(stores, realm, caller)
        client = with_rotation_applied(realm, client, self.clock, updater, before=replaced)
        client = await store_new_client(stores, change.acting, client, whole)
        await self._add_account(change, client)
        change.invalidate(client_topic(realm.id, client.id))
        await self._ensure_keys(change, client)
        return client

    async def update_client(
        self,
        acting: Acting,
        client_id: str,
        document: Mapping[str, Any],
        *,
        approves_reach: bool = True,
    ) -> None:
        """Merge the document into a client.

        With `approves_reach` a change of its reach decides on the whole reach, see client_reach.py;
        without it tokens of the client carry no more administrative roles than before.
        """
        await self.sectors.require_of_changed_client(acting.realm, client_id, document)
        async with self.changes.begin(acting) as change:
            before = await get_client_for_update(change.stores, acting.realm.id, client_id)
            await change.require_loaded_match(load_client_document, acting, change.stores, before)
            after = self.merge_document(before, document)
            with refused_by_policies():
                after = await enforce_policies(
                    *(change.stores, change.realm, PolicyCaller(acting), EventKind.UPDATE, after),
                    before=before,
                )
            require_changeable_clients(acting, before.client_id, after.client_id)
            await require_may_widen_scope(acting, change.stores, before, after)
            caller = PolicyCaller(acting)
            after = await self.store_client(
                change, before, after, caller, approves_reach=approves_reach
            )
            path = f"clients/{before.id}"
            change.record(OperationType.UPDATE, ResourceType.CLIENT, path, document)
            if after.reach != before.reach:
                record_reach(change, after)

    def merge_document(self, before: Client, document: Mapping[str, Any]) -> Client:
        """Return the changed client; addresses that were invalid before may stay."""
        sent = changed_client_document(document, before)
        _require_name(sent)
        after = parse_client(sent, before.realm_id, base=before)
        known = wrong_addresses(before)
        _require_valid(tuple(wrong for wrong in wrong_addresses(after) if wrong not in known))
        self._require_mappers(after, before.protocol_mappers)
        requested = given_field(sent, "serviceAccountsEnabled") is True
        return changed_client(after, before, self.clock, account_requested=requested)

    def _require_mappers(self, client: Client, known: Sequence[ProtocolMapper]) -> None:
        """Raise InvalidInput for a new mapper that could not act; an unknown type is kept."""
        for place, mapper in enumerate(client.protocol_mappers):
            if mapper not in known:
                with suppress(NotFound), _located(f"protocolMappers[{place}]."):
                    self.check_mapper(mapper)

    async def store_client(
        self,
        change: Change,
        before: Client,
        after: Client,
        caller: PolicyCaller,
        *,
        by_itself: bool = False,
        approves_reach: bool = True,
    ) -> Client:
        """Store a changed client with its service account; return it as stored.

        A client policy of the realm may renew its secret; `by_itself`: the client changes itself.
        """
        updater = await updater_of(change.stores, change.realm, caller)
        after = with_rotation_applied(
            change.realm, after, self.clock, updater, before=before, by_itself=by_itself
        )
        if after == before:
            return after
        if after.session_limits != before.session_limits:
            require_within_session(after.session_limits, change.realm.session_limits)
        await require_existing_overrides(change.stores, change.realm, after, before)
        require_may_change_client(change.acting, before, after)
        try:
            store = store_changed_client if approves_reach else store_changed_part
            after = await store(change.stores, change.acting, before, after)
        except AlreadyExists as error:
            raise duplicate_resource() from error
        await self._change_account(change, before, after)
        renamed = after.client_id != before.client_id
        _invalidate(change, after, roles=renamed and await has_roles(change.stores, after))
        await self._ensure_keys(change, after)
        return after

    async def delete_client(self, acting: Acting, client_id: str) -> None:
        """Remove a client with its roles, its service account and its sessions."""
        async with self.changes.begin(acting) as change:
            client = await get_client_for_update(change.stores, acting.realm.id, client_id)
            self.require_removable(acting, client)
            await change.require_loaded_match(load_client_document, acting, change.stores, client)
            with refused_by_policies():
                await enforce_policies(
                    *(change.stores, change.realm, PolicyCaller(acting)),
                    *(EventKind.UNREGISTER, client),
                    before=client,
                )
            await self.remove_client(change, client)
            removed = {"id": client.id, "clientId": client.client_id}
            path = f"clients/{client.id}"
            change.record(OperationType.DELETE, ResourceType.CLIENT, path, removed)

    def require_removable(self, acting: Acting, client: Client) -> None:
        """Raise Forbidden, or InvalidRequest for a built-in client."""
        require_changeable_clients(acting, client.client_id)
        if client.client_id in BUILT_IN:
            raise InvalidRequest(
                "Could not delete client", WireFamily.OAUTH, code="invalid_request"
            )

    async def remove_client(self, change: Change, client: Client) -> None:
        """Remove a client as part of a change; raises StoreUnavailable if its sessions remain.

        Raises Forbidden where one of its roles contains a role that the caller lacks: an account
        with more rights would lose it.
        """
        query = RoleQuery(container=client.id)
        owned = await change.stores.role_catalogue.list_roles(client.realm_id, query)
        await require_may_grant(change.acting, change.stores, [role.role.id for role in owned])
        _invalidate(change, client, roles=await has_roles(change.stores, client))
        await change.stores.offline_sessions.leave_all(client.realm_id, client.id)
        await change.stores.clients.remove_client(client.realm_id, client.id)
        await self.online_sessions.leave_all(client.realm_id, client.id)

    async def _ensure_keys(self, change: Change, client: Client) -> None:
        """Add the keys for the client's signature algorithms."""
        stores, realm = change.stores, change.realm
        if await ensure_keys_of_client(stores, realm, client, self.keys, change.now):
            change.invalidate(realm_topic(realm.id))

    async def _add_account(self, change: Change, client: Client) -> None:
        stores, realm = change.stores, change.realm
        if not await lacks_service_account(stores, client):
            return
        role_ids = await default_role_ids(stores, realm)
        group_ids = tuple(await stores.groups.default(realm.id))
        try:
            await add_service_account(
                stores, realm, client, self.clock, role_ids=role_ids, group_ids=group_ids
            )
        except AlreadyExists as error:
            raise AlreadyExists(f"Client {client.client_id} already exists") from error

    async def _change_account(self, change: Change, before: Client, after: Client) -> None:
        stores = change.stores
        account = await stores.users.find_service_account(after.realm_id, after.id)
        if not after.service_accounts_enabled:
            if before.service_accounts_enabled and account is not None:
                await stores.clients.remove_service_account(after.realm_id, after.id)
                change.invalidate(user_topic(after.realm_id, account.id))
            return
        if account is None:
            await self._add_account(change, after)
        elif account.username != service_account_name(after):
            renamed = replace(account, username=service_account_name(after))
            try:
                await require_free_names(stores, change.realm, renamed, account)
                await stores.users.replace(renamed)
            except AlreadyExists as error:
                raise duplicate_resource() from error
            change.invalidate(user_topic(after.realm_id, account.id))

    async def get_reach(self, acting: Acting, client_id: str) -> DecidedReach:
        async with self.changes.database.read() as stores:
            return _decided(await get_client(stores, acting.realm.id, client_id))

    async def decide_reach(self, acting: Acting, client_id: str) -> DecidedReach:
        """Let tokens of the client carry the administrative roles that the caller has.

        If-Match names the state of the client that was examined, or of its roles. Raises
        PreconditionFailed.
        """
        async with self.changes.begin(acting) as change:
            client = await get_client_for_update(change.stores, acting.realm.id, client_id)
            if names_state(acting.if_match):
                examined = await load_client_document(acting, change.stores, client)
                require_match(acting.if_match, _decided(client).version, examined)
            require_changeable_clients(acting, client.client_id)
            decided = await decide_on_client(change, client)
            record_reach(change, decided)
            change.invalidate(client_topic(client.realm_id, client.id))
        return _decided(decided)


@contextmanager
def _located(place: str) -> Iterator[None]:
    try:
        yield
    except InvalidInput as error:
        raise InvalidInput(
            tuple(replace(wrong, path=place + wrong.path) for wrong in error.errors)
        ) from error


def _invalidate(change: Change, client: Client, *, roles: bool) -> None:
    """Invalidate a client and, where `roles`, the realm: users have other roles then."""
    topic = realm_topic(client.realm_id) if roles else client_topic(client.realm_id, client.id)
    change.invalidate(topic)


def _require_name(document: Mapping[str, Any]) -> None:
    if given_field(document, "clientId") == "":
        raise InvalidRequest("Client ID cannot be blank", WireFamily.OAUTH, code="invalid_input")


def _require_valid(wrong: Sequence[WrongAddress]) -> None:
    if wrong:
        raise AddressesRefused(wrong)
