"""The real nginx, on free ports, from the shipped files and the product's own rendering."""

import json
import os
import pwd
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from gateway.cli.nginx import SHIPPED, Http2, NginxSite, render_nginx
from tests.support.edge_certificates import EdgeCertificates, make_edge_certificates
from tests.support.ports import ADDRESS, free_ports, is_listening
from tests.support.recording_upstream import RecordingUpstream, recording_upstream

DEADLINE = 10.0
ATTEMPTS = 5


@dataclass(frozen=True, slots=True)
class RunningNginx:
    """An nginx that answers, and how to reach it."""

    prefix: Path
    configuration: Path
    site: NginxSite
    pid: int

    @property
    def https(self) -> str:
        """Return the URL of the listener where client certificates are optional."""
        return f"https://localhost:{self.site.https_port}"

    @property
    def mtls(self) -> str:
        """Return the URL of the listener where client certificates are required."""
        return f"https://localhost:{self.site.mtls_port}"

    @property
    def self_signed(self) -> str:
        """Return the URL of the listener that lets any certificate in."""
        return f"https://localhost:{self.site.self_signed_port}"

    @property
    def http(self) -> str:
        """Return the URL of the plain HTTP listener."""
        return f"http://localhost:{self.site.http_port}"

    @property
    def listeners(self) -> tuple[str, str, str]:
        """Return the URLs of the three TLS listeners."""
        return (self.https, self.mtls, self.self_signed)

    def client(
        self, certificate: str | Path | None = None, *, http2: bool = False
    ) -> httpx2.Client:
        """Return a client that trusts this server and shows a certificate.

        `certificate` is a name in the server's PKI, or a path to which .crt and .key are added.
        """
        context = ssl.create_default_context(cafile=self.site.certificates / "ca.crt")
        # The client shows whatever it is given: judging is the server's part.
        context.set_ciphers("DEFAULT:@SECLEVEL=0")
        if certificate is not None:
            pair = self.site.certificates / certificate
            context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        return httpx2.Client(verify=context, http2=http2, trust_env=False)

    def raw(self, port: int, request: bytes, tls: ssl.SSLContext | None = None) -> bytes:
        """Send bytes as they are, and return all that comes back until the connection closes.

        nginx answers a request that it refuses before it has read it to its end. What it has not
        read by then makes the system reset the connection after the answer.
        """
        received = bytearray()
        with ExitStack() as open_connections:
            connection = socket.create_connection((ADDRESS, port), timeout=DEADLINE)
            open_connections.enter_context(connection)
            if tls is not None:
                connection = tls.wrap_socket(connection, server_hostname="localhost")
                open_connections.enter_context(connection)
            with suppress(ConnectionResetError, BrokenPipeError):
                connection.sendall(request)
            with suppress(ConnectionResetError):
                while piece := connection.recv(65536):
                    received += piece
        return bytes(received)

    def access_log_text(self) -> str:
        """Return the access log as it stands."""
        return (self.prefix / "logs/access.log").read_text()

    def log_entry(self, request_id: str) -> dict[str, Any]:
        """Return the access log's entry of a request, waiting until it is written."""
        for _ in polling():
            # The last line may be half written.
            for line in self.access_log_text().rpartition("\n")[0].splitlines():
                entry: dict[str, Any] = json.loads(line)
                if entry["request_id"] == request_id:
                    return entry
        raise AssertionError(f"no log entry of {request_id}")


def polling() -> Iterator[None]:
    """Yield until the deadline has passed."""
    end = time.monotonic() + DEADLINE
    while time.monotonic() < end:
        yield
        time.sleep(0.01)


