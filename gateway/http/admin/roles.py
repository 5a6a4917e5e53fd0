"""The rows of roles: .../roles, .../clients/{id}/roles, .../roles-by-id, .../role-mappings.

Keycloak: 7.2 users, 7.3 clients
"""

from collections.abc import Iterator
from functools import partial
from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.clients import MANAGE_CLIENTS, VIEW_CLIENTS, ScopeAdministration
from gateway.admin.groups import QUERY_GROUPS
from gateway.admin.roles import (
    MANAGE_CLIENT_ROLES,
    MANAGE_REALM_ROLES,
    VIEW_CLIENT_ROLES,
    VIEW_REALM_ROLES,
    MappedRoles,
    RoleAddress,
    RoleAdministration,
)
from gateway.admin.users import QUERY_USERS, VIEW_USERS
from gateway.domain.ports.users import HolderKind, RoleHolder, RoleQuery, Share
from gateway.http.admin.operations import (
    BRIEF,
    MANAGE_USERS,
    PAGING,
    REALM,
    SEARCH,
    AdminHandler,
    Body,
    Media,
    Operation,
    Resource,
    as_caller,
)
from gateway.http.admin.requests import (
    IS_BRIEF,
    WANTS_BRIEF,
    AdminRequest,
    created,
    document,
    listing_page,
)
from gateway.http.replies import Reply

_ONE: Final = "RoleRepresentation"
_MANY: Final = "[RoleRepresentation]"
_ROLES: Final = Body(_ONE, Media.LIST)
_HOLDERS: Final = {
    "user_id": HolderKind.USER,
    "group_id": HolderKind.GROUP,
    "scope_id": HolderKind.CLIENT_SCOPE,
    "client_id": HolderKind.CLIENT,
}
"""The first of these placeholders names the holder: another client may own the roles."""
_SOME_OR_ALL: Final = Body(_ONE, Media.LIST, required=False)


def role_operations(roles: RoleAdministration) -> tuple[Operation, ...]:
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
        *_holder(roles, "users/{user_id}", "a user"),
        *_holder(roles, "groups/{group_id}", "a group"),
    )


def _container(
    roles: RoleAdministration, rows: Resource, list_roles: tuple[AdminRole, ...]
) -> tuple[Operation, ...]:
    one = "/{role_name}"
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
            lambda r: created(r, roles.create_role(r.acting, r.path.get("client_id"), r.body)),
            body=Body(_ONE),
        ),
        *_role(roles, rows, one),
        rows.get(
            f"{one}/users",
            "List the users with a role",
            as_caller(roles.list_users_with_role, _address, page=listing_page, brief=WANTS_BRIEF),
            also=QUERY_USERS,
            returns="[UserRepresentation]",
            query=(*PAGING, BRIEF),
        ),
        rows.get(
            f"{one}/groups",
            "List the groups with a role",
            as_caller(roles.list_groups_with_role, _address, page=listing_page, brief=IS_BRIEF),
            also=QUERY_GROUPS,
            returns="[GroupRepresentation]",
            query=(*PAGING, BRIEF),
        ),
    )


def _role(roles: RoleAdministration, rows: Resource, one: str) -> tuple[Operation, ...]:
    parts = f"{one}/composites"
    return (
        *rows.entities(
            one,
            _ONE,
            gets=("Get a role", roles.get_role),
            replaces=("Update a role", roles.replace_role),
            deletes=("Delete a role", roles.remove_role),
            address=_address,
        ),
        rows.get(
            parts,
            "List the roles that a composite role contains",
            as_caller(roles.list_composites, _address, query=lambda r: _query(r, None)),
            returns=_MANY,
            query=SEARCH,
        ),
        rows.post(
            parts,
            "Add roles to a composite role",
            as_caller(partial(roles.change_composites, add=True), _address),
            body=_ROLES,
            status=204,
        ),
        rows.delete(
            parts,
            "Remove roles from a composite role",
            as_caller(partial(roles.change_composites, add=False), _address),
            body=_ROLES,
        ),
        rows.get(
            f"{parts}/realm",
            "List the realm roles that a composite role contains",
            as_caller(roles.list_composites, _address, query=lambda _: RoleQuery(container="")),
            returns=_MANY,
        ),
        rows.get(
            f"{parts}/clients/{{part_id}}",
            "List the roles of a client that a composite role contains",
            as_caller(
                roles.list_composites,
                _address,
                query=lambda r: RoleQuery(container=r.path["part_id"]),
            ),
            returns=_MANY,
        ),
    )


