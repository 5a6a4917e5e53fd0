"""Authorization codes in Redis. Spec: RFC 6749 §4.1.2; attacks: C4, C5."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.authorization_codes import AuthorizationCode, CodeName, Redemption
from gateway.domain.errors import StoreUnavailable
from gateway.storage.redis.authorization_codes import RedisAuthorizationCodes
from gateway.storage.redis.connection import create_client
from tests.support.redis_server import RedisServer
from tests.support.stored_values import NOW

_MINUTE = timedelta(minutes=1)
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


@pytest.fixture
async def codes(redis_server: RedisServer) -> AsyncIterator[RedisAuthorizationCodes]:
    client = create_client(redis_server.url)
    yield RedisAuthorizationCodes(client)
    await client.aclose()


@pytest.mark.parametrize(
    "code", [CODE, AuthorizationCode(CODE.name, "alice-uuid", "", NOW)], ids=["full", "bare"]
)
async def test_a_code_is_redeemed_once(
    codes: RedisAuthorizationCodes, code: AuthorizationCode
) -> None:
    await codes.add("demo-id", code, _MINUTE)
    first = await codes.redeem("demo-id", code.name, _MINUTE)
    assert (first.redemption, first.code) == (Redemption.FIRST, code)
    again = await codes.redeem("demo-id", code.name, _MINUTE)
    assert (again.redemption, again.code) == (Redemption.REPLAYED, None)


async def test_of_many_at_once_on_two_gateways_one_redeems_it(
    codes: RedisAuthorizationCodes, redis_server: RedisServer
) -> None:
    await codes.add("demo-id", CODE, _MINUTE)
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
    codes: RedisAuthorizationCodes, edited: CodeName
) -> None:
    await codes.add("demo-id", CODE, _MINUTE)
    result = await codes.redeem("demo-id", edited, _MINUTE)
    assert result.redemption is Redemption.UNKNOWN
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result.redemption is Redemption.FIRST


async def test_a_code_of_another_realm_is_unknown(codes: RedisAuthorizationCodes) -> None:
    await codes.add("demo-id", CODE, _MINUTE)
    result = await codes.redeem("other-id", CODE.name, _MINUTE)
    assert result.redemption is Redemption.UNKNOWN


async def test_a_replay_is_remembered(codes: RedisAuthorizationCodes) -> None:
    await codes.add("demo-id", CODE, _MINUTE)
    assert not await codes.was_replayed("demo-id", CODE.name)
    await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert not await codes.was_replayed("demo-id", CODE.name)
    await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert await codes.was_replayed("demo-id", CODE.name)


async def test_codes_and_what_is_remembered_of_them_expire(
    codes: RedisAuthorizationCodes, redis_server: RedisServer
) -> None:
    client = create_client(redis_server.url)
    key = f"rg:authorization-code:demo-id:{CODE.name.text}"
    await codes.add("demo-id", CODE, _MINUTE)
    assert 0 < await client.pttl(key) <= 60_000
    await codes.redeem("demo-id", CODE.name, 10 * _MINUTE)
    assert 60_000 < await client.pttl(key) <= 600_000
    await codes.redeem("demo-id", CODE.name, 60 * _MINUTE)
    assert 60_000 < await client.pttl(key) <= 600_000
    await client.delete(key)
    result = await codes.redeem("demo-id", CODE.name, _MINUTE)
    assert result.redemption is Redemption.UNKNOWN
    await client.aclose()


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
    assert CodeName.parse(text) == parsed


def test_codes_cannot_be_guessed_and_do_not_show_in_reprs() -> None:
    one, two = (CodeName.new("session", "client") for _ in range(2))
    assert len(one.id) == 32
    assert one.id != two.id
    assert CodeName.parse(one.text) == one
    assert one.id not in repr(replace(CODE, name=one))
