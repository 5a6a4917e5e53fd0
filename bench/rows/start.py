"""How long a start takes, the help, and the commands of administration."""

from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.stack import processor_seconds_of_command, seconds_to_help, seconds_to_ready

TITLE = "Start"
HOW = (
    "`realmgate start` on an existing database, from its exec to the first 200 of /health/ready,"
    " the private redis-server included; `realmgate --help` from exec to end;"
    " the processor time, user and system, of commands on that database. Medians."
)
_COMMANDS = (
    "realm list",
    "user list --realm master",
    "client list --realm master",
    "certs expiring",
    "certs deny list --realm master",
    "settings show",
)


def measure(bench: Bench) -> Result:
    """Measure several starts."""
    site = bench.site
    starts = [seconds_to_ready(site) for _ in range(bench.plan.starts)]
    helps = [seconds_to_help() for _ in range(2 * bench.plan.starts)]
    commands = {
        each: median(
            processor_seconds_of_command(site, *each.split()) for _ in range(bench.plan.starts)
        )
        for each in _COMMANDS
    }
    figures = (
        Figure("cold start to ready", median(starts), "s", at_most(1.5, 0.8)),
        Figure("slowest of these starts", max(starts), "s"),
        Figure("realmgate --help", median(helps), "s", at_most(0.3, 0.15)),
        *(
            Figure(f"realmgate {name}, processor", taken, "s", at_most(0.5, 0.4))
            for name, taken in commands.items()
        ),
    )
    return Result(figures, HOW)
