"""How long sessions and their parts last, setting by setting. Keycloak: 3.1, 3.2, 2.3."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway.domain.clients import ClientSessionLimits
from gateway.domain.realm import SessionLimits
from gateway.domain.sessions import (
    ClientSession,
    UserSession,
    access_tokens_end_at,
    client_session_ends_at,
    session_ends_at,
)

START = datetime(2026, 1, 1, tzinfo=UTC)
NEVER = timedelta(days=10_000)
INHERITED = ClientSessionLimits()
PART = ClientSession("c", started_at=START, refreshed_at=START)
ONLINE = UserSession(
    id="s",
    realm_id="r",
    user_id="u",
    username="alice",
    ip_address="192.0.2.1",
    started_at=START,
    refreshed_at=START,
    clients={"c": PART},
)
OFFLINE = replace(ONLINE, offline=True)
REMEMBERED = replace(ONLINE, remember_me=True)


def seconds(count: int) -> timedelta:
    return timedelta(seconds=count)


def _session_lasts(limits: SessionLimits, session: UserSession, idle_for: int = 0) -> int:
    moved = replace(session, refreshed_at=START + seconds(idle_for))
    return int((session_ends_at(limits, moved) - START).total_seconds())


def _part_lasts(
    limits: SessionLimits, session: UserSession, idle_for: int = 0, **of_client: int
) -> int:
    own = ClientSessionLimits(**{name: seconds(value) for name, value in of_client.items()})
    part = replace(PART, refreshed_at=START + seconds(idle_for))
    return int((client_session_ends_at(limits, session, own, part) - START).total_seconds())


LIMITS = SessionLimits(idle=seconds(100), max_lifespan=seconds(1000))


def test_an_online_session_ends_when_it_idles_or_at_its_maximum() -> None:
    """ssoSessionIdleTimeout, ssoSessionMaxLifespan."""
    assert _session_lasts(LIMITS, ONLINE) == 100
    assert _session_lasts(LIMITS, ONLINE, idle_for=500) == 600
    assert _session_lasts(LIMITS, ONLINE, idle_for=950) == 1000


def test_zero_stands_for_half_an_hour_and_ten_hours() -> None:
    limits = SessionLimits(idle=seconds(0), max_lifespan=seconds(0))
    assert _session_lasts(limits, ONLINE) == 1800
    assert _session_lasts(limits, ONLINE, idle_for=36_000) == 36_000


@pytest.mark.parametrize(("given", "lasts"), [(0, 100), (50, 100), (300, 300)])
def test_remember_me_only_ever_lengthens_the_idle_timeout(given: int, lasts: int) -> None:
    """SsoSessionIdleTimeoutRememberMe."""
    limits = replace(LIMITS, idle_remember_me=seconds(given))
    assert _session_lasts(limits, REMEMBERED) == lasts
    assert _session_lasts(limits, ONLINE) == 100


@pytest.mark.parametrize(("given", "lasts"), [(0, 1000), (500, 1000), (3000, 3000)])
def test_remember_me_only_ever_lengthens_the_maximum(given: int, lasts: int) -> None:
    """SsoSessionMaxLifespanRememberMe."""
    limits = replace(LIMITS, max_lifespan_remember_me=seconds(given))
    assert _session_lasts(limits, REMEMBERED, idle_for=2950) == lasts
    assert _session_lasts(limits, ONLINE, idle_for=2950) == 1000


def test_an_offline_session_idles_by_its_own_setting() -> None:
    """offlineSessionIdleTimeout; zero stands for 30 days."""
    limits = replace(LIMITS, offline_idle=seconds(5000))
    assert _session_lasts(limits, OFFLINE) == 5000
    assert _session_lasts(replace(limits, offline_idle=seconds(0)), OFFLINE) == 2_592_000


def test_an_offline_session_has_a_maximum_only_if_enabled() -> None:
    """offlineSessionMaxLifespanEnabled, offlineSessionMaxLifespan; zero stands for 60 days."""
    limits = replace(LIMITS, offline_idle=NEVER, offline_max_lifespan=seconds(7000))
    enabled = replace(limits, offline_max_lifespan_enabled=True)
    assert _session_lasts(limits, OFFLINE) == NEVER.total_seconds()
    assert _session_lasts(enabled, OFFLINE) == 7000
    zero = replace(enabled, offline_max_lifespan=seconds(0))
    assert _session_lasts(zero, OFFLINE) == 5_184_000


def test_a_clients_part_inherits_or_has_limits_of_its_own() -> None:
    """clientSessionIdleTimeout, clientSessionMaxLifespan, and the client's own limits."""
    assert _part_lasts(LIMITS, ONLINE) == 100
    own = replace(LIMITS, client_idle=seconds(30), client_max_lifespan=seconds(60))
    assert _part_lasts(own, ONLINE) == 30
    assert _part_lasts(own, ONLINE, idle_for=50) == 60
    assert _part_lasts(own, ONLINE, idle=20) == 20
    assert _part_lasts(own, ONLINE, 50, max_lifespan=55) == 55


def test_a_clients_part_never_outlives_the_sessions_maximum() -> None:
    own = replace(LIMITS, client_idle=seconds(9999), client_max_lifespan=seconds(9999))
    assert _part_lasts(own, ONLINE) == 1000
    older = replace(ONLINE, started_at=START - seconds(400))
    assert _part_lasts(own, older) == 600


def test_an_offline_part_has_limits_of_its_own() -> None:
    """clientOfflineSessionIdleTimeout, clientOfflineSessionMaxLifespan."""
    limits = replace(
        LIMITS,
        offline_idle=seconds(5000),
        client_offline_idle=seconds(40),
        client_offline_max_lifespan=seconds(70),
    )
    assert _part_lasts(limits, OFFLINE) == 40
    assert _part_lasts(limits, OFFLINE, offline_idle=20) == 20
    assert _part_lasts(limits, OFFLINE, idle_for=60) == 100
    enabled = replace(limits, offline_max_lifespan_enabled=True)
    assert _part_lasts(enabled, OFFLINE, idle_for=60) == 70
    assert _part_lasts(limits, OFFLINE, 60, offline_max_lifespan=65) == 65
    assert _part_lasts(enabled, OFFLINE, 60, offline_max_lifespan=65) == 65


def test_no_access_token_outlives_the_part_or_the_session() -> None:
    """Keycloak: 2.3."""
    end = access_tokens_end_at(LIMITS, ONLINE, INHERITED, PART)
    assert end == START + seconds(1000)
    own = replace(LIMITS, client_max_lifespan=seconds(60))
    assert access_tokens_end_at(own, ONLINE, INHERITED, PART) == START + seconds(60)
    assert access_tokens_end_at(LIMITS, OFFLINE, INHERITED, PART) is None
