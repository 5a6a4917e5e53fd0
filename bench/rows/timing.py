"""What the time of a refused login tells about the account: nothing, if all is well."""

import asyncio
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from contextlib import closing
from datetime import timedelta
from itertools import combinations
from pathlib import Path
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import lending_nginx
from bench.login_timing import refusal_seconds
from bench.people import APP, COUNT, TIMED_PEOPLE, token_path
from bench.stack import Site, stack

TITLE = "Time of refused logins, by what is wrong with them"
HOW = (
    "A wrong password for unknown users, for users, for locked-out and for disabled ones, and for"
    " users with a dearer hash, one request at a time over one connection through nginx, the kinds"
    " in another order each round; 27,500 rounds of PBKDF2-SHA256, the dearer hash 60,000, which"
    " every refusal of the realm takes. The answers must be the same to the last byte. Superiority"
    " is how often a time of the one kind is longer than one of the other (Mann-Whitney): 0.5 if it"
    " tells nothing, 0 or 1 when it tells all. Bound is the distance from 0.5 of the worst pair."
)
_GATE = at_most(0.05, 0.02)


def measure(bench: Bench) -> Result:
    """Lock out those who are to be, and time the refusals."""
    rounds = bench.plan.timed_logins
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        asyncio.run(_lock_out(bench.people_site))
        path = token_path(TIMED_PEOPLE)
        seconds = refusal_seconds(ports["a"], path, APP, users=COUNT, rounds=rounds)
    pairs = {
        (one, other): superiority(seconds[one], seconds[other])
        for one, other in combinations(seconds, 2)
    }
    worst = max(abs(value - 0.5) for value in pairs.values())
    figures = (
        Figure("refusals of each kind", rounds),
        *(Figure(f"{kind}: median", median(seen) * 1e3, "ms") for kind, seen in seconds.items()),
        *(Figure(f"superiority: {one} / {other}", value) for (one, other), value in pairs.items()),
        Figure("superiority: the worst pair's distance from 0.5", worst, gate=_GATE),
    )
    return Result(figures, HOW)


def superiority(first: Sequence[float], second: Sequence[float]) -> float:
    """Return how often a value of the first is greater than one of the second; ties count half."""
    ordered = sorted(second)
    places = sum(bisect_left(ordered, value) + bisect_right(ordered, value) for value in first)
    return places / (2 * len(first) * len(second))


async def _lock_out(site: Site) -> None:
    """Let the product's own store count a failure that locks, for each user to be locked out."""
    from gateway.bootstrap import open_services  # noqa: PLC0415 - the product's own parts
    from gateway.domain.realm import BruteForce  # noqa: PLC0415
    from gateway.settings import load_settings  # noqa: PLC0415

    day = timedelta(days=1)
    rules = BruteForce(protected=True, failure_factor=1, wait_increment=day, max_failure_wait=day)
    settings = load_settings(environment=site.environment(), env_file=Path("/nonexistent"))
    async with open_services(settings) as services:
        for user in _to_be_locked(site):
            await services.login_failures.fail(
                TIMED_PEOPLE, user, "", rules=rules, address="192.0.2.1"
            )


def _to_be_locked(site: Site) -> list[str]:
    with closing(sqlite3.connect(site.state / "realmgate.db")) as database:
        rows = database.execute(
            "SELECT id FROM users WHERE realm_id = ? AND username LIKE 'locked-%'", (TIMED_PEOPLE,)
        )
        return [user for (user,) in rows]
