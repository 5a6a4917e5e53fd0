"""The applications that the user uses, has given access to, or may open. Keycloak: 17.5."""

from dataclasses import dataclass

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.accounts.sessions import AccountSessions, clients_in, clients_with_ids
from gateway.domain.clients import Client
from gateway.domain.consents import Consent
from gateway.domain.ports.directory import Directory
from gateway.domain.ports.storage import Database


@dataclass(frozen=True, slots=True)
class OwnApplication:
    """A client and what the user has to do with it.

    `in_use`: it takes part in a live session; `offline_access`: it has an offline session.
    """

    client: Client
    in_use: bool
    offline_access: bool
    consent: Consent | None


class AccountApplications:
    """The use case; it raises Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, directory: Directory, sessions: AccountSessions) -> None:
        self._database = database
        self._directory = directory
        self._sessions = sessions

    async def list(self, caller: AccountCaller, name: str = "") -> tuple[OwnApplication, ...]:
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
