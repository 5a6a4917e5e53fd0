"""Requests of administrators and of resource servers, beside Keycloak."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import count
from statistics import median

from bench.administrators import add_administrator, administrator_token, kinds_of_requests
from bench.browser_client import Steps, browse
from bench.context import Bench
from bench.figures import Figure, Gate, Result, at_least
from bench.keycloak import VERSION, keycloak
from bench.load import Load, NoResponses, Requests, drive, lending_nginx
from bench.people import COSTLY_PEOPLE, PEOPLE, people_document
from bench.resource_server import RESOURCE_SERVER, resource_server_requests
from bench.stack import Stack, Start, import_realms, stack
from bench.workspace import free_port

TITLE = f"Beside Keycloak {VERSION}, each with one core"
HOW = (
    "Keycloak in production mode (kc.sh build, start --optimized, cache local, H2 database in a"
    " file, 1 GB of heap) and Realmgate with one worker and SQLite have the same core and the"
    " same realms (500 users, the same clients and roles), and are measured in alternating"
    " rounds; the one that is not measured is idle. The ratio is computed in each round, its"
    " median is shown. `behind nginx`: nginx with the shipped configuration ends TLS for both on"
    " that core too. `alone`: plain HTTP straight to the server. A server has to be better than"
    " the other one, not than the nginx before both, so the gates are on `alone`; nginx takes the"
    " same from both. Keycloak is compiled while it runs: each kind of request is repeated until"
    " two rounds in a row do not take less processor time a request. Realmgate has every write on"
    " disk before it answers, H2 up to half a second later. Administrators have eight"
    " connections, the others 32; new users and roles go to another realm than the reads. A"
    " sign-in is that of the row `sign-ins`: page, form, code and tokens by eight browsers, each"
    " time a new one; both hash its password by 27,500 iterations of PBKDF2-SHA256."
)
_OWN, _OTHER = "Realmgate", "Keycloak"
_NGINX, _ALONE = "behind nginx", "alone"
_FOUR_TIMES = at_least(4, 6)
_SIGN_INS = "sign-ins of browsers"
_GATES = {
    "one realm": at_least(1.2, 2),
    "a page of 20 users": _FOUR_TIMES,
    "a page of 100 users": _FOUR_TIMES,
    "a new user": at_least(3, 4),
    "introspection": _FOUR_TIMES,
    "JWKS": _FOUR_TIMES,
    "realm document": _FOUR_TIMES,
    _SIGN_INS: _FOUR_TIMES,
}
"""By kind of request: how often as fast as Keycloak."""
_CHEAPER = 0.97
"""Of the least processor time of a request before: a server that takes less was not warm."""
_WARM_ENOUGH = 2
"""A server is warm after so many rounds in a row that are not cheaper."""
_WARM_ROUNDS = 15
"""At most, of each kind."""
_FIRST_SECONDS = 3
"""Of the first round of a kind, in which Keycloak loads and interprets its classes."""
_STALLED = 10
"""A round without a response is repeated, so many times as long: other processes had the core."""
_NGINX_EVERY = 2
"""The way through nginx, which has no gates, is measured in one round of so many."""


@dataclass(slots=True)
class _Server:
    """A server, the ports of its two ways and the requests that it is sent."""

    name: str
    target: Stack
    ports: dict[str, int]
    kinds: dict[str, Requests]
    loads: dict[tuple[str, str], list[Load]] = field(default_factory=dict)
    warmed: int = 0
    """Requests before the measured rounds."""

    def round(self, kind: str, way: str, number: int, seconds: int) -> Load:
        """Send one kind of request for some seconds."""
        if kind == _SIGN_INS:
            return self._sign_ins(self.ports[way], seconds)
        requests = self.kinds[kind]
        requests = replace(requests, body=requests.body.replace("ROUND", str(number)))
        try:
            return drive(self.target, self.ports[way], requests, seconds)
        except NoResponses:
            return drive(self.target, self.ports[way], requests, seconds * _STALLED)

    def _sign_ins(self, port: int, seconds: int) -> Load:
        gateway, nginx = self.target.gateway_seconds(), self.target.nginx_seconds()
        seen = browse(port, PEOPLE, Steps.SIGN_IN, seconds)
        return Load(
            rate=seen.done / seen.seconds,
            requests=seen.done,
            p50=seen.p50,
            p99=seen.p99,
            gateway=(self.target.gateway_seconds() - gateway) / seen.done,
            nginx=(self.target.nginx_seconds() - nginx) / seen.done,
        )


def measure(bench: Bench) -> Result:
    """Measure each kind of request on both servers."""
    seconds = max(1, bench.plan.seconds // 2)
    with ExitStack() as running:
        servers = _servers(bench, running)
        numbers = count(1)
        own, other = servers
        for kind in _kinds(own):
            own.round(kind, _ALONE, next(numbers), seconds)
            _warm_up(other, kind, numbers, seconds)
        for number in range(bench.plan.rounds):
            ways = (_ALONE, _NGINX) if number % _NGINX_EVERY == 0 else (_ALONE,)
            for kind in _kinds(own):
                _measure_round(servers, kind, ways, numbers, seconds)
    warmed = Figure("requests that warmed Keycloak up", other.warmed)
    return Result((*_figures(own, other), warmed), HOW)


def _kinds(server: _Server) -> tuple[str, ...]:
    """Return what is measured."""
    return (*server.kinds, _SIGN_INS)


def _measure_round(
    servers: tuple[_Server, _Server],
    kind: str,
    ways: tuple[str, ...],
    numbers: "count[int]",
    seconds: int,
) -> None:
    for way in ways:
        number = next(numbers)
        for server in servers:
            load = server.round(kind, way, number, seconds)
            server.loads.setdefault((kind, way), []).append(load)


def _servers(bench: Bench, running: ExitStack) -> tuple[_Server, _Server]:
    realms = [_document(PEOPLE), _document(COSTLY_PEOPLE)]
    site = bench.copy("beside-keycloak")
    import_realms(site, realms)
    add_administrator(site)
    own = running.enter_context(stack(site, Start(http_port=free_port())))
    other = running.enter_context(keycloak(bench.workspace, site, realms))
    ports = running.enter_context(
        lending_nginx({"own": own.https_port, "other": other.https_port}, None)
    )
    return _server(_OWN, own, ports["own"]), _server(_OTHER, other, ports["other"])


def _document(realm: str) -> dict[str, object]:
    document = people_document(realm)
    clients = document["clients"]
    assert isinstance(clients, list)  # noqa: S101 - for the type
    return document | {"sslRequired": "none", "clients": [*clients, RESOURCE_SERVER]}


def _server(name: str, target: Stack, port: int) -> _Server:
    token = administrator_token(port)
    kinds = kinds_of_requests(token, writes=COSTLY_PEOPLE) | resource_server_requests(port, PEOPLE)
    return _Server(name, target, {_NGINX: port, _ALONE: target.http_port}, kinds)


def _warm_up(server: _Server, kind: str, numbers: "count[int]", seconds: int) -> None:
    """Send one kind of request until it does not become cheaper."""
    best, warm = server.round(kind, _ALONE, next(numbers), _FIRST_SECONDS), 0
    server.warmed += best.requests
    for _ in range(_WARM_ROUNDS):
        load = server.round(kind, _ALONE, next(numbers), seconds)
        server.warmed += load.requests
        warm = 0 if load.gateway < best.gateway * _CHEAPER else warm + 1
        best = min(best, load, key=lambda one: one.gateway)
        if warm == _WARM_ENOUGH:
            return


def _figures(own: _Server, other: _Server) -> Iterator[Figure]:
    for kind in _kinds(own):
        for way in (_ALONE, _NGINX):
            loads, others = own.loads[kind, way], other.loads[kind, way]
            yield Figure(f"{kind}, {way}: {_OWN}", _rate(loads), "/s")
            yield Figure(f"{kind}, {way}: {_OTHER}", _rate(others), "/s")
            gate = _GATES.get(kind) if way == _ALONE else None
            yield _ratio(f"{kind}, {way}: {_OWN} / {_OTHER}", loads, others, gate)
        for server in (own, other):
            costs = [load.gateway for load in server.loads[kind, _ALONE]]
            yield Figure(f"{kind}: processor time, {server.name}", median(costs) * 1e6, "us")


def _rate(loads: list[Load]) -> float:
    return median(load.rate for load in loads)


def _ratio(name: str, loads: list[Load], others: list[Load], gate: Gate | None) -> Figure:
    pairs = zip(loads, others, strict=True)
    return Figure(name, median(load.rate / other.rate for load, other in pairs), gate=gate)
