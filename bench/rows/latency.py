"""Latency while requests come at random, at half and at 70 % of what one core can do."""

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import drive, lending_nginx, token_requests
from bench.open_loop import Latency, poisson
from bench.stack import stack

TITLE = "Latency of RS256 tokens under Poisson arrivals"
HOW = (
    "An open loop: arrivals are Poisson and wait for nobody; latency counts from the moment a"
    " request was due, through both nginx. Capacity is the closed loop's rate just before. The"
    " unit is the processor time that gateway and nginx take for one token. `generator late` is"
    " the 99th percentile of the generator's own delay, which is part of the latency."
)
_LEVELS = ((0.5, at_most(15, 10)), (0.7, at_most(30, 20)))


def measure(bench: Bench) -> Result:
    """Measure at two levels of load."""
    plan = bench.plan
    requests = token_requests()
    figures: list[Figure] = []
    with (
        stack(bench.site) as target,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as ports,
    ):
        port = ports["a"]
        drive(target, port, requests, plan.warm_seconds)
        for level, gate in _LEVELS:
            full = drive(target, port, requests, plan.seconds)
            cost = full.gateway + full.nginx
            rate = full.rate * level
            seen = poisson(port, requests, rate, plan.open_loop_seconds)
            figures += _at(level, rate, seen)
            figures.append(
                Figure(f"at {level:.0%}: p99 / processor time", seen.p99 / cost, gate=gate)
            )
    return Result(tuple(figures), HOW)


def _at(level: float, rate: float, seen: Latency) -> list[Figure]:
    return [
        Figure(f"at {level:.0%}: arrivals", rate, "/s"),
        Figure(f"at {level:.0%}: p50", seen.p50 * 1e3, "ms"),
        Figure(f"at {level:.0%}: p99", seen.p99 * 1e3, "ms"),
        Figure(f"at {level:.0%}: generator late, p99", seen.late * 1e3, "ms"),
        Figure(f"at {level:.0%}: failed", seen.failed),
    ]
