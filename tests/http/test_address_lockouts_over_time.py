"""The failures of one address lock this address out and not the user, on a clock that is set.

docs/lock-outs.md, "Lock out an address"; attacks: D5
"""

import re
from collections.abc import Iterator
from typing import Final

import httpx2
import pyotp
import pytest
from click.testing import CliRunner, Result

from gateway.cli import main
from gateway.domain.realm import FAILURES_PER_ADDRESS
from tests.support.administered_realm import SIGN_IN, administered_realm
from tests.support.administration import PASSWORD
from tests.support.one_time_devices import base32
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInRealm, web_client
from tests.support.timed_gateway import Timed
from tests.support.timed_lockouts import MINUTE, NEVER_FAILED, REFERENCE, Guarded
from tests.support.wire import DEVICE, DEVICE_KEY

LIMIT: Final = 3
STRANGER, OTHER, HOME = "198.51.100.1", "198.51.100.2", "192.0.2.7"
_ATTRIBUTES: Final = {"userProfileEnabled": "false", FAILURES_PER_ADDRESS: str(LIMIT)}
_CREDENTIALS: Final = [{"type": "password", "value": PASSWORD}, DEVICE]
_CHANGING: Final = re.compile(r"(session_code|tab_id|execution|nonce)=?[\w.\"'=-]*")


