"""The applications that the user uses, has given access to, or may open. Keycloak: 17.5."""

from dataclasses import dataclass

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.accounts.sessions import AccountSessions, clients_by_id, clients_in
from gateway.domain.clients import Client
from gateway.domain.consents import Consent
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

    def __init__(self, database: Database, sessions: AccountSessions) -> None:
        self._database = database
        self._sessions = sessions

    async def list(self, caller: AccountCaller, name: str = "") -> tuple[OwnApplication, ...]:
        """Return the applications whose display name contains `name`, by public name."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_APPLICATIONS)
        live = await self._sessions.live(caller)
        realm = caller.realm
        async with self._database.read() as stores:
            offline = await stores.offline_sessions.of_user(realm.id, caller.user_id)
            granted = await stores.consents.of_user(realm.id, caller.user_id)
            consents = {consent.client: consent for consent in granted}
            used, kept = clients_in(live), clients_in(offline)
            clients = await clients_by_id(stores, realm, used | kept | consents.keys())
            clients |= {one.id: one for one in await stores.clients.always_listed(realm.id)}
        return tuple(
            OwnApplication(one, one.id in used, one.id in kept, consents.get(one.id))
            for one in sorted(clients.values(), key=lambda client: client.client_id)
            if not one.bearer_only and name.lower() in one.display.name.lower()
        )
