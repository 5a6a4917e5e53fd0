"""client_credentials through nginx against the raw signature, and against a peer."""

from contextlib import ExitStack
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Gate, Result, at_least
from bench.load import Load, Requests, drive, lending_nginx, middle, token_requests
from bench.peer import peer_requests, peer_stacks
from bench.processes import LOAD_CORES, SERVER_CORES
from bench.signing import Limit, signing_limit
from bench.stack import ES256_REALM, Stack, Start, nginx, stack
from bench.static import static_answer

TITLE = "client_credentials by mTLS keep-alive, one worker"
HOW = (
    "Alternating rounds of: raw signatures, Realmgate RS256 and ES256,"
    " node-oidc-provider RS256 and ES256 (JWT, certificate-bound, tls_client_auth). The server has"
    " core 0; wrk with 32 connections and its TLS-speaking nginx have core 1. In the plain rows"
    " nginx shares the server's core, `nginx as batch` is the same with nginx under chrt --batch;"
    " `nginx apart` has nginx on the load's core, for Realmgate and the peer alike."
    " Processor time is read from /proc before and after each round. `path` is the same way to a"
    " static answer instead of the gateway: what nginx and the load could carry."
)
_MICRO = 1e6
_MILLI = 1e3


def measure(bench: Bench) -> Result:
    """Measure RS256, ES256 and the peer in alternating rounds."""
    with ExitStack() as running:
        stacks = _stacks(bench, running)
        ports = running.enter_context(
            lending_nginx(
                {name: running_stack.mtls_port for name, (running_stack, _) in stacks.items()},
                bench.site.certificates,
            )
        )
        for name, (target, requests) in stacks.items():
            drive(target, ports[name], requests, bench.plan.warm_seconds)
        limits: list[Limit] = []
        loads: dict[str, list[Load]] = {name: [] for name in stacks}
        for _ in range(bench.plan.rounds):
            limits.append(signing_limit("RS256", bench.plan.seconds))
            for name, (target, requests) in stacks.items():
                loads[name].append(drive(target, ports[name], requests, bench.plan.seconds))
    return Result(_figures(limits, loads), HOW)


def _stacks(bench: Bench, running: ExitStack) -> dict[str, tuple[Stack, Requests]]:
    product = running.enter_context(stack(bench.site))
    peer, peer_apart = running.enter_context(peer_stacks(bench.workspace, bench.site))
    found = {
        "rs256": (product, token_requests()),
        "es256": (product, token_requests(ES256_REALM)),
        "peer_rs256": (peer, peer_requests("RS256")),
        "peer_es256": (peer, peer_requests("ES256")),
        "peer_apart": (peer_apart, peer_requests("RS256")),
    }
    for name, start in _PLACES.items():
        found[name] = running.enter_context(stack(bench.copy(name), start)), token_requests()
    for name, cores in (("path", SERVER_CORES), ("path_apart", LOAD_CORES)):
        found[name] = _path_stack(bench, running, cores), token_requests()
    return found


_PLACES = {
    "nginx_batch": Start(nginx_batch=True),
    "nginx_apart": Start(nginx_cores=LOAD_CORES),
}


def _path_stack(bench: Bench, running: ExitStack, cores: str) -> Stack:
    """Put a static answer where the gateway would be, behind an nginx on these cores."""
    folder = bench.workspace.folder / f"static-{cores}"
    answer = running.enter_context(static_answer(folder))
    server, mtls, https = running.enter_context(nginx(bench.site, f"unix:{answer.socket}", cores))
    return Stack(answer.process, server, mtls, https, 0, bench.site)


Loads = dict[str, list[Load]]


def _figures(limits: list[Limit], loads: Loads) -> tuple[Figure, ...]:
    path = middle(loads["path"])
    return (
        *_against_signatures(limits, loads),
        *_apart(limits, loads),
        *_time(limits, loads),
        *_against_peer(loads),
        Figure("the path without a gateway", path.rate, "/s"),
        Figure("nginx's processor time for it", path.nginx * _MICRO, "us"),
    )


