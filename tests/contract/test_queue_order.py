"""The order in which a queue gives its rows, whichever realms, kinds and attempts are mixed."""

from datetime import timedelta
from itertools import product
from typing import Any, Final

import pytest
from sqlalchemy import insert

from gateway.domain.mail import NOTIFICATIONS, MailKind
from gateway.storage.sql.database import SqlDatabase
from gateway.storage.sql.outgoing_queues import KINDS, DeliveryRows
from gateway.storage.sql.schema import mails
from tests.support.sessions import store_owners
from tests.support.stored_values import NOW

_LEASE: Final = timedelta(seconds=60)
_UNKNOWN: Final = "kindOfANewerVersion"


@pytest.fixture
async def rows(database: SqlDatabase) -> list[dict[str, Any]]:
    """Store mails that are due in another order than they should be sent in, and some others."""
    await store_owners(database)
    kinds = (MailKind.EVENT_LOGIN_ERROR, MailKind.TEST, MailKind.PASSWORD_RESET, _UNKNOWN)
    mixed = product(("other", "demo"), (2, 0, 1), kinds, (7, -1, 3, 5))
    stored = [
        {
            "realm_id": f"{realm}-id",
            "id": f"mail-{number:03}",
            "user_id": "alice-uuid",
            "kind": str(kind),
            "content": "",
            "created_at": NOW,
            "due_at": NOW - timedelta(seconds=seconds * 100 + number),
            "attempts": attempts,
        }
        for number, (realm, attempts, kind, seconds) in enumerate(mixed)
    ]
    over = [stored[0] | {"id": f"over-{number}", "due_at": None} for number in range(9)]
    async with database.write() as stores:
        await stores.transaction.execute(insert(mails), stored + over)
    return stored


def _line(row: dict[str, Any]) -> tuple[str, str, int]:
    return (row["realm_id"], row["kind"], row["attempts"])


def _rank(row: dict[str, Any]) -> tuple[bool, int]:
    return (row["kind"] in NOTIFICATIONS, row["attempts"])


async def _claim_all(database: SqlDatabase, *busy: str) -> list[str]:
    """Claim three at a time until nothing is due; return the ids in this order."""
    found: list[str] = []
    async with database.write() as stores:
        rows = DeliveryRows(stores.transaction, mails, KINDS)
        while await rows.has_due(NOW, busy):
            found += [row.id for row in await rows.claim(NOW, _LEASE, 3, busy)]
    return found


async def test_urgent_rows_with_fewest_attempts_and_longest_due_first(
    database: SqlDatabase, rows: list[dict[str, Any]]
) -> None:
    by_id = {row["id"]: row for row in rows}
    claimed = [by_id[found] for found in await _claim_all(database)]
    due = [row for row in rows if row["due_at"] <= NOW and row["kind"] != _UNKNOWN]
    assert sorted(map(_line, claimed)) == sorted(map(_line, due))
    assert list(map(_rank, claimed)) == sorted(map(_rank, due))
    for line in map(_line, due):
        instants = [row["due_at"] for row in claimed if _line(row) == line]
        assert instants == sorted(instants)


async def test_at_equal_attempts_the_longest_waiting_line_goes_first(
    database: SqlDatabase, rows: list[dict[str, Any]]
) -> None:
    async with database.write() as stores:
        queue = DeliveryRows(stores.transaction, mails, KINDS)
        (claimed,) = await queue.claim(NOW, _LEASE, 1, ())
    longest = min(
        row["due_at"] for row in rows if _rank(row) == (False, 0) and row["kind"] != _UNKNOWN
    )
    assert claimed.due_at == longest


async def test_rows_of_a_busy_realm_are_passed_over(
    database: SqlDatabase, rows: list[dict[str, Any]]
) -> None:
    realm_of = {row["id"]: row["realm_id"] for row in rows}
    assert {realm_of[found] for found in await _claim_all(database, "demo-id")} == {"other-id"}
    assert {realm_of[found] for found in await _claim_all(database)} == {"demo-id"}
    assert await _claim_all(database) == []
