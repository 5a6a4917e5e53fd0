"""Registering clients, and viewing, changing and removing them with the token they were given.

A document is one of the admin API; `formats` converts others. A registration access token is
replaced by each change; a secret that the caller may not know is masked.
Keycloak: clients-registrations; Spec: RFC 7591 §3, RFC 7592 §2
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    ControlledObject,
    Forbidden,
    InvalidRequest,
    ObjectKind,
    WireFamily,
    require_changeable_clients,
    require_may_control,
)
from gateway.admin.changes import Change, Changes
from gateway.admin.client_scopes import chosen_scopes
from gateway.admin.clients import (
    AddressesRefused,
    ClientAdministration,
    PolicyCaller,
    clients_out_of_reach,
    enforce_policies,
    has_roles,
    require_may_widen_scope,
)
from gateway.admin.registration.certificate_names import require_free_certificate_name
from gateway.admin.registration.formats import INVALID_METADATA, Format
from gateway.admin.registration.policies import Policies
from gateway.admin.registration.registrars import (
    Registrar,
    RegistrationRefused,
    forbidden,
    not_authorized,
    too_many_registrations,
)
from gateway.admin.registration.token_administration import use_up
from gateway.admin.registration.tokens import RegistrationTokens, TokenKind
from gateway.client_policies import EventKind, PolicyRefusal, UpdateSource
from gateway.domain.clients import Client
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.events import Detail
from gateway.domain.limits.rate_limits import caller_of
from gateway.domain.ports.rate_limiter import RateLimiter
from gateway.domain.ports.storage import Database
from gateway.domain.secrets import Secret
from gateway.representations.clients import given_field, new_client_document
from gateway.representations.refusals import UnknownField

_INVALID_REDIRECT: Final = "invalid_redirect_uri"
_SOURCES: Final = {
    TokenKind.INITIAL: UpdateSource.INITIAL_TOKEN,
    TokenKind.REGISTRATION: UpdateSource.REGISTRATION_TOKEN,
}


@dataclass(frozen=True, slots=True)
class ClientView:
    """A client as the caller may see it. `token` is its registration access token, if any."""

    client: Client
    masked: bool = False
    has_roles: bool = False
    token: Secret | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class ClientRegistration:
    """The use cases. All raise RegistrationRefused, UnknownField and StoreUnavailable."""

    database: Database
    changes: Changes
    clients: ClientAdministration
    tokens: RegistrationTokens
    limiter: RateLimiter

    async def register(
        self, registrar: Registrar, sent: Format, document: Mapping[str, Any]
    ) -> ClientView:
        """Register a client of a caller that `admit` has admitted."""
        anonymous = registrar.registers_anonymously
        with _metadata_refused():
            described = sent.new_client(document)
            whole = new_client_document(described)
            async with self.changes.begin(registrar.acting, alone=True) as change:
                if registrar.kind is TokenKind.INITIAL and not await use_up(
                    change, registrar.token_id
                ):
                    raise not_authorized("No remaining count on initial access token")
                policies = await Policies.load(change.stores, change.realm.id, anonymous=anonymous)
                await policies.require_room(change.stores)
                client = await self._registered(
                    change, policies.completed(whole), registrar, described
                )
                registrar.require_flows_kept(client)
                await require_free_certificate_name(change.stores, client)
                await policies.require(change.stores, client, scopes=_scopes(whole))
                token = await self.tokens.give(
                    change, client, anonymous=anonymous, origins=registrar.origins
                )
        return ClientView(client, token=Secret(token))

    async def admit(self, registrar: Registrar, sent: Format, document: Mapping[str, Any]) -> None:
        """Require that a caller may register one more client, before that costs more.

        The address, what the document alone says, the room of the realm, and the share of the
        network of a caller without a token. Documents that cannot be read are not counted.
        """
        registrar.require_new()
        acting, anonymous = registrar.acting, registrar.registers_anonymously
        async with self.database.read() as stores:
            policies = await Policies.load(stores, acting.realm.id, anonymous=anonymous)
            policies.require_sender(acting.address)
            with _metadata_refused():
                new_client_document(sent.new_client(document))
            limit = await policies.require_room(stores)
        network = caller_of(acting.address or "")
        if anonymous and not await self.limiter.admit(acting.realm.id, limit, network):
            raise too_many_registrations(limit.window)

    async def _registered(
        self,
        change: Change,
        whole: Mapping[str, Any],
        registrar: Registrar,
        described: Mapping[str, Any],
    ) -> Client:
        try:
            with registrar.rights_required():
                return await self.clients.add_client(
                    change, whole, policies=_policy_caller(registrar), sent=described
                )
        except AlreadyExists as error:
            raise RegistrationRefused(INVALID_METADATA, "Client Identifier in use") from error

    async def view(self, registrar: Registrar, client_id: str) -> ClientView:
        """Return a client by its public name."""
        acting = registrar.acting
        async with self.database.read() as stores:
            found = await stores.clients.find_by_client_id(acting.realm.id, client_id)
            client = await registrar.require_view(stores, found)
            policies = await Policies.load(stores, acting.realm.id, anonymous=registrar.anonymous)
            policies.require_sender(acting.address)
            with _policies_refused():
                await enforce_policies(
                    *(stores, acting.realm, _policy_caller(registrar), EventKind.VIEW, client),
                    before=client,
                )
            masked = bool(await clients_out_of_reach(acting, stores, [client]))
            roles = await has_roles(stores, client)
        token = Secret(registrar.token) if registrar.is_client and registrar.token else None
        return ClientView(client, masked=masked, has_roles=roles, token=token)

    async def view_itself(self, acting: Acting, client: Client) -> ClientView:
        """Return an authenticated client to itself."""
        caller = PolicyCaller(acting, UpdateSource.ANONYMOUS, is_registration=True)
        async with self.database.read() as stores:
            with _policies_refused():
                await enforce_policies(
                    stores, acting.realm, caller, EventKind.VIEW, client, before=client
                )
            return ClientView(client, has_roles=await has_roles(stores, client))

    async def change(
        self, registrar: Registrar, client_id: str, sent: Format, document: Mapping[str, Any]
    ) -> ClientView:
        """Change a client; a registration access token that was used is replaced."""
        acting = registrar.acting
        with _metadata_refused():
            async with self.changes.begin(acting) as change:
                before = await self._get_for_update(change, registrar, client_id)
                if given_field(document, sent.client_id) != client_id:
                    raise RegistrationRefused(INVALID_METADATA, "Client Identifier modified")
                after = await self._merged(change, registrar, before, sent, document)
                caller = _policy_caller(registrar)
                after = await enforce_policies(
                    *(change.stores, change.realm, caller, EventKind.UPDATE, after), before=before
                )
                require_changeable_clients(acting, before.client_id, after.client_id)
                await require_may_widen_scope(acting, change.stores, before, after)
                await require_free_certificate_name(change.stores, after, before)
                by_itself = registrar.is_client
                with registrar.rights_required():
                    after = await self.clients.store(
                        change, before, after, caller, by_itself=by_itself
                    )
                token = None
                if by_itself:
                    anonymous, origins = registrar.anonymous, registrar.origins
                    token = await self.tokens.give(
                        change, after, anonymous=anonymous, origins=origins
                    )
                masked = bool(await clients_out_of_reach(acting, change.stores, [after]))
        return ClientView(after, masked=masked, token=Secret(token) if token else None)

    async def _merged(
        self,
        change: Change,
        registrar: Registrar,
        before: Client,
        sent: Format,
        document: Mapping[str, Any],
    ) -> Client:
        stores, anonymous = change.stores, registrar.anonymous
        policies = await Policies.load(stores, change.realm.id, anonymous=anonymous)
        policies.require_sender(registrar.acting.address)
        after = self.clients.merged(before, sent.changed_client(document))
        registrar.require_flows_kept(after, before)
        scopes = sent.scopes(document)
        await policies.require(stores, after, before=before, scopes=scopes)
        if scopes is None:
            return after
        optional = tuple(name for name in scopes if name not in after.default_client_scopes)
        return await chosen_scopes(change.stores, replace(after, optional_client_scopes=optional))

    async def remove(self, registrar: Registrar, client_id: str) -> None:
        with _forbidden(Forbidden, InvalidRequest):
            async with self.changes.begin(registrar.acting) as change:
                client = await self._get_for_update(change, registrar, client_id)
                policies = await Policies.load(
                    change.stores, change.realm.id, anonymous=registrar.anonymous
                )
                policies.require_sender(registrar.acting.address)
                self.clients.require_removable(registrar.acting, client)
                with _policies_refused():
                    await enforce_policies(
                        *(change.stores, change.realm, _policy_caller(registrar)),
                        *(EventKind.UNREGISTER, client),
                        before=client,
                    )
                await self.clients.remove_client(change, client)

    async def _get_for_update(self, change: Change, registrar: Registrar, client_id: str) -> Client:
        stores, realm_id = change.stores, change.realm.id
        found = await stores.clients.find_by_client_id(realm_id, client_id)
        client = await registrar.require_change(stores, found)
        controlled = ControlledObject(ObjectKind.CLIENT, client.id)
        await require_may_control(registrar.acting, stores, controlled, lock=True)
        locked = await stores.clients.get_for_update(realm_id, client.id)
        # A request with the same token may have replaced it meanwhile.
        return await registrar.require_change(stores, locked)


def _scopes(whole: Mapping[str, Any]) -> list[str]:
    lists = (given_field(whole, f"{kind}ClientScopes") or () for kind in ("default", "optional"))
    return [scope for scopes in lists for scope in scopes if isinstance(scope, str)]


@contextmanager
def _forbidden(*refusals: type[Exception]) -> Iterator[None]:
    try:
        yield
    except refusals as error:
        raise forbidden() from error


@contextmanager
def _policies_refused() -> Iterator[None]:
    """Turn the refusal by a client policy into one of the registration endpoint."""
    try:
        yield
    except PolicyRefusal as refusal:
        raise RegistrationRefused(
            refusal.error,
            refusal.text,
            event=refusal.error,
            detail=(Detail.REASON, refusal.text),
        ) from refusal


def _policy_caller(registrar: Registrar) -> PolicyCaller:
    source = UpdateSource.ANONYMOUS
    if registrar.kind is not None:
        source = _SOURCES[registrar.kind]
    elif registrar.token is not None:
        source = UpdateSource.USER
    return PolicyCaller(registrar.acting, source, is_registration=True)


@contextmanager
def _metadata_refused() -> Iterator[None]:
    """Turn what is wrong with a client into the errors of RFC 7591."""
    try:
        with _forbidden(Forbidden), _policies_refused():
            yield
    except UnknownField:
        raise
    except AddressesRefused as error:
        code = _INVALID_REDIRECT if error.of_redirect else INVALID_METADATA
        raise RegistrationRefused(code, str(error)) from error
    except (InvalidRequest, InvalidInput) as error:
        if isinstance(error, InvalidRequest) and error.family is not WireFamily.OAUTH:
            raise
        raise RegistrationRefused(INVALID_METADATA, str(error)) from error
