"""Requests while Redis stands still: refusals of those that need it, and the cost of the others."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection
from statistics import median
from urllib.parse import urlencode

from bench.context import Bench
from bench.figures import Figure, Result, at_least, at_most
from bench.load import Requests, drive, lending_nginx
from bench.people import APP, PEOPLE, sign_in, token_path
from bench.processes import BenchError
from bench.stack import Stack, stack

TITLE = "Requests while Redis stands still"
HOW = (
    "The gateway's redis-server is stopped by SIGSTOP. Refreshes come one after the other and are"
    " refused with 503; the first ones wait for an answer until the circuit breaker opens. The"
    " realm's keys, which need no Redis, are asked for in alternating rounds with and without the"
    " outage; the ratio is that of the processor times for one answer."
)
_REFUSALS = 100


def measure(bench: Bench) -> Result:
    """Measure refusals, and the keys endpoint with and without the outage."""
    plan = bench.plan
    keys = Requests(f"/realms/{PEOPLE}/protocol/openid-connect/certs", "", method="GET")
    ratios: list[float] = []
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.https_port}, None) as ports,
    ):
        port = ports["a"]
        (answer,) = sign_in(port, PEOPLE, [1])
        drive(target, port, keys, plan.warm_seconds)
        for _ in range(plan.rounds):
            before = drive(target, port, keys, plan.seconds)
            with _redis_stopped(target):
                refused = _refusals(port, answer["refresh_token"])
                during = drive(target, port, keys, plan.seconds)
            ratios.append((before.gateway + before.nginx) / (during.gateway + during.nginx))
    figures = (
        Figure("refused refresh, median", median(refused) * 1e3, "ms", at_most(100, 20)),
        Figure("refused refresh, slowest", max(refused) * 1e3, "ms"),
        Figure("keys: without the outage / during it", median(ratios), gate=at_least(0.9, 0.98)),
    )
    return Result(figures, HOW)


@contextmanager
def _redis_stopped(target: Stack) -> Iterator[None]:
    processes = target.redis_processes()
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def _refusals(port: int, token: str) -> list[float]:
    """Return in seconds how long each refusal took."""
    form = {"grant_type": "refresh_token", "client_id": APP, "refresh_token": token}
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    connection = HTTPConnection("127.0.0.1", port)
    took = []
    for _ in range(_REFUSALS):
        began = time.monotonic()
        connection.request("POST", token_path(PEOPLE), urlencode(form), headers)
        response = connection.getresponse()
        response.read()
        took.append(time.monotonic() - began)
        if response.status != HTTPStatus.SERVICE_UNAVAILABLE:
            raise BenchError(f"a refresh without Redis was answered by {response.status}")
    connection.close()
    return took