@pytest.fixture(scope="module")
def _realm(timed: Timed) -> Iterator[SignInRealm]:
    settings = {
        **RECORDED,
        **REFERENCE,
        **SIGN_IN,
        "clients": [*SIGN_IN["clients"], web_client("app")],
        "attributes": _ATTRIBUTES,
    }
    with administered_realm(timed.administration, "address-lockouts", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture
def guarded(timed: Timed, _realm: SignInRealm) -> Iterator[Guarded]:
    """Return the realm of the reference configuration, with a limit of three an address."""
    yield Guarded(timed, _realm)
    off = {"permanentLockout": False, "maxTemporaryLockouts": 0, "maxSecondaryAuthFailures": 0}
    _realm.realm.change("PUT", "", REFERENCE | off | {"attributes": _ATTRIBUTES})


def _limit(guarded: Guarded, limit: object) -> None:
    attributes = _ATTRIBUTES | {FAILURES_PER_ADDRESS: str(limit)}
    guarded.realm.realm.change("PUT", "", {"attributes": attributes})


def _command(guarded: Guarded, *arguments: str) -> Result:
    timed = guarded.timed
    environment = {
        "REALMGATE_STATE_DIR": str(timed.administration.gateway.state_dir),
        "REALMGATE_REDIS_URL": timed.redis.url.reveal(),
    }
    return CliRunner(env=environment).invoke(main, arguments)


def test_failures_up_to_the_limit_lock_that_address_alone(
    guarded: Guarded,
) -> None:
    """attacks: D5. A stranger does not lock a user out for everybody."""
    name = guarded.add("limited")
    guarded.fail(name, LIMIT, address=STRANGER)
    assert guarded.record(name) == (LIMIT, 0, False)
    guarded.fail(name, 20, apart=0, address=STRANGER)
    assert not guarded.signs_in(name, address=STRANGER), "the right password is not looked at"
    assert guarded.record(name) == (LIMIT, 0, False)
    assert guarded.signs_in(name, address=HOME)
    assert guarded.record(name) == NEVER_FAILED
    assert not guarded.signs_in(name, address=STRANGER), "a sign-in clears its own address alone"


def test_a_sign_in_clears_the_count_of_its_own_address(guarded: Guarded) -> None:
    name = guarded.add("typing")
    for _ in range(2):
        guarded.fail(name, LIMIT - 1, address=HOME)
        assert guarded.signs_in(name, address=HOME)


def test_without_a_limit_one_address_locks_the_user_as_keycloak(guarded: Guarded) -> None:
    for limit in ("", "0"):
        _limit(guarded, limit)
        name = guarded.add(f"unlimited{limit}")
        guarded.fail(name, 6, apart=1, address=STRANGER)
        assert guarded.record(name) == (6, 30 * MINUTE - 1, True)
        assert not guarded.signs_in(name, address=HOME)


@pytest.mark.parametrize(
    ("strategy", "minutes"),
    [
        ("MULTIPLE", [0, 0, 30, 30, 30, 60, 60, 60, 90, 90, 90, 90, 90]),
        ("LINEAR", [0, 0, 30, 60, 90, 90, 90]),
    ],
)
def test_an_address_lockout_grows_alone_and_never_locks_the_user(
    guarded: Guarded, strategy: str, minutes: list[int]
) -> None:
    """attacks: D5. Also a stranger who waits for the end of each lock-out."""
    guarded.realm.realm.change("PUT", "", {"bruteForceStrategy": strategy})
    name = guarded.add(f"patient-{strategy}")
    for number, wait in enumerate(minutes, start=1):
        guarded.fail(name, apart=0, address=STRANGER)
        assert guarded.record(name) == (min(number, LIMIT), 0, False)
        if wait:
            guarded.timed.advance(minutes=wait, seconds=-1)
            assert not guarded.signs_in(name, address=STRANGER), "the last second of the lock-out"
        guarded.timed.advance(seconds=1 if wait else 2)
    assert guarded.signs_in(name, address=HOME)
    assert guarded.signs_in(name, address=STRANGER), "the lock-out has ended"


def test_failures_of_several_addresses_lock_the_user(guarded: Guarded) -> None:
    """attacks: D3. No address gives more guesses than the user has."""
    name = guarded.add("distributed")
    guarded.fail(name, LIMIT, address=STRANGER)
    guarded.fail(name, LIMIT, apart=1, address=OTHER)
    assert guarded.record(name) == (6, 30 * MINUTE - 1, True)
    assert not guarded.signs_in(name, address=HOME)


def test_two_addresses_at_their_limit_have_no_free_guess(
    guarded: Guarded,
) -> None:
    """attacks: D3."""
    _limit(guarded, 2)
    name = guarded.add("two-spent")
    guarded.fail(name, 2, address=STRANGER)
    guarded.timed.advance(minutes=30)
    guarded.fail(name, address=STRANGER)
    assert guarded.record(name)[0] == 2, "one address at its limit counts no further"
    guarded.fail(name, 2, address=OTHER)
    guarded.timed.advance(minutes=30)
    guarded.fail(name, apart=0, address=STRANGER)
    guarded.fail(name, apart=0, address=OTHER)
    assert guarded.record(name) == (6, 30 * MINUTE, True)


def test_the_network_of_an_ipv6_address_is_one_address(guarded: Guarded) -> None:
    name = guarded.add("networked")
    for last in range(LIMIT):
        guarded.fail(name, address=f"2001:db8:0:1::{last:x}")
    assert not guarded.signs_in(name, address="2001:db8:0:1:ffff::1")
    assert guarded.signs_in(name, address="2001:db8:0:2::1")


def test_an_address_is_forgotten_after_the_delta_time(guarded: Guarded) -> None:
    guarded.realm.realm.change("PUT", "", {"maxDeltaTimeSeconds": 600})
    name = guarded.add("forgotten")
    guarded.fail(name, LIMIT - 1, address=STRANGER)
    guarded.timed.advance(seconds=600)
    guarded.fail(name, LIMIT - 1, address=STRANGER)
    assert guarded.signs_in(name, address=STRANGER)


def test_quick_failures_lock_one_address_and_of_two_the_user(
    guarded: Guarded,
) -> None:
    """attacks: D5. A request each minute would keep a user out."""
    name, attacked = guarded.add("quick-one"), guarded.add("quick-two")
    guarded.fail(name, 2, apart=0, address=STRANGER)
    assert guarded.record(name) == (2, 0, False)
    assert not guarded.signs_in(name, address=STRANGER)
    assert guarded.signs_in(name, address=HOME)
    guarded.timed.advance(seconds=60)
    assert guarded.signs_in(name, address=STRANGER), "after the minimum wait"
    guarded.fail(attacked, apart=0, address=STRANGER)
    guarded.fail(attacked, apart=0, address=OTHER)
    assert guarded.record(attacked) == (2, 60, True)


@pytest.mark.parametrize("how", ["admin API", "all users", "command"])
def test_clearing_a_user_clears_the_addresses(guarded: Guarded, how: str) -> None:
    """Also where the user has signed in meanwhile and only the address has failures."""
    name = guarded.add(f"cleared-{how.replace(' ', '-')}")
    guarded.fail(name, LIMIT, address=STRANGER)
    assert guarded.signs_in(name, address=HOME)
    users = "attack-detection/brute-force/users"
    if how == "command":
        done = _command(guarded, "user", "unlock", name, "--realm", "address-lockouts")
        assert done.stdout == f"user {name}: unlocked\n", done.output
    else:
        user = f"/{guarded.realm.user_id(name)}" if how == "admin API" else ""
        guarded.realm.realm.change("DELETE", f"{users}{user}")
    assert guarded.signs_in(name, address=STRANGER)


def test_one_address_locks_no_user_permanently(guarded: Guarded) -> None:
    """attacks: D5."""
    guarded.realm.realm.change("PUT", "", {"permanentLockout": True})
    name = guarded.add("for-good")
    for _ in range(6):
        guarded.fail(name, apart=5400, address=STRANGER)
    guarded.timed.advance(days=3)
    guarded.fail(name, address=STRANGER)
    assert guarded.record(name) == (LIMIT, 0, False)
    guarded.fail(name, LIMIT, address=OTHER)
    assert guarded.record(name)[1:] == (-1, True)
    user = f"users/{guarded.realm.user_id(name)}"
    guarded.realm.realm.change("PUT", user, {"enabled": True})
    for address in (STRANGER, OTHER, HOME):
        assert guarded.signs_in(name, address=address)


def test_wrong_codes_of_one_address_still_lock_permanently(guarded: Guarded) -> None:
    """They follow a right password: no stranger can cause them."""
    guarded.realm.realm.change("PUT", "", {"maxSecondaryAuthFailures": 4})
    name = guarded.add("guessed-codes", credentials=_CREDENTIALS)
    for _ in range(5):
        assert not guarded.signs_in(name, totp="x", address=STRANGER)
        guarded.timed.advance(minutes=90)
    assert guarded.record(name) == (5, -1, True)


def _code(guarded: Guarded) -> str:
    return pyotp.TOTP(base32(DEVICE_KEY)).at(guarded.timed.clock.now())


def _without_changing_parts(page: Page) -> str:
    return _CHANGING.sub("", page.html)


def _by_form(guarded: Guarded, name: str, password: str, address: str) -> Page:
    browser = guarded.realm.browser(**{"X-Forwarded-For": address})
    return browser.submit(browser.open(), username=name, password=password)


def test_the_form_of_passwords_keeps_the_rule_of_addresses(guarded: Guarded) -> None:
    name = guarded.add("in-a-browser")
    wrong = _by_form(guarded, name, "wrong", STRANGER)
    guarded.timed.advance(seconds=2)
    guarded.fail(name, LIMIT - 1, address=STRANGER)
    locked = _by_form(guarded, name, PASSWORD, STRANGER)
    assert (locked.status, locked.message) == (wrong.status, wrong.message)
    assert _without_changing_parts(locked) == _without_changing_parts(wrong)
    assert guarded.record(name)[0] == LIMIT
    assert _by_form(guarded, name, PASSWORD, HOME).answer["code"]


def test_the_form_of_codes_keeps_the_rule_of_addresses(guarded: Guarded) -> None:
    name = guarded.add("with-a-code", credentials=_CREDENTIALS)
    browser = guarded.realm.browser(**{"X-Forwarded-For": STRANGER})
    page = browser.submit(browser.open(), username=name, password=PASSWORD)
    for _ in range(LIMIT):
        page = browser.submit(page, otp="000000")
        guarded.timed.advance(seconds=2)
    refused = browser.submit(page, otp=_code(guarded))
    assert (refused.status, refused.message) == (page.status, page.message)
    assert guarded.record(name)[0] == LIMIT
    at_home = guarded.realm.browser(**{"X-Forwarded-For": HOME})
    page = at_home.submit(at_home.open(), username=name, password=PASSWORD)
    assert at_home.submit(page, otp=_code(guarded)).answer["code"]


def test_an_address_that_the_caller_writes_does_not_count(guarded: Guarded) -> None:
    """The proxy names the address; a second header, or a list of addresses, is no address."""
    name = guarded.add("forwarded")
    browser = guarded.realm.browser()
    sent = {"grant_type": "password", "client_id": "page", "username": name, "password": "wrong"}
    response = browser.http.post(
        browser.protocol("token"),
        data=sent,
        headers={"X-Forwarded-For": f"{HOME}, {STRANGER}"},
    )
    assert response.status_code == httpx2.codes.BAD_REQUEST
    assert guarded.record(name) == NEVER_FAILED


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("-1", "it is no number of failures"),
        ("three", "it is no number of failures"),
        ("6", "one address would lock the user out for every address before"),
        ("1000000000000", "it is no number of failures"),
    ],
)
def test_a_limit_that_cannot_act_is_refused_with_the_reason(
    guarded: Guarded, value: str, reason: str
) -> None:
    sent = {"attributes": _ATTRIBUTES | {FAILURES_PER_ADDRESS: value}}
    status, refusal = guarded.realm.realm.refused("PUT", "", sent)
    assert status == httpx2.codes.BAD_REQUEST
    assert refusal["errorMessage"].startswith(f"attributes.{FAILURES_PER_ADDRESS}: ")
    assert reason in refusal["errorMessage"]


def test_a_factor_below_the_limit_is_refused_unless_both_change(guarded: Guarded) -> None:
    status, refusal = guarded.realm.realm.refused("PUT", "", {"failureFactor": LIMIT})
    assert status == httpx2.codes.BAD_REQUEST
    assert "less than failureFactor, which is 3, or 0" in refusal["errorMessage"]
    attributes = _ATTRIBUTES | {FAILURES_PER_ADDRESS: "2"}
    guarded.realm.realm.change("PUT", "", {"failureFactor": 3, "attributes": attributes})
