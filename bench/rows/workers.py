"""Throughput from one worker to two."""

from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_least
from bench.load import Load, drive, lending_nginx, token_requests
from bench.processes import BOTH_CORES, SERVER_CORES
from bench.stack import Start, stack

TITLE = "Two workers against one"
HOW = (
    "All of it is doubled: first one worker, nginx, wrk and the load's nginx together on one core,"
    " then two workers and the same company together on both cores, in alternating rounds. Nothing"
    " is left idle or subtracted, so 2.0 would be perfect. (With two cores there is no third one"
    " for the load.)"
)


def measure(bench: Bench) -> Result:
    """Measure one core with one worker, and two with two."""
    both = Start(cores=BOTH_CORES, settings={"workers": 2})
    one: list[Load] = []
    two: list[Load] = []
    with stack(bench.site) as single, stack(bench.copy("two-workers"), both) as double:
        certificates = bench.site.certificates
        with (
            lending_nginx({"a": single.mtls_port}, certificates, SERVER_CORES) as single_port,
            lending_nginx({"a": double.mtls_port}, certificates, BOTH_CORES) as double_port,
        ):
            for round_number in range(bench.plan.rounds + 1):
                kept = round_number > 0  # the first one warms up
                seconds = bench.plan.seconds
                load = drive(single, single_port["a"], token_requests(), seconds, SERVER_CORES)
                one += [load] * kept
                load = drive(double, double_port["a"], token_requests(), seconds, BOTH_CORES)
                two += [load] * kept
    figures = (
        Figure("one worker, everything on one core", median(load.rate for load in one), "/s"),
        Figure("two workers, everything on two cores", median(load.rate for load in two), "/s"),
        Figure(
            "two workers / one",
            median(b.rate / a.rate for a, b in zip(one, two, strict=True)),
            gate=at_least(1.8, 1.95),
        ),
        Figure(
            "processor time of a token, two workers / one",
            median(b.gateway / a.gateway for a, b in zip(one, two, strict=True)),
        ),
    )
    return Result(figures, HOW)
