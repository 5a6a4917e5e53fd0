"""The rows of groups: .../groups, .../group-by-path and .../default-groups.

Keycloak: 7.1 realms, 7.3 clients.
"""

from http import HTTPStatus
from typing import Final

from gateway.admin.groups import QUERY_GROUPS, VIEW_GROUPS, GroupAdministration, GroupShape
from gateway.admin.realms import VIEW_REALM
from gateway.admin.users import read_attribute_query
from gateway.domain.ports.users import GroupQuery
from gateway.http.admin.operations import (
    BRIEF,
    MANAGE_REALM,
    MANAGE_USERS,
    PAGING,
    REALM,
    SEARCH,
    Body,
    Operation,
    Query,
    Resource,
    as_caller,
    for_realm,
)
from gateway.http.admin.requests import (
    WANTS_BRIEF,
    AdminRequest,
    counted,
    created_at_reply,
    document,
    document_reply,
    listing_page,
)
from gateway.http.replies import Reply

_ONE: Final = "GroupRepresentation"
_MANY: Final = "[GroupRepresentation]"
_CHILDREN: Final = 10
"""The size of a page of subgroups where the request names none."""
_EXACT: Final = Query("exact", "boolean")
_COUNTS: Final = Query("subGroupsCount", "boolean", "Whether to return subGroupCount")
_HIERARCHY: Final = Query(
    "populateHierarchy", "boolean", "Whether to return the parents of the groups found"
)


def group_operations(groups: GroupAdministration) -> tuple[Operation, ...]:
    """Return every row about groups."""
    return (*_collection(groups), *_one_group(groups), *_default_groups(groups))


def _collection(groups: GroupAdministration) -> tuple[Operation, ...]:
    rows = Resource(REALM, "Groups", QUERY_GROUPS, MANAGE_USERS)
    return (
        rows.get(
            "/groups",
            "List the top-level groups, or all groups that match",
            lambda r: _list_groups(groups, r),
            returns=_MANY,
            query=(*SEARCH, _EXACT, Query("q"), BRIEF, _COUNTS, _HIERARCHY),
        ),
        rows.get(
            "/groups/count",
            "Count the groups that match",
            lambda r: counted(groups.count_groups(r.realm, _count_query(r))),
            returns="object",
            query=(*SEARCH[:1], Query("top", "boolean")),
        ),
        rows.post(
            "/groups",
            "Create a top-level group, or move a group there",
            lambda r: _create_group(groups, r),
            body=Body(_ONE),
        ),
        rows.get(
            "/group-by-path/{path:path}",
            "Get the group at a path",
            lambda r: document(groups.get_group_at_path(r.realm, r.rights, r.path["path"])),
            allowed=VIEW_GROUPS,
            returns=_ONE,
        ),
    )


def _one_group(groups: GroupAdministration) -> tuple[Operation, ...]:
    rows = Resource(f"{REALM}/groups/{{group_id}}", "Groups", VIEW_GROUPS, MANAGE_USERS)
    return (
        *rows.entities(
            "",
            _ONE,
            gets=("Get a group", groups.get_group_document),
            replaces=("Update a group", groups.update_group),
            deletes=("Delete a group and its subgroups", groups.remove_group),
        ),
        rows.get(
            "/children",
            "List the subgroups of a group",
            lambda r: _list_subgroups(groups, r),
            returns=_MANY,
            query=(*SEARCH, _EXACT, BRIEF, _COUNTS),
        ),
        rows.post(
            "/children",
            "Create a subgroup, or move a group below another",
            lambda r: _create_group(groups, r),
            body=Body(_ONE),
            returns=_ONE,
        ),
        rows.get(
            "/members",
            "List the members of a group",
            for_realm(groups.list_members, page=listing_page, brief=WANTS_BRIEF),
            returns="[UserRepresentation]",
            query=(*PAGING, BRIEF),
        ),
    )


def _default_groups(groups: GroupAdministration) -> tuple[Operation, ...]:
    rows = Resource(f"{REALM}/default-groups", "Realms", VIEW_REALM, MANAGE_REALM)
    return (
        rows.get(
            "",
            "List the default groups of the realm",
            for_realm(groups.list_default_groups),
            returns=_MANY,
        ),
        rows.put("/{group_id}", "Add a default group", as_caller(groups.add_default_group)),
        rows.delete(
            "/{group_id}", "Remove a default group", as_caller(groups.remove_default_group)
        ),
    )


async def _list_groups(groups: GroupAdministration, request: AdminRequest) -> Reply:
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
    return await document(groups.list_groups(request.realm, request.rights, query, shape))


def _count_query(request: AdminRequest) -> GroupQuery:
    search = (request.query.get("search") or "").strip()
    return GroupQuery(parent="" if request.flag("top") and not search else None, search=search)


async def _list_subgroups(groups: GroupAdministration, request: AdminRequest) -> Reply:
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
    return await document(groups.list_children(request.realm, request.rights, query, shape))


async def _create_group(groups: GroupAdministration, request: AdminRequest) -> Reply:
    """Return 201, for a subgroup with the group as the body; 204 where a group was moved."""
    parent = request.path.get("group_id")
    added = await groups.put_group(request.acting, parent, request.body)
    if added is None:
        return Reply(HTTPStatus.NO_CONTENT)
    reply = created_at_reply(request.url("groups", added["id"]))
    if parent is None:
        return reply
    body = document_reply(added)
    return Reply(reply.status, (*reply.headers, *body.headers), body.body)
