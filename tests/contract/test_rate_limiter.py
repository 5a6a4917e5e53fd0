"""Limits of what callers cause: shared among networks, so that no caller uses one up for others."""

from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Final
from uuid import uuid4

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits import rate_limits
from gateway.domain.limits.rate_limits import RESETS_OF_USER, RateLimit, caller_of
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.rate_limiter import MOST_KNOWN, RedisRateLimiter
from tests.support.redis_server import RedisServer

_LIMIT: Final = RateLimit("rate-test", of_network=2, in_all=6, reserve=2, of_known=3)
ALL: Final = [limit for limit in vars(rate_limits).values() if isinstance(limit, RateLimit)]


@pytest.fixture
async def limiter(redis_server: RedisServer) -> AsyncIterator[RedisRateLimiter]:
    client = create_client(redis_server.url)
    yield RedisRateLimiter(client)
    await client.aclose()


async def _admitted(
    limiter: RedisRateLimiter, limit: RateLimit, networks: list[str], subject: str = ""
) -> list[bool]:
    realm = "rate" if subject else f"rate-{uuid4()}"
    return [await limiter.admit(realm, limit, network, subject) for network in networks]


async def test_a_network_has_its_share(limiter: RedisRateLimiter) -> None:
    admitted = await _admitted(limiter, _LIMIT, ["a", "a", "a", "b", "a", "b", "b"])
    assert admitted == [True, True, False, True, False, True, False]


async def test_the_last_places_are_for_networks_that_have_had_none(
    limiter: RedisRateLimiter,
) -> None:
    networks = ["a", "a", "b", "c", "b", "c", "d", "e", "d", "f"]
    admitted = await _admitted(limiter, _LIMIT, networks)
    assert admitted == [True, True, True, True, False, False, True, True, False, False]


async def test_networks_of_the_users_sign_ins_are_counted_apart(limiter: RedisRateLimiter) -> None:
    user = str(uuid4())
    strangers = [f"198.51.100.{number}" for number in range(20)]
    for home in ("home", "work"):
        await limiter.remember_network("rate", user, home)
    assert sum(await _admitted(limiter, _LIMIT, strangers, user)) == _LIMIT.in_all
    assert await _admitted(limiter, _LIMIT, ["home", "home", "home"], user) == [True, True, False]
    assert await _admitted(limiter, _LIMIT, ["work", "work"], user) == [True, False]
    assert await _admitted(limiter, _LIMIT, ["home"], str(uuid4())) == [True]
    elsewhere = replace(_LIMIT, name="without-known", of_known=0)
    assert sum(await _admitted(limiter, elsewhere, ["home"] * 3, user)) == elsewhere.of_network


async def test_the_networks_of_the_last_sign_ins_are_remembered(
    limiter: RedisRateLimiter, redis_server: RedisServer
) -> None:
    user = str(uuid4())
    for number in range(MOST_KNOWN + 4):
        await limiter.remember_network("rate", user, f"home-{number}")
    with redis_server.client() as plain:
        key = f"rg:known-networks:rate:{user}"
        assert plain.zcard(key) == MOST_KNOWN
        assert 0 < plain.ttl(key) <= timedelta(days=90).total_seconds()
        assert not any("home" in str(name) for name in plain.zrange(key, 0, -1))


@pytest.mark.parametrize("limit", ALL, ids=lambda limit: limit.name)
async def test_one_network_takes_no_limit_from_another(
    limiter: RedisRateLimiter, limit: RateLimit
) -> None:
    """Unbounded requests of a stranger; what is left is a whole share for the next network."""
    subject, left = str(uuid4()), limit.in_all - limit.of_network
    stranger = await _admitted(limiter, limit, ["192.0.2.1"] * (2 * limit.of_network + 9), subject)
    assert sum(stranger) == limit.of_network
    victim = await _admitted(limiter, limit, ["192.0.2.2"] * limit.of_network, subject)
    assert victim[0]
    assert sum(victim) == min(limit.of_network, max(1, left - limit.reserve))


@pytest.mark.parametrize("limit", [RESETS_OF_USER, rate_limits.LINKS], ids=lambda one: one.name)
async def test_as_many_networks_as_stated_exhaust_a_limit_of_a_user(
    limiter: RedisRateLimiter, limit: RateLimit
) -> None:
    subject, needed = str(uuid4()), limit.networks_to_exhaust
    strangers = [f"198.51.100.{n}" for n in range(needed) for _ in range(limit.of_network)]
    assert sum(await _admitted(limiter, limit, strangers[: -limit.of_network], subject)) < (
        limit.in_all
    )
    assert await _admitted(limiter, limit, ["192.0.2.2"], subject) == [True]
    assert needed > 5


def test_every_limit_has_a_reserve_and_more_than_two_shares() -> None:
    assert {limit.name for limit in ALL} >= {"registration", "reset-credentials", "reset-link"}
    for limit in ALL:
        assert limit.reserve > 0
        assert limit.in_all - limit.reserve > limit.of_network


async def test_a_window_ends_and_the_count_with_it(limiter: RedisRateLimiter) -> None:
    brief = RateLimit("brief", of_network=1, in_all=1, window=timedelta(milliseconds=1))
    assert await limiter.admit("brief", brief, "192.0.2.1")
    while True:  # until the window has passed
        if await limiter.admit("brief", brief, "192.0.2.1"):
            break


async def test_what_is_refused_costs_as_many_reads_and_expires(
    limiter: RedisRateLimiter, redis_server: RedisServer
) -> None:
    subject = str(uuid4())
    await _admitted(limiter, _LIMIT, ["a"] * 9, subject)
    with redis_server.client() as plain:
        keys = plain.keys(f"rg:rate:rate:*{subject}*")
        assert len(keys) == 2
        assert all(0 < plain.pttl(key) <= 3_600_000 for key in keys)


async def test_without_redis_nothing_is_admitted(own_redis: RedisServer) -> None:
    client = create_client(own_redis.url)
    own_redis.stop()
    with pytest.raises(StoreUnavailable):
        await RedisRateLimiter(client).admit("rate", _LIMIT, "a")
    await client.aclose()


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3::4", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("unix:", "unix:"),
    ],
)
def test_a_network_is_an_address_or_the_network_of_a_subscriber(address: str, network: str) -> None:
    assert caller_of(address) == network
