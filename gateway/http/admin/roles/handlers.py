"""Roles of the realm and of its clients: .../roles, .../clients/{id}/roles, .../roles-by-id/{id}.

Keycloak: 7.3
"""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from gateway.admin.access import AdminRole, Page
from gateway.admin.groups import QUERY_GROUPS
from gateway.admin.roles import (
    MANAGE_CLIENT_ROLES,
    MANAGE_REALM_ROLES,
    VIEW_CLIENT_ROLES,
    VIEW_REALM_ROLES,
    RoleAddress,
    RoleAdministration,
    RoleMembers,
)
from gateway.admin.users import QUERY_USERS
from gateway.domain.ports.storage.role_catalogue import RoleQuery
from gateway.http.admin.operations import (
    BRIEF,
    PAGING,
    REALM,
    SEARCH,
    Body,
    Media,
    Operation,
)
from gateway.http.admin.requests import (
    AdminRequest,
    created_reply,
    document_reply,
    done_reply,
    entity_reply,
)
from gateway.http.replies import Reply

_ONE: Final = "RoleRepresentation"
_MANY: Final = "[RoleRepresentation]"
_ROLE: Final = Body(Media.OBJECT, _ONE)
_ROLES: Final = Body(Media.LIST, _ONE)
_LIST_REALM_ROLES: Final = (*VIEW_REALM_ROLES, AdminRole.MANAGE_IDENTITY_PROVIDERS)


