"""Sessions of users, clients and realms, for administrators."""

from gateway.admin.sessions.administration import (
    ClientSessions,
    RealmSessions,
    SessionUseCases,
    UserSessions,
)
