"""/admin/realms/{realm}: ending the sessions of a realm, and counting them. Keycloak: 7.1."""

from typing import Final

from gateway.admin.access import AdminRole
from gateway.admin.realms import VIEW_REALM
from gateway.admin.sessions import RealmSessions
from gateway.http.admin.operations import REALM, Operation, Query, State
from gateway.http.admin.requests import AdminRequest, document_reply, done_reply
from gateway.http.replies import Reply

_TAG: Final = "Realms"
_MANAGE: Final = (AdminRole.MANAGE_REALM,)


class SessionHandlers:
    """Answers what is asked about the sessions of a realm."""

    def __init__(self, sessions: RealmSessions) -> None:
        self._sessions = sessions

    async def log_out_all(self, request: AdminRequest) -> Reply:
        """End every session."""
        await self._sessions.log_out_all(request.acting)
        return document_reply({})

    async def push_revocation(self, request: AdminRequest) -> Reply:
        """Tell nobody: no client has an address for it yet."""
        await self._sessions.push_revocation(request.acting)
        return document_reply({})

    async def end(self, request: AdminRequest) -> Reply:
        """End one session."""
        session_id, offline = request.path["session_id"], request.flag("isOffline")
        await self._sessions.end(request.acting, session_id, offline=offline)
        return done_reply()

    async def statistics(self, request: AdminRequest) -> Reply:
        """Return how many sessions each client takes part in."""
        return document_reply(await self._sessions.statistics(request.realm))

    def operations(self) -> tuple[Operation, ...]:
        """Return the rows."""
        users, empty = (AdminRole.MANAGE_USERS,), "GlobalRequestResult"
        offline = Query("isOffline", "boolean", "of the sessions that outlive the browser")
        return (
            Operation(
                "POST",
                f"{REALM}/logout-all",
                self.log_out_all,
                users,
                "End every session of the realm",
                _TAG,
                returns=empty,
                status=200,
            ),
            Operation(
                "POST",
                f"{REALM}/push-revocation",
                self.push_revocation,
                _MANAGE,
                "Tell clients of the realm's notBefore: none is told yet",
                _TAG,
                returns=empty,
                status=200,
                state=State.STORED_ONLY,
            ),
            Operation(
                "DELETE",
                f"{REALM}/sessions/{{session_id}}",
                self.end,
                users,
                "End one session",
                _TAG,
                query=(offline,),
            ),
            Operation(
                "GET",
                f"{REALM}/client-session-stats",
                self.statistics,
                VIEW_REALM,
                "How many sessions each client takes part in",
                _TAG,
                returns="[ClientSessionStats]",
            ),
        )
