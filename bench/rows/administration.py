"""The admin API: what reading and writing cost."""

from dataclasses import replace
from statistics import median

from bench.administrators import add_administrator, administrator_token, kinds_of_requests
from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Load, Requests, drive, lending_nginx
from bench.people import add_people
from bench.stack import stack

TITLE = "Admin API, nginx and one worker on one core"
HOW = (
    "A service account of master with the role admin, over eight connections, in rounds. Every"
    " request asks the database once whether the token was revoked and what has changed; the"
    " caller and its roles come from memory. Writes are on disk before they are answered (SQLite,"
    " synchronous commit)."
)
_GATES = {"one realm": at_most(700, 350)}
"""Microseconds of the gateway's processor time, on a machine that signs in 200 (RSA-2048)."""


def measure(bench: Bench) -> Result:
    """Measure each kind of request in alternating rounds."""
    site = bench.copy("administered")
    add_people(site)
    add_administrator(site)
    with stack(site) as target, lending_nginx({"a": target.https_port}, None) as ports:
        port = ports["a"]
        token = administrator_token(port)
        kinds = kinds_of_requests(token)
        seen: dict[str, list[Load]] = {name: [] for name in kinds}
        for round_number in range(bench.plan.rounds + 1):
            for name, requests in kinds.items():
                some = _others(requests, round_number)
                load = drive(target, port, some, bench.plan.seconds)
                seen[name] += [load] * (round_number > 0)  # the first one warms up
    return Result(tuple(figure for name in seen for figure in _figures(name, seen[name])), HOW)


def _others(requests: Requests, round_number: int) -> Requests:
    """Return the requests with names that no other round gives."""
    return replace(requests, body=requests.body.replace("ROUND", str(round_number)))


def _figures(name: str, loads: list[Load]) -> tuple[Figure, Figure]:
    cost = median(load.gateway for load in loads) * 1e6
    gate = _GATES.get(name)
    return (
        Figure(f"{name}: requests", median(load.rate for load in loads), "/s"),
        Figure(f"{name}: processor time, gateway", cost, "us", gate),
    )
