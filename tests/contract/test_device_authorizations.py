"""Device authorizations in Redis. Spec: RFC 8628 §3.4, §3.5, §5.1."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.authorization_codes import (
    DeviceApproval,
    DeviceAuthorization,
    DeviceStatus,
    GuessLimit,
)
from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.fair_share import caller_address
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.single_use_codes import RedisDeviceAuthorizations
from tests.support.redis_server import RedisServer
from tests.support.stored_values import NOW

_MINUTE = timedelta(minutes=1)
_AT_ONCE = 50
_REALM = "demo-id"
_LIMIT = GuessLimit(most=3, window=_MINUTE)
ASKED = DeviceAuthorization(
    device_code="d" * 43,
    user_code="WDJBMJHT",
    client="tv-uuid",
    client_id="tv",
    scope="openid profile",
    interval=timedelta(),
    nonce="n-1",
    code_challenge="E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
    code_challenge_method="S256",
    certificate="thumbprint",
)
APPROVAL = DeviceApproval("session", "alice-uuid", NOW, "gold", NOW - _MINUTE)


@pytest.fixture
async def devices(redis_server: RedisServer) -> AsyncIterator[RedisDeviceAuthorizations]:
    client = create_client(redis_server.url)
    yield RedisDeviceAuthorizations(client)
    await client.aclose()


async def _status(devices: RedisDeviceAuthorizations, client: str = ASKED.client) -> DeviceStatus:
    return (await devices.poll(_REALM, ASKED.device_code, client)).status


async def _find(
    devices: RedisDeviceAuthorizations, code: str = ASKED.user_code, address: str = "192.0.2.1"
) -> DeviceStatus:
    return (await devices.find_by_user_code(_REALM, code, address, _LIMIT)).status


@pytest.mark.parametrize(
    ("asked", "approval"),
    [
        (ASKED, APPROVAL),
        (
            replace(ASKED, nonce=None, code_challenge=None, code_challenge_method=None),
            DeviceApproval("session", "alice-uuid", NOW),
        ),
    ],
    ids=["full", "bare"],
)
async def test_an_approved_code_is_spent_once(
    devices: RedisDeviceAuthorizations, asked: DeviceAuthorization, approval: DeviceApproval
) -> None:
    assert await devices.add(_REALM, asked, _MINUTE)
    assert await _status(devices) is DeviceStatus.PENDING
    assert not await devices.redeem(_REALM, asked.device_code)
    found = await devices.find_by_user_code(_REALM, asked.user_code, "192.0.2.1", _LIMIT)
    assert (found.status, found.authorization) == (DeviceStatus.PENDING, asked)
    assert await devices.approve(_REALM, asked.user_code, asked.client, approval)
    poll = await devices.poll(_REALM, asked.device_code, asked.client)
    assert (poll.status, poll.authorization, poll.approval) == (
        DeviceStatus.APPROVED,
        asked,
        approval,
    )
    assert await devices.redeem(_REALM, asked.device_code)
    assert not await devices.redeem(_REALM, asked.device_code)
    assert await _status(devices) is DeviceStatus.UNKNOWN


async def test_of_many_at_once_on_two_gateways_one_spends_it(
    devices: RedisDeviceAuthorizations, redis_server: RedisServer
) -> None:
    await devices.add(_REALM, ASKED, _MINUTE)
    await devices.approve(_REALM, ASKED.user_code, ASKED.client, APPROVAL)
    client = create_client(redis_server.url)
    gateways = (devices, RedisDeviceAuthorizations(client))
    taken = await asyncio.gather(
        *(gateways[n % 2].redeem(_REALM, ASKED.device_code) for n in range(_AT_ONCE))
    )
    await client.aclose()
    assert sorted(taken) == [*[False] * (_AT_ONCE - 1), True]


async def test_the_first_answer_holds_and_uses_up_the_user_code(
    devices: RedisDeviceAuthorizations,
) -> None:
    await devices.add(_REALM, ASKED, _MINUTE)
    assert await devices.deny(_REALM, ASKED.user_code, ASKED.client)
    assert not await devices.approve(_REALM, ASKED.user_code, ASKED.client, APPROVAL)
    assert await _status(devices) is DeviceStatus.DENIED
    assert await _status(devices) is DeviceStatus.DENIED
    assert await _find(devices) is DeviceStatus.UNKNOWN


async def test_another_client_neither_polls_nor_is_approved(
    devices: RedisDeviceAuthorizations,
) -> None:
    await devices.add(_REALM, ASKED, _MINUTE)
    assert await _status(devices, "radio-uuid") is DeviceStatus.OTHER_CLIENT
    assert not await devices.approve(_REALM, ASKED.user_code, "radio-uuid", APPROVAL)
    assert not await devices.deny(_REALM, ASKED.user_code, "radio-uuid")
    assert await _status(devices) is DeviceStatus.PENDING


async def test_another_realm_knows_nothing_of_it(devices: RedisDeviceAuthorizations) -> None:
    await devices.add(_REALM, ASKED, _MINUTE)
    poll = await devices.poll("other-id", ASKED.device_code, ASKED.client)
    assert poll.status is DeviceStatus.UNKNOWN
    found = await devices.find_by_user_code("other-id", ASKED.user_code, "192.0.2.2", _LIMIT)
    assert found.status is DeviceStatus.UNKNOWN


async def test_a_user_code_in_use_is_not_given_again(devices: RedisDeviceAuthorizations) -> None:
    assert await devices.add(_REALM, ASKED, _MINUTE)
    assert not await devices.add(_REALM, replace(ASKED, device_code="e" * 43), _MINUTE)


async def test_an_early_poll_is_too_fast_and_keeps_the_interval(
    devices: RedisDeviceAuthorizations, redis_server: RedisServer
) -> None:
    await devices.add(_REALM, replace(ASKED, interval=_MINUTE), _MINUTE)
    assert await _status(devices) is DeviceStatus.PENDING
    client = create_client(redis_server.url)
    mark = f"rg:device-polled:{_REALM}:{ASKED.device_code}"
    await client.pexpire(mark, 5_000)
    assert await _status(devices) is DeviceStatus.TOO_FAST
    assert 0 < await client.pttl(mark) <= 5_000
    await client.delete(mark)
    assert await _status(devices) is DeviceStatus.PENDING
    await client.aclose()


async def test_the_device_learns_that_its_code_has_expired(
    devices: RedisDeviceAuthorizations,
) -> None:
    await devices.add(_REALM, ASKED, timedelta())
    await asyncio.sleep(0)
    while await _status(devices) is DeviceStatus.PENDING:
        pass
    assert await _status(devices) is DeviceStatus.EXPIRED
    assert await _find(devices) is DeviceStatus.EXPIRED
    assert not await devices.approve(_REALM, ASKED.user_code, ASKED.client, APPROVAL)


async def test_an_address_guesses_a_few_times(devices: RedisDeviceAuthorizations) -> None:
    await devices.add(_REALM, ASKED, _MINUTE)
    for _ in range(_LIMIT.most):
        assert await _find(devices, "BBBBBBBB") is DeviceStatus.UNKNOWN
    assert await _find(devices, "BBBBBBBB") is DeviceStatus.TOO_MANY_GUESSES
    assert await _find(devices) is DeviceStatus.TOO_MANY_GUESSES
    assert await _find(devices, address="192.0.2.3") is DeviceStatus.PENDING


async def test_codes_that_exist_are_no_guesses(devices: RedisDeviceAuthorizations) -> None:
    await devices.add(_REALM, ASKED, _MINUTE)
    found = [await _find(devices, address="192.0.2.4") for _ in range(_LIMIT.most + 1)]
    assert set(found) == {DeviceStatus.PENDING}


async def test_every_key_expires(
    devices: RedisDeviceAuthorizations, redis_server: RedisServer
) -> None:
    client = create_client(redis_server.url)
    await devices.add(_REALM, replace(ASKED, interval=_MINUTE), _MINUTE)
    await _status(devices)
    await _find(devices, "BBBBBBBB", "192.0.2.5")
    keys = [
        f"rg:device-code:{_REALM}:{ASKED.device_code}",
        f"rg:device-user-code:{_REALM}:{ASKED.user_code}",
        f"rg:device-polled:{_REALM}:{ASKED.device_code}",
        f"rg:device-guesses:{_REALM}:192.0.2.5",
    ]
    for key in keys:
        assert 0 < await client.pttl(key) <= 130_000, key
    await client.aclose()


async def test_without_redis_no_device_gets_tokens(own_redis: RedisServer) -> None:
    client = create_client(own_redis.url)
    own_redis.stop()
    with pytest.raises(StoreUnavailable):
        await RedisDeviceAuthorizations(client).poll(_REALM, ASKED.device_code, ASKED.client)
    await client.aclose()


async def test_a_flood_of_one_network_leaves_the_codes_of_others(
    redis_server: RedisServer,
) -> None:
    async with aclosing(create_client(redis_server.url)) as client:
        devices = RedisDeviceAuthorizations(client, most_anonymous_bytes=5 * 1800)
        anonymous = replace(ASKED, is_anonymous=True, scope="x" * 1000)
        own = [replace(anonymous, device_code=f"own{n}", user_code=f"OWN{n}") for n in range(2)]
        caller_address.set("192.0.2.1")
        for asked in own:
            assert await devices.add(_REALM, asked, _MINUTE)
        caller_address.set("192.0.2.66")
        for number in range(50):
            asked = replace(anonymous, device_code=f"f{number}", user_code=f"F{number}")
            assert await devices.add(_REALM, asked, _MINUTE)
        for asked in own:
            assert await _find(devices, asked.user_code) is DeviceStatus.PENDING
            assert await devices.approve(_REALM, asked.user_code, ASKED.client, APPROVAL)
            assert (await devices.poll(_REALM, asked.device_code, ASKED.client)).authorization
        assert await _find(devices, "F49") is DeviceStatus.PENDING


async def test_guesses_of_one_network_keep_no_other_from_its_code(
    devices: RedisDeviceAuthorizations,
) -> None:
    assert await devices.add(_REALM, ASKED, _MINUTE)
    for _ in range(2 * _LIMIT.most):
        await _find(devices, "BBBBBBBB", "192.0.2.66")
    assert await _find(devices, address="192.0.2.66") is DeviceStatus.TOO_MANY_GUESSES
    assert await _find(devices, address="192.0.2.1") is DeviceStatus.PENDING


async def test_the_oldest_of_too_many_anonymous_ones_are_removed(
    redis_server: RedisServer,
) -> None:
    """Attacks: C24. Everyone may ask for codes in the name of a public client."""
    async with aclosing(create_client(redis_server.url)) as client:
        devices = RedisDeviceAuthorizations(client, most_anonymous_bytes=5 * 1800)
        anonymous = replace(ASKED, is_anonymous=True, scope="x" * 1000)
        assert await devices.add(_REALM, replace(ASKED, user_code="proven"), _MINUTE)
        many = [replace(anonymous, device_code=f"d{n}", user_code=f"U{n}") for n in range(20)]
        for asked in many:
            assert await devices.add(_REALM, asked, _MINUTE)
        assert await devices.approve(_REALM, "U19", ASKED.client, APPROVAL)
        assert await devices.deny(_REALM, "U18", ASKED.client)
        for asked in many[:4]:
            assert await devices.add(_REALM, asked, _MINUTE)
        left = [
            asked.device_code
            for asked in many
            if (await devices.poll(_REALM, asked.device_code, ASKED.client)).status
            is not DeviceStatus.UNKNOWN
        ]
        assert left == ["d0", "d1", "d2", "d3", "d17", "d18", "d19"]
        assert await _find(devices, "U4") is DeviceStatus.UNKNOWN
        assert await _find(devices, "proven") is DeviceStatus.PENDING
