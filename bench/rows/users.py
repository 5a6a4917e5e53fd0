"""Finding users in a realm of very many, and importing them."""

import asyncio
import json
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.postgres import postgres
from bench.processes import BOTH_CORES, BenchError
from bench.stack import Site, import_realms
from bench.watched import watched

TITLE = "Very many users"
HOW = (
    "Two realms in one database, of 10,000 users and of very many, filled by one statement each; on"
    " PostgreSQL with VACUUM ANALYZE after, as autovacuum does it. The product's own repository is"
    " asked about either realm in turn, each time about another user; medians of wall-clock time,"
    " and the ratio of both. No gate where more users match or are passed over in the larger realm:"
    " these are 100 times as many, and the figure tells how little of that is felt. Imports are"
    " `realmgate user import` of JSON lines into an empty realm; memory is the peak of the process,"
    " compared with an import of a tenth."
)
_FEW = 10_000
_GATE = at_most(2.0, 1.2)
_GROWTH = at_most(1.1, 1.02)


def measure(bench: Bench) -> Result:
    """Fill both databases side by side, then ask one after the other."""
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    from bench import many_users  # noqa: PLC0415

    sizes = {many_users.FEW: _FEW, many_users.MANY: bench.plan.users}
    figures = [Figure("users", bench.plan.users)]
    with ExitStack() as servers:
        site = bench.copy("users")
        url = servers.enter_context(postgres(BOTH_CORES)).url("realmgate")
        places: dict[str, dict[str, object]] = {"SQLite": {}, "PostgreSQL": {"database_url": url}}
        for settings in places.values():
            import_realms(site, [_realm(name) for name in (*sizes, *_IMPORTED)], **settings)
        with ProcessPoolExecutor(2, get_context("spawn")) as processes:
            filled = (
                processes.submit(many_users.fill_sqlite, site.state / "realmgate.db", sizes),
                processes.submit(many_users.fill_postgresql, url, sizes),
            )
            for one in filled:
                one.result()
        for name, settings in places.items():
            environment = site.environment(**settings)
            asked = asyncio.run(many_users.ask(environment, sizes, 10 * bench.plan.rounds))
            for question, (seconds, ratio) in asked.items():
                gate = _GATE if question in many_users.FLAT else None
                figures.append(Figure(f"{name}: {question}", 1000 * seconds, "ms"))
                figures.append(Figure("the same, many users / 10,000", ratio, gate=gate))
            figures += _imports(bench, site, name, settings)
    return Result(tuple(figures), HOW)


_IMPORTED = ("import-of-a-tenth", "import")


def _realm(name: str) -> dict[str, object]:
    return {"realm": name, "enabled": True, "defaultSignatureAlgorithm": "ES256"}


def _imports(
    bench: Bench, site: Site, database: str, settings: dict[str, object]
) -> tuple[Figure, ...]:
    from bench.many_users import lines_of_users  # noqa: PLC0415 - as above

    counts = bench.plan.imported_users // 10, bench.plan.imported_users
    peaks = []
    for realm, count in zip(_IMPORTED, counts, strict=True):
        file = site.state / "users.jsonl"
        file.write_text("".join(lines_of_users(count)))
        arguments = ("--realm", realm, "--output", "json", str(file))
        done = watched(site, "user", "import", *arguments, **settings)
        if json.loads(done.told)["added"] != count:
            raise BenchError(f"the import of {count} users: {done.told}")
        peaks.append(done.peak)
    return (
        Figure(f"{database}: import of {count:,} users", count / done.seconds, "/s"),
        Figure(f"{database}: memory of that import", peaks[1] / 1e6, "MB"),
        Figure("the same, to that of a tenth", peaks[1] / peaks[0], gate=_GROWTH),
    )
