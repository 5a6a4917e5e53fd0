"""What the event, the log line and the counters cost a request."""

import json
import sqlite3
import sys
from contextlib import ExitStack, closing
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Load, drive, lending_nginx, token_requests
from bench.processes import SERVER_CORES, output_of
from bench.stack import REALM, Site, Start, stack
from bench.workspace import ROOT

TITLE = "Event, log line and metrics, share of a token request"
HOW = (
    "Event and log line by settings: three gateways in alternating rounds, of a realm that stores"
    " its events and of two that do not, one of these with the log level warning; the differences"
    " of their processor time are the event's, from the request to its row in SQLite, and the"
    " line's. The counters cannot be switched off: the calls that a token request makes are"
    " repeated alone, with the same shared files, and their processor time is added. Share of the"
    " gateway's time for an RS256 token."
)
_QUIET: dict[str, object] = {"log_level": "warning"}


def measure(bench: Bench) -> Result:
    """Measure with and without event and log line, and the counters alone."""
    taken: dict[str, list[Load]] = {"events": [], "info": [], "warning": []}
    with ExitStack() as running:
        recording = bench.copy("recording")
        _record(recording)
        quiet = bench.copy("quiet")
        stacks = {
            "events": running.enter_context(stack(recording)),
            "info": running.enter_context(stack(bench.site)),
            "warning": running.enter_context(stack(quiet, Start(settings=_QUIET))),
        }
        targets = {name: one.mtls_port for name, one in stacks.items()}
        ports = running.enter_context(lending_nginx(targets, bench.site.certificates))
        for round_number in range(bench.plan.rounds + 1):
            kept = round_number > 0  # the first one warms up
            for name, one in stacks.items():
                load = drive(one, ports[name], token_requests(), bench.plan.seconds)
                taken[name] += [load] * kept
    counting = _counting_seconds(bench)
    whole = median(load.gateway for load in taken["events"])
    event, line = (_difference(taken[a], taken[b]) for a, b in (_EVENT, _LINE))
    figures = (
        Figure("processor time of a token, gateway", whole * 1e6, "us"),
        Figure("the event's", event * 1e6, "us"),
        Figure("the log line's", line * 1e6, "us"),
        Figure("the counters'", counting * 1e6, "us"),
        Figure(
            "event, log line and metrics, share",
            (event + line + counting) / whole,
            gate=at_most(0.15, 0.08),
        ),
    )
    return Result(figures, HOW)


_EVENT = ("events", "info")
_LINE = ("info", "warning")


def _difference(more: list[Load], less: list[Load]) -> float:
    return median(a.gateway - b.gateway for a, b in zip(more, less, strict=True))


def _record(site: Site) -> None:
    """Let the realm store its events."""
    with closing(sqlite3.connect(site.state / "realmgate.db", isolation_level=None)) as database:
        database.execute(
            "UPDATE realms SET settings = json_set(settings, '$.events.enabled', json('true'))"
            " WHERE name = ?",
            (REALM,),
        )


def _counting_seconds(bench: Bench) -> float:
    folder = bench.workspace.new_folder("counters")
    command = [sys.executable, "-m", "bench.counting", str(folder)]
    text = output_of(command, cores=SERVER_CORES, seconds=60, cwd=ROOT)
    return float(json.loads(text)["seconds"])
