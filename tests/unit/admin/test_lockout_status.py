"""A lock-out in Keycloak's shape. Keycloak: 4.3."""

import asyncio
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, cast

import pytest

from gateway.admin.users.lockouts import UserLockout
from gateway.authentication.accounts import Account
from gateway.authentication.sign_in_obstacles import list_sign_in_obstacles
from gateway.domain.ports.login_failures import LoginFailures
from gateway.domain.ports.lookups import RealmEntry
from gateway.domain.realm import BruteForce, Realm
from gateway.domain.users import User

if TYPE_CHECKING:
    from gateway.domain.ports.signing import KeyRing

_NOW = datetime(2026, 11, 20, tzinfo=UTC)
_FOR_EVER = 2**63 - 1
_LOCKED = LoginFailures(failures=2, locked_until=_NOW + timedelta(seconds=9))
_LOCKED_FOR_GOOD = LoginFailures(failures=2, permanent=True)


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


@pytest.mark.parametrize("record", [_LOCKED, _LOCKED_FOR_GOOD], ids=["temporary", "permanent"])
@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("client", [None, "id of a client"])
def test_failures_are_an_obstacle_where_a_sign_in_asks_for_them(
    record: LoginFailures, client: str | None, *, protected: bool
) -> None:
    """They outlive a protection that is switched off."""
    realm = Realm("r", "r", brute_force=BruteForce(protected=protected))
    user = User("u", "r", "bob", enabled=True, created_at=_NOW, service_account_client=client)
    entry, account = RealmEntry(realm, cast("KeyRing", None)), Account(user, (), "u")
    found = asyncio.run(list_sign_in_obstacles(entry, account, record, _NOW))
    expected = protected and client is None
    assert ("locked" in {obstacle.code for obstacle in found}) is expected
