"""The applications of a user, and their consents. Keycloak: 17.5 applications."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.accounts.sessions import AccountSessions, clients_in, clients_with_ids
from gateway.domain.client_departures import detach_from_sessions, withdraw_consent
from gateway.domain.client_scopes import ClientScope, Consent
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.lookups import Directory
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database, Stores
from gateway.domain.refusals import InvalidRequest, MissingPart


@dataclass(frozen=True, slots=True)
class OwnConsent:
    """A consent, and its scopes that the realm still has."""

    consent: Consent
    scopes: tuple[ClientScope, ...]


class AccountConsents:
    """Consents to client scopes, which are named by id and must be the client's.

    All raise Forbidden, MissingPart for an unknown client, and StoreUnavailable. Keycloak: 17.5
    applications.
    """

    def __init__(self, database: Database, online: OnlineSessionStore) -> None:
        self._database = database
        self._online = online

    async def find_consent(self, caller: AccountCaller, client_id: str) -> OwnConsent | None:
        """Return the consent to the client with that public name, None without one."""
        caller.require(
            AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_CONSENT, AccountRole.MANAGE_CONSENT
        )
        async with self._database.read() as stores:
            client = await _consenting_client(stores, caller, client_id)
            found = await stores.consents.find_consent(caller.realm.id, caller.user_id, client.id)
        return None if found is None else shown_consent(caller, found)

    async def store_consent(
        self, caller: AccountCaller, client_id: str, scope_ids: Sequence[str]
    ) -> OwnConsent:
        """Consent to these scopes and no others; raises InvalidRequest for an unknown scope."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.MANAGE_CONSENT)
        event, now = caller.request.event, caller.request.now
        event.kind = EventType.GRANT_CONSENT
        realm_id, user_id = caller.realm.id, caller.user_id
        async with self._database.write() as stores:
            client = await _consenting_client(stores, caller, client_id)
            names = tuple(dict.fromkeys(_scope_names(caller, client, scope_ids)))
            before = await stores.consents.find_consent(realm_id, user_id, client.id)
            consent = Consent(realm_id, user_id, client.id, names, now, now)
            await stores.consents.put_consent(consent)
        if before is not None:
            event.kind = EventType.UPDATE_CONSENT
            consent = replace(consent, created_at=before.created_at)
        event.details |= {Detail.GRANTED_CLIENT: client_id, Detail.SCOPE: " ".join(names)}
        return shown_consent(caller, consent)

    async def revoke_consent(self, caller: AccountCaller, client_id: str) -> None:
        """Withdraw the consent with all tokens that it allowed; there may be none."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.MANAGE_CONSENT)
        user, event = caller.user.user, caller.request.event
        event.kind = EventType.REVOKE_GRANT
        async with self._database.write() as stores:
            client = await _consenting_client(stores, caller, client_id)
            withdrawn = await withdraw_consent(stores, user, client)
        if withdrawn.consent:
            await detach_from_sessions(self._online, user, client)
        event.details[Detail.REVOKED_CLIENT] = client_id


def shown_consent(caller: AccountCaller, consent: Consent) -> OwnConsent:
    """Return the consent with its scopes in the realm's order."""
    scopes = (bound.scope for bound in caller.entry.client_scopes)
    return OwnConsent(consent, tuple(one for one in scopes if one.name in consent.scopes))


async def _consenting_client(stores: Stores, caller: AccountCaller, client_id: str) -> Client:
    client = await stores.clients.find_by_client_id(caller.realm.id, client_id)
    if client is None:
        text = f"No client with clientId: {client_id} found."
        event = caller.request.event
        event.details[Detail.REASON] = text
        event.error = EventError.CLIENT_NOT_FOUND
        raise MissingPart(text)
    return client


def _scope_names(caller: AccountCaller, client: Client, ids: Sequence[str]) -> Iterator[str]:
    own = {*client.default_client_scopes, *client.optional_client_scopes}
    names = {
        bound.scope.id: bound.scope.name
        for bound in caller.entry.client_scopes
        if bound.scope.name in own
    }
    for scope_id in ids:
        if scope_id not in names:
            text = f"Scope id {scope_id} does not exist for client {client.client_id}."
            event = caller.request.event
            event.details[Detail.REASON] = text
            event.error = EventError.INVALID_SCOPE
            raise InvalidRequest(text)
        yield names[scope_id]


@dataclass(frozen=True, slots=True)
class OwnApplication:
    """A client with its live session (`in_use`), offline session and consent of the user."""

    client: Client
    in_use: bool
    offline_access: bool
    consent: Consent | None


class AccountApplications:
    """The use case; it raises Forbidden and StoreUnavailable. Keycloak: 17.5 applications."""

    def __init__(self, database: Database, directory: Directory, sessions: AccountSessions) -> None:
        self._database = database
        self._directory = directory
        self._sessions = sessions

    async def list_applications(
        self, caller: AccountCaller, name: str = ""
    ) -> tuple[OwnApplication, ...]:
        """Return the applications whose display name contains `name`, by public name."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_APPLICATIONS)
        live = await self._sessions.live(caller)
        realm_id = caller.realm.id
        grants = await self._database.lookups.grants(realm_id, caller.user_id)
        consents = {consent.client: consent for consent in grants.consents}
        used, kept = clients_in(live), grants.offline_clients
        clients = await clients_with_ids(self._directory, realm_id, used | kept | consents.keys())
        listed = await self._directory.always_listed(realm_id)
        clients |= {one.client.id: one.client for one in listed}
        return tuple(
            OwnApplication(one, one.id in used, one.id in kept, consents.get(one.id))
            for one in sorted(clients.values(), key=lambda client: client.client_id)
            if not one.bearer_only and name.lower() in one.display.name.lower()
        )
