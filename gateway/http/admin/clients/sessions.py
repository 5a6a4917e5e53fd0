""".../clients/{id}: its sessions, its nodes, and what they would be told. Keycloak: 7.3."""

from typing import Final

from gateway.admin.access import Page
from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, ClientNodes
from gateway.admin.sessions import ClientSessions
from gateway.http.admin.clients.handlers import CLIENT
from gateway.http.admin.operations import PAGING, Body, Media, Operation, State
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Sessions and nodes of clients"
_OK: Final = 200
_NO_CONTENT: Final = 204
_STANDARD: Final = 100
"""How many sessions a page has where none is named."""


class ClientSessionsHandlers:
    """Answers what is asked about the sessions and nodes of a client."""

    def __init__(self, sessions: ClientSessions, nodes: ClientNodes) -> None:
        self._sessions = sessions
        self._nodes = nodes

    async def count(self, request: AdminRequest) -> Reply:
        """Return how many online sessions there are."""
        return await self._count(request, offline=False)

    async def offline_count(self, request: AdminRequest) -> Reply:
        """Return how many offline sessions there are."""
        return await self._count(request, offline=True)

    async def online(self, request: AdminRequest) -> Reply:
        """Return a page of the online sessions."""
        return await self._page(request, offline=False)

    async def offline(self, request: AdminRequest) -> Reply:
        """Return a page of the offline sessions."""
        return await self._page(request, offline=True)

    async def add_node(self, request: AdminRequest) -> Reply:
        """Note a node."""
        await self._nodes.add(request.acting, request.path["client_id"], request.body)
        return done_reply()

    async def remove_node(self, request: AdminRequest) -> Reply:
        """Forget a node."""
        path = request.path
        await self._nodes.remove(request.acting, path["client_id"], path["node"])
        return done_reply()

    async def test_nodes(self, request: AdminRequest) -> Reply:
        """Return which nodes answered."""
        told = await self._nodes.test(request.acting, request.path["client_id"])
        return document_reply(told)

    async def push_revocation(self, request: AdminRequest) -> Reply:
        """Return who was told since when tokens are not believed."""
        told = await self._nodes.push_revocation(request.acting, request.path["client_id"])
        return document_reply(told)

    async def _count(self, request: AdminRequest, *, offline: bool) -> Reply:
        client = request.path["client_id"]
        number = await self._sessions.count(request.realm, client, offline=offline)
        return document_reply({"count": number})

    async def _page(self, request: AdminRequest, *, offline: bool) -> Reply:
        page = Page(*request.page(_STANDARD))
        client = request.path["client_id"]
        found = await self._sessions.page(request.realm, client, page, offline=offline)
        return document_reply(found)


def operations(handlers: ClientSessionsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    return (*_sessions(handlers), *_nodes(handlers))


def _sessions(handlers: ClientSessionsHandlers) -> tuple[Operation, ...]:
    sessions = "[UserSessionRepresentation]"
    return (
        Operation(
            "GET",
            f"{CLIENT}/session-count",
            handlers.count,
            VIEW_CLIENTS,
            "How many sessions of browsers and apps a client takes part in",
            _TAG,
            returns="object",
        ),
        Operation(
            "GET",
            f"{CLIENT}/offline-session-count",
            handlers.offline_count,
            VIEW_CLIENTS,
            "How many offline sessions a client takes part in",
            _TAG,
            returns="object",
        ),
        Operation(
            "GET",
            f"{CLIENT}/user-sessions",
            handlers.online,
            VIEW_CLIENTS,
            "Sessions of browsers and apps in which a client takes part",
            _TAG,
            returns=sessions,
            query=PAGING,
        ),
        Operation(
            "GET",
            f"{CLIENT}/offline-sessions",
            handlers.offline,
            VIEW_CLIENTS,
            "Offline sessions in which a client takes part",
            _TAG,
            returns=sessions,
            query=PAGING,
        ),
    )


def _nodes(handlers: ClientSessionsHandlers) -> tuple[Operation, ...]:
    nodes = f"{CLIENT}/nodes"
    told = "GlobalRequestResult"
    return (
        Operation(
            "POST",
            nodes,
            handlers.add_node,
            MANAGE_CLIENTS,
            "Note a node of a client: nobody is told anything",
            _TAG,
            body=Body(Media.OBJECT, "object"),
            status=_NO_CONTENT,
            state=State.STORED_ONLY,
        ),
        Operation(
            "DELETE",
            f"{nodes}/{{node}}",
            handlers.remove_node,
            MANAGE_CLIENTS,
            "Forget a node of a client",
            _TAG,
            state=State.STORED_ONLY,
        ),
        Operation(
            "GET",
            f"{CLIENT}/test-nodes-available",
            handlers.test_nodes,
            MANAGE_CLIENTS,
            "Which nodes of a client can be reached: none is asked",
            _TAG,
            returns=told,
            state=State.STORED_ONLY,
        ),
        Operation(
            "POST",
            f"{CLIENT}/push-revocation",
            handlers.push_revocation,
            MANAGE_CLIENTS,
            "Tell a client since when tokens are not believed: it is not told",
            _TAG,
            returns=told,
            status=_OK,
            state=State.STORED_ONLY,
        ),
    )
