"""What the log line and the counters cost a request."""

import json
import sys
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Load, drive, lending_nginx, token_requests
from bench.processes import SERVER_CORES, output_of
from bench.stack import Start, stack
from bench.workspace import ROOT

TITLE = "Log line and metrics, share of a token request"
HOW = (
    "The log line by a setting: two gateways, log level info and warning, in alternating rounds;"
    " the difference of their processor time is the line's. The counters cannot be switched off:"
    " the calls that a token request makes are repeated alone, with the same shared files, and"
    " their processor time is added. Share of the gateway's time for an RS256 token."
)
_QUIET: dict[str, object] = {"log_level": "warning"}


def measure(bench: Bench) -> Result:
    """Measure with and without the log line, and the counters alone."""
    told: list[Load] = []
    quiet: list[Load] = []
    with stack(bench.site) as info, stack(bench.copy("quiet"), Start(settings=_QUIET)) as warning:
        targets = {"info": info.mtls_port, "warning": warning.mtls_port}
        with lending_nginx(targets, bench.site.certificates) as ports:
            for round_number in range(bench.plan.rounds + 1):
                kept = round_number > 0  # the first one warms up
                seconds = bench.plan.seconds
                told += [drive(info, ports["info"], token_requests(), seconds)] * kept
                quiet += [drive(warning, ports["warning"], token_requests(), seconds)] * kept
    counting = _counting_seconds(bench)
    whole = median(load.gateway for load in told)
    line = median(a.gateway - b.gateway for a, b in zip(told, quiet, strict=True))
    figures = (
        Figure("processor time of a token, gateway", whole * 1e6, "us"),
        Figure("the log line's", line * 1e6, "us"),
        Figure("the counters'", counting * 1e6, "us"),
        Figure("log line and metrics, share", (line + counting) / whole, gate=at_most(0.15, 0.08)),
    )
    return Result(figures, HOW)


def _counting_seconds(bench: Bench) -> float:
    folder = bench.workspace.new_folder("counters")
    command = [sys.executable, "-m", "bench.counting", str(folder)]
    text = output_of(command, cores=SERVER_CORES, seconds=60, cwd=ROOT)
    return float(json.loads(text)["seconds"])
