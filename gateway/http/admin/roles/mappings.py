"""Which roles users and groups have: .../{users,groups}/{id}/role-mappings. Keycloak: 7.2, 7.3."""

from collections.abc import Iterator
from http import HTTPStatus
from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.roles import VIEW_CLIENT_ROLES, MappedRoles, RoleMapping
from gateway.admin.users import VIEW_USERS
from gateway.domain.ports.storage.role_catalogue import Holding, RoleHolder, Share
from gateway.http.admin.operations import BRIEF, REALM, Body, Media, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_MANAGE: Final = (AdminRole.MANAGE_USERS,)
_MANY: Final = "[RoleRepresentation]"
_SOME: Final = Body(Media.LIST, "RoleRepresentation")
_SOME_OR_ALL: Final = Body(Media.LIST, "RoleRepresentation", required=False)


class RoleMappingsHandlers:
    """Answers what is asked about the roles that one user or group has."""

    def __init__(self, mapping: RoleMapping) -> None:
        self._mapping = mapping

    async def everything(self, request: AdminRequest) -> Reply:
        """Return all that was given directly."""
        return document_reply(await self._mapping.everything(request.realm, _holder(request)))

    async def direct(self, request: AdminRequest) -> Reply:
        """Return what was given directly, of the realm or of one client."""
        found = await self._mapping.share(request.acting, _mapped(request), Share.DIRECT)
        return document_reply(found)

    async def available(self, request: AdminRequest) -> Reply:
        """Return what the caller may give."""
        found = await self._mapping.share(request.acting, _mapped(request), Share.MISSING)
        return document_reply(found)

    async def composite(self, request: AdminRequest) -> Reply:
        """Return what is there in the end, by groups and composites too."""
        brief = request.flag("briefRepresentation", default=True)
        mapped = _mapped(request)
        found = await self._mapping.share(request.acting, mapped, Share.EFFECTIVE, brief=brief)
        return document_reply(found)

    async def give(self, request: AdminRequest) -> Reply:
        """Give roles."""
        await self._mapping.give(request.acting, _mapped(request), request.body)
        return done_reply()

    async def take(self, request: AdminRequest) -> Reply:
        """Take roles away."""
        await self._mapping.take(request.acting, _mapped(request), request.body)
        return done_reply()


def _holder(request: AdminRequest) -> RoleHolder:
    user_id = request.path.get("user_id")
    if user_id is not None:
        return RoleHolder(Holding.USER, user_id)
    return RoleHolder(Holding.GROUP, request.path["group_id"])


def _mapped(request: AdminRequest) -> MappedRoles:
    return MappedRoles(_holder(request), request.path.get("client_id"))


def operations(handlers: RoleMappingsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    return (
        *_of_holder(handlers, f"{REALM}/users/{{user_id}}/role-mappings", "a user"),
        *_of_holder(handlers, f"{REALM}/groups/{{group_id}}/role-mappings", "a group"),
    )


def _of_holder(handlers: RoleMappingsHandlers, path: str, whom: str) -> Iterator[Operation]:
    yield Operation(
        "GET",
        path,
        handlers.everything,
        VIEW_USERS,
        f"Roles that {whom} was given",
        _tag(whom),
        returns="MappingsRepresentation",
    )
    yield from _of_container(handlers, f"{path}/realm", whom, ())
    yield from _of_container(handlers, f"{path}/clients/{{client_id}}", whom, VIEW_CLIENT_ROLES)


def _of_container(
    handlers: RoleMappingsHandlers, path: str, whom: str, also: tuple[AdminRole, ...]
) -> Iterator[Operation]:
    of, tag = ("a client" if also else "the realm"), _tag(whom)
    yield Operation(
        "GET",
        path,
        handlers.direct,
        VIEW_USERS,
        f"Roles of {of} that {whom} was given",
        tag,
        also=also,
        returns=_MANY,
    )
    yield Operation(
        "GET",
        f"{path}/available",
        handlers.available,
        VIEW_USERS,
        f"Roles of {of} that {whom} could be given",
        tag,
        returns=_MANY,
    )
    yield Operation(
        "GET",
        f"{path}/composite",
        handlers.composite,
        VIEW_USERS,
        f"Roles of {of} that {whom} has in the end",
        tag,
        also=also,
        returns=_MANY,
        query=(BRIEF,),
    )
    yield Operation(
        "POST",
        path,
        handlers.give,
        _MANAGE,
        f"Give {whom} roles of {of}",
        tag,
        body=_SOME,
        status=HTTPStatus.NO_CONTENT,
    )
    yield Operation(
        "DELETE",
        path,
        handlers.take,
        _MANAGE,
        f"Take roles of {of} from {whom}, all where none are named",
        tag,
        body=_SOME_OR_ALL,
    )


def _tag(whom: str) -> str:
    return f"Roles of {whom}"
