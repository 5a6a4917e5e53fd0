"""What a token costs against an earlier revision, both measured in one run."""

from contextlib import ExitStack
from pathlib import Path
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.load import Load, drive, lending_nginx, token_requests
from bench.processes import BenchError, output_of
from bench.stack import Stack, make_site, stack
from bench.workspace import ROOT, Workspace

TITLE = "Token, against an earlier revision"
HOW = (
    "`--earlier REVISION` names it. Its files run with the packages installed for this one. Two"
    " gateways, each behind its own nginx on one core, are driven in short alternating rounds; the"
    " ratio is the median of those of the pairs. Both are started anew several times, since each"
    " start lays out memory and hash tables differently, by about one part in a hundred."
)
_ROUND_SECONDS = 1
_ROUNDS = 8
"""For each start."""


def measure(bench: Bench) -> Result:
    """Measure a token of both."""
    if bench.earlier is None:
        raise BenchError("name a revision by --earlier")
    _check_out(bench.workspace, bench.earlier)
    before = make_site(
        bench.workspace,
        "earlier-state",
        bench.site.certificates,
        bench.workspace.folder / "earlier",
    )
    pairs: list[tuple[Load, Load]] = []
    for _ in range(bench.plan.starts):
        with ExitStack() as running:
            stacks = {
                "earlier": running.enter_context(stack(before)),
                "now": running.enter_context(stack(bench.site)),
            }
            targets = {name: one.mtls_port for name, one in stacks.items()}
            ports = running.enter_context(lending_nginx(targets, bench.site.certificates))
            pairs += _pairs(stacks, ports)
    gateway = median(now.gateway / earlier.gateway for earlier, now in pairs)
    both = median(_both(now) / _both(earlier) for earlier, now in pairs)
    return Result(
        (
            Figure("gateway, earlier", median(a.gateway for a, _ in pairs) * 1e6, "us"),
            Figure("gateway, now", median(b.gateway for _, b in pairs) * 1e6, "us"),
            Figure("gateway, now to earlier", gateway, gate=at_most(1.05, 1.02)),
            Figure("with nginx, now to earlier", both),
        ),
        HOW,
    )


def _pairs(stacks: dict[str, Stack], ports: dict[str, int]) -> list[tuple[Load, Load]]:
    """Drive both in turns, each of them first as often as the other."""
    pairs = []
    for number in range(_ROUNDS + 1):
        order = ("earlier", "now") if number % 2 else ("now", "earlier")
        loads = {
            name: drive(stacks[name], ports[name], token_requests(), _ROUND_SECONDS)
            for name in order
        }
        if number:  # the first one warms up
            pairs.append((loads["earlier"], loads["now"]))
    return pairs


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
