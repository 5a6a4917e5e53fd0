"""Runs of configuration tools, beside Keycloak: Ansible, Terraform and keycloak-config-cli."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from statistics import median

from bench.administrators import ADMIN_PASSWORD, MASTER
from bench.ansible_play import TASKS, play, require_ansible
from bench.context import Bench
from bench.figures import Figure, Result
from bench.keycloak import VERSION, keycloak
from bench.recorded_runs import Exchanges, Run, config_cli_import, play_back, terraform_apply
from bench.stack import TOKEN_LIFESPAN, Stack, Start, import_realms, stack

TITLE = f"Ansible, Terraform and keycloak-config-cli, beside Keycloak {VERSION}"
_POLICY = "hashAlgorithm(pbkdf2-sha256) and hashIterations(27500)"
HOW = (
    "As in the row `keycloak`, behind nginx. Passwords cost the same on both: 27,500 iterations"
    " of PBKDF2-SHA256. The play is the one of the row `play`. The other two are the recorded"
    " requests of the programs (tests/clients/recordings), in their order over one connection,"
    " each with the server's own ids, and are answered with the recorded statuses: Terraform's"
    " apply of 51 resources to a new realm, and keycloak-config-cli's import of a new realm, in"
    " which what it sends for the one client and the one user of the recording is repeated for"
    " all. `waiting` is from a request to the end of its response, added up: what the tool itself"
    " computes is not in it. Runs before are not counted: Keycloak's go on until an apply does"
    " not take less processor time than the best before it. Ratios are between alternating runs,"
    " their median is shown."
)
_CHEAPER = 0.97
"""Of the least processor time of an apply before: a server that takes less was not warm."""
_WARM_RUNS = 12
_USERS_PER_CLIENT = 10
_OWN, _OTHER = "Realmgate", "Keycloak"


@dataclass(slots=True)
class _Server:
    """A server and the runs that it had, by tool."""

    name: str
    target: Stack
    runs: dict[str, list[Run]] = field(default_factory=dict)

    def play_back(self, exchanges: Exchanges) -> Run:
        """Send the requests of a run."""
        return play_back(self.target, ADMIN_PASSWORD, exchanges)


def measure(bench: Bench) -> Result:
    """Let each tool configure both servers in turn."""
    require_ansible()
    with ExitStack() as running:
        servers = _servers(bench, running)
        numbers = count(1)
        _measure_applies(servers, numbers, bench.plan.rounds)
        _measure_imports(servers, numbers, bench.plan.configured_users)
        for server in servers:
            for name, changed in (("making roles", 1), ("with nothing to do", 0)):
                waited, cost = play(bench.workspace, server.target, ADMIN_PASSWORD, changed=changed)
                tool = f"Ansible, {TASKS} tasks {name}"
                server.runs[tool] = [Run(TASKS, waited, cost)]
    return Result(tuple(_figures(*servers)), HOW)


def _servers(bench: Bench, running: ExitStack) -> tuple[_Server, _Server]:
    site = bench.copy("configured")
    master = {
        "realm": MASTER,
        "enabled": True,
        "accessTokenLifespan": TOKEN_LIFESPAN,
        "passwordPolicy": _POLICY,
    }
    import_realms(site, [master])
    start = Start(settings={"admin_password": ADMIN_PASSWORD})
    own = running.enter_context(stack(site, start))
    other = running.enter_context(keycloak(bench.workspace, site, password_policy=_POLICY))
    return _Server(_OWN, own), _Server(_OTHER, other)


def _measure_applies(servers: tuple[_Server, _Server], numbers: "count[int]", rounds: int) -> None:
    def apply() -> Exchanges:
        return terraform_apply(f"tf-{next(numbers)}")

    own, other = servers
    own.play_back(apply())
    _warm_up(other, apply)
    for _ in range(rounds):
        for server in servers:
            server.runs.setdefault("Terraform, apply of 51 resources", []).append(
                server.play_back(apply())
            )


def _warm_up(server: _Server, exchanges: Callable[[], Exchanges]) -> None:
    """Repeat a run until it does not become cheaper."""
    best = float("inf")
    for _ in range(_WARM_RUNS):
        cost = server.play_back(exchanges()).gateway
        if cost > best * _CHEAPER:
            return
        best = cost


def _measure_imports(servers: tuple[_Server, _Server], numbers: "count[int]", users: int) -> None:
    """Import a realm with a tenth of the users, which is not counted, and one with all."""
    clients = users // _USERS_PER_CLIENT
    name = f"keycloak-config-cli, import of {clients} clients and {users:,} users"
    for part in (10, 1):
        for server in servers:
            realm = f"cc-{next(numbers)}"
            exchanges = config_cli_import(realm, _POLICY, clients // part, users // part)
            server.runs[name] = [server.play_back(exchanges)]


def _figures(own: _Server, other: _Server) -> Iterator[Figure]:
    for tool, runs in own.runs.items():
        others = other.runs[tool]
        waiting = "the whole play" if tool.startswith("Ansible") else "waiting"
        for server in (own, other):
            waited = median(run.waited for run in server.runs[tool])
            yield Figure(f"{tool}: {waiting}, {server.name}", waited, "s")
        pairs = zip(runs, others, strict=True)
        faster = median(theirs.waited / ours.waited for ours, theirs in pairs)
        yield Figure(f"{tool}: {waiting}, {_OTHER} / {_OWN}", faster)
        for server in (own, other):
            cost = median(run.gateway for run in server.runs[tool])
            yield Figure(f"{tool}: processor time, {server.name}", cost, "s")
        pairs = zip(runs, others, strict=True)
        cheaper = median(theirs.gateway / ours.gateway for ours, theirs in pairs)
        yield Figure(f"{tool}: processor time, {_OTHER} / {_OWN}", cheaper)
