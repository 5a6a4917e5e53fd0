""".../clients/{id}/registration-access-token and .../clients-initial-access. Keycloak: 7.3."""

from http import HTTPStatus
from typing import Final

from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS
from gateway.admin.registration import ClientRegistrationTokens, InitialAccesses
from gateway.http.admin.clients.handlers import CLIENT
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import NO_STORE, Reply, json_reply

_TAG: Final = "Registration of clients"
_OK: Final = 200
_ONE: Final = "ClientInitialAccessPresentation"


class ClientRegistrationTokensHandlers:
    """Answers what is asked about the tokens by which clients register themselves."""

    def __init__(self, tokens: ClientRegistrationTokens, accesses: InitialAccesses) -> None:
        self._tokens = tokens
        self._accesses = accesses

    async def renew(self, request: AdminRequest) -> Reply:
        """Make the token of a client."""
        client = request.path["client_id"]
        return document_reply(await self._tokens.renew(request.acting, client))

    async def list(self, request: AdminRequest) -> Reply:
        """Return what was allowed."""
        return document_reply(await self._accesses.list(request.realm))

    async def add(self, request: AdminRequest) -> Reply:
        """Allow some clients to be registered."""
        made = await self._accesses.add(request.acting, request.body)
        location = request.url("clients-initial-access", made["id"])
        headers = ((b"location", location.encode("ascii")), *NO_STORE)
        return json_reply(made, status=HTTPStatus.CREATED, headers=headers)

    async def remove(self, request: AdminRequest) -> Reply:
        """Forget what was allowed."""
        await self._accesses.remove(request.acting, request.path["access_id"])
        return done_reply()


def operations(handlers: ClientRegistrationTokensHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    accesses = f"{REALM}/clients-initial-access"
    return (
        Operation(
            "POST",
            f"{CLIENT}/registration-access-token",
            handlers.renew,
            MANAGE_CLIENTS,
            "A new registration access token for a client, in place of the old one",
            _TAG,
            returns="ClientRepresentation",
            status=_OK,
        ),
        Operation(
            "GET",
            accesses,
            handlers.list,
            VIEW_CLIENTS,
            "Initial access tokens",
            _TAG,
            returns=f"[{_ONE}]",
        ),
        Operation(
            "POST",
            accesses,
            handlers.add,
            MANAGE_CLIENTS,
            "Make an initial access token: it is told once",
            _TAG,
            body=Body(Media.OBJECT, "ClientInitialAccessCreatePresentation"),
            returns=_ONE,
        ),
        Operation(
            "DELETE",
            f"{accesses}/{{access_id}}",
            handlers.remove,
            MANAGE_CLIENTS,
            "Forget an initial access token",
            _TAG,
        ),
    )
