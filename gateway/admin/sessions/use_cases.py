"""The administrative use cases of sessions, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.sessions.client_sessions import ClientSessions
from gateway.admin.sessions.realm_sessions import RealmSessions
from gateway.admin.sessions.user_sessions import UserSessions


@dataclass(frozen=True, slots=True)
class SessionUseCases:
    """Every use case of sessions: those of a realm, a client, a user."""

    realm: RealmSessions
    client: ClientSessions
    user: UserSessions
