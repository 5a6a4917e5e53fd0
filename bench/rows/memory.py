"""Memory of one worker, of each further one, and its growth."""

import time

from bench.browser_client import Steps, browse
from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import drive, lending_nginx, token_requests
from bench.people import BROWSING_PEOPLE, PEOPLE
from bench.processes import proportional_bytes
from bench.stack import Stack, Start, stack

TITLE = "Memory"
HOW = (
    "Proportional set size from /proc/PID/smaps_rollup, after the workers have issued tokens:"
    " supervisor and workers together, the private redis-server apart. A further worker is the"
    " difference of three workers and one, halved. After sign-ins: the same worker, when people"
    " have signed in on its pages too, with hash and by cookie. Growth is the worker's own size"
    " after the requests, against its size after the first seconds."
)
_MEGABYTE = 1e6
_WORKERS = 3


def measure(bench: Bench) -> Result:
    """Measure one worker, three, and one over many requests."""
    with (
        stack(bench.site) as target,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as ports,
    ):
        drive(target, ports["a"], token_requests(), bench.plan.warm_seconds)
        one = _size(target)
        redis = _redis(target)
        sent, before, after = _growth(bench, target, ports["a"])
    after_start, after_sign_ins = _with_people(bench)
    settings: dict[str, object] = {"workers": _WORKERS}
    with (
        stack(bench.site, Start(settings=settings)) as target,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as ports,
    ):
        drive(target, ports["a"], token_requests(), bench.plan.warm_seconds)
        many = _size(target)
    each = (many - one) / (_WORKERS - 1)
    figures = (
        Figure("one worker with its supervisor", one / _MEGABYTE, "MB", at_most(120, 100)),
        Figure("the same, just started", after_start / _MEGABYTE, "MB", at_most(120, 100)),
        Figure("the same, after sign-ins", after_sign_ins / _MEGABYTE, "MB", at_most(120, 100)),
        Figure("each further worker", each / _MEGABYTE, "MB", at_most(60, 45)),
        Figure("private redis-server", redis / _MEGABYTE, "MB"),
        Figure("requests between the two sizes of a worker", sent),
        Figure("worker after / before", after / before, gate=at_most(1.1, 1.02)),
    )
    return Result(figures, HOW)


def _with_people(bench: Bench) -> tuple[int, int]:
    """Return the size of one worker after its start, and after tokens and sign-ins."""
    with (
        stack(bench.people_site) as target,
        lending_nginx({"a": target.mtls_port}, bench.site.certificates) as devices,
        lending_nginx({"a": target.https_port}, None) as people,
    ):
        started, seconds = _size(target), bench.plan.warm_seconds
        drive(target, devices["a"], token_requests(), seconds)
        for realm in (PEOPLE, BROWSING_PEOPLE):
            cookies = browse(people["a"], realm, Steps.SIGN_IN, seconds).found
            browse(people["a"], realm, Steps.SINGLE_SIGN_ON, seconds, cookies)
        return started, _size(target)


def _growth(bench: Bench, target: Stack, port: int) -> tuple[int, float, float]:
    worker = target.gateway_processes()[-1]
    before = proportional_bytes(worker)
    end = time.monotonic() + bench.plan.growth_seconds
    sent = 0
    while time.monotonic() < end and sent < bench.plan.growth_requests:
        sent += drive(target, port, token_requests(), 5).requests
    return sent, before, proportional_bytes(worker)


def _size(target: Stack) -> int:
    return sum(map(proportional_bytes, target.gateway_processes()))


def _redis(target: Stack) -> int:
    return sum(map(proportional_bytes, target.redis_processes()))
