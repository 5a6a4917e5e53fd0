"""Signing in on pages over the real stores: what each page asks for, says, and counts."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.authentication.accounts import Accounts
from gateway.authentication.brute_force_protection import BruteForceGuard
from gateway.authentication.engine import (
    Challenged,
    PageExpired,
    Refused,
    Replayed,
    RequestedAuthentication,
    SignedIn,
)
from gateway.authentication.engine.proofs import GuardedChecks, PermanentLockouts
from gateway.authentication.engine.sign_in import SecretCheck, SignInAttempt
from gateway.authentication.errors import AccountNotSetUp, InvalidUserCredentials
from gateway.authentication.one_time_passwords import OneTimePasswordCheck
from gateway.crypto.one_time_passwords import PyOtp
from gateway.domain.authentication import AuthenticationSession, FormName
from gateway.domain.flows import Requirement, SignInFlow
from gateway.domain.realm import LoginSettings, TokenLifespans
from gateway.domain.secrets import Secret
from gateway.storage.sql.database import SqlDatabase
from tests.support.one_time_devices import KEY, code, device
from tests.support.password_logins import (
    RULES,
    WRONG,
    Gateway,
    guarded_realm,
    store_user,
)
from tests.support.redis_server import RedisServer
from tests.support.set_clock import SetClock
from tests.support.stepwise_sign_ins import (
    Browser,
    Step,
    either,
    failure,
    required,
    rules,
    shown,
    sub_flow,
)
from tests.support.stored_values import NOW, credential, store_realms

REALM = guarded_realm()
LOGIN, USERNAME = FormName.USERNAME_PASSWORD, FormName.USERNAME
PASSWORD, CODE = FormName.PASSWORD, FormName.ONE_TIME_CODE
INVALID, WRONG_CODE = "invalidUserMessage", "invalidTotpMessage"
NAME_FIRST = rules(required("auth-username-form"), required("auth-password-form"))
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


@pytest.fixture
def gateway(open_gateway: OpenGateway) -> Gateway:
    return open_gateway()


async def store_device(database: SqlDatabase, *keys: str) -> None:
    async with database.write() as stores:
        for number, key in enumerate(keys):
            fields = device(key=key) | {"id": f"device-{number}", "priority": 20 + number}
            fields |= {"label": f"phone {number}"}
            await stores.users.set_credential(REALM.id, credential("alice-uuid", **fields))


async def test_the_standard_flow_asks_name_and_password_and_signs_in(
    gateway: Gateway, database: SqlDatabase
) -> None:
    stored = await store_user(database)
    browser = Browser(gateway, realm=REALM)
    first = await browser.begin()
    assert shown(first) == (LOGIN, None)
    assert (len(first.session.id), len(first.session.tab_id)) == (24, 11)
    assert len(first.session.session_code) == 43
    done = await browser.log_in(" Alice ")
    assert isinstance(done, SignedIn)
    assert (done.user, done.used, done.joins, done.is_fresh) == (
        *(stored, frozenset({"password"})),
        *(None, True),
    )
    assert done.session.id != first.session.id
    assert done.session.request == {"state": "a state"}


async def test_any_gateway_goes_on_with_a_sign_in(
    open_gateway: OpenGateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_device(database, KEY)
    browser = Browser(open_gateway(), open_gateway(), realm=REALM)
    await browser.begin()
    assert shown(await browser.log_in(password="wrong")) == (LOGIN, INVALID)
    assert shown(await browser.log_in()) == (CODE, None)
    assert isinstance(await browser.submit(otp=code()), SignedIn)


async def test_unknown_wrong_locked_and_disabled_look_alike(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_user(database, "bob", enabled=False)
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    looks = []
    for name, password, error in (
        ("nobody", "wrong", "user_not_found"),
        ("", "wrong", "user_not_found"),
        ("bob", "wrong", "user_disabled"),
        *[("alice", "wrong", "invalid_user_credentials")] * RULES.failure_factor,
        ("alice", None, "user_temporarily_disabled"),
    ):
        step = await browser.log_in(name, password)
        assert isinstance(step, Challenged)
        assert (failure(step), step.challenge.fields) == (error, {"username": name})
        looks.append(replace(step.challenge, fields={}))
    assert set(map(repr, looks)) == {repr(looks[0])}
    assert looks[0].message == INVALID
    assert gateway.hasher.checks == len(looks)
    step = await browser.log_in("bob")
    assert (shown(step), failure(step)) == ((LOGIN, "accountDisabledMessage"), "user_disabled")


async def test_one_form_sent_twice_at_once_is_taken_once(
    open_gateway: OpenGateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(open_gateway(), open_gateway(), realm=REALM)
    await browser.begin()
    page, context = await _stored(browser), browser.context()
    form = {"username": "alice", "password": WRONG.reveal()}
    steps = await asyncio.gather(
        *(
            browser.sign_in.submit(context, page, page.execution, form, page.session_code)
            for _ in range(6)
        )
    )
    kinds = sorted(type(step).__name__ for step in steps)
    assert kinds == ["Challenged", *["Replayed"] * 5]
    record = await browser.gateways[0].failures.record(REALM.id, "alice-uuid")
    assert record.failures == 1


async def test_an_authenticator_cannot_prove_a_user_who_is_locked_out(
    gateway: Gateway, database: SqlDatabase
) -> None:
    """Whatever it answers: the engine decides about the attempt."""
    await store_user(database)
    for _ in range(RULES.failure_factor):
        with pytest.raises(InvalidUserCredentials):
            await gateway.sign_in(REALM, password=WRONG)
    browser = Browser(gateway, realm=REALM)
    session = (await browser.begin()).session
    sign_in = SignInAttempt(browser.context(), session, SignInFlow("any"))
    account = await Accounts(database).get_named_account(REALM, "alice")

    async def always(admitted: bool) -> bool:  # noqa: FBT001 - a callback
        del admitted
        return True

    guard = BruteForceGuard(gateway.failures, gateway.metrics)
    lockouts = PermanentLockouts(database, gateway.invalidation)
    async with GuardedChecks(guard, lockouts) as checks:
        with pytest.raises(InvalidUserCredentials, match="user_temporarily_disabled"):
            await checks.require_proven(sign_in, account, SecretCheck("any", always))
    assert not sign_in.used


async def test_an_earlier_page_expired_and_a_repeated_form_is_refused(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_device(database, KEY)
    browser = Browser(gateway, realm=REALM)
    login = (await browser.begin()).session
    await browser.log_in(password="wrong")
    assert isinstance(await browser.resend(login, username="alice"), Replayed)
    assert shown(await browser.log_in()) == (CODE, None)
    assert isinstance(await browser.resend(login, username="alice"), PageExpired)
    sign_in, context = browser.sign_in, browser.context()
    found = await browser.find(browser.id, login.tab_id)
    assert found is not None
    assert isinstance(await sign_in.resume(context, found, login.execution), PageExpired)
    again: Step = await sign_in.resume(context, found)
    assert shown(again) == (CODE, None)
    assert again.session.session_code != browser.current.session_code
    assert isinstance(await browser.submit(otp=code()), Replayed)
    browser.step = again
    assert isinstance(await browser.submit(otp=code()), SignedIn)


async def test_a_code_of_a_form_is_the_secret_of_its_page(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(gateway, realm=REALM)
    page = (await browser.begin()).session
    for forged in ("", "\ud800", "x" * 43):
        step = await browser.resend(replace(page, session_code=forged), username="alice")
        assert isinstance(step, Replayed)


async def test_two_tabs_of_a_browser_sign_in_on_their_own(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    one, other = Browser(gateway, realm=REALM), Browser(gateway, realm=REALM)
    first = (await one.begin()).session
    second = (await other.begin(session_id=first.id)).session
    assert (first.id, first.tab_id != second.tab_id) == (second.id, True)
    assert shown(await other.log_in(password="wrong")) == (LOGIN, INVALID)
    assert isinstance(await one.log_in(), SignedIn)
    await one.sign_in.end(replace(first, id=one.id))
    assert await one.find(one.id, first.tab_id) is None
    other.id = one.id
    assert isinstance(await other.log_in(), SignedIn)


async def test_a_user_with_a_device_is_asked_for_its_code(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_device(database, KEY, "abcdefghijabcdefghij")
    browser = Browser(gateway, realm=guarded_realm(replace(RULES, failure_factor=30)))
    await browser.begin()
    step = await browser.log_in()
    assert isinstance(step, Challenged)
    assert [one.label for one in step.challenge.devices] == ["phone 0", "phone 1"]
    assert step.challenge.selected_device == "device-0"
    other = code(key="abcdefghijabcdefghij")
    for form in ({}, {"otp": other}, {"otp": code(), "selectedCredentialId": "device-1"}):
        assert shown(await browser.submit(**form)) == (CODE, WRONG_CODE)
    record = await gateway.failures.record(REALM.id, "alice-uuid")
    assert (record.failures, record.secondary_failures) == (3, 3)
    strange = await browser.submit(otp=code(), selectedCredentialId="of-another-user")
    assert shown(strange) == (CODE, WRONG_CODE)
    done = await browser.submit(otp=other, selectedCredentialId="device-1")
    assert isinstance(done, SignedIn)
    assert done.used == {"password", "otp"}
    assert (await gateway.failures.record(REALM.id, "alice-uuid")).failures == 0


async def test_a_lockout_at_the_code_ends_what_the_password_has_proven(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_device(database, KEY)
    browser = Browser(gateway, realm=guarded_realm(replace(RULES, failure_factor=2)))
    await browser.begin()
    await browser.log_in()
    assert shown(await browser.submit(otp="000000")) == (CODE, WRONG_CODE)
    locked = await browser.submit(otp="000001")
    assert shown(locked) == (LOGIN, WRONG_CODE)
    assert (locked.session.user_id, locked.session.used) == (None, frozenset())
    gateway.clock.advance(RULES.wait_increment)
    assert shown(await browser.log_in()) == (CODE, None)


async def test_the_right_password_keeps_the_failures_until_the_code(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_device(database, KEY)
    for _ in range(2):
        browser = Browser(gateway, realm=REALM)
        await browser.begin()
        await browser.log_in()
        await browser.submit(otp="000000")
    assert (await gateway.failures.record(REALM.id, "alice-uuid")).failures == 2


async def test_a_name_that_no_user_has_goes_on_as_any_other(
    gateway: Gateway, database: SqlDatabase
) -> None:
    """`auth-username-form` reveals nothing, also of users that are disabled or have no password."""
    await store_user(database)
    await store_user(database, "off", enabled=False)
    pages = []
    for name in ("alice", "nobody", "off"):
        browser = Browser(gateway, realm=REALM, sign_in=NAME_FIRST)
        assert shown(await browser.begin()) == (USERNAME, None)
        assert shown(await browser.submit(username=" ")) == (USERNAME, "missingUsernameMessage")
        asked = await browser.submit(username=name)
        said = await browser.submit(password="wrong")
        for step in (asked, said):
            assert isinstance(step, Challenged)
            assert step.challenge.fields == {"username": name}
            pages.append(repr(replace(step.challenge, fields={})))
    assert len(pages) == 6
    assert len(set(pages)) == 2
    assert gateway.hasher.checks == 3


async def test_a_page_of_the_password_alone_counts_and_refuses(
    gateway: Gateway, database: SqlDatabase
) -> None:
    """`auth-password-form` after `auth-username-form`."""
    await store_user(database)
    browser = Browser(gateway, realm=REALM, sign_in=NAME_FIRST)
    await browser.begin()
    await browser.submit(username="alice")
    assert shown(await browser.submit(password="wrong")) == (PASSWORD, "invalidPasswordMessage")
    assert (await gateway.failures.record(REALM.id, "alice-uuid")).failures == 1
    assert isinstance(await browser.submit(password="correct horse battery staple"), SignedIn)


async def test_the_first_credential_is_asked_and_another_may_be_chosen(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_device(database, KEY)
    choice = sub_flow("choice", either("auth-otp-form"), either("auth-password-form"))
    browser = Browser(gateway, realm=REALM, sign_in=rules(required("auth-username-form"), choice))
    await browser.begin()
    step = await browser.submit(username="alice")
    assert isinstance(step, Challenged)
    assert step.challenge.form is PASSWORD
    ((other, name),) = step.challenge.other_ways
    assert name == "auth-otp-form"
    assert isinstance(await browser.resend(step.session, authenticationExecution="x"), PageExpired)
    browser.step = await browser.sign_in.resume(browser.context(), await _stored(browser))
    selection = await browser.submit(tryAnotherWay="on")
    assert isinstance(selection, Challenged)
    assert selection.challenge.form is FormName.SELECT_AUTHENTICATOR
    first = (step.execution, "auth-password-form")
    assert selection.challenge.other_ways == (first, (other, "auth-otp-form"))
    browser.step = await browser.sign_in.resume(browser.context(), await _stored(browser))
    assert shown(browser.step) == (FormName.SELECT_AUTHENTICATOR, None)
    assert shown(await browser.submit(authenticationExecution=step.execution or "")) == (
        PASSWORD,
        None,
    )
    assert (await gateway.failures.record(REALM.id, "alice-uuid")).failures == 0
    assert shown(await browser.submit(authenticationExecution=other)) == (CODE, None)
    done = await browser.submit(otp=code())
    assert isinstance(done, SignedIn)
    assert done.used == {"otp"}


async def _stored(browser: Browser) -> AuthenticationSession:
    found = await browser.find(browser.current.id, browser.current.tab_id)
    assert found is not None
    return found


async def test_an_alternative_that_the_user_has_not_set_up_is_skipped(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    choice = sub_flow("choice", either("auth-otp-form"), either("auth-password-form"))
    browser = Browser(gateway, realm=REALM, sign_in=rules(required("auth-username-form"), choice))
    await browser.begin()
    step = await browser.submit(username="alice")
    assert shown(step) == (PASSWORD, None)
    assert isinstance(step, Challenged)
    assert step.challenge.other_ways == ()


async def test_the_session_of_the_browser_is_enough(
    gateway: Gateway, database: SqlDatabase
) -> None:
    stored = await store_user(database)
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    browser.remember(await browser.log_in())
    gateway.clock.advance(timedelta(minutes=5))
    hour = RequestedAuthentication(max_age=timedelta(hours=1))
    for requested in (RequestedAuthentication(), hour):
        done = await browser.begin(requested)
        assert isinstance(done, SignedIn)
        assert (done.joins, done.is_fresh, done.used) == (browser.session, False, frozenset())
    browser.user = replace(stored, enabled=False)
    assert shown(await browser.begin()) == (LOGIN, None)


@pytest.mark.parametrize(
    "requested",
    [
        RequestedAuthentication(reauthenticate=True),
        RequestedAuthentication(max_age=timedelta(minutes=4)),
        RequestedAuthentication(max_age=timedelta(0)),
    ],
)
async def test_a_known_user_signs_in_again_under_the_same_name(
    gateway: Gateway, database: SqlDatabase, requested: RequestedAuthentication
) -> None:
    await store_user(database)
    await store_user(database, "bob")
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    browser.remember(await browser.log_in())
    gateway.clock.advance(timedelta(minutes=5) if requested.max_age else timedelta(0))
    step = await browser.begin(requested)
    assert shown(step) == (LOGIN, "reauthenticate")
    assert isinstance(step, Challenged)
    assert (step.challenge.username_fixed, step.challenge.is_error) == (True, False)
    assert shown(await browser.log_in("bob", "wrong")) == (LOGIN, "invalidPasswordMessage")
    done = await browser.log_in("bob")
    assert isinstance(done, SignedIn)
    assert (done.user.username, done.joins, done.is_fresh) == ("alice", browser.session, True)


async def test_proofs_of_a_browser_session_end_with_it(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    browser.remember(await browser.log_in())
    joined = await browser.begin()
    assert isinstance(joined, SignedIn)
    await browser.sign_in.store(browser.context(), joined.session)
    known, browser.session = browser.session, None
    assert isinstance(await browser.sign_in.resume(browser.context(), joined.session), PageExpired)
    assert known is not None
    browser.session = replace(known, id="another")
    assert isinstance(await browser.sign_in.resume(browser.context(), joined.session), PageExpired)
    browser.session = known
    assert isinstance(await browser.sign_in.resume(browser.context(), joined.session), SignedIn)


async def test_a_user_of_an_ended_session_is_asked_for_everything(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    browser.remember(await browser.log_in())
    known = await browser.begin(RequestedAuthentication(reauthenticate=True))
    assert isinstance(known, Challenged)
    assert known.challenge.username_fixed
    browser.session = None
    step = await browser.log_in()
    assert isinstance(step, Challenged)
    assert (step.challenge.form, step.challenge.username_fixed) == (LOGIN, False)


async def test_remember_me_is_noted_where_the_realm_offers_it(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    offering = guarded_realm(login=LoginSettings(remember_me=True))
    for realm, offered in ((offering, True), (REALM, False)):
        browser = Browser(gateway, realm=realm)
        step = await browser.begin(RequestedAuthentication(remembered_username="alice"))
        assert isinstance(step, Challenged)
        begun = {"username": "alice"} | ({"rememberMe": "on"} if offered else {})
        assert (step.challenge.fields, step.challenge.remember_me_offered) == (begun, offered)
        form = {"username": "alice", "rememberMe": "on"}
        wrong = await browser.submit(**form, password="wrong")
        assert isinstance(wrong, Challenged)
        assert wrong.challenge.fields == begun
        done = await browser.submit(**form, password="correct horse battery staple")
        assert done.session.remember_me is offered
    hinted = await browser.begin(RequestedAuthentication(login_hint="bob"))
    assert isinstance(hinted, Challenged)
    assert hinted.challenge.fields == {"username": "bob"}


async def test_a_required_action_without_a_page_ends_the_sign_in(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database, required_actions=("UPDATE_PASSWORD",))
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    assert shown(await browser.log_in(password="wrong")) == (LOGIN, INVALID)
    step = await browser.log_in()
    assert isinstance(step, Refused)
    assert isinstance(step.error, AccountNotSetUp)
    assert (step.error.action, step.error.message) == ("UPDATE_PASSWORD", "accountNotSetUp")
    assert (await gateway.failures.record(REALM.id, "alice-uuid")).failures == 1


@pytest.mark.parametrize("proven", [False, True])
async def test_a_required_device_that_the_user_lacks_ends_the_sign_in(
    gateway: Gateway, database: SqlDatabase, *, proven: bool
) -> None:
    await store_user(database)
    first = "auth-username-password-form" if proven else "auth-username-form"
    flow = rules(required(first), required("auth-otp-form"))
    browser = Browser(gateway, realm=REALM, sign_in=flow)
    await browser.begin()
    step = await browser.log_in()
    assert isinstance(step, Refused)
    assert isinstance(step.error, AccountNotSetUp) is proven


async def test_a_name_alone_never_signs_in(gateway: Gateway, database: SqlDatabase) -> None:
    await store_user(database)
    flow = rules(required("auth-username-form"), required("allow-access-authenticator"))
    browser = Browser(gateway, realm=REALM, sign_in=flow)
    await browser.begin()
    assert isinstance(await browser.submit(username="alice"), Refused)


async def test_a_sign_in_restarts_if_its_flow_changed_meanwhile(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(gateway, realm=REALM, sign_in=NAME_FIRST)
    await browser.begin()
    await browser.submit(username="alice")
    browser.rules = rules(required("auth-username-password-form"))
    step = await browser.submit(password="correct horse battery staple")
    assert shown(step) == (LOGIN, None)
    assert step.session.user_id is None
    assert isinstance(await browser.log_in(), SignedIn)


async def test_a_sign_in_starts_over_where_the_user_says_so(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(gateway, realm=REALM, sign_in=NAME_FIRST)
    await browser.begin()
    before = await browser.submit(username="alice")
    step: Step = await browser.sign_in.restart(browser.context(), before.session)
    assert shown(step) == (USERNAME, None)
    assert step.session.attempted_username is None
    assert (step.session.id, step.session.tab_id) == (before.session.id, before.session.tab_id)


async def test_a_sign_in_that_waits_for_consent_is_finished_once(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    waiting = (await browser.log_in()).session
    stored = await browser.find(waiting.id, waiting.tab_id)
    assert stored is not None
    assert stored == waiting
    sign_in, context = browser.sign_in, browser.context()
    steps = await asyncio.gather(*(sign_in.finish(context, stored) for _ in range(4)))
    assert sorted(type(step).__name__ for step in steps) == [*["Replayed"] * 3, "SignedIn"]
    (done,) = (step for step in steps if isinstance(step, SignedIn))
    assert (done.user.username, done.used) == ("alice", frozenset({"password"}))


async def test_a_flow_that_has_not_succeeded_is_not_finished(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    await store_device(database, KEY)
    browser = Browser(gateway, realm=REALM)
    await browser.begin()
    step = await browser.log_in()
    assert isinstance(await browser.sign_in.finish(browser.context(), step.session), Refused)


async def test_a_sign_in_ends_after_the_time_that_the_realm_allows(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    short = replace(REALM, token_lifespans=TokenLifespans(access_code_login=timedelta(minutes=2)))
    browser = Browser(gateway, realm=short)
    page = (await browser.begin()).session
    gateway.clock.advance(timedelta(seconds=90))
    await browser.log_in(password="wrong")
    gateway.clock.advance(timedelta(seconds=29))
    assert await browser.find(page.id, page.tab_id) is not None
    gateway.clock.advance(timedelta(seconds=1))
    assert await browser.find(page.id, page.tab_id) is None


async def test_the_flow_of_a_client_that_was_removed_signs_nobody_in(gateway: Gateway) -> None:
    browser = Browser(gateway, realm=REALM)
    assert browser.rules.browser_flow({}) is browser.rules.browser
    assert browser.rules.browser_flow({"browser": "removed"}) is None
    page = (await browser.begin()).session
    browser.rules = rules(required("auth-cookie"))
    found = replace(page, flow="removed")
    assert isinstance(await browser.sign_in.restart(browser.context(), found), Refused)


async def test_what_is_stored_says_nothing_in_a_representation(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    browser = Browser(gateway, realm=REALM)
    step = await browser.begin()
    written = repr(step)
    assert "a state" not in written
    assert step.session.session_code not in written


async def test_a_known_user_is_not_asked_for_the_name_again(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    forms = sub_flow(
        "forms",
        required("auth-username-form"),
        required("auth-password-form"),
        requirement=Requirement.ALTERNATIVE,
    )
    browser = Browser(gateway, realm=REALM, sign_in=rules(either("auth-cookie"), forms))
    await browser.begin()
    await browser.submit(username="alice")
    browser.remember(await browser.submit(password="correct horse battery staple"))
    step = await browser.begin(RequestedAuthentication(reauthenticate=True))
    assert shown(step) == (PASSWORD, "reauthenticate")


@pytest.mark.parametrize(
    ("authenticator", "kind"),
    [
        ("auth-conditional-otp-form", "otp"),
        ("reset-password", None),
        ("organization", "organization"),
    ],
)
async def test_a_second_factor_that_cannot_be_checked_is_not_left_out(
    gateway: Gateway, database: SqlDatabase, authenticator: str, kind: str | None
) -> None:
    """A user who has it does not sign in with the password alone."""
    await store_user(database)
    second = sub_flow(
        "second",
        required("conditional-user-configured"),
        either(authenticator),
        requirement=Requirement.CONDITIONAL,
    )
    flow = rules(required("auth-username-password-form"), second)
    browser = Browser(gateway, realm=REALM, sign_in=flow)
    await browser.begin()
    assert isinstance(await browser.log_in(), SignedIn if kind else Refused)
    if kind is None:
        return
    async with database.write() as stores:
        await stores.users.set_credential(REALM.id, credential("alice-uuid", type=kind))
    await browser.begin()
    never_set_up = kind == "organization"
    assert isinstance(await browser.log_in(), SignedIn if never_set_up else Refused)


async def test_a_session_that_goes_on_is_not_one_too_many(
    gateway: Gateway, database: SqlDatabase
) -> None:
    await store_user(database)
    limits = required("user-session-limits", userRealmLimit="1", userClientLimit="0")
    forms = sub_flow("forms", either("auth-cookie"), either("auth-username-password-form"))
    browser = Browser(gateway, realm=REALM, sign_in=rules(forms, limits))
    await browser.begin()
    browser.remember(await browser.log_in())
    assert browser.session is not None
    await gateway.sessions.add(browser.session, NOW + timedelta(hours=1))
    assert isinstance(await browser.begin(), SignedIn)
    other = Browser(gateway, realm=REALM, sign_in=browser.rules)
    await other.begin()
    step = await other.log_in()
    assert isinstance(step, Refused)
    assert step.error.message == "sessionLimitExceeded"


@pytest.mark.usefixtures("gateway")
async def test_the_code_of_a_locked_user_is_not_used_up(database: SqlDatabase) -> None:
    await store_user(database)
    await store_device(database, KEY)
    checks = OneTimePasswordCheck(PyOtp(), database)
    account = await Accounts(database).get_named_account(REALM, "alice")
    (held,) = account.devices
    for admitted in (False, True):
        right = await checks.is_right(REALM, held, Secret(code()), NOW, admitted=admitted)
        assert right is admitted
