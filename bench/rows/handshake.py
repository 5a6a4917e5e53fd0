"""A full TLS handshake with a client certificate, against a raw RSA signature."""

import os
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from bench.processes import LOAD_CORES, BenchError, output_of
from bench.signing import signing_limit
from bench.stack import Stack, Start, stack
from bench.workspace import free_port

TITLE = "Full mutual TLS handshake"
HOW = (
    "`openssl s_time -new` opens connections to the mTLS listener with device-1's certificate, one"
    " after the other: TLS 1.3, no resumption, the keys that `realmgate certs init` makes. Cost is"
    " nginx's processor time, measured in alternation with raw signatures. The gate is on a client"
    " that trusts `root.crt`, as `scripts/run` and the documentation tell clients to: it sends its"
    " certificate alone. One that trusts all of `ca.crt` completes its chain from that file, and"
    " sends its issuer and the root too. The last case is `nginx render --revocation gateway`."
)


@dataclass(frozen=True, slots=True)
class _Case:
    name: str
    port: int
    trusted: str
    """The file of the authorities that the client trusts, and completes its chain from."""


_PREFIX: Final = ("", "whole chain: ", "no ssl_crl: ")


def measure(bench: Bench) -> Result:
    """Measure handshakes of every case and signatures in alternating rounds."""
    certificates, unlisted = bench.site.certificates, free_port()
    start = Start(nginx_servers=_UNLISTED.format(port=unlisted, certificates=certificates))
    ratios: dict[str, list[float]] = {name: [] for name in _PREFIX}
    costs: dict[str, list[float]] = {name: [] for name in _PREFIX}
    with stack(bench.site, start) as target:
        alone, complete, without_lists = _PREFIX
        cases = (
            _Case(alone, target.mtls_port, "root.crt"),
            _Case(complete, target.mtls_port, "ca.crt"),
            _Case(without_lists, unlisted, "root.crt"),
        )
        for _ in range(bench.plan.rounds):
            for case in cases:
                signature = signing_limit("RS256", bench.plan.seconds).seconds
                cost = _handshake_seconds(target, case, certificates, bench.plan.seconds)
                costs[case.name].append(cost)
                ratios[case.name].append(cost / signature)
    return Result(tuple(_figures(costs, ratios)), HOW)


_UNLISTED = """
    server {{
        listen 127.0.0.1:{port} ssl;
        include realmgate/tls.conf;
        ssl_client_certificate {certificates}/ca.crt;
        ssl_verify_client on;
        ssl_verify_depth 3;
    }}
"""


def _figures(costs: dict[str, list[float]], ratios: dict[str, list[float]]) -> list[Figure]:
    found = []
    for name, taken in costs.items():
        time = f"{name}processor time of a handshake, nginx"
        ratio = f"{name}handshake / RSA-2048 signature, processor time"
        gate = None if name else at_most(3.6, 2.8)
        found += [
            Figure(time, median(taken) * 1e6, "us"),
            Figure(ratio, median(ratios[name]), gate=gate),
        ]
    return found


def _handshake_seconds(target: Stack, case: _Case, certificates: Path, seconds: int) -> float:
    command: list[str | Path] = ["openssl", "s_time", "-new", "-time", str(seconds)]
    command += ["-connect", f"127.0.0.1:{case.port}", "-verify", "4"]
    command += ["-cert", certificates / "device-1.crt", "-key", certificates / "device-1.key"]
    command += ["-CAfile", certificates / case.trusted]
    before = target.nginx_seconds()
    text = output_of(command, cores=LOAD_CORES, seconds=seconds + 30, environment=dict(os.environ))
    count = next((line.split()[0] for line in text.splitlines() if "connections in" in line), "0")
    if not int(count):
        raise BenchError(f"no handshakes: {text[-500:]}")
    return (target.nginx_seconds() - before) / int(count)
