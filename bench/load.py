"""Load on a stack: wrk, and the nginx that lends it a client certificate.

wrk cannot present a certificate, so an nginx on the load's core turns its plain HTTP into mutual
TLS over connections that stay open. Nothing is subtracted for it; the row `path` shows what it
could carry.
"""

import json
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from bench.processes import LOAD_CORES, BenchError, output_of, running, until
from bench.stack import CLIENT, REALM, Stack
from bench.workspace import BENCH, free_port

CONNECTIONS = 32


class NoResponses(BenchError):
    """No request was answered in the time of a run."""


_FORM = "grant_type=client_credentials&client_id={client}"


@dataclass(frozen=True, slots=True)
class Requests:
    """What is sent: `%d` in path or body stands for a number from 1 to `count`.

    A body of `@FILE` stands for the lines of that file, one after the other.
    """

    path: str
    body: str
    count: int = 0
    connections: int = CONNECTIONS
    in_order: bool = False
    """Whether the numbers come one after the other instead of at random."""
    method: str = "POST"
    content_type: str = "application/x-www-form-urlencoded"
    token: str | None = field(default=None, repr=False)
    """The access token that goes with each."""
    proof: str | None = field(default=None, repr=False)
    """The DPoP proof that goes with each, `@FILE` as for a body; the token is bound to its key."""
    cookies: str | None = field(default=None, repr=False)
    """The cookies that go with each, instead of a token; `@FILE` as for a body."""


def token_requests(realm: str = REALM, client: str = CLIENT, count: int = 0) -> Requests:
    """Ask for tokens by client_credentials."""
    path = f"/realms/{realm}/protocol/openid-connect/token"
    return Requests(path, _FORM.format(client=client), count)


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of wrk achieved, and what it cost the servers, in seconds a request."""

    rate: float
    requests: int
    p50: float
    p99: float
    gateway: float = 0.0
    nginx: float = 0.0


@contextmanager
def lending_nginx(
    targets: Mapping[str, int],
    certificates: Path | None,
    cores: str = LOAD_CORES,
    hosts: Mapping[str, str] | None = None,
    addresses: Mapping[str, str] | None = None,
) -> Iterator[dict[str, int]]:
    """Run the load's nginx: for each target's TLS port, a plain HTTP port that leads to it.

    Where no certificates are given none is shown. `hosts` are those that targets are asked
    for, where they are not localhost; `addresses` are those that the requests come from.
    """
    ports = {name: free_port() for name in targets}
    with tempfile.TemporaryDirectory(prefix="realmgate-lending-") as folder:
        prefix = Path(folder)
        shown = "" if certificates is None else _SHOWN.format(certificates=certificates)
        servers = "".join(
            _SERVER.format(
                name=name,
                target=targets[name],
                port=port,
                shown=shown,
                bind=f"proxy_bind {(addresses or {}).get(name, '127.0.0.1')};",
                host=(hosts or {}).get(name, f"localhost:{targets[name]}"),
            )
            for name, port in ports.items()
        )
        configuration = prefix / "nginx.conf"
        configuration.write_text(_LENDING.format(prefix=prefix, servers=servers))
        log = prefix / "error.log"
        log.touch()
        command: list[str | Path] = [
            "nginx",
            "-p",
            prefix,
            "-c",
            configuration,
            "-e",
            log,
            "-g",
            "daemon off;",
        ]
        with running(command, cores=cores, log=log) as process:
            until((prefix / "nginx.pid").exists, "the load's nginx", process, log)
            yield ports


_LENDING = """
worker_processes 1;
pid {prefix}/nginx.pid;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
{servers}}}
"""
_SERVER = """
    upstream {name} {{
        server 127.0.0.1:{target};
        keepalive 512;
        keepalive_requests 100000000;
        keepalive_timeout 600s;
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass https://{name};
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_set_header Host {host};
            proxy_ssl_session_reuse on;
            {shown}
            {bind}
        }}
    }}
