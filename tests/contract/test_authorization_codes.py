"""Authorization codes in Redis. Spec: RFC 6749 §4.1.2; attacks: C4, C5."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from gateway.domain.authorization_codes import (
    AuthorizationCode,
    CodeName,
    IssuedCode,
    RedeemedCode,
    Redemption,
)
from gateway.domain.errors import AlreadyExists, StoreUnavailable
from gateway.domain.sessions import ClientSession, UserSession
from gateway.storage.redis.connection import RedisClient, create_client
from gateway.storage.redis.sessions import RedisSessions
from gateway.storage.redis.single_use_codes import RedisAuthorizationCodes
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW
from tests.support.timed_scripts import scripts_at

_MINUTE = timedelta(minutes=1)
_HOUR = timedelta(hours=1)
_AT_ONCE = 50
CODE = AuthorizationCode(
    name=CodeName("random", "one-session", "device-uuid"),
    user_id="alice-uuid",
    scope="openid profile",
    issued_at=NOW,
    redirect_uri="https://app.example.com/callback?a=b",
    nonce="n-0S6_WzA2Mj",
    code_challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method="S256",
    certificate="thumbprint",
    acr="gold",
    authenticated_at=NOW - _MINUTE,
    claims='{"userinfo":{"email":null}}',
)


PART = ClientSession("device-uuid", NOW, NOW, "openid profile")
SESSION = UserSession(
    *("one-session", "demo-id", "alice-uuid", "alice", "192.0.2.1"),
    started_at=NOW,
    refreshed_at=NOW,
    clients={PART.client: PART},
)


@pytest.fixture
async def client(redis_server: RedisServer) -> AsyncIterator[RedisClient]:
    client = create_client(redis_server.url)
    yield client
    await client.aclose()


@pytest.fixture
def codes(client: RedisClient) -> RedisAuthorizationCodes:
    return RedisAuthorizationCodes(client)


@pytest.fixture
def sessions(client: RedisClient) -> RedisSessions:
    return RedisSessions(client, SetClock(NOW))


async def issue(sessions: RedisSessions, code: AuthorizationCode = CODE) -> None:
    """Begin the session of a code with it."""
    await sessions.add(SESSION, NOW + _HOUR, IssuedCode(code, _MINUTE))


@pytest.mark.parametrize(
    "code", [CODE, AuthorizationCode(CODE.name, "alice-uuid", "", NOW)], ids=["full", "bare"]
)
async def test_a_code_is_redeemed_once(
    codes: RedisAuthorizationCodes, sessions: RedisSessions, code: AuthorizationCode
) -> None:
    await issue(sessions, code)
    first = await codes.redeem("demo-id", code.name, _MINUTE)
    assert first == RedeemedCode(Redemption.FIRST, code, SESSION)
    again = await codes.redeem("demo-id", code.name, _MINUTE)
    assert again == RedeemedCode(Redemption.REPLAYED)


@pytest.mark.parametrize("operation", ["join", "renew"])
async def test_a_code_is_stored_only_with_a_session_that_lasts(
    codes: RedisAuthorizationCodes, sessions: RedisSessions, operation: str
) -> None:
    async def store() -> bool:
        end, issued = NOW + _HOUR, IssuedCode(CODE, _MINUTE)
        if operation == "join":
            return await sessions.join(SESSION.realm_id, SESSION.id, PART, end, issued)
        return await sessions.renew(SESSION, PART, end, issued)

    assert not await store()
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result == RedeemedCode(Redemption.UNKNOWN)
    await sessions.add(SESSION, NOW + _HOUR)
    assert await store()
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result == RedeemedCode(Redemption.FIRST, CODE, SESSION)


async def test_the_code_of_a_session_that_exists_is_not_stored(
    codes: RedisAuthorizationCodes, sessions: RedisSessions
) -> None:
    await sessions.add(SESSION, NOW + _HOUR)
    with pytest.raises(AlreadyExists):
        await issue(sessions)
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result.redemption is Redemption.UNKNOWN


async def test_a_code_is_redeemed_without_a_session_that_has_ended(
    codes: RedisAuthorizationCodes, sessions: RedisSessions
) -> None:
    await issue(sessions)
    await sessions.end("demo-id", SESSION.id)
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result == RedeemedCode(Redemption.FIRST, CODE)


async def test_a_code_is_redeemed_without_a_session_that_has_expired(
    client: RedisClient, sessions: RedisSessions
) -> None:
    await issue(sessions)
    later = RedisAuthorizationCodes(client, scripts_at(SetClock(datetime.now(UTC) + 2 * _HOUR)))
    result = await later.redeem("demo-id", CODE.name, _MINUTE)
    assert result == RedeemedCode(Redemption.FIRST, CODE)


async def test_of_many_at_once_on_two_gateways_one_redeems_it(
    codes: RedisAuthorizationCodes, sessions: RedisSessions, redis_server: RedisServer
) -> None:
    await issue(sessions)
    client = create_client(redis_server.url)
    gateways = (codes, RedisAuthorizationCodes(client))
    redeemed = await asyncio.gather(
        *(gateways[n % 2].redeem("demo-id", CODE.name, _MINUTE) for n in range(_AT_ONCE))
    )
    await client.aclose()
    found = [result.redemption for result in redeemed]
    assert sorted(found) == [Redemption.FIRST, *[Redemption.REPLAYED] * (_AT_ONCE - 1)]


@pytest.mark.parametrize(
    "edited",
    [
        replace(CODE.name, session_id="two-session"),
        replace(CODE.name, client="browser-uuid"),
        replace(CODE.name, id="other"),
    ],
)
async def test_an_edited_code_is_unknown_and_leaves_the_true_one(
    codes: RedisAuthorizationCodes, sessions: RedisSessions, edited: CodeName
) -> None:
    await issue(sessions)
    result = await codes.redeem("demo-id", edited, _MINUTE)
    assert result.redemption is Redemption.UNKNOWN
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result.redemption is Redemption.FIRST


async def test_a_code_of_another_realm_is_unknown(
    codes: RedisAuthorizationCodes, sessions: RedisSessions
) -> None:
    await issue(sessions)
    result = await codes.redeem("other-id", CODE.name, _MINUTE)
    assert result.redemption is Redemption.UNKNOWN


async def test_a_replay_is_remembered(
    codes: RedisAuthorizationCodes, sessions: RedisSessions
) -> None:
    await issue(sessions)
    assert not await codes.was_replayed("demo-id", CODE.name)
    await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert not await codes.was_replayed("demo-id", CODE.name)
    await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert await codes.was_replayed("demo-id", CODE.name)


async def test_codes_and_what_is_remembered_of_them_expire(
    client: RedisClient, codes: RedisAuthorizationCodes, sessions: RedisSessions
) -> None:
    key = f"rg:authorization-code:demo-id:{CODE.name.text}"
    await issue(sessions)
    assert 0 < await client.pttl(key) <= 60_000
    await codes.redeem("demo-id", CODE.name, 10 * _MINUTE)
    assert 60_000 < await client.pttl(key) <= 600_000
    await codes.redeem("demo-id", CODE.name, 60 * _MINUTE)
    assert 60_000 < await client.pttl(key) <= 600_000
    await client.delete(key)
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result.redemption is Redemption.UNKNOWN


async def test_without_redis_no_code_is_redeemed(own_redis: RedisServer) -> None:
    client = create_client(own_redis.url)
    own_redis.stop()
    with pytest.raises(StoreUnavailable):
        await RedisAuthorizationCodes(client).redeem("demo-id", CODE.name, _MINUTE)
    await client.aclose()


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("a.b.c", CodeName("a", "b", "c")),
        ("a.b.c.d", CodeName("a", "b", "c.d")),
        ("", None),
        ("a.b", None),
        ("a..c", None),
        (".b.c", None),
        ("a.b.", None),
        ("a.b." + "c" * 600, None),
    ],
)
def test_a_code_has_three_parts(text: str, parsed: CodeName | None) -> None:
    assert CodeName.parse_name(text) == parsed


def test_codes_cannot_be_guessed_and_do_not_show_in_reprs() -> None:
    one, two = (CodeName.new("session", "client") for _ in range(2))
    assert len(one.id) == 32
    assert one.id != two.id
    assert CodeName.parse_name(one.text) == one
    assert one.id not in repr(replace(CODE, name=one))
