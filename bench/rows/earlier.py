"""What requests cost against an earlier revision, both measured in one run."""

from collections import defaultdict
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.administrators import add_administrator, admin_requests, administrator_token
from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Load, Requests, drive, lending_nginx, token_requests
from bench.people import PEOPLE, import_people
from bench.processes import BenchError, output_of
from bench.rows.introspection import introspection_requests
from bench.rows.refreshes import requests_of_people
from bench.stack import REALM, Site, make_site, stack
from bench.workspace import ROOT, Workspace

TITLE = "Requests, against an earlier revision"
HOW = (
    "`--earlier REVISION` names it. Its files run with the packages installed for this one. Two"
    " gateways, each behind its own nginx on one core, are driven in short alternating rounds; each"
    " ratio is the median of those of the pairs, of processor time. Both are started anew several"
    " times, since each start lays out memory and hash tables differently, by about one part in a"
    " hundred."
)
_ROUND_SECONDS = 1
_ROUNDS = 8
"""For each start."""

_Pairs = dict[str, list[tuple[Load, Load]]]


def measure(bench: Bench) -> Result:
    """Measure each kind of request of both."""
    if bench.earlier is None:
        raise BenchError("name a revision by --earlier")
    _check_out(bench.workspace, bench.earlier)
    tree = bench.workspace.folder / "earlier"
    certificates = bench.site.certificates
    sites = {
        "earlier": make_site(bench.workspace, "earlier-state", certificates, tree),
        "now": bench.copy("compared"),
    }
    for site in sites.values():
        import_people(site, PEOPLE)
        add_administrator(site)
    pairs: _Pairs = defaultdict(list)
    for _ in range(bench.plan.starts):
        _add_pairs(pairs, sites)
    return Result(tuple(figure for kind in pairs for figure in _figures(kind, pairs[kind])), HOW)


def _figures(kind: str, pairs: list[tuple[Load, Load]]) -> tuple[Figure, ...]:
    gateway = median(now.gateway / earlier.gateway for earlier, now in pairs)
    both = median(_both(now) / _both(earlier) for earlier, now in pairs)
    return (
        Figure(f"{kind}: gateway, earlier", median(a.gateway for a, _ in pairs) * 1e6, "us"),
        Figure(f"{kind}: gateway, now", median(b.gateway for _, b in pairs) * 1e6, "us"),
        Figure(f"{kind}: gateway, now to earlier", gateway, gate=at_most(1.05, 1.02)),
        Figure(f"{kind}: with nginx, now to earlier", both),
    )


def _add_pairs(pairs: _Pairs, sites: dict[str, Site]) -> None:
    """Start both, and drive them in turns, each of them first as often as the other."""
    with ExitStack() as running:
        stacks = {name: running.enter_context(stack(site)) for name, site in sites.items()}
        certificates = sites["now"].certificates
        devices = running.enter_context(
            lending_nginx({name: one.mtls_port for name, one in stacks.items()}, certificates)
        )
        others = running.enter_context(
            lending_nginx({name: one.https_port for name, one in stacks.items()}, None)
        )
        requests = {
            name: _requests(
                devices[name], others[name], Path(running.enter_context(TemporaryDirectory()))
            )
            for name in stacks
        }
        for kind in requests["now"]:
            for number in range(_ROUNDS + 1):
                order = ("earlier", "now") if number % 2 else ("now", "earlier")
                loads = {
                    name: drive(stacks[name], *requests[name][kind], _ROUND_SECONDS)
                    for name in order
                }
                if number:  # the first one warms up
                    pairs[kind].append((loads["earlier"], loads["now"]))


def _requests(device: int, other: int, folder: Path) -> dict[str, tuple[int, Requests]]:
    """Return each kind of request, and the port of the load's nginx that it goes to."""
    people = requests_of_people(other, folder)
    administrator = administrator_token(other)
    users = admin_requests(administrator, "GET", f"{PEOPLE}/users?max=20")
    return {
        "token": (device, token_requests()),
        "introspection": (device, introspection_requests(device, REALM)),
        "refresh": (other, people["refresh"]),
        "userinfo": (other, people["userinfo"]),
        "one realm": (other, admin_requests(administrator, "GET", PEOPLE)),
        "a page of 20 users": (other, users),
    }


def _both(load: Load) -> float:
    return load.gateway + load.nginx


def _check_out(workspace: Workspace, revision: str) -> None:
    """Write the files of the revision into the workspace."""
    archive = workspace.folder / "earlier.tar"
    folder = workspace.new_folder("earlier")
    command: list[str | Path] = [
        "git",
        "-C",
        ROOT,
        "archive",
        "--output",
        archive,
        revision,
        "gateway",
        "nginx",
    ]
    output_of(command, cores="0,1", seconds=30)
    output_of(["tar", "-xf", archive, "-C", folder], cores="0,1", seconds=30)
