"""Registering clients, and viewing, changing and removing them with the token they were given.

A document is one of the admin API; a `Format` converts others: it is one value here and one entry
in `http/registration`. A registration access token is replaced by each change; a secret that the
caller may not know is masked.

A client that registers itself takes no certificate name that another client has: devices that send
no client_id are found by their certificate alone, and where two clients own it, they are refused. A
stranger could lock devices out by registering their names. Administrators may give one name to two
clients, as in Keycloak, whose devices always send a client_id.
Keycloak: clients-registrations, client registration providers `default` and `openid-connect`;
Spec: RFC 7591 §3, RFC 7592 §2
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Final

from gateway.admin.access import (
    Acting,
    ControlledObject,
    ObjectKind,
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
from gateway.admin.registration.policies import Policies
from gateway.admin.registration.registrars import (
    Registrar,
    RegistrationRefused,
    forbidden,
    not_authorized,
    too_many_registrations,
)
from gateway.admin.registration.tokens import (
    RegistrationTokens,
    TokenKind,
    has_registration_left,
    use_up,
)
from gateway.client_policies import EventKind, PolicyRefusal, UpdateSource
from gateway.domain.clients import Client, certificate_terms, share_certificates, terms_of_rivals
from gateway.domain.errors import AlreadyExists, InvalidInput
from gateway.domain.events import Detail
from gateway.domain.limits.rate_limits import RateLimiter, caller_of
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.refusals import Forbidden, InvalidRequest, WireFamily
from gateway.domain.secrets import Secret
from gateway.representations.client_registration import (
    BASIC_SCOPE,
    client_of_metadata,
    parse_metadata,
    requested_scopes,
)
from gateway.representations.clients import given_field, new_client_document, with_protocol_defaults
from gateway.representations.refusals import UnknownField

INVALID_METADATA: Final = "invalid_client_metadata"
Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Format:
    """Turns a sent description into a document of the admin API; raises UnknownField, InvalidInput.

    `scopes` returns the optional scopes that a known client is to have, None to leave them.
    """

    client_id: str
    """The field with the public name."""
    new_client: Callable[[Document], Document]
    changed_client: Callable[[Document], Document]
    scopes: Callable[[Document], tuple[str, ...] | None]


def _new_openid_client(document: Document) -> Document:
    """Return a client whose name is generated here."""
    metadata = parse_metadata(document)
    if metadata.get("client_id") is not None:
        raise RegistrationRefused(INVALID_METADATA, "Client Identifier included")
    client = client_of_metadata(metadata, new=True)
    scopes = requested_scopes(metadata)
    if scopes is None:
        return client
    always = [BASIC_SCOPE]
    return {**client, "defaultClientScopes": always, "optionalClientScopes": list(scopes)}


KEYCLOAK: Final = Format("clientId", with_protocol_defaults, dict, lambda _: None)
"""The representation of the admin API. Its lists of scopes count at the registration alone."""
OPENID: Final = Format(
    "client_id",
    _new_openid_client,
    lambda document: client_of_metadata(parse_metadata(document), new=False),
    lambda document: requested_scopes(parse_metadata(document)),
)


_MOST_RIVALS: Final = 200
"""Clients that one registration is compared with; where there are more, it is refused."""


async def require_free_certificate_name(
    stores: Stores, client: Client, before: Client | None = None
) -> None:
    """Raise RegistrationRefused where another client may own the same certificate.

    A name that the client has had `before` is not examined again.
    """
    if not certificate_terms(client) or (
        before is not None and _certificate_names(before) == _certificate_names(client)
    ):
        return
    realm_id, most = client.realm_id, _MOST_RIVALS + 1
    terms = terms_of_rivals(client)
    if client.devices.template is None:
        found = await stores.clients.with_certificate_terms(realm_id, terms, most)
    else:
        rows = await stores.clients.certificate_terms(realm_id, most)
        found = tuple(sorted({name for _, name in rows}))
    if len(found) > _MOST_RIVALS:
        raise _refused("Too many clients of the realm are known by certificates")
    for other in await stores.clients.named(realm_id, found):
        if other.id != client.id and share_certificates(client, other):
            raise _refused("Another client of the realm has this name of certificates")


def _certificate_names(client: Client) -> tuple[object, ...]:
    return client.certificate_authentication, client.devices.template, certificate_terms(client)


def _refused(text: str) -> RegistrationRefused:
    return RegistrationRefused(INVALID_METADATA, text)


_SPENT: Final = "No remaining count on initial access token"
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

    async def register_client(
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
                    raise not_authorized(_SPENT)
                policies = await Policies.load_policies(
                    change.stores, change.realm.id, anonymous=anonymous
                )
                await policies.require_room(change.stores)
                client = await self._registered(
                    change, policies.completed(whole), registrar, described
                )
                registrar.require_flows_and_levels_kept(client)
                await require_free_certificate_name(change.stores, client)
                await policies.require_permitted(change.stores, client, scopes=_scopes(whole))
                token = await self.tokens.give(
                    change, client, anonymous=anonymous, origins=registrar.origins
                )
        return ClientView(client, token=Secret(token))

    async def admit(self, registrar: Registrar, sent: Format, document: Mapping[str, Any]) -> None:
        """Require that a caller may register one more client, before that costs more.

        The token, the address, the document by itself, the room of the realm, and the share
        of the network of a caller without a token. Documents that cannot be read are not counted.
        """
        registrar.require_new()
        acting, anonymous = registrar.acting, registrar.registers_anonymously
        async with self.database.read() as stores:
            if registrar.kind is TokenKind.INITIAL and not await has_registration_left(
                stores, acting.realm.id, registrar.token_id
            ):
                raise not_authorized(_SPENT)
            policies = await Policies.load_policies(stores, acting.realm.id, anonymous=anonymous)
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

    async def view_client(self, registrar: Registrar, client_id: str) -> ClientView:
        """Return a client by its public name."""
        acting = registrar.acting
        async with self.database.read() as stores:
            found = await stores.clients.find_by_client_id(acting.realm.id, client_id)
            client = await registrar.require_view(stores, found)
            policies = await Policies.load_policies(
                stores, acting.realm.id, anonymous=registrar.anonymous
            )
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
                    after = await self.clients.store_client(
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
        policies = await Policies.load_policies(stores, change.realm.id, anonymous=anonymous)
        policies.require_sender(registrar.acting.address)
        after = self.clients.merge_document(before, sent.changed_client(document))
        registrar.require_flows_and_levels_kept(after, before)
        scopes = sent.scopes(document)
        await policies.require_permitted(stores, after, before=before, scopes=scopes)
        if scopes is None:
            return after
        optional = tuple(name for name in scopes if name not in after.default_client_scopes)
        return await chosen_scopes(change.stores, replace(after, optional_client_scopes=optional))

    async def remove_client(self, registrar: Registrar, client_id: str) -> None:
        with _forbidden(Forbidden, InvalidRequest):
            async with self.changes.begin(registrar.acting) as change:
                client = await self._get_for_update(change, registrar, client_id)
                policies = await Policies.load_policies(
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
    """Turn refusals of a client into the errors of RFC 7591."""
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
