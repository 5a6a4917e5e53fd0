"""Signing in with a second factor: a password alone is not enough, a code is taken once."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace

import pytest

from gateway.authentication.errors import (
    AccountDisabled,
    AccountNotSetUp,
    InvalidUserCredentials,
)
from gateway.authentication.one_time_passwords import OneTimePasswordCheck
from gateway.crypto.one_time_passwords import PyOtp
from gateway.domain.errors import SecretUnreadable
from gateway.domain.flows import SignInRules
from gateway.domain.realm import OtpPolicy
from gateway.domain.secrets import Secret
from gateway.domain.users import User
from gateway.storage.sql.database import SqlDatabase
from tests.support.deadline import eventually
from tests.support.one_time_devices import code, counted, device
from tests.support.password_logins import (
    ALWAYS_CODE,
    NEVER_CODE,
    RULES,
    WRONG,
    Gateway,
    guarded_realm,
    password_credential,
    permanently,
    store_user,
)
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, credential, store_realms, user

REALM = guarded_realm(replace(RULES, failure_factor=100))
OpenGateway = Callable[[], Gateway]


@pytest.fixture
async def open_gateway(
    database: SqlDatabase, redis_server: RedisServer
) -> AsyncIterator[OpenGateway]:
    """Return what opens gateways on the same stores."""
    await store_realms(database, "demo")
    opened: list[Gateway] = []

    def open_one() -> Gateway:
        opened.append(Gateway(database, redis_server, SetClock(NOW)))
        return opened[-1]

    yield open_one
    for one in opened:
        await one.close()


async def _store(database: SqlDatabase, *devices: dict[str, object], **fields: object) -> User:
    stored = await store_user(database, **fields)  # type: ignore[arg-type] # any field
    async with database.write() as stores:
        for number, one in enumerate(devices):
            fields = one | {"id": f"{stored.id}-device-{number}", "priority": 20 + number}
            made = credential(stored.id, **fields)
            await stores.users.set_credential(stored.realm_id, made)
    return stored


async def _refused(gateway: Gateway, given: str | None, **how: object) -> None:
    with pytest.raises(InvalidUserCredentials) as refusal:
        await gateway.sign_in(REALM, code=given, **how)  # type: ignore[arg-type] # any of sign_in
    assert refusal.value.event_error == "invalid_user_credentials"


async def test_a_password_alone_is_not_enough_where_a_device_is_set_up(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device())
    for given in (None, "", "000000", code(7), f" {code()}"):
        await _refused(gateway, given)
    await _refused(gateway, code(), password=WRONG)
    assert (await gateway.sign_in(REALM, code=code())).username == "alice"


async def test_who_has_no_device_needs_no_code(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database)
    await gateway.sign_in(REALM)
    await gateway.sign_in(REALM, code="123456")


async def test_a_required_code_refuses_users_without_a_device(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway, always = open_gateway(), SignInRules(ALWAYS_CODE)
    await _store(database)
    with pytest.raises(AccountNotSetUp):
        await gateway.sign_in(REALM, code=code(), rules=always)
    await _store(database, device(), username="bob")
    for given in (None, "000000"):
        await _refused(gateway, given, username="bob", rules=always)
    await gateway.sign_in(REALM, "bob", code=code(), rules=always)


async def test_where_a_code_is_never_required_the_password_is_enough(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway, never = open_gateway(), SignInRules(NEVER_CODE)
    await _store(database, device())
    await gateway.sign_in(REALM, rules=never)
    await _refused(gateway, code(), password=WRONG, rules=never)


async def test_a_device_without_a_password_opens_nothing(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    async with database.write() as stores:
        await stores.users.add(user("alice"))
        made = credential("alice-uuid", **device())
        await stores.users.set_credential(REALM.id, made)
    for password in (None, WRONG):
        await _refused(gateway, code(), password=password)


async def test_the_first_device_is_the_one_that_counts(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device(), device(key="abcdefghijabcdefghij"))
    await _refused(gateway, code(key="abcdefghijabcdefghij"))
    await gateway.sign_in(REALM, code=code())


async def test_the_window_is_the_realms(database: SqlDatabase, open_gateway: OpenGateway) -> None:
    """attacks: D8."""
    gateway = open_gateway()
    await _store(database, device())
    for steps in (-2, 2):
        await _refused(gateway, code(steps))
    wide = replace(REALM, otp_policy=OtpPolicy(look_ahead_window=2))
    for steps in (-2, 2):
        await gateway.sign_in(wide, code=code(steps))


async def test_a_code_is_taken_once_by_any_gateway(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    one, other = open_gateway(), open_gateway()
    await _store(database, device())
    await one.sign_in(REALM, code=code())
    for gateway in (one, other):
        await _refused(gateway, code())
    await other.sign_in(REALM, code=code(1))


@pytest.mark.parametrize("code_reusable", [False, True])
async def test_of_many_at_once_with_one_code_one_gets_in(
    database: SqlDatabase, open_gateway: OpenGateway, *, code_reusable: bool
) -> None:
    """RFC 4226: a counted code is accepted once, also where a realm allows timed codes again."""
    realm = replace(REALM, otp_policy=OtpPolicy(code_reusable=code_reusable))
    gateways = [open_gateway(), open_gateway()]
    await _store(database, device("hotp"), device(key="unused"))
    said = await asyncio.gather(
        *(gateways[number % 2].sign_in(realm, code=counted(0)) for number in range(12)),
        return_exceptions=True,
    )
    assert sum(isinstance(one, User) for one in said) == 1
    assert sum(isinstance(one, InvalidUserCredentials) for one in said) == 11


async def test_the_realm_may_let_a_code_be_used_again(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device())
    lax = replace(REALM, otp_policy=OtpPolicy(code_reusable=True))
    await gateway.sign_in(lax, code=code())
    await gateway.sign_in(lax, code=code())


async def test_a_counted_code_is_used_up_with_all_before_it(
    database: SqlDatabase, open_gateway: OpenGateway, redis_server: RedisServer
) -> None:
    """Whatever the realm says of reuse, and though Redis has forgotten everything."""
    gateway = open_gateway()
    lax = replace(REALM, otp_policy=OtpPolicy(code_reusable=True))
    await _store(database, device("hotp"))
    await gateway.sign_in(lax, code=counted(1))
    with redis_server.client() as plain:
        plain.flushall()
    for counter in (0, 1, 4):
        await _refused(gateway, counted(counter))
    await gateway.sign_in(lax, code=counted(2))


async def test_a_counter_of_a_device_that_was_set_up_anew_stays(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    open_gateway()
    await _store(database, device("hotp"))
    async with database.write() as stores:
        found = await stores.users.credentials(REALM.id, "alice-uuid")
        before = next(one for one in found if one.type == "otp")
        anew = replace(before, secret_data=json.dumps({"value": "another key"}))
        await stores.users.set_credential(REALM.id, anew)
    checks = OneTimePasswordCheck(PyOtp(), database)
    assert not await checks.is_right(REALM, before, Secret(counted(0)), NOW)
    async with database.read() as stores:
        found = await stores.users.credentials(REALM.id, "alice-uuid")
    assert anew in found


async def test_a_wrong_code_counts_with_the_failures_and_apart(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device())
    await _refused(gateway, "000000")
    await _refused(gateway, None, password=WRONG)
    record = await gateway.failures.record(REALM.id, "alice-uuid")
    assert (record.failures, record.secondary_failures) == (2, 1)
    await gateway.sign_in(REALM, code=code())
    record = await gateway.failures.record(REALM.id, "alice-uuid")
    assert (record.failures, record.secondary_failures) == (0, 0)


async def test_too_many_wrong_codes_lock_as_wrong_passwords_do(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device())
    realm = guarded_realm(replace(RULES, failure_factor=2))
    for given in ("000000", "000001"):
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(realm, code=given)
    with pytest.raises(InvalidUserCredentials) as refusal:
        await gateway.sign_in(realm, code=code())
    assert refusal.value.event_error == "user_temporarily_disabled"
    assert gateway.metrics.events["temporary_lockout"] == 1


async def test_a_device_removed_during_its_use_is_not_restored(
    database: SqlDatabase,
    other_gateway: SqlDatabase,
    redis_server: RedisServer,
    somebody_waits: Callable[[], bool],
) -> None:
    await store_realms(database, "demo")
    await _store(database, device("hotp"))
    async with Gateway(other_gateway, redis_server, SetClock(NOW)) as gateway:
        async with database.write() as stores:
            held = await stores.users.credentials(REALM.id, "alice-uuid")
            (taken_away,) = (one for one in held if one.type == "otp")
            await stores.users.remove_credential(REALM.id, taken_away)
            signing_in = asyncio.create_task(gateway.sign_in(REALM, code=counted(0)))
            await eventually(lambda: somebody_waits() or signing_in.done())
        with suppress(InvalidUserCredentials):
            await signing_in
    async with database.read() as stores:
        left = await stores.users.credentials(REALM.id, "alice-uuid")
    assert [one.type for one in left] == ["password"]


async def test_more_wrong_codes_than_the_realm_allows_lock_for_good(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    """Though wrong passwords would lock for a while only."""
    gateway = open_gateway()
    await _store(database, device())
    realm = guarded_realm(replace(RULES, failure_factor=100, max_secondary_failures=2))
    for given in ("000000", "000001"):
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(realm, code=given)
    async with database.read() as stores:
        before = await stores.users.find_by_id(realm.id, "alice-uuid")
    assert before is not None
    assert before.enabled
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(realm, code="000002")
    async with database.read() as stores:
        after = await stores.users.find_by_id(realm.id, "alice-uuid")
    assert after is not None
    assert not after.enabled
    assert after.attributes["disabledReason"] == ("permanentLockout",)
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(realm, code=code())


async def test_of_many_parallel_codes_the_allowed_number_is_checked(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    one, other = open_gateway(), open_gateway()
    await _store(database, device())
    realm = guarded_realm(replace(permanently(), failure_factor=100, max_secondary_failures=2))
    said = await asyncio.gather(
        *((one, other)[number % 2].sign_in(realm, code="000000") for number in range(60)),
        return_exceptions=True,
    )
    assert all(isinstance(answer, InvalidUserCredentials) for answer in said)
    assert one.hasher.looks + other.hasher.looks == 3


async def test_disabled_needs_the_password_and_setup_needs_the_code(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device(), enabled=False)
    with pytest.raises(AccountDisabled):
        await gateway.sign_in(REALM)
    await _store(database, device(), username="bob", required_actions=("UPDATE_PASSWORD",))
    await _refused(gateway, None, username="bob")
    with pytest.raises(AccountNotSetUp):
        await gateway.sign_in(REALM, "bob", code=code())


async def test_a_device_that_cannot_be_read_lets_nobody_in(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device(secret_data=json.dumps({"value": ""})))
    with pytest.raises(SecretUnreadable):
        await gateway.sign_in(REALM, code=code())


async def test_without_redis_a_code_is_taken_once(
    database: SqlDatabase, own_redis: RedisServer
) -> None:
    await store_realms(database, "demo")
    await _store(database, device())
    async with Gateway(database, own_redis, SetClock(NOW)) as gateway:
        own_redis.stop()
        realm = guarded_realm(replace(RULES, protected=False))
        await gateway.sign_in(realm, code=code())
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(realm, code=code())


async def test_rehashing_waits_for_the_code_of_users_with_a_device(
    database: SqlDatabase, open_gateway: OpenGateway
) -> None:
    gateway = open_gateway()
    await _store(database, device())
    stronger = guarded_realm(iterations=2_000)
    before = password_credential().credential_data

    async def stored() -> str:
        async with database.read() as stores:
            found = await stores.users.credentials(REALM.id, "alice-uuid")
        return next(one.credential_data for one in found if one.type == "password")

    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(stronger)
    assert await stored() == before
    await gateway.sign_in(stronger, code=code())
    assert await stored() != before
