"""Groups: /admin/realms/{realm}/groups and .../group-by-path. Keycloak: 7.3."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from gateway.admin.access import AdminRole, Page
from gateway.admin.groups import (
    QUERY_GROUPS,
    VIEW_GROUPS,
    GroupAdministration,
    GroupListing,
    GroupShape,
)
from gateway.admin.users import read_attribute_query
from gateway.domain.ports.storage.group_catalogue import GroupQuery
from gateway.http.admin.operations import (
    BRIEF,
    PAGING,
    REALM,
    SEARCH,
    Body,
    Media,
    Operation,
    Query,
)
from gateway.http.admin.requests import (
    AdminRequest,
    created_at_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

_TAG: Final = "Groups"
_ONE: Final = "GroupRepresentation"
_MANY: Final = "[GroupRepresentation]"
_GROUP: Final = Body(Media.OBJECT, _ONE)
_MANAGE: Final = (AdminRole.MANAGE_USERS,)
_CHILDREN: Final = 10
"""So many groups come back where nobody says how many."""
_EXACT: Final = Query("exact", "boolean")
_COUNTS: Final = Query("subGroupsCount", "boolean", "Whether subGroupCount is told")


class GroupsHandlers:
    """Answers what is asked about groups."""

    def __init__(self, listing: GroupListing, groups: GroupAdministration) -> None:
        self._listing = listing
        self._groups = groups

    async def page(self, request: AdminRequest) -> Reply:
        """Return a page of the groups at the top, or of those of all levels that match."""
        first, maximum = request.page()
        search, attributes = request.query.get("search") or "", request.query.get("q") or ""
        searched = bool(search or attributes)
        query = GroupQuery(
            parent=None if searched else "",
            search="" if attributes else search.strip(),
            exact=request.flag("exact"),
            attributes=read_attribute_query(attributes),
            first=first,
            maximum=maximum,
        )
        shape = GroupShape(
            brief=request.flag("briefRepresentation", default=True),
            counts=request.flag("subGroupsCount", default=True),
            hierarchy=searched and request.flag("populateHierarchy", default=True),
        )
        return document_reply(await self._listing.page(request.realm, request.rights, query, shape))

    async def count(self, request: AdminRequest) -> Reply:
        """Return how many groups there are, or match."""
        search = (request.query.get("search") or "").strip()
        top = request.flag("top") and not search
        query = GroupQuery(parent="" if top else None, search=search)
        return document_reply({"count": await self._listing.count(request.realm, query)})

    async def one(self, request: AdminRequest) -> Reply:
        """Return one group."""
        group_id = request.path["group_id"]
        return entity_reply(await self._listing.one(request.realm, request.rights, group_id))

    async def at_path(self, request: AdminRequest) -> Reply:
        """Return the group at a path."""
        path = request.path["path"]
        return document_reply(await self._listing.at_path(request.realm, request.rights, path))

    async def children(self, request: AdminRequest) -> Reply:
        """Return a page of the groups below one."""
        first, maximum = request.page(_CHILDREN)
        query = GroupQuery(
            parent=request.path["group_id"],
            search=(request.query.get("search") or "").strip(),
            exact=request.flag("exact"),
            first=first,
            maximum=maximum,
        )
        shape = GroupShape(
            brief=request.flag("briefRepresentation"),
            counts=request.flag("subGroupsCount", default=True),
        )
        return document_reply(
            await self._listing.children(request.realm, request.rights, query, shape)
        )

    async def members(self, request: AdminRequest) -> Reply:
        """Return a page of the members."""
        page = Page(*request.page(Page().maximum))
        brief = request.flag("briefRepresentation")
        group_id = request.path["group_id"]
        return document_reply(
            await self._listing.members(request.realm, group_id, page, brief=brief)
        )

    async def create(self, request: AdminRequest) -> Reply:
        """Add a group at the top, or move one there."""
        added = await self._groups.put(request.acting, None, request.body)
        if added is None:
            return done_reply()
        return created_at_reply(request.url("groups", added["id"]))

    async def create_below(self, request: AdminRequest) -> Reply:
        """Add a group below another, or move one there."""
        added = await self._groups.put(request.acting, request.path["group_id"], request.body)
        if added is None:
            return done_reply()
        reply = document_reply(added, status=HTTPStatus.CREATED)
        location = created_at_reply(request.url("groups", added["id"])).headers
        return Reply(reply.status, (*location, *reply.headers), reply.body)

    async def update(self, request: AdminRequest) -> Reply:
        """Change a group."""
        await self._groups.update(request.acting, request.path["group_id"], request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Remove a group with all below it."""
        await self._groups.remove(request.acting, request.path["group_id"])
        return done_reply()


def group_operations(handlers: GroupsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    return (*_of_realm(handlers), *_of_group(handlers, f"{REALM}/groups/{{group_id}}"))


def _of_realm(handlers: GroupsHandlers) -> Iterator[Operation]:
    groups = f"{REALM}/groups"
    yield Operation(
        "GET",
        groups,
        handlers.page,
        QUERY_GROUPS,
        "Groups at the top, or that match",
        _TAG,
        returns=_MANY,
        query=(
            *SEARCH,
            _EXACT,
            Query("q"),
            BRIEF,
            _COUNTS,
            Query("populateHierarchy", "boolean", "Whether groups above those found come along"),
        ),
    )
    yield Operation(
        "GET",
        f"{groups}/count",
        handlers.count,
        QUERY_GROUPS,
        "How many groups match",
        _TAG,
        returns="object",
        query=(*SEARCH[:1], Query("top", "boolean")),
    )
    yield Operation(
        "POST",
        groups,
        handlers.create,
        _MANAGE,
        "Add a group at the top, or move one there",
        _TAG,
        body=_GROUP,
        refuses=(HTTPStatus.CONFLICT,),
    )
    yield Operation(
        "GET",
        f"{REALM}/group-by-path/{{path:path}}",
        handlers.at_path,
        VIEW_GROUPS,
        "The group at a path",
        _TAG,
        returns=_ONE,
    )


def _of_group(handlers: GroupsHandlers, one: str) -> Iterator[Operation]:
    yield Operation(
        "GET", one, handlers.one, VIEW_GROUPS, "One group", _TAG, returns=_ONE, versioned=True
    )
    yield Operation(
        "PUT",
        one,
        handlers.update,
        _MANAGE,
        "Change a group",
        _TAG,
        body=_GROUP,
        versioned=True,
        refuses=(HTTPStatus.CONFLICT,),
    )
    yield Operation(
        "DELETE",
        one,
        handlers.remove,
        _MANAGE,
        "Remove a group with all below it",
        _TAG,
        versioned=True,
    )
    yield Operation(
        "GET",
        f"{one}/children",
        handlers.children,
        VIEW_GROUPS,
        "Groups below a group",
        _TAG,
        returns=_MANY,
        query=(*SEARCH, _EXACT, BRIEF, _COUNTS),
    )
    yield Operation(
        "POST",
        f"{one}/children",
        handlers.create_below,
        _MANAGE,
        "Add a group below another, or move one there",
        _TAG,
        body=_GROUP,
        returns=_ONE,
        refuses=(HTTPStatus.CONFLICT,),
    )
    yield Operation(
        "GET",
        f"{one}/members",
        handlers.members,
        VIEW_GROUPS,
        "Members of a group",
        _TAG,
        returns="[UserRepresentation]",
        query=(*PAGING, BRIEF),
    )
