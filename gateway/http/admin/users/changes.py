"""POST users, PUT and DELETE users/{id}. Keycloak: 7.2."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.users import UserChanges, UserCreation
from gateway.http.admin.operations import REALM, Body, Media, Operation
from gateway.http.admin.requests import AdminRequest, created_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Users"
_MANAGE: Final = (AdminRole.MANAGE_USERS,)
_BODY: Final = Body(Media.OBJECT, "UserRepresentation")


class UserChangesHandlers:
    """Makes, changes and removes users."""

    def __init__(self, creation: UserCreation, changes: UserChanges) -> None:
        self._creation = creation
        self._changes = changes

    async def create(self, request: AdminRequest) -> Reply:
        """Make a user and tell where it is."""
        return created_reply(request, await self._creation.create(request.acting, request.body))

    async def update(self, request: AdminRequest) -> Reply:
        """Change what was sent."""
        await self._changes.update(request.acting, request.path["user_id"], request.body)
        return done_reply()

    async def remove(self, request: AdminRequest) -> Reply:
        """Forget the user."""
        await self._changes.remove(request.acting, request.path["user_id"])
        return done_reply()


def operations(handlers: UserChangesHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    users = f"{REALM}/users"
    one = f"{users}/{{user_id}}"
    return (
        Operation("POST", users, handlers.create, _MANAGE, "Make a user", _TAG, body=_BODY),
        Operation(
            "PUT",
            one,
            handlers.update,
            _MANAGE,
            "Change a user: what is not sent stays",
            _TAG,
            body=_BODY,
            versioned=True,
        ),
        Operation("DELETE", one, handlers.remove, _MANAGE, "Remove a user", _TAG, versioned=True),
    )
