"""Sessions of users, clients and realms, for administrators."""

from dataclasses import dataclass

from gateway.admin.sessions.administration import (
    ClientSessions,
    RealmSessions,
    UserSessions,
)
from gateway.admin.sessions.consents import (
    WithdrawnConsent,
    detach_from_sessions,
    withdraw_consent,
)
from gateway.admin.sessions.logout_notices import queue_logout_notices


@dataclass(frozen=True, slots=True)
class SessionUseCases:
    """Every use case of sessions: those of a realm, a client, a user."""

    realm: RealmSessions
    client: ClientSessions
    user: UserSessions
