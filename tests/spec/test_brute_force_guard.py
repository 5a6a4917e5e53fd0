"""The guard against guessing, through the real nginx.

Spec: part 8, rules 1 and 2; Keycloak: 4, measured on 26.7.3
"""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from tests.support.spec_stack import FACTOR, TEN_MINUTES, Stack, refusal
from tests.support.wire import PASSWORD

CREDENTIALS = (400, "invalid_grant", "Invalid user credentials")
GUESSES = 200
NOTHING = {
    "failedLoginNotBefore": 0,
    "numFailures": 0,
    "numTemporaryLockouts": 0,
    "disabled": False,
    "numSecondaryAuthFailures": 0,
    "lastIPFailure": "n/a",
    "lastFailure": 0,
}
FOR_EVER = 2**63 - 1


@pytest.fixture(autouse=True)
def _everybody_is_let_in_again(spec: Stack) -> Iterator[None]:
    yield
    for realm in ("guarded", "quick", "codes"):
        spec.ask(f"{realm}/attack-detection/brute-force/users", "DELETE")


def _fail(stack: Stack, name: str, realm: str = "guarded", times: int = FACTOR) -> None:
    for _ in range(times):
        assert refusal(stack.sign_in(name, "x", realm)) == CREDENTIALS


def test_failures_up_to_the_factor_lock_without_a_visible_sign(
    spec: Stack,
) -> None:
    name = spec.fresh("guarded")
    _fail(spec, name, times=FACTOR - 1)
    assert not spec.attack_status(name, "guarded")["disabled"]
    before = int(time.time())
    _fail(spec, name, times=1)
    status = spec.attack_status(name, "guarded")
    left = status["failedLoginNotBefore"] - before
    assert TEN_MINUTES <= left <= TEN_MINUTES + 60
    assert status == NOTHING | {
        "failedLoginNotBefore": status["failedLoginNotBefore"],
        "numFailures": FACTOR,
        "numTemporaryLockouts": 1,
        "disabled": True,
        "lastIPFailure": "127.0.0.1",
        "lastFailure": status["lastFailure"],
    }
    # The right password is refused like a wrong one, and neither is counted any more.
    for password in ("x", PASSWORD):
        assert refusal(spec.sign_in(name, password, "guarded")) == CREDENTIALS
    assert spec.attack_status(name, "guarded") == status


def test_name_address_and_case_share_one_count(spec: Stack) -> None:
    name = spec.fresh("guarded")
    for form in (name, name.upper(), f"{name}@example.test", f"{name}@EXAMPLE.TEST", name):
        assert refusal(spec.sign_in(form, "x", "guarded")) == CREDENTIALS
    assert spec.attack_status(name, "guarded")["numFailures"] == FACTOR == 5
    assert refusal(spec.sign_in(name, realm="guarded")) == CREDENTIALS


def test_a_right_password_forgets_the_failures_before_it(spec: Stack) -> None:
    """attacks: D6."""
    name = spec.fresh("guarded")
    _fail(spec, name, times=FACTOR - 1)
    spec.signed_in(name, "guarded")
    assert spec.attack_status(name, "guarded") == NOTHING
    _fail(spec, name, times=FACTOR - 1)
    spec.signed_in(name, "guarded")


def test_two_failures_close_together_lock_for_the_quick_wait(spec: Stack) -> None:
    name, before = spec.fresh("quick"), int(time.time())
    _fail(spec, name, "quick", times=2)
    status = spec.attack_status(name, "quick")
    assert (status["numFailures"], status["numTemporaryLockouts"]) == (2, 0)
    assert 300 <= status["failedLoginNotBefore"] - before <= 360
    assert refusal(spec.sign_in(name, realm="quick")) == CREDENTIALS


@pytest.mark.parametrize("realm", ["capped", "brief-lock"])
def test_failures_close_together_lock_for_the_quick_wait(spec: Stack, realm: str) -> None:
    """Spec part 8, rule 2: also where the longest wait, or the grown one, is shorter."""
    name, before = spec.fresh(realm), int(time.time())
    _fail(spec, name, realm, times=2)
    assert spec.attack_status(name, realm)["failedLoginNotBefore"] - before >= 300


def test_an_unknown_name_is_refused_alike_and_stored_nowhere(spec: Stack) -> None:
    for _ in range(FACTOR + 1):
        assert refusal(spec.sign_in("nobody", "x", "guarded")) == CREDENTIALS
    path = "guarded/attack-detection/brute-force/users"
    assert spec.ask(f"{path}/nobody").json() == NOTHING
    assert spec.ask(path).json() == []