def _against_signatures(limits: list[Limit], loads: Loads) -> tuple[Figure, ...]:
    gate = at_least(0.42, 0.5)
    own, batch = middle(loads["rs256"]), middle(loads["nginx_batch"])
    return (
        Figure("RSA-2048 signatures", median(limit.rate for limit in limits), "/s"),
        Figure("RS256 tokens", own.rate, "/s"),
        Figure("RS256 tokens, nginx as batch", batch.rate, "/s"),
        _ratio("RS256 tokens / RSA-2048 signatures", limits, loads["rs256"], gate),
        _ratio("the same, nginx as batch", limits, loads["nginx_batch"], gate),
        Figure("99th percentile of the saturated loop", own.p99 * _MILLI, "ms"),
        Figure("the same, nginx as batch", batch.p99 * _MILLI, "ms"),
    )


def _apart(limits: list[Limit], loads: Loads) -> tuple[Figure, ...]:
    own, peer = loads["nginx_apart"], loads["peer_apart"]
    gate = at_least(0.42, 0.5)
    return (
        Figure("nginx apart: RS256 tokens", middle(own).rate, "/s"),
        _ratio("nginx apart: RS256 tokens / RSA-2048 signatures", limits, own, gate),
        _between("nginx apart: RS256 / node-oidc-provider", own, peer, at_least(1.0, 1.2)),
        Figure("nginx apart: processor time, gateway", middle(own).gateway * _MICRO, "us"),
        Figure("nginx apart: processor time, nginx", middle(own).nginx * _MICRO, "us"),
        Figure("nginx apart: processor time, peer", middle(peer).gateway * _MICRO, "us"),
        Figure("nginx apart: the path without a gateway", middle(loads["path_apart"]).rate, "/s"),
    )


def _time(limits: list[Limit], loads: Loads) -> tuple[Figure, ...]:
    signature = median(limit.seconds for limit in limits)
    own, batch = middle(loads["rs256"]), middle(loads["nginx_batch"])
    return (
        Figure("processor time of a signature", signature * _MICRO, "us"),
        Figure("processor time of a token, gateway", own.gateway * _MICRO, "us"),
        Figure("processor time of a token, nginx", own.nginx * _MICRO, "us"),
        Figure("the same, nginx as batch: gateway", batch.gateway * _MICRO, "us"),
        Figure("the same, nginx as batch: nginx", batch.nginx * _MICRO, "us"),
        Figure("the signature's share of the gateway's time", signature / own.gateway),
        Figure("the signature's share of gateway and nginx", signature / (own.gateway + own.nginx)),
    )


def _against_peer(loads: Loads) -> tuple[Figure, ...]:
    rs256, es256 = loads["rs256"], loads["es256"]
    peer_rs256, peer_es256 = loads["peer_rs256"], loads["peer_es256"]
    return (
        Figure("ES256 tokens", middle(es256).rate, "/s"),
        _between("ES256 / RS256", es256, rs256, at_least(1.8, 2.8)),
        Figure("node-oidc-provider RS256", middle(peer_rs256).rate, "/s"),
        Figure("node-oidc-provider ES256", middle(peer_es256).rate, "/s"),
        _between("RS256 / node-oidc-provider", rs256, peer_rs256, at_least(1.0, 1.2)),
        _between("ES256 / node-oidc-provider", es256, peer_es256),
    )


def _ratio(name: str, limits: list[Limit], loads: list[Load], gate: Gate) -> Figure:
    pairs = zip(loads, limits, strict=True)
    return Figure(name, median(load.rate / limit.rate for load, limit in pairs), gate=gate)


def _between(name: str, loads: list[Load], others: list[Load], gate: Gate | None = None) -> Figure:
    pairs = zip(loads, others, strict=True)
    return Figure(name, median(load.rate / other.rate for load, other in pairs), gate=gate)
