"""A whole realm takes seconds to judge: it is read beside the loop that answers everybody else."""

import threading
from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.admin.access.rights import operator
from gateway.admin.realm_files.partial_import import PartialImport
from gateway.authentication.passwords import NewPasswords
from gateway.domain.errors import InvalidInput
from gateway.domain.realm import Realm
from gateway.password_policies import NO_BLACKLISTS
from tests.support.realm_imports import ACME, Imports


class WatchedClock:
    """Tells the time, and remembers which threads asked."""

    def __init__(self) -> None:
        self.asked: set[threading.Thread] = set()

    def now(self) -> datetime:
        """Return an instant."""
        self.asked.add(threading.current_thread())
        return datetime(2026, 11, 20, 12, tzinfo=UTC)


def with_a_wrong_one(part: str) -> dict[str, Any]:
    right = ACME[part][0]
    return {"users": [], "clients": [], part: [right, {**right, "enabled": "no"}]}


@pytest.mark.parametrize("part", ["users", "clients"])
async def test_the_parts_of_a_realm_are_read_beside_the_loop(imports: Imports, part: str) -> None:
    clock = WatchedClock()
    imports.clock = clock
    with pytest.raises(InvalidInput):
        await imports.run({**ACME, **with_a_wrong_one(part)})
    assert clock.asked
    assert threading.current_thread() not in clock.asked


async def test_the_users_of_a_partial_import_are_read_beside_the_loop(imports: Imports) -> None:
    clock = WatchedClock()
    nobody_is_asked: Any = None
    importing = PartialImport(
        database=imports.database,
        changes=nobody_is_asked,
        clients=nobody_is_asked,
        passwords=imports.passwords,
        gate=NewPasswords(clock, NO_BLACKLISTS),
        online_sessions=nobody_is_asked,
    )
    with pytest.raises(InvalidInput):
        await importing.run(operator(Realm(id="acme", name="acme")), with_a_wrong_one("users"))
    assert clock.asked
    assert threading.current_thread() not in clock.asked
