"""Exports of realms with very many users."""

from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from pathlib import Path

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.postgres import postgres
from bench.processes import BOTH_CORES, BenchError
from bench.stack import import_realms
from bench.watched import Watched, watched

TITLE = "Export of very many users"
HOW = (
    "`realmgate realm export` to a file, of a realm filled by one statement, and of another with a"
    " tenth of its users; memory is the peak of the process. Every user is counted in the file."
)
_TENTH, _WHOLE = "export-of-a-tenth", "export"
_GROWTH = at_most(1.1, 1.02)
_CHUNK = 1 << 20


def measure(bench: Bench) -> Result:
    """Fill both databases side by side, then export from one after the other."""
    # The product's own parts, imported here: the rest of the bench is a stranger to it.
    from bench import many_users  # noqa: PLC0415

    sizes = {_TENTH: bench.plan.users // 10, _WHOLE: bench.plan.users}
    figures = [Figure("users", bench.plan.users)]
    with ExitStack() as servers:
        site = bench.copy("export")
        url = servers.enter_context(postgres(BOTH_CORES)).url("realmgate")
        places: dict[str, dict[str, object]] = {"SQLite": {}, "PostgreSQL": {"database_url": url}}
        for settings in places.values():
            import_realms(site, [{"realm": name, "enabled": True} for name in sizes], **settings)
        with ProcessPoolExecutor(2, get_context("spawn")) as processes:
            filled = (
                processes.submit(many_users.fill_sqlite, site.state / "realmgate.db", sizes),
                processes.submit(many_users.fill_postgresql, url, sizes),
            )
            for one in filled:
                one.result()
        file = site.state / "exported.json"
        for database, settings in places.items():
            done: dict[str, Watched] = {}
            for name, count in sizes.items():
                arguments = ("realm", "export", name, "--output", str(file))
                done[name] = watched(site, *arguments, **settings)
                _require_users(file, count)
            figures += _figures(database, done[_TENTH], done[_WHOLE], bench.plan.users)
    return Result(tuple(figures), HOW)


def _figures(
    database: str, tenth: Watched, whole: Watched, count: int
) -> tuple[Figure, Figure, Figure]:
    return (
        Figure(f"{database}: users", count / whole.seconds, "/s"),
        Figure(f"{database}: memory", whole.peak / 1e6, "MB"),
        Figure("the same, to that of a tenth", whole.peak / tenth.peak, gate=_GROWTH),
    )


def _require_users(file: Path, count: int) -> None:
    """Count them without reading the file into memory."""
    mark, found, rest = b'"username": "', 0, b""
    with file.open("rb") as text:
        while chunk := text.read(_CHUNK):
            piece = rest + chunk
            found += piece.count(mark)
            rest = piece[-len(mark) + 1 :]
    if found != count:
        raise BenchError(f"{found} users in an export of {count}")
