"""What many clients and many realms cost."""

from collections.abc import Callable
from dataclasses import dataclass
from statistics import mean

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Load, Requests, drive, lending_nginx, token_requests, touch_all
from bench.stack import CLIENT, REALM, Stack, stack

TITLE = "Many clients, many realms"
HOW = (
    "Two gateways with databases of their own, one small (10 clients, 1 realm), one large. The"
    " large one is measured between two measurements of the small one. Caches are full before, and"
    " a measurement lasts as long as entries live in the cache (60 s), so that it holds its share"
    " of renewals. `hot set` is traffic over 1,000 of the clients, evenly; `all` is traffic over"
    " every client, evenly, so that nearly every request misses the cache of 10,000 and reads the"
    " database. Cost is the processor time of gateway and nginx for a token."
)
_HOT = 1_000
_GATE = at_most(1.1, 1.02)


@dataclass(frozen=True, slots=True)
class _Traffic:
    """Requests to one of the two gateways."""

    target: Stack
    port: int
    requests: Requests

    def measured(self, seconds: int) -> Load:
        """Measure with what the cache can hold in it."""
        touch_all(self.port, self.requests)
        return self.evenly(seconds)

    def evenly(self, seconds: int) -> Load:
        """Measure with the cache as it is."""
        return drive(self.target, self.port, self.requests, seconds)


def measure(bench: Bench) -> Result:
    """Measure the large database between measurements of the small one."""
    plan = bench.plan
    with stack(bench.ten_clients_site) as small, stack(bench.large_site) as large:
        targets = {"small": small.mtls_port, "large": large.mtls_port}
        with lending_nginx(targets, bench.site.certificates) as ports:

            def traffic(name: str, requests: Requests) -> _Traffic:
                return _Traffic(small if name == "small" else large, ports[name], requests)

            clients = f"{CLIENT}-%d"
            ten = traffic("small", token_requests(client=clients, count=10))
            hot = traffic("large", token_requests(client=clients, count=_HOT))
            everyone = traffic("large", token_requests(client=clients, count=plan.clients))
            one = traffic("small", token_requests(f"{REALM}-%d", count=1))
            many = traffic("large", token_requests(f"{REALM}-%d", count=plan.realms))
            ten.evenly(plan.warm_seconds)
            figures = (
                *_between(ten, plan.seconds, lambda: hot.measured(plan.age_seconds), _HOT_NAMES),
                *_between(ten, plan.seconds, lambda: everyone.evenly(plan.seconds), _ALL_NAMES),
                *_between(one, plan.seconds, lambda: many.measured(plan.age_seconds), _REALM_NAMES),
            )
    sizes = Figure("clients", plan.clients), Figure("realms", plan.realms)
    return Result((*sizes, *figures), HOW)


@dataclass(frozen=True, slots=True)
class _Names:
    small: str
    large: str
    gated: bool = True


_HOT_NAMES = _Names("10 clients", "many clients, hot set")
_ALL_NAMES = _Names("10 clients", "many clients, all", gated=False)
_REALM_NAMES = _Names("1 realm", "many realms")


def _between(
    small: _Traffic, seconds: int, measure_large: Callable[[], Load], names: _Names
) -> tuple[Figure, ...]:
    before = small.measured(seconds)
    large = measure_large()
    after = small.measured(seconds)
    cost = _cost(large) / mean((_cost(before), _cost(after)))
    return (
        Figure(f"RS256 tokens, {names.small}", mean((before.rate, after.rate)), "/s"),
        Figure(f"RS256 tokens, {names.large}", large.rate, "/s"),
        Figure(f"cost: {names.large} / {names.small}", cost, gate=_GATE if names.gated else None),
    )


def _cost(load: Load) -> float:
    return load.gateway + load.nginx
