"""The rows of roles: .../roles, .../clients/{id}/roles, .../roles-by-id, .../role-mappings.

Keycloak: 7.2 users, 7.3 clients
"""

from typing import Final

from gateway.admin.access import AdminRole, ListingPage
from gateway.admin.groups import QUERY_GROUPS
from gateway.admin.roles import (
    MANAGE_CLIENT_ROLES,
    MANAGE_REALM_ROLES,
    VIEW_CLIENT_ROLES,
    VIEW_REALM_ROLES,
    MappedRoles,
    RoleAddress,
    RoleMapping,
    RoleUseCases,
)
from gateway.admin.users import QUERY_USERS, VIEW_USERS
from gateway.domain.ports.users import HolderKind, RoleHolder, RoleQuery, Share
from gateway.http.admin.operations import (
    BRIEF,
    MANAGE_USERS,
    PAGING,
    REALM,
    SEARCH,
    Body,
    Media,
    Operation,
    Resource,
)
from gateway.http.admin.requests import AdminRequest, created, document, done, entity
from gateway.http.replies import Reply

_ONE: Final = "RoleRepresentation"
_MANY: Final = "[RoleRepresentation]"
_ROLES: Final = Body(_ONE, Media.LIST)
_SOME_OR_ALL: Final = Body(_ONE, Media.LIST, required=False)


def role_operations(roles: RoleUseCases) -> tuple[Operation, ...]:
    """Return every row about roles, and about the roles of users and groups."""
    realm = Resource(f"{REALM}/roles", "Roles", VIEW_REALM_ROLES, MANAGE_REALM_ROLES)
    client = Resource(
        f"{REALM}/clients/{{client_id}}/roles",
        "Client roles",
        VIEW_CLIENT_ROLES,
        MANAGE_CLIENT_ROLES,
    )
    by_id = Resource(
        f"{REALM}/roles-by-id",
        "Roles by id",
        (*VIEW_REALM_ROLES, *VIEW_CLIENT_ROLES),
        (*MANAGE_REALM_ROLES, *MANAGE_CLIENT_ROLES),
    )
    return (
        *_container(roles, realm, (*VIEW_REALM_ROLES, AdminRole.MANAGE_IDENTITY_PROVIDERS)),
        *_container(roles, client, VIEW_CLIENT_ROLES),
        *_role(roles, by_id, "/{role_id}"),
        *_holder(roles.mapping, "users/{user_id}", "a user"),
        *_holder(roles.mapping, "groups/{group_id}", "a group"),
    )


def _container(
    roles: RoleUseCases, rows: Resource, list_roles: tuple[AdminRole, ...]
) -> tuple[Operation, ...]:
    administration, members, one = roles.administration, roles.members, "/{role_name}"
    return (
        rows.get(
            "",
            "List the roles that match",
            lambda r: _list_roles(roles, r),
            allowed=list_roles,
            returns=_MANY,
            query=(*SEARCH, BRIEF),
        ),
        rows.post(
            "",
            "Create a role",
            lambda r: created(r, administration.create(r.acting, r.path.get("client_id"), r.body)),
            body=Body(_ONE),
        ),
        *_role(roles, rows, one),
        rows.get(
            f"{one}/users",
            "List the users with a role",
            lambda r: document(
                members.users(r.acting, _address(r), _page(r), brief=r.flag("briefRepresentation"))
            ),
            also=QUERY_USERS,
            returns="[UserRepresentation]",
            query=(*PAGING, BRIEF),
        ),
        rows.get(
            f"{one}/groups",
            "List the groups with a role",
            lambda r: document(members.groups(r.acting, _address(r), _page(r), brief=_is_brief(r))),
            also=QUERY_GROUPS,
            returns="[GroupRepresentation]",
            query=(*PAGING, BRIEF),
        ),
    )


