"""The user that is a client's service account. Keycloak: clients/{id}/service-account-user."""

from typing import Any

from gateway.admin.access import BadRequest
from gateway.admin.clients.access import find_client
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.representations.users import full_user


class ClientAccounts:
    """Reads service accounts."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def read(self, realm: Realm, client_id: str) -> dict[str, Any]:
        async with self._database.read() as stores:
            client = await find_client(stores, realm.id, client_id)
            account = await stores.users.find_service_account(realm.id, client.id)
        if account is None or not client.service_accounts_enabled:
            text = f"Service account not enabled for the client '{client.client_id}'"
            raise BadRequest(text)
        return full_user(account, totp=False)
