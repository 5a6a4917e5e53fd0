"""A lock-out in Keycloak's shape. Keycloak: 4.3."""

from datetime import UTC, datetime, timedelta

import pytest

from gateway.admin.users.lockouts import UserLockout
from gateway.domain.ports.login_failures import LoginFailures

_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_FOR_EVER = 2**63 - 1


@pytest.mark.parametrize(
    ("record", "shown"),
    [
        (
            LoginFailures(failures=2, locked_until=_NOW + timedelta(seconds=9)),
            (True, int(_NOW.timestamp()) + 9),
        ),
        (LoginFailures(failures=2, locked_until=_NOW), (False, 0)),
        (LoginFailures(failures=2, permanent=True), (True, _FOR_EVER)),
    ],
    ids=["temporary", "over", "permanent"],
)
def test_the_end_of_a_lock_out_is_shown_while_it_lasts(
    record: LoginFailures, shown: tuple[bool, int]
) -> None:
    status = UserLockout("id", "bob", record, _NOW).status()
    assert (status["disabled"], status["failedLoginNotBefore"]) == shown
    assert status["numFailures"] == 2
