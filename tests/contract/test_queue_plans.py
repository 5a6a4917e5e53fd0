"""A claim costs the same whether few or very many rows of a queue are due.

Which indexes the databases use, never how long it takes. One realm has many rows that are due.
"""

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Final

import pytest
from sqlalchemy import text

from gateway.domain.secrets import SecretsAtRest
from gateway.storage.sql.address import parse_database_url
from gateway.storage.sql.database import SqlDatabase, create_engines
from gateway.storage.sql.outgoing_queues import (
    DeliveryRows,
    RowKinds,
    SqlLogoutNotices,
    SqlMails,
    SqlWebhooks,
)
from gateway.storage.sql.schema import mails
from tests.support.query_plans import ExplainedTransaction
from tests.support.sessions import store_owners
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW

_MANY: Final = 4_000
_LEASE: Final = timedelta(seconds=60)
_NUMBERS: Final = {
    "sqlite": "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers"
    " WHERE n < {many})",
    "postgresql": "WITH numbers(n) AS (SELECT generate_series(1, {many}))",
}
_FILLING: Final = {
    "mails": """
INSERT INTO mails (realm_id, id, user_id, kind, content, created_at, due_at, sent_at, attempts)
{numbers} SELECT 'demo-id', 'm' || n, 'alice-uuid', 'emailTest', '', n,
    CASE WHEN n % 4 = 0 THEN n END, CASE WHEN n % 4 > 0 THEN 9000000000000000 END, n % 3
FROM numbers""",
    "webhook_deliveries": """
INSERT INTO webhook_deliveries (realm_id, id, body, created_at, due_at, failed_at, attempts)
{numbers} SELECT 'demo-id', 'w' || n, '{{}}', n,
    CASE WHEN n % 4 = 0 THEN n END, CASE WHEN n % 4 > 0 THEN 9000000000000000 END, n % 3
FROM numbers""",
    "logout_notices": """
INSERT INTO logout_notices (realm_id, session_id, client, user_id, created_at, due_at, attempts)
{numbers} SELECT 'demo-id', 's' || n, 'device-uuid', 'alice-uuid', n, n, n % 3 FROM numbers""",
}
_LINES: Final = {
    "mails": "ix_mails_realm_id_kind_attempts_due_at",
    "webhook_deliveries": "ix_webhook_deliveries_realm_id_attempts_due_at",
    "logout_notices": "ix_logout_notices_realm_id_attempts_due_at",
}


@pytest.fixture
async def explained(
    stored_database: StoredDatabase, database: SqlDatabase
) -> AsyncIterator[ExplainedTransaction]:
    """Return a transaction in a database full of deliveries, and the plans of its statements."""
    await store_owners(database)
    engines = create_engines(parse_database_url(stored_database.url))
    try:
        async with engines.writer.begin() as connection:
            numbers = _NUMBERS[connection.dialect.name].format(many=_MANY)
            for table, filling in _FILLING.items():
                await connection.execute(text(filling.format(numbers=numbers)))
                await connection.execute(text(f"ANALYZE {table}"))
            yield ExplainedTransaction(connection)
    finally:
        await engines.dispose()


def _indexes(plan: str, table: str) -> set[str]:
    """Return the indexes by which a plan finds rows of the table; it never reads all of them."""
    assert not re.search(rf"SCAN {table}\b|Seq Scan on {table}\b", plan), plan
    return set(re.findall(rf"\b((?:ix|pk)_{table}\w*|sqlite_autoindex_{table}\w*)", plan))


def _reads_lines(plan: str, table: str) -> bool:
    # Every notice waits, so any index that begins with the realm finds the next realm.
    return _indexes(plan, table) - {"ix_logout_notices_realm_id_client"} == {_LINES[table]}


def _queue(
    table: str, transaction: ExplainedTransaction, secrets: SecretsAtRest
) -> SqlMails | SqlWebhooks | SqlLogoutNotices:
    if table == "mails":
        return SqlMails(transaction, secrets)
    return (SqlWebhooks if table == "webhook_deliveries" else SqlLogoutNotices)(transaction)


@pytest.mark.parametrize("table", _FILLING)
async def test_a_claim_reads_line_heads_and_the_rows_it_takes(
    table: str, explained: ExplainedTransaction, secrets_at_rest: SecretsAtRest
) -> None:
    await _queue(table, explained, secrets_at_rest).claim(NOW, _LEASE, 8)
    lines, taken, change, *more = explained.plans[:3]
    assert _reads_lines(lines, table)
    assert _indexes(taken, table) == {_LINES[table]}
    assert not re.search("TEMP B-TREE|Sort", taken), taken
    assert _indexes(change, table) <= {f"sqlite_autoindex_{table}_1", f"pk_{table}"}
    assert more == []


@pytest.mark.parametrize("table", _FILLING)
async def test_the_check_for_due_rows_skips_a_busy_realm(
    table: str, explained: ExplainedTransaction, secrets_at_rest: SecretsAtRest
) -> None:
    queue = _queue(table, explained, secrets_at_rest)
    assert not await queue.has_due(NOW, ["demo-id"])
    (lines,) = explained.plans
    assert _reads_lines(lines, table)


@pytest.mark.parametrize("table", _FILLING)
async def test_the_check_of_an_idle_worker_reads_line_heads(
    table: str, explained: ExplainedTransaction, secrets_at_rest: SecretsAtRest
) -> None:
    assert await _queue(table, explained, secrets_at_rest).has_due(NOW)
    (lines,) = explained.plans
    assert _reads_lines(lines, table)


async def test_the_mails_that_wait_are_counted_in_the_index_of_lines(
    explained: ExplainedTransaction,
) -> None:
    rows = DeliveryRows(explained, mails, RowKinds(mails.c.kind, frozenset(), frozenset()))
    assert await rows.is_full("demo-id", 100, mails.c.kind.in_(["emailTest"]))
    (plan,) = explained.plans
    assert _indexes(plan, "mails") == {_LINES["mails"]}
    assert not re.search("TEMP B-TREE|Sort", plan), plan


@pytest.mark.parametrize(
    ("table", "columns"),
    [("mails", ("failed_at", "sent_at")), ("webhook_deliveries", ("failed_at",))],
)
async def test_what_is_kept_no_longer_is_found_by_when_it_was_over(
    table: str,
    columns: tuple[str, ...],
    explained: ExplainedTransaction,
    secrets_at_rest: SecretsAtRest,
) -> None:
    queue = _queue(table, explained, secrets_at_rest)
    assert isinstance(queue, SqlMails | SqlWebhooks)
    await queue.purge(NOW)
    (plan,) = explained.plans
    assert _indexes(plan, table) == {f"ix_{table}_{column}" for column in columns}


async def test_postgresql_compiles_no_query(postgres_database: StoredDatabase) -> None:
    """It would compile those of queues, which it estimates at far more rows than there are."""
    engines = create_engines(parse_database_url(postgres_database.url))
    async with engines.reader.connect() as connection:
        assert (await connection.execute(text("SHOW jit"))).scalar_one() == "off"
    await engines.dispose()
