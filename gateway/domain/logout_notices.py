"""Notices to clients that a session of theirs has ended: stored before it ends, sent afterwards.

Spec: OpenID Connect Back-Channel Logout §2.5 (a provider may send again what has failed)
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.clients import OPENID_CONNECT, Client
from gateway.domain.deliveries import RetrySchedule
from gateway.domain.sessions import UserSession

MOST_ATTEMPTS: Final = 10
LONGEST_WAIT: Final = timedelta(hours=1)
"""After this a notice is dropped: the client's own session has had time to end."""
_SCHEDULE: Final = RetrySchedule(
    first_delay=timedelta(seconds=5),
    longest_delay=timedelta(minutes=10),
    longest_wait=LONGEST_WAIT,
    most_attempts=MOST_ATTEMPTS,
)


@dataclass(frozen=True, slots=True)
class LogoutNotice:
    """The notice for one client; `client` is its internal id."""

    realm_id: str
    session_id: str
    client: str
    user_id: str
    created_at: datetime
    attempts: int = 0
    """How often a gateway has begun to send it."""

    def next_attempt_at(self, now: datetime) -> datetime | None:
        """Return when to send it again after a failure; None where it is dropped."""
        return _SCHEDULE.next_attempt_at(self.attempts, self.created_at, now)


def logout_notices(
    sessions: Iterable[UserSession], clients: Mapping[str, Client], now: datetime
) -> tuple[LogoutNotice, ...]:
    """Return the notices of sessions that end, to those of `clients`, by internal id, that want it.

    A session that is online and offline at once ends for a client once.
    """
    wanted = {
        (session.id, identity): LogoutNotice(
            session.realm_id, session.id, identity, session.user_id, now
        )
        for session in sessions
        for identity in session.clients
        if identity in clients and _is_notified(clients[identity])
    }
    return tuple(wanted.values())


def _is_notified(client: Client) -> bool:
    is_usable = client.enabled and client.protocol == OPENID_CONNECT
    return is_usable and bool(client.logout.back_channel_url)