class RolesHandlers:
    """Answers what is asked about roles, wherever its URL says that they stand."""

    def __init__(self, roles: RoleAdministration, members: RoleMembers) -> None:
        self._roles = roles
        self._members = members

    async def page(self, request: AdminRequest) -> Reply:
        """Return the roles of one container; a page where one is asked for, as Keycloak does."""
        first, maximum = request.number("first"), request.number("max")
        search = request.query.get("search") or ""
        paged = bool(search) or (first is not None and maximum is not None)
        query = _query(request, container=request.path.get("client_id", ""))
        if not paged:
            query = RoleQuery(container=query.container)
        brief = request.flag("briefRepresentation", default=True)
        return document_reply(await self._roles.page(request.realm, query, brief=brief))

    async def one(self, request: AdminRequest) -> Reply:
        """Return one role."""
        return entity_reply(await self._roles.one(request.acting, _address(request)))

    async def create(self, request: AdminRequest) -> Reply:
        """Add a role."""
        client = request.path.get("client_id")
        return created_reply(
            request, await self._roles.create(request.acting, client, request.body)
        )

    async def update(self, request: AdminRequest) -> Reply:
        """Change a role."""
        await self._roles.update(request.acting, _address(request), request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Remove a role."""
        await self._roles.remove(request.acting, _address(request))
        return done_reply()

    async def composites(self, request: AdminRequest) -> Reply:
        """Return what a role contains."""
        return await self._composites(request, _query(request, container=None))

    async def composites_of_realm(self, request: AdminRequest) -> Reply:
        """Return which roles of the realm a role contains."""
        return await self._composites(request, RoleQuery(container=""))

    async def composites_of_client(self, request: AdminRequest) -> Reply:
        """Return which roles of one client a role contains."""
        return await self._composites(request, RoleQuery(container=request.path["part_id"]))

    async def _composites(self, request: AdminRequest, query: RoleQuery) -> Reply:
        address = _address(request)
        return document_reply(await self._roles.composites(request.acting, address, query))

    async def compose(self, request: AdminRequest) -> Reply:
        """Let a role contain others."""
        await self._roles.compose(request.acting, _address(request), request.body, add=True)
        return done_reply()

    async def decompose(self, request: AdminRequest) -> Reply:
        """Let a role contain others no more."""
        await self._roles.compose(request.acting, _address(request), request.body, add=False)
        return done_reply()

    async def users(self, request: AdminRequest) -> Reply:
        """Return who was given a role."""
        brief = request.flag("briefRepresentation")
        page = Page(*request.page(Page().maximum))
        found = await self._members.users(request.acting, _address(request), page, brief=brief)
        return document_reply(found)

    async def groups(self, request: AdminRequest) -> Reply:
        """Return which groups were given a role."""
        brief = request.flag("briefRepresentation", default=True)
        page = Page(*request.page(Page().maximum))
        found = await self._members.groups(request.acting, _address(request), page, brief=brief)
        return document_reply(found)


def _query(request: AdminRequest, container: str | None) -> RoleQuery:
    first, maximum = request.page()
    search = (request.query.get("search") or "").strip()
    return RoleQuery(container=container, search=search, first=first, maximum=maximum)


def _address(request: AdminRequest) -> RoleAddress:
    path = request.path
    if "role_id" in path:
        return RoleAddress(id=path["role_id"])
    return RoleAddress(name=path["role_name"], client=path.get("client_id"))


def operations(handlers: RolesHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    return (
        *_of_container(
            handlers,
            f"{REALM}/roles",
            "Roles",
            (VIEW_REALM_ROLES, MANAGE_REALM_ROLES),
            _LIST_REALM_ROLES,
        ),
        *_of_container(
            handlers,
            f"{REALM}/clients/{{client_id}}/roles",
            "Client roles",
            (VIEW_CLIENT_ROLES, MANAGE_CLIENT_ROLES),
            VIEW_CLIENT_ROLES,
        ),
        *_of_role(
            handlers,
            f"{REALM}/roles-by-id/{{role_id}}",
            "Roles by id",
            (
                (*VIEW_REALM_ROLES, *VIEW_CLIENT_ROLES),
                (*MANAGE_REALM_ROLES, *MANAGE_CLIENT_ROLES),
            ),
        ),
    )


Rights = tuple[tuple[AdminRole, ...], tuple[AdminRole, ...]]
"""Who may view, and who may change."""


def _of_container(
    handlers: RolesHandlers, roles: str, tag: str, rights: Rights, listed: tuple[AdminRole, ...]
) -> Iterator[Operation]:
    view, manage = rights
    yield Operation(
        "GET",
        roles,
        handlers.page,
        listed,
        "Roles that match",
        tag,
        returns=_MANY,
        query=(*SEARCH, BRIEF),
    )
    yield Operation(
        "POST",
        roles,
        handlers.create,
        manage,
        "Add a role",
        tag,
        body=_ROLE,
        refuses=(HTTPStatus.CONFLICT,),
    )
    one = f"{roles}/{{role_name}}"
    yield from _of_role(handlers, one, tag, rights)
    yield Operation(
        "GET",
        f"{one}/users",
        handlers.users,
        view,
        "Users who were given a role",
        tag,
        also=QUERY_USERS,
        returns="[UserRepresentation]",
        query=(*PAGING, BRIEF),
    )
    yield Operation(
        "GET",
        f"{one}/groups",
        handlers.groups,
        view,
        "Groups that were given a role",
        tag,
        also=QUERY_GROUPS,
        returns="[GroupRepresentation]",
        query=(*PAGING, BRIEF),
    )


def _of_role(handlers: RolesHandlers, one: str, tag: str, rights: Rights) -> Iterator[Operation]:
    view, manage = rights
    yield Operation("GET", one, handlers.one, view, "One role", tag, returns=_ONE, versioned=True)
    yield Operation(
        "PUT",
        one,
        handlers.update,
        manage,
        "Change a role",
        tag,
        body=_ROLE,
        versioned=True,
        refuses=(HTTPStatus.CONFLICT,),
    )
    yield Operation("DELETE", one, handlers.remove, manage, "Remove a role", tag, versioned=True)
    parts = f"{one}/composites"
    yield Operation(
        "GET",
        parts,
        handlers.composites,
        view,
        "Roles that a role contains",
        tag,
        returns=_MANY,
        query=SEARCH,
    )
    yield Operation(
        "POST",
        parts,
        handlers.compose,
        manage,
        "Let a role contain others",
        tag,
        body=_ROLES,
        status=HTTPStatus.NO_CONTENT,
    )
    yield Operation(
        "DELETE",
        parts,
        handlers.decompose,
        manage,
        "Let a role contain others no more",
        tag,
        body=_ROLES,
    )
    yield Operation(
        "GET",
        f"{parts}/realm",
        handlers.composites_of_realm,
        view,
        "Roles of the realm that a role contains",
        tag,
        returns=_MANY,
    )
    yield Operation(
        "GET",
        f"{parts}/clients/{{part_id}}",
        handlers.composites_of_client,
        view,
        "Roles of a client that a role contains",
        tag,
        returns=_MANY,
    )