async def _list_roles(roles: RoleAdministration, request: AdminRequest) -> Reply:
    """Return all roles of a container; a page where one is asked for, as in Keycloak."""
    first, maximum = request.number("first"), request.number("max")
    search = request.query.get("search") or ""
    query = _query(request, request.path.get("client_id", ""))
    if not search and (first is None or maximum is None):
        query = RoleQuery(container=query.container)
    brief = IS_BRIEF(request)
    return await document(roles.list_roles(request.realm, query, brief=brief))


def _query(request: AdminRequest, container: str | None) -> RoleQuery:
    first, maximum = request.page()
    search = (request.query.get("search") or "").strip()
    return RoleQuery(container=container, search=search, first=first, maximum=maximum)


def _address(request: AdminRequest) -> RoleAddress:
    path = request.path
    if "role_id" in path:
        return RoleAddress(id=path["role_id"])
    return RoleAddress(name=path["role_name"], client=path.get("client_id"))


_ASSIGNMENT: Final = (
    "List the {roles} assigned to {whom}",
    "List the {roles} that the caller can assign to {whom}",
    "List the effective {roles} of {whom}, those of groups and composite roles included",
    "Assign {roles} to {whom}",
    "Remove {roles} from {whom}; without a body, all of them",
)
_SCOPE: Final = (
    "List the {roles} in the scope of {whom}",
    "List the {roles} that can be added to the scope of {whom}",
    "List the effective {roles} in the scope of {whom}",
    "Add {roles} to the scope of {whom}",
    "Remove {roles} from the scope of {whom}; without a body, all of them",
)


def _holder(mapping: RoleAdministration, holder: str, whom: str) -> tuple[Operation, ...]:
    path = f"{REALM}/{holder}/role-mappings"
    rows = Resource(path, f"Roles of {whom}", VIEW_USERS, MANAGE_USERS)
    return (
        rows.get(
            "",
            f"List the roles assigned to {whom} that the caller may view",
            as_caller(mapping.list_mappings, _holder_of),
            returns="MappingsRepresentation",
        ),
        *_mappings(mapping, rows, _ASSIGNMENT, whom, "client_id", also=VIEW_CLIENT_ROLES),
    )


def scope_mapping_operations(
    mapping: ScopeAdministration, holder: str, whom: str
) -> tuple[Operation, ...]:
    """Return every row about the roles in the scope of a client, or of a client scope."""
    path = f"{REALM}/{holder}/scope-mappings"
    rows = Resource(path, "Scope Mappings", VIEW_CLIENTS, MANAGE_CLIENTS)
    return (
        rows.get(
            "",
            f"List the roles in the scope of {whom}",
            as_caller(mapping.list_mappings, _holder_of),
            returns="MappingsRepresentation",
        ),
        *_mappings(mapping, rows, _SCOPE, whom, "container"),
    )


def _mappings(
    mapping: RoleAdministration | ScopeAdministration,
    rows: Resource,
    summaries: tuple[str, ...],
    whom: str,
    client: str,
    *,
    also: tuple[AdminRole, ...] = (),
) -> Iterator[Operation]:
    """Yield the rows of the roles that a holder has, of the realm and of a client.

    `client` is the placeholder of the client, whose roles require a role of `also`.
    """

    def mapped(request: AdminRequest) -> MappedRoles:
        return MappedRoles(_holder_of(request), request.path.get(client))

    def share(kind: Share) -> AdminHandler:
        return lambda r: document(mapping.list_mapped_roles(r.acting, mapped(r), kind))

    containers = (("/realm", "realm roles", ()), (f"/clients/{{{client}}}", "client roles", also))
    for path, roles, required in containers:
        texts = [text.format(roles=roles, whom=whom) for text in summaries]
        yield rows.get(path, texts[0], share(Share.DIRECT), also=required, returns=_MANY)
        yield rows.get(f"{path}/available", texts[1], share(Share.MISSING), returns=_MANY)
        yield rows.get(
            f"{path}/composite",
            texts[2],
            as_caller(
                mapping.list_mapped_roles, mapped, share=lambda _: Share.EFFECTIVE, brief=IS_BRIEF
            ),
            also=required,
            returns=_MANY,
            query=(BRIEF,),
        )
        yield rows.post(
            path, texts[3], as_caller(mapping.add_mapped_roles, mapped), body=_ROLES, status=204
        )
        yield rows.delete(
            path, texts[4], as_caller(mapping.remove_mapped_roles, mapped), body=_SOME_OR_ALL
        )


def _holder_of(request: AdminRequest) -> RoleHolder:
    path = request.path
    return next(RoleHolder(kind, path[name]) for name, kind in _HOLDERS.items() if name in path)
