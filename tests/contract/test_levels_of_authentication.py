"""Step-up: a flow with levels of authentication. Keycloak: ConditionalLoaAuthenticator."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from gateway.authentication.engine import Refused, RequestedAuthentication, SignedIn
from gateway.authentication.errors import LevelNotReached
from gateway.domain.authentication import FormName
from gateway.domain.flows import Requirement
from gateway.storage.sql.database import SqlDatabase
from tests.support.one_time_devices import code, device
from tests.support.password_logins import RULES, Gateway, guarded_realm, store_user
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stepwise_sign_ins import Browser, FlowPart, required, rules, shown, sub_flow
from tests.support.stepwise_sign_ins import either as alternative
from tests.support.stored_values import NOW, credential, store_realms

REALM = guarded_realm(RULES)
LOGIN, CODE = FormName.USERNAME_PASSWORD, FormName.ONE_TIME_CODE


def _level(level: int, authenticator: str, max_age: timedelta) -> FlowPart:
    condition = required(
        "conditional-level-of-authentication",
        loa_condition_level=str(level),
        loa_max_age=str(int(max_age.total_seconds())),
    )
    steps = (condition, required(authenticator))
    return sub_flow(f"level {level}", *steps, requirement=Requirement.CONDITIONAL)


def _flow(second_lasts: timedelta = timedelta(minutes=5)) -> tuple[FlowPart, ...]:
    password = _level(1, "auth-username-password-form", timedelta(hours=10))
    levels = (password, _level(2, "auth-otp-form", second_lasts))
    forms = sub_flow("forms", *levels, requirement=Requirement.ALTERNATIVE)
    return alternative("auth-cookie"), forms


def requested(level: int | None, *, essential: bool = False) -> RequestedAuthentication:
    return RequestedAuthentication(level=level, level_is_essential=essential)


@pytest.fixture
async def gateway(database: SqlDatabase, redis_server: RedisServer) -> AsyncIterator[Gateway]:
    await store_realms(database, "demo")
    await store_user(database)
    async with database.write() as stores:
        await stores.users.set_credential(REALM.id, credential("alice-uuid", **device()))
    opened = Gateway(database, redis_server, SetClock(NOW))
    yield opened
    await opened.close()


async def signed_in(gateway: Gateway, level: int | None, *parts: FlowPart) -> Browser:
    """Return a browser that is signed in at a level."""
    browser = Browser(gateway, realm=REALM, sign_in=rules(*(parts or _flow())))
    await browser.begin(requested(level))
    step = await browser.log_in()
    if level == 2:
        step = await browser.submit(otp=code())
    browser.remember(step)
    return browser


async def test_the_first_level_is_enough_where_none_is_required(gateway: Gateway) -> None:
    browser = Browser(gateway, realm=REALM, sign_in=rules(*_flow()))
    assert shown(await browser.begin(requested(None))) == (LOGIN, None)
    done = await browser.log_in()
    assert isinstance(done, SignedIn)
    assert done.level == 1
    assert done.session_notes == {"loa-map": f'{{"1":{int(NOW.timestamp())}}}'}


async def test_a_higher_level_is_reached_by_what_it_requires_alone(gateway: Gateway) -> None:
    """`conditional-level-of-authentication` asks for the code of who has given the password."""
    browser = await signed_in(gateway, 1)
    for level in (None, 0, 1):
        done = await browser.begin(requested(level))
        assert isinstance(done, SignedIn)
        assert (done.level, done.is_fresh) == (1, False)
    assert shown(await browser.begin(requested(2))) == (CODE, "authenticateStrong")
    done = await browser.submit(otp=code())
    assert isinstance(done, SignedIn)
    assert (done.level, done.is_fresh, done.joins) == (2, True, browser.session)
    browser.remember(done)
    again = await browser.begin(requested(2))
    assert isinstance(again, SignedIn)
    assert (again.level, again.is_fresh) == (2, False)


async def test_a_level_lasts_as_long_as_its_condition_says(gateway: Gateway) -> None:
    browser = await signed_in(gateway, 2)
    gateway.clock.advance(timedelta(minutes=5))
    assert isinstance(await browser.begin(requested(2)), SignedIn)
    gateway.clock.advance(timedelta(seconds=1))
    assert shown(await browser.begin(requested(2))) == (CODE, "authenticateStrong")
    lower = await browser.begin(requested(1))
    assert isinstance(lower, SignedIn)
    assert lower.level == 1


async def test_a_level_that_lasts_no_time_is_reached_in_every_sign_in(gateway: Gateway) -> None:
    browser = await signed_in(gateway, 2, *_flow(timedelta(0)))
    assert browser.session is not None
    assert set(browser.session.notes) == {"loa-map"}
    assert '"2"' not in browser.session.notes["loa-map"]
    assert shown(await browser.begin(requested(2))) == (CODE, "authenticateStrong")


async def test_who_signs_in_again_reaches_every_level_again(gateway: Gateway) -> None:
    browser = await signed_in(gateway, 2)
    again = RequestedAuthentication(level=2, reauthenticate=True)
    assert shown(await browser.begin(again)) == (LOGIN, "reauthenticate")
    assert shown(await browser.log_in()) == (CODE, None)


async def test_an_essential_level_that_no_flow_reaches_is_an_error(gateway: Gateway) -> None:
    browser = Browser(gateway, realm=REALM, sign_in=rules(*_flow()))
    for essential in (True, False):
        await browser.begin(requested(3, essential=essential))
        await browser.log_in()
        gateway.clock.advance(timedelta(seconds=30 * essential))
        step = await browser.submit(otp=code(not essential))
        assert isinstance(step, SignedIn if not essential else Refused)
        if isinstance(step, Refused):
            assert isinstance(step.error, LevelNotReached)


async def test_a_note_that_cannot_be_read_counts_as_no_level(gateway: Gateway) -> None:
    browser = await signed_in(gateway, 1)
    assert browser.session is not None
    for note in ("", "[]", "{", '{"1":"x"}', '{"1":1e99}', '{"x":1}'):
        browser.session.notes["loa-map"] = note  # type: ignore[index] # a dictionary here
        assert shown(await browser.begin(requested(1))) == (LOGIN, "authenticateStrong")