def test_the_administrator_sees_locked_users_and_unlocks_them(spec: Stack) -> None:
    one, other = spec.fresh("guarded"), spec.fresh("guarded")
    path = "guarded/attack-detection/brute-force/users"
    for name in (one, other):
        _fail(spec, name)
    listed = spec.ask(path).json()
    assert {entry["username"] for entry in listed} == {one, other}
    assert all(0 < entry["secondsLeft"] <= TEN_MINUTES for entry in listed)
    gone = spec.ask(f"{path}/{spec.id_of(one, 'guarded')}", "DELETE")
    assert (gone.status_code, gone.content) == (204, b"")
    spec.signed_in(one, "guarded")
    assert refusal(spec.sign_in(other, realm="guarded")) == CREDENTIALS
    assert spec.ask(path, "DELETE").status_code == 204
    spec.signed_in(other, "guarded")


def test_who_may_not_manage_users_may_not_let_anybody_in(spec: Stack) -> None:
    path = "guarded/attack-detection/brute-force/users"
    plain = spec.administrator("plain", PASSWORD)
    for method in ("GET", "DELETE"):
        refused = spec.ask(path, method, token=plain)
        assert (refused.status_code, refused.json()) == (403, {"error": "HTTP 403 Forbidden"})
        anonymous = spec.http.request(method, f"{spec.nginx.https}/admin/realms/{path}")
        assert anonymous.status_code == 401


def test_a_permanent_lockout_disables_until_an_admin_acts(
    spec: Stack,
) -> None:
    name = spec.fresh("permanent")
    _fail(spec, name, "permanent")
    assert refusal(spec.sign_in(name, realm="permanent")) == CREDENTIALS
    status = spec.attack_status(name, "permanent")
    assert (status["disabled"], status["failedLoginNotBefore"]) == (True, FOR_EVER)
    (found,) = spec.ask("permanent/users", username=name, exact="true").json()
    assert found["enabled"] is False
    assert found["attributes"]["disabledReason"] == ["permanentLockout"]
    spec.ask(f"permanent/attack-detection/brute-force/users/{found['id']}", "DELETE")
    assert refusal(spec.sign_in(name, realm="permanent")) == CREDENTIALS
    spec.command(spec.gateways[0], "user", "unlock", "--realm", "permanent", name)
    spec.signed_in(name, "permanent")


def test_wrong_codes_are_counted_apart_and_lock_for_good(spec: Stack) -> None:
    """attacks: D8."""
    name = spec.fresh("codes")
    for number in (1, 2):
        assert refusal(spec.sign_in(name, realm="codes", totp="x")) == CREDENTIALS
        status = spec.attack_status(name, "codes")
        assert (status["numFailures"], status["numSecondaryAuthFailures"]) == (number, number)
        assert status["disabled"] is False
    assert refusal(spec.sign_in(name, realm="codes")) == CREDENTIALS
    status = spec.attack_status(name, "codes")
    assert (status["disabled"], status["failedLoginNotBefore"]) == (True, FOR_EVER)


@pytest.mark.parametrize("attempt", range(3))
def test_of_200_guesses_at_two_gateways_the_factor_is_checked(pair: Stack, attempt: int) -> None:
    """attacks: D1."""
    name = pair.fresh("guarded")
    before = pair.counted("failed_login")
    with ThreadPoolExecutor(50) as pool:
        answers = list(
            pool.map(lambda n: pair.sign_in(name, f"guess {n}", "guarded"), range(GUESSES))
        )
    # What finds no room to be hashed is shed, and counts nothing.
    refused = [
        answer for answer in answers if answer.status_code != httpx2.codes.SERVICE_UNAVAILABLE
    ]
    assert {refusal(answer) for answer in refused} == {CREDENTIALS}, attempt
    for _ in range(FACTOR):  # where nearly all were shed, some are still allowed
        pair.sign_in(name, "one more guess", "guarded")
    assert pair.attack_status(name, "guarded")["numFailures"] == FACTOR
    # One whose turn passed while it waited is counted as failed and was not looked at.
    assert 0 < pair.counted("failed_login") - before <= FACTOR
    assert refusal(pair.sign_in(name, realm="guarded")) == CREDENTIALS


def test_a_lock_out_counts_on_every_gateway_at_once(pair: Stack) -> None:
    name = pair.fresh("guarded")
    locks = pair.counted("temporary_lockout")
    _fail(pair, name)
    for _ in range(6):
        assert refusal(pair.sign_in(name, realm="guarded")) == CREDENTIALS
    assert pair.counted("temporary_lockout") == locks + 1


def test_a_host_command_ends_the_administrators_own_lockout(spec: Stack) -> None:
    form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin"}
    for _ in range(FACTOR):
        assert refusal(spec.token("master", form | {"password": "x"})) == CREDENTIALS
    right = form | {"password": "The administrator's word 1"}
    assert refusal(spec.token("master", right)) == CREDENTIALS
    spec.command(spec.gateways[0], "user", "unlock", "--realm", "master", "admin")
    assert spec.token("master", right).status_code == 200
