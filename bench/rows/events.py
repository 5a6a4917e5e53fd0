"""Looking for events among very many, by each thing that may be asked, and several."""

import asyncio
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.postgres import postgres
from bench.processes import BOTH_CORES
from bench.stack import import_realms

TITLE = "Very many events"
HOW = (
    "Two realms in one database, of 100,000 user events and as many admin events, and of very many"
    " of both, filled by one statement each; on PostgreSQL with VACUUM ANALYZE after, as autovacuum"
    " does it. The product's own repositories are asked about either realm in turn, the first page"
    " of 100; medians of wall-clock time, and the ratio of both. Rare is 1 in 5,000."
)
_FEW = 100_000
_GATE = at_most(2.0, 1.2)


def measure(bench: Bench) -> Result:
    """Fill both databases side by side, then ask one after the other."""
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    from bench import many_events  # noqa: PLC0415

    sizes = {many_events.FEW: _FEW, many_events.MANY: bench.plan.events}
    figures = [Figure("user events, and admin events", bench.plan.events)]
    with ExitStack() as servers:
        site = bench.copy("events")
        url = servers.enter_context(postgres(BOTH_CORES)).url("realmgate")
        places: dict[str, dict[str, object]] = {"SQLite": {}, "PostgreSQL": {"database_url": url}}
        for settings in places.values():
            import_realms(site, [_realm(name) for name in sizes], **settings)
        with ProcessPoolExecutor(2, get_context("spawn")) as processes:
            filled = (
                processes.submit(many_events.fill_sqlite, site.state / "realmgate.db", sizes),
                processes.submit(many_events.fill_postgresql, url, sizes),
            )
            for one in filled:
                one.result()
        for name, settings in places.items():
            environment = site.environment(**settings)
            asked = asyncio.run(many_events.ask(environment, sizes, 10 * bench.plan.rounds))
            for question, (seconds, ratio) in asked.items():
                figures.append(Figure(f"{name}: {question}", 1000 * seconds, "ms"))
                figures.append(Figure("the same, many events / 100,000", ratio, gate=_GATE))
    return Result(tuple(figures), HOW)


def _realm(name: str) -> dict[str, object]:
    return {"realm": name, "enabled": True, "defaultSignatureAlgorithm": "ES256"}
