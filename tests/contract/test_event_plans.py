"""No question about events looks through a realm: which index the databases use for which.

One realm with many events, most of which are alike, and a few that are sought.
"""

import re
from collections.abc import AsyncIterator

import pytest
from sqlalchemy import text

from gateway.domain.events import AdminEventQuery, EventPage, Period, UserEventQuery
from gateway.storage.sql.address import parse_database_url
from gateway.storage.sql.database import SqlDatabase, create_engines
from gateway.storage.sql.events import SAMPLE, SqlAdminEvents, SqlUserEvents
from tests.support.query_plans import ExplainedTransaction
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, store_realms

_MANY = 2 * SAMPLE
_NUMBERS = {
    "sqlite": "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers"
    " WHERE n < {many})",
    "postgresql": "WITH numbers(n) AS (SELECT generate_series(1, {many}))",
}
_USER_EVENTS = """
INSERT INTO user_events (realm_id, id, time, type, client_id, user_id, session_id, ip_address,
    error, details)
{numbers}
SELECT 'demo-id', 'e' || n, CAST(1000000 AS bigint) * n,
    CASE WHEN n % 1000 = 0 THEN 'LOGOUT' WHEN n % 2 = 0 THEN 'LOGIN' ELSE 'REGISTER' END,
    CASE WHEN n % 1000 = 1 THEN 'rare' WHEN n % 2 = 0 THEN 'app' ELSE 'web' END,
    CASE WHEN n % 1000 = 2 THEN 'jane' WHEN n % 2 = 0 THEN 'john' ELSE 'jack' END, NULL,
    CASE WHEN n % 1000 = 3 THEN '192.0.2.9' WHEN n % 2 = 0 THEN '192.0.2.1'
        ELSE '192.0.2.2' END, NULL, '{{}}'
FROM numbers
"""
_ADMIN_EVENTS = """
INSERT INTO admin_events (realm_id, id, time, operation_type, resource_type, resource_path,
    auth_realm_id, auth_client, auth_user_id, ip_address, representation, error, details)
{numbers}
SELECT 'demo-id', 'e' || n, CAST(1000000 AS bigint) * n,
    CASE WHEN n % 2 = 0 THEN 'CREATE' ELSE 'UPDATE' END,
    CASE WHEN n % 2 = 0 THEN 'USER' ELSE 'GROUP' END,
    CASE WHEN n % 1000 = 0 THEN 'roles/' ELSE 'users/' END || n,
    CASE WHEN n % 2 = 0 THEN 'master-id' ELSE 'own' END,
    CASE WHEN n % 2 = 0 THEN 'cli' ELSE 'app' END,
    CASE WHEN n % 1000 = 2 THEN 'jane' WHEN n % 2 = 0 THEN 'john' ELSE 'jack' END,
    CASE WHEN n % 2 = 0 THEN '192.0.2.1' ELSE '192.0.2.2' END, NULL, NULL, '{{}}'
FROM numbers
"""


@pytest.fixture
async def explained(
    stored_database: StoredDatabase, database: SqlDatabase
) -> AsyncIterator[ExplainedTransaction]:
    """Return a transaction in a database full of events, and the plans of what it executes."""
    await store_realms(database, "demo")
    engines = create_engines(parse_database_url(stored_database.url))
    try:
        async with engines.writer.begin() as connection:
            numbers = _NUMBERS[connection.dialect.name].format(many=_MANY)
            for filling in (_USER_EVENTS, _ADMIN_EVENTS):
                await connection.execute(text(filling.format(numbers=numbers)))
            await connection.execute(text("ANALYZE user_events"))
            await connection.execute(text("ANALYZE admin_events"))
        async with engines.reader.connect() as connection:
            yield ExplainedTransaction(connection)
    finally:
        await engines.dispose()


def _index(plans: list[str], table: str) -> str:
    """Return on what the one index is that finds the rows; none looks the realm through."""
    for plan in plans:
        assert f"SCAN {table}\n" not in f"{plan}\n", plan
        assert f"Seq Scan on {table}" not in plan, plan
    used = set(re.findall(rf"ix_{table}_realm_id_(\w+)_id", plans[-1]))
    return " and ".join(sorted(used))


_PERIOD = Period(since=NOW.replace(year=1970), before=NOW)


_USER_QUERIES = (
    (UserEventQuery(), "time"),
    (UserEventQuery(period=_PERIOD), "time"),
    (UserEventQuery(names=("LOGIN",)), "type_time"),
    (UserEventQuery(names=("LOGOUT", "UPDATE_EMAIL")), "type_time"),
    (UserEventQuery(client_id="app"), "client_id_time"),
    (UserEventQuery(user_id="jane"), "user_id_time"),
    (UserEventQuery(ip_address="192.0.2.9"), "ip_address_time"),
    (UserEventQuery(client_id="app", period=_PERIOD), "client_id_time"),
    (UserEventQuery(names=("LOGOUT",), client_id="app"), "type_time"),
    (UserEventQuery(names=("LOGIN",), client_id="rare"), "client_id_time"),
    (UserEventQuery(names=("LOGIN", "REGISTER"), user_id="jane"), "user_id_time"),
    (UserEventQuery(names=("LOGOUT", "UPDATE_EMAIL"), user_id="john"), "type_time"),
    (
        UserEventQuery(client_id="app", user_id="john", ip_address="192.0.2.9"),
        "ip_address_time",
    ),
    (UserEventQuery(client_id="nobody", user_id="john"), "client_id_time"),
    (UserEventQuery(client_id="app", user_id="john"), "user_id_time"),
)
_ADMIN_QUERIES = (
    (AdminEventQuery(), "time"),
    (AdminEventQuery(operations=("CREATE",)), "operation_type_time"),
    (AdminEventQuery(resources=("CLIENT", "USER")), "resource_type_time"),
    (AdminEventQuery(auth_realm_id="master-id"), "auth_realm_id_time"),
    (AdminEventQuery(auth_client="cli"), "auth_client_time"),
    (AdminEventQuery(auth_user_id="jane"), "auth_user_id_time"),
    (AdminEventQuery(ip_address="192.0.2.1"), "ip_address_time"),
    (AdminEventQuery(resource_path="users/7"), "resource_path_time"),
    (AdminEventQuery(resource_path="roles/*"), "resource_path_time"),
    (AdminEventQuery(resource_path="roles/*0*"), "resource_path_time"),
    (AdminEventQuery(resource_path="users/*"), "time"),
    (AdminEventQuery(resource_path="*/7"), "time"),
    (AdminEventQuery(resource_path="users/*", auth_user_id="jane"), "auth_user_id_time"),
    (AdminEventQuery(resource_path="roles/*", auth_user_id="john"), "resource_path_time"),
    (AdminEventQuery(resource_path="*/7", auth_user_id="jane"), "auth_user_id_time"),
)


@pytest.mark.parametrize("newest_first", [True, False])
async def test_user_events_are_found_by_what_the_fewest_have(
    explained: ExplainedTransaction, *, newest_first: bool
) -> None:
    page = EventPage(newest_first=newest_first)
    for query, index in _USER_QUERIES:
        explained.plans.clear()
        await SqlUserEvents(explained).page("demo-id", query, page)
        assert (query, _index(explained.plans, "user_events")) == (query, index)


async def test_admin_events_are_found_by_what_the_fewest_have(
    explained: ExplainedTransaction,
) -> None:
    for query, index in _ADMIN_QUERIES:
        explained.plans.clear()
        await SqlAdminEvents(explained).page("demo-id", query, EventPage())
        assert (query, _index(explained.plans, "admin_events")) == (query, index)
