"""Sign-ins of a realm while another caller floods it with wrong passwords."""

import time
from itertools import count
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Requests, lending_nginx
from bench.password_flood import password_flood
from bench.people import COSTLY_PEOPLE, COUNT, ROUNDS, flood_requests, sign_in
from bench.processes import BOTH_CORES
from bench.stack import Start, stack

TITLE = "Sign-ins of a user while one caller floods the realm, one worker on two cores"
HOW = (
    "A user signs in by the password grant through nginx, one sign-in after the other, each of"
    " another account, in pairs of rounds: alone, and while another address sends wrong passwords"
    " of unknown users over 60 connections in a closed loop. Gateway, nginx and flood share both"
    " cores. A refused sign-in of the user (503) fails the measurement."
)
_CONNECTIONS = 60
_SIGN_INS = 12
"""Of each half of a round."""
_FLOOD, _USER = "127.0.0.2", "127.0.0.3"
_MILLI = 1e3
_GATE = at_most(3, 2)


def measure(bench: Bench) -> Result:
    """Measure both in pairs."""
    alone: list[float] = []
    beside: list[float] = []
    numbers = count()
    flood: Requests = flood_requests(COSTLY_PEOPLE, _CONNECTIONS)
    with (
        stack(bench.people_site, Start(cores=BOTH_CORES)) as target,
        lending_nginx(
            {"flood": target.https_port, "user": target.https_port},
            None,
            cores=BOTH_CORES,
            addresses={"flood": _FLOOD, "user": _USER},
        ) as ports,
    ):
        _median_seconds(ports["user"], numbers)
        log = bench.workspace.folder / "password-flood.log"
        for _ in range(max(3, bench.plan.rounds)):
            alone.append(_median_seconds(ports["user"], numbers))
            with password_flood(ports["flood"], flood, "127.0.0.1", log):
                time.sleep(2)  # until the queue of the flood is full
                beside.append(_median_seconds(ports["user"], numbers))
            time.sleep(1)  # until what waits has run
    ratios = [other / one for one, other in zip(alone, beside, strict=True)]
    rounds = f"{ROUNDS[COSTLY_PEOPLE]:,} rounds"
    return Result(
        (
            Figure(f"{rounds}, alone: median", median(alone) * _MILLI, "ms"),
            Figure(f"{rounds}, beside the flood: median", median(beside) * _MILLI, "ms"),
            Figure("beside the flood / alone", median(ratios), gate=_GATE),
        ),
        HOW,
    )


def _median_seconds(port: int, numbers: "count[int]") -> float:
    taken = []
    for _ in range(_SIGN_INS):
        begun = time.perf_counter()
        sign_in(port, COSTLY_PEOPLE, [next(numbers) % COUNT + 1])
        taken.append(time.perf_counter() - begun)
    return median(taken)
