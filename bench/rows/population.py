"""What many clients and many realms cost."""

from statistics import median

from bench.context import Bench
from bench.figures import Figure, Gate, Result, at_most
from bench.load import Load, Requests, drive, lending_nginx, token_requests, touch_all
from bench.stack import CLIENT, REALM, stack

TITLE = "Many clients, many realms"
HOW = (
    "Two gateways with databases of their own, one small (10 clients, 1 realm), one large, in"
    " alternating rounds. `hot set` is traffic over 1,000 of the clients, evenly; `all` is traffic"
    " over every client, evenly, so that most requests miss the cache of 10,000 and read the"
    " database. Cost is the processor time of gateway and nginx for a token."
)
_HOT = 1_000


def measure(bench: Bench) -> Result:
    """Measure the small and the large database in alternating rounds."""
    small_site, large_site = bench.ten_clients_site, bench.large_site
    plan = bench.plan
    kinds: dict[str, tuple[bool, Requests]] = {
        "ten": (False, token_requests(client=f"{CLIENT}-%d", count=10)),
        "hot": (True, token_requests(client=f"{CLIENT}-%d", count=_HOT)),
        "all": (True, token_requests(client=f"{CLIENT}-%d", count=plan.clients)),
        "realm": (False, token_requests(f"{REALM}-%d", count=1)),
        "realms": (True, token_requests(f"{REALM}-%d", count=plan.realms)),
    }
    loads: dict[str, list[Load]] = {name: [] for name in kinds}
    with stack(small_site) as small, stack(large_site) as large:
        targets = {"small": small.mtls_port, "large": large.mtls_port}
        with lending_nginx(targets, bench.site.certificates) as ports:
            for _ in range(plan.rounds):
                for name, (is_large, requests) in kinds.items():
                    port = ports["large" if is_large else "small"]
                    if name != "all":
                        # Traffic over all pushes the others out of the cache, as age does.
                        touch_all(port, requests)
                    target = large if is_large else small
                    loads[name].append(drive(target, port, requests, plan.seconds))
    return Result(_figures(loads, plan.clients, plan.realms), HOW)


def _figures(loads: dict[str, list[Load]], clients: int, realms: int) -> tuple[Figure, ...]:
    return (
        _rate("10 clients", loads["ten"]),
        _rate(f"{clients:,} clients, hot set", loads["hot"]),
        _rate(f"{clients:,} clients, all", loads["all"]),
        _cost(f"cost at {clients:,} clients, hot set / 10", loads["hot"], loads["ten"], _GATE),
        _cost(f"cost at {clients:,} clients, all / 10", loads["all"], loads["ten"]),
        _rate("1 realm", loads["realm"]),
        _rate(f"{realms:,} realms", loads["realms"]),
        _cost(f"cost at {realms:,} realms / 1", loads["realms"], loads["realm"], _GATE),
    )


_GATE = at_most(1.1, 1.02)


def _rate(name: str, loads: list[Load]) -> Figure:
    return Figure(f"RS256 tokens, {name}", median(load.rate for load in loads), "/s")


def _cost(name: str, loads: list[Load], others: list[Load], gate: Gate | None = None) -> Figure:
    pairs = zip(loads, others, strict=True)
    ratio = median(
        (load.gateway + load.nginx) / (other.gateway + other.nginx) for load, other in pairs
    )
    return Figure(name, ratio, gate=gate)
