"""Builds the administrative use cases of sessions."""

from gateway.admin.sessions import ClientSessions, RealmSessions, SessionUseCases, UserSessions
from gateway.bootstrap.services import Services


def session_use_cases(services: Services) -> SessionUseCases:
    """Return every use case of sessions."""
    database, changes = services.database, services.changes
    online = services.online_sessions
    return SessionUseCases(
        realm=RealmSessions(database, changes, online),
        client=ClientSessions(database, online),
        user=UserSessions(database, changes, online),
    )
