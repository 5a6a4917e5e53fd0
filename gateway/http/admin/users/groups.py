"""Groups of a user. Keycloak: 7.2 (users/{id}/groups)."""

from typing import Final

from gateway.admin.access import AdminRole, Page
from gateway.admin.users import VIEW_USERS, UserGroups
from gateway.http.admin.operations import BRIEF, REALM, SEARCH, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Groups of users"
_MANAGE: Final = (AdminRole.MANAGE_USERS,)


class UserGroupsHandlers:
    """Answers what is asked about the groups of a user."""

    def __init__(self, groups: UserGroups) -> None:
        self._groups = groups

    async def page(self, request: AdminRequest) -> Reply:
        """Return the groups, a page of them."""
        brief = request.flag("briefRepresentation", default=True)
        search, page = request.query.get("search") or "", Page(*request.page())
        found = await self._groups.page(
            request.realm, request.path["user_id"], search, page, brief=brief
        )
        return document_reply(found)

    async def count(self, request: AdminRequest) -> Reply:
        """Return how many there are."""
        search = request.query.get("search") or ""
        number = await self._groups.count(request.realm, request.path["user_id"], search)
        return document_reply({"count": number})

    async def join(self, request: AdminRequest) -> Reply:
        """Make the user a member."""
        path = request.path
        await self._groups.join(request.acting, path["user_id"], path["group_id"])
        return done_reply()

    async def leave(self, request: AdminRequest) -> Reply:
        """Make the user no member any more."""
        path = request.path
        await self._groups.leave(request.acting, path["user_id"], path["group_id"])
        return done_reply()


def operations(handlers: UserGroupsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    groups = f"{REALM}/users/{{user_id}}/groups"
    one = f"{groups}/{{group_id}}"
    return (
        Operation(
            "GET",
            groups,
            handlers.page,
            VIEW_USERS,
            "Groups of a user",
            _TAG,
            returns="[GroupRepresentation]",
            query=(*SEARCH, BRIEF),
        ),
        Operation(
            "GET",
            f"{groups}/count",
            handlers.count,
            VIEW_USERS,
            "How many groups a user is in",
            _TAG,
            returns="Count",
            query=SEARCH[:1],
        ),
        Operation("PUT", one, handlers.join, _MANAGE, "Make a user a member of a group", _TAG),
        Operation("DELETE", one, handlers.leave, _MANAGE, "Take a user out of a group", _TAG),
    )
