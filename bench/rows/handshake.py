"""A full TLS handshake with a client certificate, against a raw RSA signature."""

import os
from pathlib import Path
from statistics import median

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.processes import LOAD_CORES, BenchError, output_of
from bench.signing import signing_limit
from bench.stack import Stack, stack

TITLE = "Full mutual TLS handshake"
HOW = (
    "`openssl s_time -new` opens connections to the mTLS listener with device-1's certificate, one"
    " after the other: TLS 1.3, no resumption, P-256 keys on both sides as `realmgate certs init`"
    " makes them. Cost is nginx's processor time, measured in alternation with raw signatures."
)


def measure(bench: Bench) -> Result:
    """Measure handshakes and signatures in alternating rounds."""
    ratios: list[float] = []
    costs: list[float] = []
    with stack(bench.site) as target:
        for _ in range(bench.plan.rounds):
            signature = signing_limit("RS256", bench.plan.seconds).seconds
            cost = _handshake_seconds(target, bench.site.certificates, bench.plan.seconds)
            costs.append(cost)
            ratios.append(cost / signature)
    figures = (
        Figure("processor time of a handshake, nginx", median(costs) * 1e6, "us"),
        Figure(
            "handshake / RSA-2048 signature, processor time",
            median(ratios),
            gate=at_most(3.6, 2.8),
        ),
    )
    return Result(figures, HOW)


def _handshake_seconds(target: Stack, certificates: Path, seconds: int) -> float:
    command: list[str | Path] = ["openssl", "s_time", "-new", "-time", str(seconds)]
    command += ["-connect", f"127.0.0.1:{target.mtls_port}", "-verify", "4"]
    command += ["-cert", certificates / "device-1.crt", "-key", certificates / "device-1.key"]
    command += ["-CAfile", certificates / "ca.crt"]
    before = target.nginx_seconds()
    text = output_of(command, cores=LOAD_CORES, seconds=seconds + 30, environment=dict(os.environ))
    count = next((line.split()[0] for line in text.splitlines() if "connections in" in line), "0")
    if not int(count):
        raise BenchError(f"no handshakes: {text[-500:]}")
    return (target.nginx_seconds() - before) / int(count)
