"""The rows of the sessions of a realm: ending and counting them. Keycloak: 7.1."""

from collections.abc import Awaitable

from gateway.admin.realms import VIEW_REALM
from gateway.admin.sessions import RealmSessions
from gateway.http.admin.operations import (
    MANAGE_REALM,
    MANAGE_USERS,
    REALM,
    Operation,
    Query,
    Resource,
    State,
)
from gateway.http.admin.requests import document, document_reply, done
from gateway.http.replies import Reply


def session_operations(sessions: RealmSessions) -> tuple[Operation, ...]:
    """Return every row about the sessions of a realm."""
    rows = Resource(REALM, "Realms", VIEW_REALM, MANAGE_USERS)
    return (
        rows.post(
            "/logout-all",
            "End all sessions of the realm",
            lambda r: _nothing(sessions.log_out_all(r.acting)),
            returns="GlobalRequestResult",
            status=200,
        ),
        rows.post(
            "/push-revocation",
            "Push the `notBefore` of the realm to its clients; the gateway sends no request",
            lambda r: _nothing(sessions.push_revocation(r.acting)),
            allowed=MANAGE_REALM,
            returns="GlobalRequestResult",
            status=200,
            state=State.STORED_ONLY,
        ),
        rows.delete(
            "/sessions/{session_id}",
            "End a session",
            lambda r: done(
                sessions.end(r.acting, r.path["session_id"], offline=r.flag("isOffline"))
            ),
            query=(Query("isOffline", "boolean", "Whether it is an offline session"),),
        ),
        rows.get(
            "/client-session-stats",
            "Count the sessions of each client",
            lambda r: document(sessions.statistics(r.realm)),
            returns="[ClientSessionStats]",
        ),
    )


async def _nothing(action: Awaitable[object]) -> Reply:
    await action
    return document_reply({})
