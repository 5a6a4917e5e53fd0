"""A client's registration access token. Keycloak: clients/{id}/registration-access-token."""

from typing import Any

from gateway.admin.access import Acting, Changes, require_changeable_clients
from gateway.admin.clients import find_client_alone
from gateway.admin.registration.tokens import RegistrationTokens
from gateway.domain.events import OperationType, ResourceType
from gateway.representations.clients import client_representation


class ClientRegistrationTokens:
    """The use case."""

    def __init__(self, changes: Changes, tokens: RegistrationTokens) -> None:
        self._changes = changes
        self._tokens = tokens

    async def renew(self, acting: Acting, client_id: str) -> dict[str, Any]:
        """Make the client's only token; return the client with it.

        Raises Missing, Forbidden and StoreUnavailable.
        """
        async with self._changes.begin(acting) as change:
            client = await find_client_alone(change.stores, acting.realm.id, client_id)
            require_changeable_clients(acting, client.client_id)
            token = await self._tokens.give(change, client)
            told = client_representation(client, masked=False, registration_token=token)
            path = f"clients/{client.id}/registration-access-token"
            change.record(OperationType.ACTION, ResourceType.CLIENT, path, told)
        return told
