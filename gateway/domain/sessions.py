"""User sessions: the clients in them, how long they last, refresh-token families, devices.

Online and offline sessions are the same value in different stores. Idle counts from the last
refresh, maximum from the start; a client's own limits are counted within the user session's.

The current token of a family is accepted, as often as the realm allows reuse, because a response
may get lost. A successor of it is accepted and becomes the current token. Any other token ends the
family, and an ended family stays ended. In a family each use retires a token and names its
successor. The device, browser and operating system by the header User-Agent, is for the list of the
user's own devices; no decision depends on it.
Spec: 2.1 (session settings); RFC 9700 §4.14; Keycloak: 2.4 rotation, 3 (sessions), 3.1 session
limits, 3.2 client session limits, 17.3 account sessions; attacks: C9
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final, Self

from gateway.domain.clients import Client, ClientSessionLimits
from gateway.domain.clock import CLOCK_LEEWAY, EPOCH, MICROSECOND
from gateway.domain.limits.caches import cached
from gateway.domain.realm import Realm, SessionLimits

DEVICE_NOTE: Final = "KC_DEVICE_NOTE"
"""The note of a user session."""
OTHER: Final = "Other"
UNKNOWN: Final = "Unknown"
_LONGEST: Final = 512
"""Characters of a header that is read. Keycloak: 17.3 account sessions"""
_VERSION: Final = r"([0-9]{1,5}(?:[._][0-9]{1,5}){0,2})"
"""At most three numbers, as Keycloak shows them."""
_SYSTEMS: Final = (
    ("Windows", re.compile(r"Windows NT ?([0-9]{1,3}(?:\.[0-9]{1,3})?)")),
    ("iOS", re.compile(rf"(?:iPhone|iPad|iPod)[^)]*? OS {_VERSION}")),
    ("Mac OS X", re.compile(rf"Mac OS X {_VERSION}")),
    ("Android", re.compile(rf"Android {_VERSION}")),
    ("Chrome OS", re.compile(rf"CrOS \w+ {_VERSION}")),
    ("Ubuntu", re.compile(rf"Ubuntu(?:/{_VERSION})?")),
    ("Linux", re.compile(r"Linux()")),
)
"""The first that is found counts."""
_BROWSERS: Final = (
    ("Edge", re.compile(rf"Edg(?:e|A|iOS)?/{_VERSION}")),
    ("Opera", re.compile(rf"OPR/{_VERSION}")),
    ("Samsung Internet", re.compile(rf"SamsungBrowser/{_VERSION}")),
    ("Firefox iOS", re.compile(rf"FxiOS/{_VERSION}")),
    ("Firefox", re.compile(rf"Firefox/{_VERSION}")),
    ("Chrome Mobile iOS", re.compile(rf"CriOS/{_VERSION}")),
    ("Chrome Mobile", re.compile(rf"Chrome/{_VERSION}[0-9.]* Mobile")),
    ("Chrome", re.compile(rf"(?:Headless)?Chrome/{_VERSION}")),
    ("Mobile Safari", re.compile(rf"Version/{_VERSION} Mobile/\w+ Safari")),
    ("Safari", re.compile(rf"Version/{_VERSION} Safari")),
    ("curl", re.compile(rf"curl/{_VERSION}")),
)
_DEVICES: Final = (("iPhone", "iPhone"), ("iPad", "iPad"), ("Mac", "Macintosh"))
_WINDOWS: Final = {"6.1": "7", "6.2": "8", "6.3": "8.1", "10.0": "10"}
"""Numbers of versions and their usual names."""


@dataclass(frozen=True, slots=True)
class BrowserDevice:
    """A browser on a system; `browser` is its name and version, such as `Firefox/121.0`."""

    system: str = OTHER
    system_version: str = UNKNOWN
    browser: str = f"{OTHER}/{UNKNOWN}"
    device: str = OTHER
    mobile: bool = False


NO_DEVICE: Final = BrowserDevice()


def device_of(user_agent: str) -> BrowserDevice:
    """Return the device of a header; what is not found is `Other` and `Unknown`."""
    if not user_agent or len(user_agent) > _LONGEST:
        return NO_DEVICE
    system, version = _first(_SYSTEMS, user_agent)
    browser, browser_version = _first(_BROWSERS, user_agent)
    if system == "Windows":
        version = _WINDOWS.get(version, version)
    return BrowserDevice(
        system,
        version,
        f"{browser}/{browser_version}",
        next((name for name, word in _DEVICES if word in user_agent), OTHER),
        "mobile" in user_agent.lower(),
    )


@cached(512 * 1024)
def device_notes(user_agent: str) -> Mapping[str, str]:
    """Return the note of a session that begins; none for a header without any."""
    device = device_of(user_agent)
    if device == NO_DEVICE:
        return {}
    return {DEVICE_NOTE: json.dumps(asdict(device), separators=(",", ":"))}


def noted_device(note: str | None) -> BrowserDevice:
    """Return the device of a note; an unknown one where there is none that can be read."""
    try:
        return BrowserDevice(**json.loads(note)) if note else NO_DEVICE
    except (ValueError, TypeError):
        return NO_DEVICE


def _first(patterns: tuple[tuple[str, re.Pattern[str]], ...], text: str) -> tuple[str, str]:
    for name, pattern in patterns:
        found = pattern.search(text)
        if found is not None:
            return name, (found.group(1) or UNKNOWN).replace("_", ".")
    return OTHER, UNKNOWN


_GENERATIONS: Final = 2**48


def generation_of(started_at: datetime) -> int:
    """Return the 48 lowest bits of the microseconds since 1970, which tokens name."""
    return (started_at - EPOCH) // MICROSECOND % _GENERATIONS


@dataclass(frozen=True, slots=True)
class ClientSession:
    """One client's part of a session. `client` is its internal id."""

    client: str
    started_at: datetime
    refreshed_at: datetime
    scope: str = ""
    """The scope that was granted, the names a client may not see included."""
    acr: str | None = None
    """The class of the sign-in for this client; None for a grant without pages."""
    authenticated_at: datetime | None = None
    """When the user signed in with credentials, before this client took part or for it."""
    claims: str = ""
    """The parameter `claims` of the client's request, empty without one."""

    @property
    def generation(self) -> int:
        """The number by which tokens name it; leaving and joining again changes it."""
        return generation_of(self.started_at)


