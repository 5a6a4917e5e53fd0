"""Decisions about requests to a protected site, beside the same site without protection."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from statistics import median

from bench import protected_site
from bench.context import Bench
from bench.figures import Figure, Gate, Result, at_least, at_most
from bench.load import Load, Requests, drive, lending_nginx, middle
from bench.oauth2_proxy import OAuth2Proxy, built_program, oauth2_proxy
from bench.processes import BenchError
from bench.stack import Site, Stack, Start, stack
from bench.static import StaticAnswer, static_answer

TITLE = "Decisions about requests to a protected site, nginx and one worker on one core"
HOW = (
    "wrk gets a page of 1,500 bytes from a service behind nginx, over TLS that stays open;"
    " service, nginx and gateway share the server's core. `unprotected` is the same nginx and"
    " service without `auth_request`. `session` is a browser's cookie (64 browsers in turn),"
    " `bearer` an access token of a service account, `bound` one that is bound to its"
    " certificate, `certificate` a certificate without a token, `kept by nginx` a session with"
    " guard-cache.conf. The gateway keeps an identity for half a second; for `session of a new"
    " browser` each request has the cookie of another of 100,000 browsers. The large site has"
    " 100,000 sessions and 1,000 rules, the other one 64 and 10. The binding's cost is that of"
    " the gateway, the certificate's evaluation included, beside a bearer token without a"
    " certificate. oauth2-proxy has its session in the encrypted cookie. `nginx as batch` is"
    " nginx under chrt --batch. All in alternating rounds; 99th percentiles are those of the"
    " saturated loop."
)
_RULES, _MANY_RULES = 10, 1_000
_BROWSERS, _MANY_BROWSERS = 64, 100_000
_MICRO, _MILLI = 1e6, 1e3
_ORDER = (
    *("unprotected", "session", "large", "bearer", "bound", "certificate", "kept by nginx"),
    *("oauth2-proxy", "unprotected, batch", "session, batch", "new"),
)
"""Cases that are compared follow each other: the gateway verifies each session twice a second, so
the cost of a decision depends on how many of them there are in a second."""


@dataclass(slots=True)
class _Case:
    """Requests of one kind, and what they cost in each round."""

    target: Stack
    port: int
    requests: Requests
    loads: list[Load] = field(default_factory=list)

    def drive(self, seconds: int) -> None:
        self.loads.append(drive(self.target, self.port, self.requests, seconds))


Cases = dict[str, _Case]


def measure(bench: Bench) -> Result:
    """Measure every kind of credential in alternating rounds."""
    with ExitStack() as running:
        cases = _cases(bench, running)
        for case in cases.values():
            case.drive(bench.plan.warm_seconds)
            case.loads.clear()
        for _ in range(bench.plan.rounds):
            for case in cases.values():
                case.drive(bench.plan.seconds)
    return Result(_figures({name: case.loads for name, case in cases.items()}), HOW)


def _cases(bench: Bench, running: ExitStack) -> Cases:
    service = running.enter_context(static_answer(bench.workspace.folder / "service"))
    peer = _peer(bench, running)
    cases = (
        _small_site(bench, running, service, peer)
        | _large_site(bench, running, service)
        | _batch_site(bench, running, service)
    )
    return {name: cases[name] for name in _ORDER if name in cases}


def _peer(bench: Bench, running: ExitStack) -> OAuth2Proxy | None:
    try:
        program = built_program()
    except BenchError as error:
        print(f"\nforward auth: without its peer: {error}", file=sys.stderr)
        return None
    return running.enter_context(oauth2_proxy(bench.workspace, program))


def _small_site(
    bench: Bench, running: ExitStack, service: StaticAnswer, peer: OAuth2Proxy | None
) -> Cases:
    target = _protected(bench.copy("protected"), running, _RULES, service, peer)
    hosts = {
        "gateway": f"localhost:{target.https_port}",
        "app": protected_site.HOST,
        "cached": protected_site.CACHED_HOST,
        "open": protected_site.OPEN_HOST,
        "peer": protected_site.PEER_HOST,
    }
    site, folder = target.site, bench.workspace.folder
    https = running.enter_context(
        lending_nginx(dict.fromkeys(hosts, target.https_port), None, hosts=hosts)
    )
    mtls = running.enter_context(
        lending_nginx(dict.fromkeys(hosts, target.mtls_port), site.certificates, hosts=hosts)
    )
    get = protected_site.get
    cookies = protected_site.signed_in_browsers(
        site, https["gateway"], _BROWSERS, folder / "cookies"
    )
    bearer = get(token=protected_site.bearer_token(https["gateway"]))
    bound = get(token=protected_site.bound_token(mtls["gateway"]))
    machine = get(protected_site.MACHINES_PATH)
    unprotected = Stack(service.process, target.nginx, 0, 0, 0, site)
    cases = {
        "unprotected": _Case(unprotected, https["open"], get()),
        "session": _Case(target, https["app"], get(cookies=cookies)),
        "bearer": _Case(target, https["app"], bearer),
        "bound": _Case(target, mtls["app"], bound),
        "certificate": _Case(target, mtls["app"], machine),
        "kept by nginx": _Case(target, https["cached"], get(cookies=cookies)),
    }
    if peer is not None:
        other = Stack(peer.process, target.nginx, 0, 0, 0, site)
        cases["oauth2-proxy"] = _Case(other, https["peer"], get(cookies=peer.cookies))
    return cases


def _large_site(bench: Bench, running: ExitStack, service: StaticAnswer) -> Cases:
    target = _protected(bench.copy("protected-large"), running, _MANY_RULES, service, None)
    hosts = {"gateway": f"localhost:{target.https_port}", "app": protected_site.HOST}
    ports = running.enter_context(
        lending_nginx(dict.fromkeys(hosts, target.https_port), None, hosts=hosts)
    )
    folder = bench.workspace.folder
    every = folder / "many-cookies"
    cookies = protected_site.signed_in_browsers(
        target.site, ports["gateway"], _MANY_BROWSERS, every
    )
    some = folder / "some-cookies"
    some.write_text("\n".join(every.read_text().splitlines()[-_BROWSERS:]))
    return {
        "large": _Case(target, ports["app"], protected_site.get(cookies=f"@{some}")),
        "new": _Case(target, ports["app"], protected_site.get(cookies=cookies)),
    }


def _batch_site(bench: Bench, running: ExitStack, service: StaticAnswer) -> Cases:
    site = bench.copy("protected-batch")
    target = _protected(site, running, _RULES, service, None, batch=True)
    hosts = {
        "gateway": f"localhost:{target.https_port}",
        "app": protected_site.HOST,
        "open": protected_site.OPEN_HOST,
    }
    ports = running.enter_context(
        lending_nginx(dict.fromkeys(hosts, target.https_port), None, hosts=hosts)
    )
    file = bench.workspace.folder / "batch-cookies"
    cookies = protected_site.signed_in_browsers(site, ports["gateway"], _BROWSERS, file)
    unprotected = Stack(service.process, target.nginx, 0, 0, 0, site)
    return {
        "unprotected, batch": _Case(unprotected, ports["open"], protected_site.get()),
        "session, batch": _Case(target, ports["app"], protected_site.get(cookies=cookies)),
    }


def _protected(
    site: Site,
    running: ExitStack,
    rules: int,
    service: StaticAnswer,
    peer: OAuth2Proxy | None,
    *,
    batch: bool = False,
) -> Stack:
    settings = protected_site.prepare(site, rules)
    servers = protected_site.servers(service.socket, None if peer is None else peer.socket)
    start = Start(nginx_batch=batch, nginx_servers=servers, settings=settings)
    return running.enter_context(stack(site, start))


Loads = dict[str, list[Load]]


def _figures(loads: Loads) -> tuple[Figure, ...]:
    unprotected = middle(loads["unprotected"])
    return (
        Figure("unprotected", unprotected.rate, "/s"),
        Figure("unprotected: processor time, service", unprotected.gateway * _MICRO, "us"),
        Figure("unprotected: processor time, nginx", unprotected.nginx * _MICRO, "us"),
        *_of_credentials(loads),
        *_beside_unprotected(loads),
        *_ratios(loads),
        *_beside_peer(loads),
    )


def _of_credentials(loads: Loads) -> tuple[Figure, ...]:
    names = {
        "session": "session",
        "bearer": "bearer",
        "bound": "bound",
        "certificate": "certificate",
        "new": "session of a new browser",
        "kept by nginx": "kept by nginx",
        "session, batch": "session, nginx as batch",
    }
    return tuple(
        figure for key, name in names.items() for figure in _of_one(name, middle(loads[key]))
    )


def _of_one(name: str, load: Load) -> tuple[Figure, ...]:
    return (
        Figure(name, load.rate, "/s"),
        Figure(f"{name}: 99th percentile", load.p99 * _MILLI, "ms"),
        Figure(f"{name}: processor time, gateway and redis", load.gateway * _MICRO, "us"),
        Figure(f"{name}: processor time, nginx", load.nginx * _MICRO, "us"),
    )


def _beside_unprotected(loads: Loads) -> tuple[Figure, ...]:
    gates = {
        "session": at_least(0.2, 0.3),
        "bearer": at_least(0.2, 0.3),
        "kept by nginx": at_least(0.65, 0.7),
    }
    rates = (
        _between(f"{name} / unprotected", loads[name], loads["unprotected"], gate)
        for name, gate in gates.items()
    )
    batch = _between(
        "session / unprotected, nginx as batch",
        loads["session, batch"],
        loads["unprotected, batch"],
        at_least(0.2, 0.3),
    )
    return (*rates, batch, *(_by_processor_time(name, loads) for name in gates))


def _by_processor_time(name: str, loads: Loads) -> Figure:
    """Compare the time of service, nginx and gateway, which others on the machine change least."""
    without, protected = middle(loads["unprotected"]), middle(loads[name])
    service = without.gateway
    time = service + protected.nginx + protected.gateway
    return Figure(f"{name}: processor time unprotected / all", (service + without.nginx) / time)


def _ratios(loads: Loads) -> tuple[Figure, ...]:
    return (
        _cost("bound / bearer, gateway", loads["bound"], loads["bearer"], at_most(1.1, 1.05)),
        _cost(
            "100,000 sessions and 1,000 rules / 64 and 10, gateway",
            loads["large"],
            loads["session"],
            at_most(1.1, 1.02),
        ),
    )


def _beside_peer(loads: Loads) -> tuple[Figure, ...]:
    if "oauth2-proxy" not in loads:
        return ()
    peer = loads["oauth2-proxy"]
    return (
        *_of_one("oauth2-proxy", middle(peer)),
        _between("session / oauth2-proxy", loads["session"], peer),
    )


def _between(name: str, loads: list[Load], others: list[Load], gate: Gate | None = None) -> Figure:
    pairs = zip(loads, others, strict=True)
    return Figure(name, median(load.rate / other.rate for load, other in pairs), gate=gate)


def _cost(name: str, loads: list[Load], others: list[Load], gate: Gate) -> Figure:
    pairs = zip(loads, others, strict=True)
    return Figure(name, median(load.gateway / other.gateway for load, other in pairs), gate=gate)
