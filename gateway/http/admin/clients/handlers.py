"""/admin/realms/{realm}/clients: finding, adding, changing and removing clients. Keycloak: 7.3."""

from typing import Final

from gateway.admin.clients import (
    MANAGE_CLIENTS,
    QUERY_CLIENTS,
    ClientAdministration,
    ClientListing,
    ClientQuery,
)
from gateway.admin.users import read_attribute_query
from gateway.http.admin.operations import PAGING, REALM, Body, Media, Operation, Query
from gateway.http.admin.requests import (
    AdminRequest,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

CLIENTS: Final = f"{REALM}/clients"
CLIENT: Final = f"{CLIENTS}/{{client_id}}"
"""`client_id` is the internal id, as in all of Keycloak's admin API."""
_TAG: Final = "Clients"
_SENT: Final = Body(Media.OBJECT, "ClientRepresentation")


class ClientsHandlers:
    """Answers what is asked about the clients of a realm."""

    def __init__(self, listing: ClientListing, administration: ClientAdministration) -> None:
        self._listing = listing
        self._administration = administration

    async def page(self, request: AdminRequest) -> Reply:
        """Return the clients that match."""
        return document_reply(await self._listing.page(request.acting, _query(request)))

    async def one(self, request: AdminRequest) -> Reply:
        """Return one client by its id."""
        client = request.path["client_id"]
        return entity_reply(await self._listing.one(request.acting, client))

    async def add(self, request: AdminRequest) -> Reply:
        """Add a client."""
        client = await self._administration.add(request.acting, request.body)
        return created_reply(request, client.id)

    async def change(self, request: AdminRequest) -> Reply:
        """Merge what was sent into a client."""
        client_id = request.path["client_id"]
        await self._administration.change(request.acting, client_id, request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Remove a client."""
        await self._administration.remove(request.acting, request.path["client_id"])
        return done_reply()


def _query(request: AdminRequest) -> ClientQuery:
    sent = request.query
    first, maximum = request.page()
    name = sent.get("clientId")
    by_part = request.flag("search")
    return ClientQuery(
        client_id=None if by_part else name,
        part=(name or "") if by_part else "",
        attributes=read_attribute_query(sent.get("q") or ""),
        first=first,
        maximum=maximum,
    )


def operations(handlers: ClientsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    filters = (Query("clientId"), Query("search", "boolean"), Query("q"))
    return (
        Operation(
            "GET",
            CLIENTS,
            handlers.page,
            QUERY_CLIENTS,
            "Clients that match",
            _TAG,
            returns="[ClientRepresentation]",
            query=(*PAGING, *filters, Query("viewableOnly", "boolean")),
        ),
        Operation(
            "POST",
            CLIENTS,
            handlers.add,
            MANAGE_CLIENTS,
            "Add a client",
            _TAG,
            body=_SENT,
            refuses=(409,),
        ),
        Operation(
            "GET",
            CLIENT,
            handlers.one,
            QUERY_CLIENTS,
            "One client",
            _TAG,
            returns="ClientRepresentation",
            versioned=True,
        ),
        Operation(
            "PUT",
            CLIENT,
            handlers.change,
            MANAGE_CLIENTS,
            "Change a client: what is not sent stays",
            _TAG,
            body=_SENT,
            versioned=True,
            refuses=(409,),
        ),
        Operation(
            "DELETE",
            CLIENT,
            handlers.remove,
            MANAGE_CLIENTS,
            "Remove a client",
            _TAG,
            versioned=True,
        ),
    )