@dataclass(frozen=True, slots=True)
class ExpectedPart:
    """The client's part that the caller has read; `started_at` is None where it had none."""

    started_at: datetime | None

    @classmethod
    def of(cls, part: ClientSession | None) -> "ExpectedPart":
        return cls(None if part is None else part.started_at)


@dataclass(frozen=True, slots=True)
class UserSession:
    """A signed-in user. `refreshed_at` moves with every refresh of any of its clients."""

    id: str
    realm_id: str
    user_id: str
    username: str
    ip_address: str
    started_at: datetime
    refreshed_at: datetime
    remember_me: bool = False
    offline: bool = False
    clients: Mapping[str, ClientSession] = field(default_factory=dict)
    """By the client's internal id."""
    notes: Mapping[str, str] = field(default_factory=dict)


IMPERSONATOR_ID: Final = "IMPERSONATOR_ID"
"""Note of a session that an administrator began: the administrator's id. Keycloak's name."""
IMPERSONATOR_NAME: Final = "IMPERSONATOR_USERNAME"
"""The administrator's user name. Keycloak's name."""
IMPERSONATOR_ISSUER: Final = "realmgate.impersonator.issuer"
"""The issuer of an administrator of another realm."""


def actor_of(notes: Mapping[str, str]) -> Mapping[str, str]:
    """Return the claim `act` of an impersonated session; `iss` names another realm's issuer.

    Spec: RFC 8693 §4.1
    """
    actor = {"sub": notes[IMPERSONATOR_ID]}
    if IMPERSONATOR_ISSUER in notes:
        actor["iss"] = notes[IMPERSONATOR_ISSUER]
    return actor


_NONE: Final = timedelta()
_SSO_IDLE: Final = timedelta(seconds=1800)
_SSO_MAX: Final = timedelta(seconds=36000)
_OFFLINE_IDLE: Final = timedelta(seconds=2592000)
_OFFLINE_MAX: Final = timedelta(seconds=5184000)
"""The limits that replace a setting of zero. Keycloak: 3.1 session limits."""


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


def longest_session(limits: SessionLimits) -> timedelta:
    """Return how long an online session may last by the realm's settings, with "remember me"."""
    return max(_or(limits.max_lifespan, _SSO_MAX), limits.max_lifespan_remember_me)


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
    """Return the session unless it is over, or its "remember me" is off. Keycloak: 3 (sessions)."""
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


_MOST_SUCCESSORS: Final = 1000
"""The newest are kept; only a realm that allows endless reuse gets here."""


class Rotation(StrEnum):
    """The result of presenting a token to its family."""

    ACCEPTED = "accepted"
    """Its turn, or within the allowed reuse; the successor is known to the family."""
    REUSED = "reused"
    """The current token, used more often than allowed: the family is at an end."""
    STALE = "stale"
    """A token that was retired before, or of a family at an end: so is the family."""


@dataclass(frozen=True, slots=True)
class RefreshFamily:
    """The current token of a family, how often it was used, and the tokens issued for it."""

    token_id: str
    uses: int
    successors: tuple[str, ...]
    expires_at: datetime
    ended: bool

    def use(self, token_id: str, successor: str, max_reuse: int) -> tuple[Rotation, Self]:
        """Return the result for the token, and the family after it."""
        ended = replace(self, ended=True, successors=())
        if token_id == self.token_id:
            if self.uses > max_reuse:
                return Rotation.REUSED, ended
            successors = (*self.successors, successor)[-_MOST_SUCCESSORS:]
            return Rotation.ACCEPTED, replace(self, uses=self.uses + 1, successors=successors)
        if token_id in self.successors:
            after = replace(self, token_id=token_id, uses=1, successors=(successor,))
            return Rotation.ACCEPTED, after
        return Rotation.STALE, ended
