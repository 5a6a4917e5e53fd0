"""Sessions of a user, and the end of them. Keycloak: 7.2 (sessions, offline-sessions, logout)."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.sessions import UserSessions
from gateway.admin.users import VIEW_USERS
from gateway.http.admin.operations import REALM, Operation
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Sessions of users"
_DONE: Final = 204


class UserSessionsHandlers:
    """Answers what is asked about the sessions of a user."""

    def __init__(self, sessions: UserSessions) -> None:
        self._sessions = sessions

    async def online(self, request: AdminRequest) -> Reply:
        """Return the sessions of browsers and apps."""
        found = await self._sessions.online(request.realm, request.path["user_id"])
        return document_reply(found)

    async def offline(self, request: AdminRequest) -> Reply:
        """Return the offline sessions of one client."""
        path = request.path
        found = await self._sessions.offline(request.realm, path["user_id"], path["client"])
        return document_reply(found)

    async def log_out(self, request: AdminRequest) -> Reply:
        """End the sessions of browsers and apps."""
        await self._sessions.log_out(request.acting, request.path["user_id"])
        return done_reply()


def operations(handlers: UserSessionsHandlers) -> tuple[Operation, ...]:
    """Return the rows."""
    user = f"{REALM}/users/{{user_id}}"
    return (
        Operation(
            "GET",
            f"{user}/sessions",
            handlers.online,
            VIEW_USERS,
            "Sessions of a user's browsers and apps",
            _TAG,
            returns="[UserSessionRepresentation]",
        ),
        Operation(
            "GET",
            f"{user}/offline-sessions/{{client}}",
            handlers.offline,
            VIEW_USERS,
            "Offline sessions of a user in which a client takes part",
            _TAG,
            returns="[UserSessionRepresentation]",
        ),
        Operation(
            "POST",
            f"{user}/logout",
            handlers.log_out,
            (AdminRole.MANAGE_USERS,),
            "End a user's online sessions, and believe no earlier token",
            _TAG,
            status=_DONE,
            harmless="ending sessions gives no access: the user signs in again",
        ),
    )
