"""Signing in by password over the real stores: who gets in, and what the others learn."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from gateway.admin.access import operator
from gateway.admin.changes import Changes
from gateway.admin.users import UserAdministration
from gateway.authentication.errors import (
    AccountDisabled,
    AccountNotSetUp,
    InvalidUserCredentials,
    SignInRefused,
)
from gateway.authentication.realm_profile import store_profile
from gateway.domain.errors import Overloaded, StoreUnavailable
from gateway.domain.flows import UPDATE_PASSWORD, VERIFY_EMAIL, VERIFY_PROFILE, SignInRules
from gateway.domain.realm import LoginSettings, PasswordRule
from gateway.domain.refusals import NotFound
from gateway.domain.secrets import Secret
from gateway.domain.users import User
from gateway.representations.stored_user_profile import StoredProfile
from gateway.representations.user_profile import standard_user_profile
from gateway.storage.sql.database import SqlDatabase
from tests.support.password_logins import (
    ADDRESS,
    ITERATIONS,
    RULES,
    WRONG,
    CountingHasher,
    Gateway,
    guarded_realm,
    password_credential,
    permanently,
    store_user,
)
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, client, store_realms

REALM = guarded_realm()


OpenGateway = Callable[..., Gateway]


@pytest.fixture
async def open_gateway(database: SqlDatabase) -> AsyncIterator[OpenGateway]:
    """Return what opens gateways that share a database; they are closed at the end."""
    opened: list[Gateway] = []

    def open_one(server: RedisServer, hasher: CountingHasher | None = None) -> Gateway:
        opened.append(Gateway(database, server, SetClock(NOW), hasher))
        return opened[-1]

    yield open_one
    for one in opened:
        await one.close()


@pytest.fixture
async def gateway(
    database: SqlDatabase, open_gateway: OpenGateway, redis_server: RedisServer
) -> Gateway:
    await store_realms(database, "demo")
    return open_gateway(redis_server)


async def _stored(database: SqlDatabase) -> User:
    async with database.read() as stores:
        found = await stores.users.find_by_id(REALM.id, "alice-uuid")
    assert found is not None
    return found


async def _failures(gateway: Gateway) -> int:
    return (await gateway.failures.record(REALM.id, "alice-uuid")).failures


async def _lock(gateway: Gateway) -> None:
    for _ in range(RULES.failure_factor):
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(REALM, password=WRONG)


async def test_the_right_password_signs_in_by_name_and_by_address(
    gateway: Gateway, database: SqlDatabase
) -> None:
    stored = await store_user(database, "zoë", email="zoe@example.test")
    for name in ("zoë", "ZOË", "zoe\u0308", "Zoe@Example.test"):
        assert await gateway.sign_in(REALM, name) == stored


async def test_all_names_of_a_user_share_one_count(gateway: Gateway, database: SqlDatabase) -> None:
    stored = await store_user(database, "zoë", email="zoe@example.test")
    for name in ("zoë", "ZOE\u0308", "Zoe@Example.test"):
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(REALM, name, WRONG)
    assert (await gateway.failures.record(REALM.id, stored.id)).failures == 3
    with pytest.raises(InvalidUserCredentials, match="user_temporarily_disabled"):
        await gateway.sign_in(REALM, "zoë")


@pytest.mark.parametrize(
    "login",
    [LoginSettings(login_with_email_allowed=False), LoginSettings(duplicate_emails_allowed=True)],
)
async def test_an_address_that_may_not_name_a_user_does_not(
    gateway: Gateway, database: SqlDatabase, login: LoginSettings
) -> None:
    await store_user(database, email="alice@example.test")
    with pytest.raises(InvalidUserCredentials, match="user_not_found"):
        await gateway.sign_in(guarded_realm(login=login), "alice@example.test")


async def test_a_user_name_like_anothers_address_is_still_the_name(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database, "alice", email="bob@example.test")
    bob = await store_user(database, "bob@example.test")
    assert await gateway.sign_in(REALM, "bob@example.test") == bob


@pytest.mark.parametrize(
    "password", [WRONG, None, Secret(""), Secret("x" * 2_000), Secret("\ud800")]
)
async def test_a_wrong_password_is_refused_and_counted(
    gateway: Gateway, database: SqlDatabase, password: Secret | None
) -> None:
    await store_user(database)
    with pytest.raises(InvalidUserCredentials, match=r"^invalid_user_credentials$"):
        await gateway.sign_in(REALM, password=password)
    record = await gateway.failures.record(REALM.id, "alice-uuid")
    assert (record.failures, record.last_address) == (1, ADDRESS)


async def test_an_empty_password_never_signs_in_even_if_stored(
    gateway: Gateway, database: SqlDatabase
) -> None:
    stored = await store_user(database)
    async with database.write() as stores:
        empty = replace(password_credential(stored.id, Secret("")), priority=1)
        await stores.users.set_credential(REALM.id, empty)
    for password in (None, Secret("")):
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(REALM, password=password)


@pytest.mark.parametrize(
    "name", ["nobody", "nobody@example.test", "", "\ud800", "a\0", "x" * 9_999]
)
async def test_failures_at_names_of_no_user_expire(
    gateway: Gateway, redis_server: RedisServer, name: str
) -> None:
    with pytest.raises(InvalidUserCredentials, match=r"^user_not_found$"):
        await gateway.sign_in(REALM, name)
    with redis_server.client() as plain:
        kept = {key: plain.ttl(key) for key in plain.scan_iter()}
    assert 0 < len(kept) <= 3
    assert all(seconds > 0 for seconds in kept.values()), kept
    assert not any(name in key for key in kept) or not name, "the name itself is not kept"


async def test_a_service_account_does_not_sign_in_by_password(
    gateway: Gateway, database: SqlDatabase
) -> None:
    async with database.write() as stores:
        await stores.clients.add(client("device"))
    await store_user(database, service_account_client="device-uuid")
    with pytest.raises(InvalidUserCredentials, match=r"^invalid_user$"):
        await gateway.sign_in(REALM)
    assert gateway.hasher.looks == 0


async def test_a_user_without_a_password_does_not_sign_in(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    async with database.write() as stores:
        for stored in await stores.users.credentials(REALM.id, "alice-uuid"):
            await stores.users.set_credential(REALM.id, replace(stored, type="otp"))
    with pytest.raises(InvalidUserCredentials, match=r"^invalid_user_credentials$"):
        await gateway.sign_in(REALM)


async def test_a_locked_users_right_password_is_not_even_looked_at(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await _lock(gateway)
    looks = gateway.hasher.looks
    with pytest.raises(InvalidUserCredentials, match=r"^user_temporarily_disabled$"):
        await gateway.sign_in(REALM)
    assert gateway.hasher.looks == looks == RULES.failure_factor
    assert await _failures(gateway) == RULES.failure_factor
    gateway.clock.advance(RULES.wait_increment)
    await gateway.sign_in(REALM)
    assert await _failures(gateway) == 0


async def test_disabled_is_reported_only_after_the_right_password(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database, enabled=False)
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(REALM, password=WRONG)
    with pytest.raises(AccountDisabled):
        await gateway.sign_in(REALM)
    assert await _failures(gateway) == 1, "no sign-in: neither counted nor forgotten"


async def test_required_actions_show_only_after_the_right_password(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database, required_actions=("CONFIGURE_TOTP",))
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(REALM, password=WRONG)
    with pytest.raises(AccountNotSetUp):
        await gateway.sign_in(REALM)
    assert await _failures(gateway) == 1


async def test_an_address_must_be_verified_where_the_realm_says_so(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database, email="alice@example.test")
    await store_user(database, "bob", email_verified=True)
    realm = guarded_realm(login=LoginSettings(verify_email=True))
    with pytest.raises(AccountNotSetUp):
        await gateway.sign_in(realm)
    await gateway.sign_in(realm, "bob")


async def test_an_expired_password_must_be_changed(gateway: Gateway, database: SqlDatabase) -> None:
    await store_user(database)
    realm = guarded_realm(more=(PasswordRule("forceExpiredPasswordChange", "30"),))
    gateway.clock.advance(timedelta(days=30))
    await gateway.sign_in(realm)
    gateway.clock.advance(timedelta(milliseconds=1))
    for _ in range(2):
        with pytest.raises(AccountNotSetUp):
            await gateway.sign_in(realm)
    assert (await _stored(database)).required_actions == ("UPDATE_PASSWORD",)


@pytest.mark.parametrize("days", ["9999999", "2147483647"])
async def test_a_password_may_be_valid_beyond_the_last_instant(
    gateway: Gateway, database: SqlDatabase, days: str
) -> None:
    await store_user(database)
    await gateway.sign_in(guarded_realm(more=(PasswordRule("forceExpiredPasswordChange", days),)))


async def test_a_permanent_lockout_disables_the_account_in_sql(
    gateway: Gateway, database: SqlDatabase, redis_server: RedisServer
) -> None:
    await store_user(database, attributes={"kept": ("yes",)})
    realm = guarded_realm(permanently())
    for _ in range(RULES.failure_factor):
        with pytest.raises(InvalidUserCredentials, match=r"^invalid_user_credentials$"):
            await gateway.sign_in(realm, password=WRONG)
    stored = await _stored(database)
    assert not stored.enabled
    assert stored.attributes == {"kept": ("yes",), "disabledReason": ("permanentLockout",)}
    assert gateway.invalidation.topics == ["user:demo-id:alice-uuid"]
    with redis_server.client() as plain:
        plain.flushall()
    for tried in (realm, REALM, guarded_realm(replace(RULES, protected=False))):
        with pytest.raises(InvalidUserCredentials, match=r"^user_disabled$"):
            await gateway.sign_in(tried)
    assert gateway.hasher.looks == RULES.failure_factor


async def test_a_permanent_lockout_of_a_killed_gateway_is_completed(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    realm = guarded_realm(permanently())
    for _ in range(RULES.failure_factor):
        await gateway.failures.fail(
            realm.id, "alice-uuid", "", rules=realm.brute_force, address=ADDRESS
        )
    assert (await _stored(database)).enabled
    with pytest.raises(InvalidUserCredentials, match=r"^user_disabled$"):
        await gateway.sign_in(realm)
    assert not (await _stored(database)).enabled


def _activation(gateway: Gateway, database: SqlDatabase) -> UserAdministration:
    changes = Changes(database, gateway.clock, gateway.invalidation)
    unused: Any = None
    return UserAdministration(changes, unused, unused, gateway.failures)


async def test_a_permanent_lockout_and_its_end_are_in_the_change_log(
    gateway: Gateway, database: SqlDatabase
) -> None:
    """A gateway that misses the message reads the log and drops its cached user."""
    await store_user(database)
    newest = await database.changes.newest()
    realm = guarded_realm(permanently())
    for _ in range(RULES.failure_factor):
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(realm, password=WRONG)
    assert await _topics_after(database, newest) == ["user:demo-id:alice-uuid"]
    assert await _activation(gateway, database).unlock_user(operator(REALM), "alice-uuid")
    assert await _topics_after(database, newest) == ["user:demo-id:alice-uuid"] * 2
    assert not await _activation(gateway, database).unlock_user(operator(REALM), "alice-uuid")
    stored = await _stored(database)
    assert (stored.enabled, stored.attributes) == (True, {})


async def test_an_unlock_does_not_enable_a_user_disabled_by_an_admin(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database, enabled=False)
    activation = _activation(gateway, database)
    assert not await activation.unlock_user(operator(REALM), "alice-uuid")
    with pytest.raises(NotFound):
        await activation.unlock_user(operator(REALM), "unknown")
    assert not (await _stored(database)).enabled
    with pytest.raises(AccountDisabled):
        await gateway.sign_in(REALM)


async def _topics_after(database: SqlDatabase, newest: int) -> list[str]:
    return [topic for change in await database.changes.after(newest) for topic in change.topics]


_ACTIONS = frozenset({UPDATE_PASSWORD, VERIFY_EMAIL, VERIFY_PROFILE})


@pytest.mark.parametrize("action", sorted(_ACTIONS))
async def test_a_disabled_required_action_stops_only_its_own_check(
    gateway: Gateway, database: SqlDatabase, action: str
) -> None:
    last_name = None if action == VERIFY_PROFILE else "Lovelace"
    await store_user(database, email_verified=action != VERIFY_EMAIL, last_name=last_name)
    realm = guarded_realm(
        login=LoginSettings(verify_email=True),
        more=(PasswordRule("forceExpiredPasswordChange", "30"),),
    )
    gateway.clock.advance(timedelta(days=31 if action == UPDATE_PASSWORD else 0))
    await gateway.sign_in(realm, rules=SignInRules(off=frozenset({action})))
    assert (await _stored(database)).required_actions == ()
    for others in (frozenset[str](), _ACTIONS - {action}):
        with pytest.raises(AccountNotSetUp):
            await gateway.sign_in(realm, rules=SignInRules(off=others))


async def test_an_assigned_action_counts_though_all_are_disabled(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database, required_actions=(VERIFY_EMAIL,))
    with pytest.raises(AccountNotSetUp):
        await gateway.sign_in(REALM, rules=SignInRules(off=_ACTIONS))


async def test_a_password_is_hashed_anew_where_the_realm_asks_for_more(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    async with database.read() as stores:
        (before,) = await stores.users.credentials(REALM.id, "alice-uuid")
    for _ in range(2):
        await gateway.sign_in(guarded_realm(iterations=2 * ITERATIONS))
    async with database.read() as stores:
        (after,) = await stores.users.credentials(REALM.id, "alice-uuid")
    assert '"hashIterations":2000' in after.credential_data
    assert (after.id, after.created_at) == (before.id, before.created_at)
    await gateway.sign_in(guarded_realm(iterations=2 * ITERATIONS))


async def test_rehashing_does_not_revert_a_concurrent_password_change(
    database: SqlDatabase, open_gateway: OpenGateway, redis_server: RedisServer
) -> None:
    await store_realms(database, "demo")
    await store_user(database)
    new = Secret("changed by an administrator")

    class ChangedMeanwhile(CountingHasher):
        async def hash(
            self,
            password: Secret,
            *,
            realm_id: str,
            algorithm: str | None,
            iterations: int | None = None,
        ) -> tuple[str, str]:
            async with database.write() as stores:
                (old,) = await stores.users.credentials(REALM.id, "alice-uuid")
                changed = password_credential(password=new)
                await stores.users.set_credential(REALM.id, replace(changed, id=old.id))
            return await super().hash(
                password, realm_id=realm_id, algorithm=algorithm, iterations=iterations
            )

    gateway = open_gateway(redis_server, ChangedMeanwhile())
    await gateway.sign_in(guarded_realm(iterations=2 * ITERATIONS))
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(REALM)
    await gateway.sign_in(REALM, password=new)


@pytest.mark.parametrize("missing", ["email", "first_name", "last_name"])
@pytest.mark.parametrize("value", [None, " "])
async def test_a_profile_must_be_complete_unless_the_realm_says_so(
    database: SqlDatabase, gateway: Gateway, missing: str, value: str | None
) -> None:
    await store_user(database, **{missing: value})  # type: ignore[arg-type] # one of the two
    with pytest.raises(InvalidUserCredentials):
        await gateway.sign_in(REALM, password=WRONG)
    with pytest.raises(AccountNotSetUp):
        await gateway.sign_in(REALM)
    await gateway.sign_in(replace(REALM, name="master"))
    await gateway.sign_in(replace(REALM, attributes={"userProfileEnabled": "false"}))


_BADGE = {"name": "badge", "multivalued": False, "validations": {"length": {"max": 3}}}
_USERS = {"view": ["user"], "edit": ["user"]}
_ADMINISTRATORS = {"view": ["user"], "edit": ["admin"]}


@pytest.mark.parametrize(
    ("attribute", "badge", "complete"),
    [
        ({"permissions": _USERS}, ("abc",), True),
        ({"permissions": _USERS}, ("abcd",), False),
        ({"permissions": _ADMINISTRATORS}, ("abcd",), True),
        ({"permissions": _USERS, "required": {}}, (), False),
        ({"permissions": _USERS, "required": {"roles": ["user"]}}, (), False),
        ({"permissions": _USERS, "required": {"roles": ["admin"]}}, (), True),
        ({"permissions": _USERS, "required": {"scopes": ["phone"]}}, (), True),
        ({"permissions": _ADMINISTRATORS, "required": {}}, (), True),
    ],
)
async def test_what_a_user_must_have_the_profile_of_the_realm_says(
    database: SqlDatabase,
    gateway: Gateway,
    attribute: dict[str, object],
    badge: tuple[str, ...],
    *,
    complete: bool,
) -> None:
    profile = standard_user_profile()
    profile["attributes"].append(_BADGE | attribute)
    async with database.write() as stores:
        await store_profile(stores, REALM.id, StoredProfile("its-id", profile))
    await store_user(database, attributes={"badge": badge})
    if complete:
        await gateway.sign_in(REALM)
    else:
        with pytest.raises(AccountNotSetUp):
            await gateway.sign_in(REALM)


async def test_a_user_name_counts_where_users_may_change_theirs(
    database: SqlDatabase, gateway: Gateway
) -> None:
    await store_user(database, "al")
    await gateway.sign_in(REALM, "al")
    changing = guarded_realm(login=LoginSettings(edit_username_allowed=True))
    with pytest.raises(AccountNotSetUp):
        await gateway.sign_in(changing, "al")
    by_address = LoginSettings(edit_username_allowed=True, registration_email_as_username=True)
    await gateway.sign_in(guarded_realm(login=by_address), "al")


async def test_logins_beyond_the_room_to_wait_are_shed_uncounted(
    database: SqlDatabase, open_gateway: OpenGateway, redis_server: RedisServer
) -> None:
    await store_realms(database, "demo")
    await store_user(database)
    gateway = open_gateway(redis_server, CountingHasher(1, waiting=0))
    at_work = asyncio.create_task(
        gateway.hasher.check_password(
            WRONG, None, realm_id=REALM.id, algorithm="pbkdf2-sha256", iterations=3_000_000
        )
    )
    await asyncio.sleep(0)
    for name in ("alice", "nobody"):
        with pytest.raises(Overloaded):
            await gateway.sign_in(REALM, name, WRONG)
    await at_work
    assert await _failures(gateway) == 0
    await gateway.sign_in(REALM)


async def test_without_redis_no_password_is_looked_at(
    database: SqlDatabase, open_gateway: OpenGateway, own_redis: RedisServer
) -> None:
    await store_realms(database, "demo")
    await store_user(database)
    gateway = open_gateway(own_redis)
    own_redis.stop()
    for name in ("alice", "nobody"):
        with pytest.raises(StoreUnavailable):
            await gateway.sign_in(REALM, name)
    assert gateway.hasher.looks == 0
    await gateway.sign_in(guarded_realm(replace(RULES, protected=False)))


async def test_every_refusal_is_of_the_drawn_tree() -> None:
    assert {kind.__name__ for kind in SignInRefused.__subclasses__()} == {
        "InvalidUserCredentials",
        "AccountDisabled",
        "AccountNotSetUp",
        "AccessDenied",
        "ActionDeclined",
        "ActionForbidden",
        "SessionLimitExceeded",
        "CertificateRejected",
        "LevelNotReached",
        "NotIdentified",
        "SignInStopped",
    }