def make_prefix(folder: Path) -> Path:
    """Make the folders that nginx needs below its prefix."""
    for name in ("run", "logs"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    return folder


def make_site(certificates: Path, upstreams: Sequence[str], **options: Any) -> NginxSite:
    """Return a site on free loopback ports; its workers run as whoever runs the tests."""
    https, mtls, self_signed, http = free_ports(4)
    # Without a user, root's nginx would give its workers to somebody who cannot enter tmp_path.
    user = pwd.getpwuid(0).pw_name if os.geteuid() == 0 else ""
    site = NginxSite(
        upstreams=tuple(upstreams),
        certificates=certificates,
        https_port=https,
        mtls_port=mtls,
        self_signed_port=self_signed,
        http_port=http,
        addresses=(ADDRESS,),
        user=user,
    )
    return replace(site, **options)


def http2_of_nginx() -> Http2:
    """Return the spelling of HTTP/2 that the installed nginx reads without a warning."""
    command = [*nginx_command(Path(), Path())[:1], "-v"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    found = re.search(r"nginx/(\d+)\.(\d+)\.(\d+)", said)
    assert found, said
    return Http2.DIRECTIVE if tuple(map(int, found.groups())) >= (1, 25, 1) else Http2.PARAMETER


def nginx_command(prefix: Path, configuration: Path, *arguments: str) -> list[str]:
    """Return the command line for nginx with this prefix and file."""
    folders = f"{os.environ['PATH']}:{os.defpath}:/usr/sbin:/usr/local/sbin"
    binary = shutil.which("nginx", path=folders)
    assert binary, "nginx is not installed"
    return [binary, "-p", str(prefix), "-c", str(configuration), "-e", "stderr", *arguments]


@contextmanager
def start_nginx(
    prefix: Path,
    certificates: Path,
    upstreams: Sequence[str],
    *,
    source: Path = SHIPPED,
    run_as: int | None = None,
    **options: Any,
) -> Iterator[RunningNginx]:
    """Render the files below `prefix`, run nginx on free ports, and stop it in the end.

    `options` are fields of NginxSite; `run_as` is the user id of the whole nginx. Another suite
    may take a port between looking and listening: then it is tried again with others.
    """
    make_prefix(prefix)
    for _ in range(ATTEMPTS):
        site = make_site(certificates, upstreams, **options)
        if run_as is not None:
            site = replace(site, user="")
        configuration = render_nginx(site, prefix / "nginx", source)
        if run_as is not None:
            _give(prefix / "nginx", run_as)
        process, problem = _launch(prefix, configuration, site, run_as)
        if process is not None:
            try:
                yield RunningNginx(prefix, configuration, site, process.pid)
            finally:
                process.terminate()
                process.wait(DEADLINE)
            return
        assert "Address already in use" in problem, problem
    raise AssertionError("no free ports")


def _launch(
    prefix: Path, configuration: Path, site: NginxSite, user: int | None
) -> tuple[subprocess.Popen[bytes] | None, str]:
    output = prefix / "logs/start.log"
    with output.open("wb") as log:
        command = nginx_command(prefix, configuration, "-g", "daemon off;")
        nginx = subprocess.Popen(command, stdout=log, stderr=log, user=user, group=user)
    for _ in polling():
        if nginx.poll() is not None:
            return None, output.read_text() + _text(prefix / "logs/error.log")
        if is_listening(site.https_port) and _text(prefix / "run/nginx.pid").strip() == str(
            nginx.pid
        ):
            return nginx, ""
    nginx.kill()
    nginx.wait(DEADLINE)
    return None, "nginx did not start in time"


def _give(folder: Path, user: int) -> None:
    for path in (folder, *folder.rglob("*")):
        os.chown(path, user, user)


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


@pytest.fixture(scope="session")
def edge_certificates(tmp_path_factory: pytest.TempPathFactory) -> EdgeCertificates:
    """Certificates of a development PKI, and those that nginx must refuse."""
    return make_edge_certificates(tmp_path_factory.mktemp("edge-certificates"))


@dataclass(frozen=True, slots=True)
class Edge:
    """An nginx, and the recording server it leads to."""

    nginx: RunningNginx
    upstream: RecordingUpstream


PROXY_SECRET = "known-to-the-proxy-and-the-gateway-alone"


@contextmanager
def start_edge(prefix: Path, certificates: Path, **options: Any) -> Iterator[Edge]:
    """Run an nginx below `prefix` before a recording server; `options` are start_nginx's."""
    make_prefix(prefix)
    with (
        recording_upstream(prefix / "run/gateway.sock") as upstream,
        start_nginx(prefix, certificates, [upstream.address], **options) as nginx,
    ):
        yield Edge(nginx, upstream)


@pytest.fixture(scope="session")
def shared_edge(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Edge]:
    """Run one nginx as it is shipped for the tests that only send requests."""
    prefix = tmp_path_factory.mktemp("edge")
    with start_edge(prefix, edge_certificates.folder, proxy_secret=PROXY_SECRET) as edge:
        yield edge


@pytest.fixture
def edge(shared_edge: Edge) -> Edge:
    """Return the shared nginx, its upstream's memory cleared."""
    shared_edge.upstream.forget()
    return shared_edge


def changed_source(folder: Path, changes: dict[str, tuple[str, str]]) -> Path:
    """Return a copy of the shipped files with one text replaced in each named file."""
    source = folder / "changed-source"
    shutil.copytree(SHIPPED, source)
    for name, (old, new) in changes.items():
        text = (source / name).read_text()
        assert old in text, f"{old!r} is not in {name}"
        (source / name).write_text(text.replace(old, new))
    return source
