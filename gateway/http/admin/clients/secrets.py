""".../clients/{id}/client-secret and .../service-account-user. Keycloak: 7.3."""

from typing import Final

from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, ClientAccounts, ClientSecrets
from gateway.http.admin.clients.handlers import CLIENT
from gateway.http.admin.operations import Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Clients"
_OK: Final = 200


class ClientSecretsHandlers:
    """Answers what is asked about the secret and the service account of a client."""

    def __init__(self, secrets: ClientSecrets, accounts: ClientAccounts) -> None:
        self._secrets = secrets
        self._accounts = accounts

    async def read(self, request: AdminRequest) -> Reply:
        """Return the secret."""
        client = request.path["client_id"]
        return document_reply(await self._secrets.read(request.acting, client))

    async def renew(self, request: AdminRequest) -> Reply:
        """Make a new secret."""
        client = request.path["client_id"]
        return document_reply(await self._secrets.renew(request.acting, client))

    async def get_rotated(self, request: AdminRequest) -> Reply:
        """Return the secret before this one."""
        client = request.path["client_id"]
        return document_reply(await self._secrets.get_rotated(request.acting, client))

    async def remove_rotated(self, request: AdminRequest) -> Reply:
        """Remove the secret before this one."""
        await self._secrets.remove_rotated(request.acting, request.path["client_id"])
        return done_reply()

    async def account(self, request: AdminRequest) -> Reply:
        """Return the service account."""
        client = request.path["client_id"]
        return document_reply(await self._accounts.read(request.realm, client))


def operations(handlers: ClientSecretsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    secret = f"{CLIENT}/client-secret"
    credential = "CredentialRepresentation"
    return (
        Operation(
            "GET",
            secret,
            handlers.read,
            VIEW_CLIENTS,
            "The secret of a client",
            _TAG,
            returns=credential,
            reveals=True,
        ),
        Operation(
            "POST",
            secret,
            handlers.renew,
            MANAGE_CLIENTS,
            "Generate a new secret for a client",
            _TAG,
            returns=credential,
            status=_OK,
        ),
        Operation(
            "GET",
            f"{secret}/rotated",
            handlers.get_rotated,
            VIEW_CLIENTS,
            "Get the rotated secret of a client",
            _TAG,
            returns=credential,
            reveals=True,
        ),
        Operation(
            "DELETE",
            f"{secret}/rotated",
            handlers.remove_rotated,
            MANAGE_CLIENTS,
            "Delete the rotated secret of a client",
            _TAG,
        ),
        Operation(
            "GET",
            f"{CLIENT}/service-account-user",
            handlers.account,
            VIEW_CLIENTS,
            "The user that is a client's service account",
            _TAG,
            returns="UserRepresentation",
            refuses=(400,),
        ),
    )
