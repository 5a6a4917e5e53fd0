"""Sessions of users, clients and realms, for administrators."""

from gateway.admin.sessions.client_sessions import ClientSessions
from gateway.admin.sessions.realm_sessions import RealmSessions
from gateway.admin.sessions.use_cases import SessionUseCases
from gateway.admin.sessions.user_sessions import UserSessions