def _role(roles: RoleUseCases, rows: Resource, one: str) -> tuple[Operation, ...]:
    administration, parts = roles.administration, f"{one}/composites"
    return (
        rows.get(
            one,
            "Get a role",
            lambda r: entity(administration.one(r.acting, _address(r))),
            returns=_ONE,
            versioned=True,
        ),
        rows.put(
            one,
            "Update a role",
            lambda r: done(administration.update(r.acting, _address(r), r.body)),
            body=Body(_ONE),
            versioned=True,
        ),
        rows.delete(
            one,
            "Delete a role",
            lambda r: done(administration.remove(r.acting, _address(r))),
            versioned=True,
        ),
        rows.get(
            parts,
            "List the roles that a composite role contains",
            lambda r: document(administration.composites(r.acting, _address(r), _query(r, None))),
            returns=_MANY,
            query=SEARCH,
        ),
        rows.post(
            parts,
            "Add roles to a composite role",
            lambda r: done(administration.compose(r.acting, _address(r), r.body, add=True)),
            body=_ROLES,
            status=204,
        ),
        rows.delete(
            parts,
            "Remove roles from a composite role",
            lambda r: done(administration.compose(r.acting, _address(r), r.body, add=False)),
            body=_ROLES,
        ),
        rows.get(
            f"{parts}/realm",
            "List the realm roles that a composite role contains",
            lambda r: document(
                administration.composites(r.acting, _address(r), RoleQuery(container=""))
            ),
            returns=_MANY,
        ),
        rows.get(
            f"{parts}/clients/{{part_id}}",
            "List the roles of a client that a composite role contains",
            lambda r: document(
                administration.composites(
                    r.acting, _address(r), RoleQuery(container=r.path["part_id"])
                )
            ),
            returns=_MANY,
        ),
    )


async def _list_roles(roles: RoleUseCases, request: AdminRequest) -> Reply:
    """Return all roles of a container; a page where one is asked for, as in Keycloak."""
    first, maximum = request.number("first"), request.number("max")
    search = request.query.get("search") or ""
    query = _query(request, request.path.get("client_id", ""))
    if not search and (first is None or maximum is None):
        query = RoleQuery(container=query.container)
    brief = _is_brief(request)
    return await document(roles.administration.page(request.realm, query, brief=brief))


def _query(request: AdminRequest, container: str | None) -> RoleQuery:
    first, maximum = request.page()
    search = (request.query.get("search") or "").strip()
    return RoleQuery(container=container, search=search, first=first, maximum=maximum)


def _page(request: AdminRequest) -> ListingPage:
    return ListingPage(*request.page(ListingPage().maximum))


def _is_brief(request: AdminRequest) -> bool:
    return request.flag("briefRepresentation", default=True)


def _address(request: AdminRequest) -> RoleAddress:
    path = request.path
    if "role_id" in path:
        return RoleAddress(id=path["role_id"])
    return RoleAddress(name=path["role_name"], client=path.get("client_id"))


def _holder(mapping: RoleMapping, holder: str, whom: str) -> tuple[Operation, ...]:
    path = f"{REALM}/{holder}/role-mappings"
    rows = Resource(path, f"Roles of {whom}", VIEW_USERS, MANAGE_USERS)
    return (
        rows.get(
            "",
            f"List the roles assigned to {whom} that the caller may view",
            lambda r: document(mapping.everything(r.acting, _holder_of(r))),
            returns="MappingsRepresentation",
        ),
        *_mappings(mapping, rows, "/realm", "realm roles", whom, ()),
        *_mappings(mapping, rows, "/clients/{client_id}", "client roles", whom, VIEW_CLIENT_ROLES),
    )


def _mappings(  # noqa: PLR0917
    mapping: RoleMapping,
    rows: Resource,
    path: str,
    kind: str,
    whom: str,
    also: tuple[AdminRole, ...],
) -> tuple[Operation, ...]:
    return (
        rows.get(
            path,
            f"List the {kind} assigned to {whom}",
            lambda r: document(mapping.share(r.acting, _mapped(r), Share.DIRECT)),
            also=also,
            returns=_MANY,
        ),
        rows.get(
            f"{path}/available",
            f"List the {kind} that the caller can assign to {whom}",
            lambda r: document(mapping.share(r.acting, _mapped(r), Share.MISSING)),
            returns=_MANY,
        ),
        rows.get(
            f"{path}/composite",
            f"List the effective {kind} of {whom}, those of groups and composite roles included",
            lambda r: document(
                mapping.share(r.acting, _mapped(r), Share.EFFECTIVE, brief=_is_brief(r))
            ),
            also=also,
            returns=_MANY,
            query=(BRIEF,),
        ),
        rows.post(
            path,
            f"Assign {kind} to {whom}",
            lambda r: done(mapping.give(r.acting, _mapped(r), r.body)),
            body=_ROLES,
            status=204,
        ),
        rows.delete(
            path,
            f"Remove {kind} from {whom}; without a body, all of them",
            lambda r: done(mapping.take(r.acting, _mapped(r), r.body)),
            body=_SOME_OR_ALL,
        ),
    )


def _holder_of(request: AdminRequest) -> RoleHolder:
    user_id = request.path.get("user_id")
    if user_id is not None:
        return RoleHolder(HolderKind.USER, user_id)
    return RoleHolder(HolderKind.GROUP, request.path["group_id"])


def _mapped(request: AdminRequest) -> MappedRoles:
    return MappedRoles(_holder_of(request), request.path.get("client_id"))
