"""What an event costs a sign-in, where a listener makes a mail or a webhook of it."""

import re
import subprocess
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median
from typing import Final

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import lending_nginx
from bench.people import BROWSING_PEOPLE, people_document, refused_sign_in, sign_in
from bench.postgres import Postgres, postgres
from bench.processes import LOAD_CORES, BenchError
from bench.redis_monitor import watched
from bench.stack import Stack, Start, import_realms, stack

TITLE = "Events that cause a mail or a webhook"
HOW = (
    "Sign-ins by password in two realms in turn, that differ in one listener: refused ones for"
    " `email`, successful ones for `webhook`, each user once. Both realms store their events. On"
    " PostgreSQL, which logs the statements, and with MONITOR on redis-server; statements are those"
    " of the sign-in and of the journal that stores its event, without what sends the mail or the"
    " webhook and what runs in the background. Processor time is that of the gateway until the"
    " event is stored, and has a first attempt of delivery in it, which is refused at once."
)
_USERS: Final = 80
"""Of each round: no user reaches a limit."""
_DEADLINE: Final = 30.0
_NO_SERVER: Final = "127.0.0.1"
_STATEMENT: Final = re.compile(r"LOG:  (?:execute [^:]*|statement): (.*(?:\n\t.*)*)")
_BACKGROUND: Final = re.compile(
    r"due_at <=|UPDATE (mails|webhook_deliveries)|change_log|^(BEGIN|COMMIT|ROLLBACK|SET|SHOW)\b"
    r"|pg_|current_setting|lease",
    re.IGNORECASE,
)
_REDIS_BACKGROUND: Final = {"ping", "publish", "subscribe", "client"}
_PLAIN: Final = "listeners-none"
_QUEUES: Final = {"email": "mails", "webhook": "webhook_deliveries"}


@dataclass(slots=True)
class _Cost:
    """What a sign-in of one realm costs, by round; seconds."""

    rows: list[float] = field(default_factory=list)
    statements: list[float] = field(default_factory=list)
    calls: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)


def measure(bench: Bench) -> Result:
    """Measure each listener beside the realm without one, in alternating rounds."""
    figures: list[Figure] = []
    site = bench.copy("listeners")
    with postgres(LOAD_CORES) as server:
        _ask(server, "ALTER SYSTEM SET log_statement = 'all'")
        _ask(server, "SELECT pg_reload_conf()")
        url = server.url("realmgate")
        import_realms(site, list(map(_realm, ("none", *_QUEUES))), database_url=url)
        start = Start(settings={"database_url": url})
        with (
            stack(site, start) as target,
            lending_nginx({"a": target.https_port}, None) as ports,
        ):
            for listener, act in (("email", refused_sign_in), ("webhook", sign_in)):
                run = partial(_round, server, target, listener, partial(act, ports["a"]))
                costs = {_PLAIN: _Cost(), f"listeners-{listener}": _Cost()}
                for number in range(bench.plan.rounds):
                    for realm, cost in costs.items():
                        run(realm, range(number * _USERS + 1, (number + 1) * _USERS + 1), cost)
                figures += _figures(listener, *costs.values())
    return Result(tuple(figures), HOW)


def _realm(listener: str) -> dict[str, object]:
    return people_document(BROWSING_PEOPLE) | {
        "realm": f"listeners-{listener}",
        "eventsEnabled": True,
        "eventsListeners": ["jboss-logging", *([listener] if listener in _QUEUES else ())],
        "smtpServer": {"host": _NO_SERVER, "port": "25", "from": "bench@example.com"},
        "attributes": {
            "realmgate.webhook.url": f"https://{_NO_SERVER}/hook",
            "realmgate.webhook.secret": "a-secret-of-the-bench-1",
            "realmgate.webhook.events": "LOGIN",
        },
    }


def _round(  # noqa: PLR0917 - what a round is made of
    server: Postgres,
    target: Stack,
    listener: str,
    act: Callable[[str, Iterable[int]], object],
    realm: str,
    users: range,
    cost: _Cost,
) -> None:
    """Let each user sign in once, and wait until the events are stored."""
    stored, queued = _rows(server, "user_events"), _rows(server, _QUEUES[listener])
    begun, log = target.gateway_seconds(), server.folder / "log"
    place = log.stat().st_size
    with watched(target.site) as redis:
        act(realm, users)
        _wait(lambda: _rows(server, "user_events") >= stored + len(users))
    number = len(users)
    cost.seconds.append((target.gateway_seconds() - begun) / number)
    cost.rows.append((_rows(server, _QUEUES[listener]) - queued) / number)
    cost.statements.append(len(_statements(log, place)) / number)
    calls = [call for call in redis.calls if call.command not in _REDIS_BACKGROUND]
    cost.calls.append(len(calls) / number)


def _figures(listener: str, plain: _Cost, listening: _Cost) -> list[Figure]:
    ratio = median(b / a for a, b in zip(plain.seconds, listening.seconds, strict=True))
    more = {
        name: median(getattr(listening, name)) - median(getattr(plain, name))
        for name in ("rows", "calls", "statements")
    }
    return [
        Figure(f"{listener}: rows more", more["rows"], "a sign-in", at_most(1, 1)),
        Figure(f"{listener}: calls of Redis more", more["calls"], "a sign-in", at_most(0, 0)),
        Figure(f"{listener}: statements without it", median(plain.statements), "a sign-in"),
        Figure(f"{listener}: statements more", more["statements"], "a sign-in"),
        Figure(f"{listener}: processor time with / without it", ratio),
    ]


def _statements(log: Path, place: int) -> list[str]:
    with log.open("rb") as file:
        file.seek(place)
        found = _STATEMENT.findall(file.read().decode("utf-8", "replace"))
    return [each for each in found if not _BACKGROUND.search(each) and "count(*) from" not in each]


def _rows(server: Postgres, table: str) -> int:
    return int(_ask(server, f"select count(*) from {table}"))  # noqa: S608 - a table of ours


def _ask(server: Postgres, statement: str) -> str:
    command = ["psql", "-h", str(server.folder), "-U", "realmgate", "-d", "realmgate", "-At"]
    done = subprocess.run(
        [*command, "-c", statement], capture_output=True, text=True, timeout=20, check=False
    )
    if done.returncode:
        raise BenchError(f"{statement}: {done.stderr}")
    return done.stdout.strip()


def _wait(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _DEADLINE
    while not condition():
        if time.monotonic() > end:
            raise BenchError("the events are not stored")
        time.sleep(0.2)
