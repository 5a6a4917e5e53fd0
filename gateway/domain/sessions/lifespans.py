"""How long sessions last, and the refresh tokens that keep them: one place for every limit.

Idle counts from the last refresh, maximum from the start; a client's own limits are counted within
the user session's. Spec: 2.1 (session settings); Keycloak: 3.1, 3.2
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.clients import Client, ClientSessionLimits
from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.realm import Realm, SessionLimits
from gateway.domain.sessions.session import ClientSession, UserSession

_NONE: Final = timedelta()
_SSO_IDLE: Final = timedelta(seconds=1800)
_SSO_MAX: Final = timedelta(seconds=36000)
_OFFLINE_IDLE: Final = timedelta(seconds=2592000)
_OFFLINE_MAX: Final = timedelta(seconds=5184000)
"""The limits that replace a setting of zero. Keycloak: 3.1."""


@dataclass(frozen=True, slots=True)
class SessionLifespan:
    """Idle and maximum lifespan of a session or of a client's part; None is without end."""

    idle: timedelta
    maximum: timedelta | None

    def ends_at(self, started_at: datetime, refreshed_at: datetime) -> datetime:
        """Return when it ends unless it is refreshed before."""
        idle_end = refreshed_at + self.idle
        return idle_end if self.maximum is None else min(idle_end, started_at + self.maximum)


def user_session_lifespan(limits: SessionLimits, session: UserSession) -> SessionLifespan:
    """Return the limits of the whole session."""
    if session.offline:
        maximum = _or(limits.offline_max_lifespan, _OFFLINE_MAX)
        return SessionLifespan(
            _or(limits.offline_idle, _OFFLINE_IDLE),
            maximum if limits.offline_max_lifespan_enabled else None,
        )
    idle = _or(limits.idle, _SSO_IDLE)
    maximum = _or(limits.max_lifespan, _SSO_MAX)
    if session.remember_me:
        idle = max(idle, limits.idle_remember_me)
        maximum = max(maximum, limits.max_lifespan_remember_me)
    return SessionLifespan(idle, maximum)


def client_session_lifespan(
    limits: SessionLimits, session: UserSession, of_client: ClientSessionLimits
) -> SessionLifespan:
    """Return the limits of one client's part; its maximum counts from the client's start."""
    whole = user_session_lifespan(limits, session)
    own = _own_offline(limits, of_client) if session.offline else _own_online(limits, of_client)
    maximum = own.maximum or whole.maximum
    return SessionLifespan(own.idle or whole.idle, maximum)


def longest_client_session(limits: SessionLimits) -> timedelta:
    """Return how long a client's part in an online session may last by the realm's settings."""
    whole = _or(limits.max_lifespan, _SSO_MAX)
    return min(_or(limits.client_max_lifespan, whole), whole)


def session_ends_at(limits: SessionLimits, session: UserSession) -> datetime:
    """Return when the session ends unless it is refreshed."""
    return user_session_lifespan(limits, session).ends_at(session.started_at, session.refreshed_at)


def session_maximum_ends_at(limits: SessionLimits, session: UserSession) -> datetime | None:
    """Return when the session ends however much it is used; None without such an end."""
    maximum = user_session_lifespan(limits, session).maximum
    return None if maximum is None else session.started_at + maximum


def client_session_ends_at(
    limits: SessionLimits,
    session: UserSession,
    of_client: ClientSessionLimits,
    part: ClientSession,
) -> datetime:
    """Return when the client's part ends, never later than the session's maximum."""
    own = client_session_lifespan(limits, session, of_client)
    end = own.ends_at(part.started_at, part.refreshed_at)
    maximum = user_session_lifespan(limits, session).maximum
    return end if maximum is None else min(end, session.started_at + maximum)


def if_lasting(realm: Realm, session: UserSession | None, now: datetime) -> UserSession | None:
    """Return the session unless it is over, whatever a store still has.

    A session with "remember me" is over in a realm that offers it no more. Keycloak: 3
    """
    if session is None or (session.remember_me and not realm.login.remember_me):
        return None
    return None if _is_over(session_ends_at(realm.session_limits, session), now) else session


def has_lasting_part(realm: Realm, session: UserSession, client: Client, now: datetime) -> bool:
    """Tell whether the client takes part, and has neither idled too long nor grown too old."""
    part = session.clients.get(client.id)
    if part is None:
        return False
    end = client_session_ends_at(realm.session_limits, session, client.session_limits, part)
    return not _is_over(end, now)


def access_tokens_end_at(
    limits: SessionLimits,
    session: UserSession,
    of_client: ClientSessionLimits,
    part: ClientSession,
) -> datetime | None:
    """Return the instant that no access token of the session outlives; None without one."""
    ends = (
        (part.started_at, client_session_lifespan(limits, session, of_client).maximum),
        (session.started_at, user_session_lifespan(limits, session).maximum),
    )
    return min((start + span for start, span in ends if span is not None), default=None)


def _is_over(end: datetime, now: datetime) -> bool:
    """Tell whether an end that another gateway may have set has come."""
    return end + CLOCK_LEEWAY <= now


def _own_online(limits: SessionLimits, of_client: ClientSessionLimits) -> SessionLifespan:
    return SessionLifespan(
        of_client.idle or limits.client_idle,
        of_client.max_lifespan or limits.client_max_lifespan,
    )


def _own_offline(limits: SessionLimits, of_client: ClientSessionLimits) -> SessionLifespan:
    maximum = of_client.offline_max_lifespan
    if not maximum and limits.offline_max_lifespan_enabled:
        maximum = limits.client_offline_max_lifespan
    return SessionLifespan(of_client.offline_idle or limits.client_offline_idle, maximum)


def _or(setting: timedelta, otherwise: timedelta) -> timedelta:
    return setting if setting > _NONE else otherwise
