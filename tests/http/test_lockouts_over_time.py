"""How long failed sign-ins lock an account, on a gateway whose clock is set.

Spec: 2.1 and part 8, rules 1 and 2; Keycloak: 4
"""

from collections.abc import Iterator

import pytest

from tests.support.administered_realm import SIGN_IN, administered_realm
from tests.support.administration import PASSWORD
from tests.support.sign_in_browser import SignInRealm
from tests.support.timed_gateway import Timed
from tests.support.timed_lockouts import MINUTE, NEVER_FAILED, REFERENCE, Guarded
from tests.support.wire import DEVICE


@pytest.fixture(scope="module")
def _realm(timed: Timed) -> Iterator[SignInRealm]:
    settings = {**SIGN_IN, **REFERENCE}
    with administered_realm(timed.administration, "timed-lockouts", {}, **settings) as realm:
        yield SignInRealm(realm)


@pytest.fixture
def guarded(timed: Timed, _realm: SignInRealm) -> Iterator[Guarded]:
    """Return the realm with the settings of the reference configuration."""
    yield Guarded(timed, _realm)
    off = {"permanentLockout": False, "maxTemporaryLockouts": 0, "maxSecondaryAuthFailures": 0}
    _realm.realm.change("PUT", "", REFERENCE | off)


def test_multiple_lengthens_the_lockout_by_every_sixth_failure(guarded: Guarded) -> None:
    name = guarded.add("multiple")
    assert guarded.waits(name, range(1, 26)) == {
        **dict.fromkeys(range(1, 6), 0),
        **dict.fromkeys(range(6, 12), 30),
        **dict.fromkeys(range(12, 18), 60),
        **dict.fromkeys(range(18, 26), 90),
    }
    assert guarded.signs_in(name)
    assert guarded.record(name) == NEVER_FAILED


def test_linear_lengthens_the_lock_out_with_every_failure(guarded: Guarded) -> None:
    guarded.realm.realm.change("PUT", "", {"bruteForceStrategy": "LINEAR"})
    waits = guarded.waits(guarded.add("linear"), range(1, 11))
    assert waits == {**dict.fromkeys(range(1, 6), 0), 6: 30, 7: 60, 8: 90, 9: 90, 10: 90}


def test_the_failure_factor_is_the_number_of_failures_that_lock(guarded: Guarded) -> None:
    name = guarded.add("factor")
    guarded.fail(name, 3)
    assert guarded.signs_in(name)
    guarded.realm.realm.change("PUT", "", {"failureFactor": 3})
    guarded.fail(name, 3, apart=1)
    assert guarded.record(name) == (3, 30 * MINUTE - 1, True)
    assert not guarded.signs_in(name)


def test_the_wait_increment_is_the_length_of_the_first_lock_out(guarded: Guarded) -> None:
    """attacks: D6."""
    guarded.realm.realm.change("PUT", "", {"waitIncrementSeconds": 7 * MINUTE})
    waits = guarded.waits(guarded.add("increment"), range(1, 13))
    assert (waits[5], waits[6], waits[12]) == (0, 7, 14)


def test_no_lock_out_is_longer_than_the_longest_wait(guarded: Guarded) -> None:
    guarded.realm.realm.change("PUT", "", {"maxFailureWaitSeconds": 40 * MINUTE})
    waits = guarded.waits(guarded.add("longest"), range(1, 13))
    assert (waits[6], waits[12]) == (30, 40)


def test_failures_add_up_within_the_delta_time_only(guarded: Guarded) -> None:
    guarded.realm.realm.change("PUT", "", {"maxDeltaTimeSeconds": 600})
    within, after = guarded.add("within"), guarded.add("after")
    guarded.fail(within, 5, apart=600)
    guarded.fail(within, apart=0)
    assert guarded.record(within) == (6, 30 * MINUTE, True)
    guarded.fail(after, 4)
    guarded.fail(after, apart=601)
    guarded.fail(after)
    assert guarded.record(after) == (1, 0, False)
    assert guarded.signs_in(after)


def test_without_protection_no_failure_counts_or_locks(guarded: Guarded) -> None:
    name = guarded.add("unprotected")
    guarded.fail(name, 5)
    guarded.realm.realm.change("PUT", "", {"bruteForceProtected": False})
    guarded.fail(name, 20, apart=0)
    assert guarded.signs_in(name)
    guarded.realm.realm.change("PUT", "", {"bruteForceProtected": True})
    guarded.fail(name)
    assert not guarded.signs_in(name), "the sixth failure that was counted"


def test_failures_within_the_quick_check_lock_at_once(guarded: Guarded) -> None:
    slow, quick = guarded.add("slow"), guarded.add("quick")
    guarded.fail(slow, 2, apart=1)
    assert guarded.record(slow) == (2, 0, False)
    guarded.fail(quick, 2, apart=0.999)
    assert guarded.record(quick)[2]
    # The clock is that of other tests too, which count in seconds.
    guarded.timed.advance(seconds=MINUTE + 0.002)
    guarded.realm.realm.change("PUT", "", {"quickLoginCheckMilliSeconds": 2001})
    guarded.fail(slow, 2, apart=2)
    assert guarded.record(slow)[2]


def test_the_minimum_quick_wait_is_the_length_of_that_lock_out(guarded: Guarded) -> None:
    name = guarded.add("minimum")
    guarded.fail(name, 2, apart=0)
    assert guarded.record(name) == (2, 60, True)
    guarded.timed.advance(seconds=60)
    assert guarded.signs_in(name)
    guarded.realm.realm.change("PUT", "", {"minimumQuickLoginWaitSeconds": 150})
    guarded.fail(name, 2, apart=0)
    assert guarded.record(name) == (2, 150, True)
    guarded.timed.advance(seconds=149)
    assert not guarded.signs_in(name)
    guarded.timed.advance(seconds=1)
    assert guarded.signs_in(name)


def test_enough_temporary_lockouts_become_permanent(guarded: Guarded) -> None:
    permanent = {"permanentLockout": True, "maxTemporaryLockouts": 2}
    guarded.realm.realm.change("PUT", "", permanent)
    name = guarded.add("permanent")
    assert guarded.waits(name, range(1, 8)) == {**dict.fromkeys(range(1, 6), 0), 6: 30, 7: 30}
    guarded.fail(name)
    assert guarded.record(name) == (8, -1, True)
    guarded.timed.advance(days=400)
    assert not guarded.signs_in(name)
    user = f"users/{guarded.realm.user_id(name)}"
    assert guarded.realm.realm.get(user)["enabled"] is False
    guarded.realm.realm.change("PUT", user, {"enabled": True})
    assert guarded.signs_in(name)


def test_too_many_wrong_codes_lock_permanently(guarded: Guarded) -> None:
    guarded.realm.realm.change("PUT", "", {"maxSecondaryAuthFailures": 2})
    credentials = [{"type": "password", "value": PASSWORD}, DEVICE]
    name = guarded.add("codes", credentials=credentials)
    for number in (1, 2, 3):
        assert guarded.record(name) == (number - 1, 0, False)
        assert not guarded.signs_in(name, totp="x")
        guarded.timed.advance(seconds=2)
    assert guarded.record(name) == (3, -1, True)