"""
_SHOWN = """proxy_ssl_certificate {certificates}/device-1.crt;
            proxy_ssl_certificate_key {certificates}/device-1.key;
"""


def wrk(
    port: int, requests: Requests, seconds: int, cores: str = LOAD_CORES, *, first: int = 0
) -> Load:
    """Drive a closed loop against `port`; a refused or broken request fails the measurement.

    From `first` on, the numbers of the requests come in order; 0 takes them at random.
    """
    first = first or int(requests.in_order)
    command: list[str | Path] = ["wrk", "-t1", f"-c{requests.connections}", f"-d{seconds}s"]
    command += ["--timeout", "10s", "-s", BENCH / "load.lua", f"http://127.0.0.1:{port}", "--"]
    command += [requests.path, requests.body, str(requests.count), str(first)]
    command += [requests.method, requests.content_type]
    if requests.token:
        scheme = "DPoP" if requests.proof else "Bearer"
        command += ["Authorization", f"{scheme} {requests.token}"]
    elif requests.cookies:
        command += ["Cookie", requests.cookies]
    if requests.proof:
        command += ["DPoP", requests.proof]
    text = output_of(command, cores=cores, seconds=seconds + 30)
    found = json.loads(text.rpartition("RESULT ")[2])
    if found["refused"] or found["broken"]:
        raise BenchError(f"{requests.path}: {found}")
    if not found["requests"]:
        raise NoResponses(f"{requests.path}: no response in {seconds} s")
    return Load(
        rate=found["requests"] / found["microseconds"] * 1e6,
        requests=found["requests"],
        p50=found["p50"] / 1e6,
        p99=found["p99"] / 1e6,
    )


def drive(
    target: Stack, port: int, requests: Requests, seconds: int, cores: str = LOAD_CORES
) -> Load:
    """Drive a closed loop, and count what it costs gateway and nginx."""
    gateway, nginx = target.gateway_seconds(), target.nginx_seconds()
    load = wrk(port, requests, seconds, cores)
    return Load(
        rate=load.rate,
        requests=load.requests,
        p50=load.p50,
        p99=load.p99,
        gateway=(target.gateway_seconds() - gateway) / load.requests,
        nginx=(target.nginx_seconds() - nginx) / load.requests,
    )


def touch_all(port: int, requests: Requests) -> None:
    """Send each of the numbered requests at least once."""
    sent = 0
    while sent < requests.count:
        sent += wrk(port, requests, 2, first=sent + 1).requests


def middle(loads: list[Load]) -> Load:
    """Return the medians of several rounds."""
    return Load(
        rate=median(load.rate for load in loads),
        requests=sum(load.requests for load in loads),
        p50=median(load.p50 for load in loads),
        p99=median(load.p99 for load in loads),
        gateway=median(load.gateway for load in loads),
        nginx=median(load.nginx for load in loads),
    )


def h2load(port: int, path: str) -> float:
    """Return the rate of a GET over HTTP/2: 8 connections of 4 streams, 800 requests on each.

    nginx closes a connection after 1,000, which h2load would count as failures.
    """
    command = ["h2load", "-t1", "-c8", "-m4", "-n6400", f"https://127.0.0.1:{port}{path}"]
    text = output_of(command, cores=LOAD_CORES, seconds=60)
    rate = re.search(r"finished in .*?, ([\d.]+) req/s", text)
    if rate is None or "6400 succeeded" not in text:
        raise BenchError(f"h2load {path}: {text[-800:]}")
    return float(rate[1])


def one_request(port: int, requests: Requests) -> bytes:
    """Send one request through the load's nginx and return its answer."""
    command = ["curl", "-sS", "--fail-with-body", "-d", requests.body]
    if requests.proof:
        command += ["-H", f"DPoP: {requests.proof}"]
    command.append(f"http://127.0.0.1:{port}{requests.path}")
    done = subprocess.run(command, capture_output=True, check=False, timeout=20)
    if done.returncode:
        raise BenchError(f"{requests.path}: {done.stdout[-500:]!r} {done.stderr[-200:]!r}")
    return done.stdout
