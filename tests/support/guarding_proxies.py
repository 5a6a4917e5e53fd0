"""Debian's HAProxy, Apache and Caddy with the configurations of proxies/, as they are.

What differs between machines is in their environment. Packages haproxy, caddy, apache2-bin and
lua-socket.
"""

import os
import shutil
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse
from pathlib import Path
from typing import Final

import pytest

from tests.support.apache import MODULES, apache_folder, hand_over
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.ports import ADDRESS, free_ports, is_listening
from tests.support.protected_sites import PROXY_SECRET, Protected, start_protected

PROXIES: Final = Path(__file__).parents[2] / "proxies"
_PATH: Final = f"{os.defpath}:/usr/sbin:/usr/local/sbin"
_APACHE: Final = """
ServerRoot {folder}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/error.log
StartServers 1
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
SSLSessionCache none
Listen {port} https
Include {proxies}/apache/realmgate.conf
"""
_APACHE_MODULES: Final = (
    *("mpm_event", "authz_core", "lua", "proxy", "proxy_http", "setenvif", "socache_shmcb", "ssl"),
)


@dataclass(frozen=True, slots=True)
class Answer:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class GuardingProxy:
    """A running proxy in front of the site `host`."""

    name: str
    port: int
    host: str
    protected: Protected

    def send(self, request: str, certificate: str | None = None) -> Answer:
        """Send a request as it is, which has to end its connection."""
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # the default one reads all authorities
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
        if certificate is not None:
            pair = self.protected.certificates.pair(certificate)
            tls.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        with (
            socket.create_connection((ADDRESS, self.port), timeout=10) as plain,
            tls.wrap_socket(plain, server_hostname=self.host) as connection,
        ):
            connection.sendall(request.encode("latin-1"))
            response = HTTPResponse(connection)
            response.begin()
            headers = {name.lower(): value for name, value in response.getheaders()}
            return Answer(response.status, headers, response.read())

    def ask(
        self,
        path: str,
        *headers: str,
        token: str | None = None,
        certificate: str | None = None,
        method: str = "GET",
    ) -> Answer:
        """Send a request without a body; `headers` are whole lines."""
        lines = [f"{method} {path} HTTP/1.1", f"Host: {self.host}", "Connection: close", *headers]
        if token is not None:
            lines.append(f"Authorization: Bearer {token}")
        return self.send("\r\n".join([*lines, "", ""]), certificate)


def _haproxy(folder: Path, environment: dict[str, str]) -> list[str]:
    pair = [(folder / f"server.{kind}").read_text() for kind in ("crt", "key")]
    (folder / "server.pem").write_text("".join(pair))
    environment["LISTEN"] = f"{ADDRESS}:{environment['PORT']}"
    environment["REALMGATE_GATEWAY"] = f"unix@{environment['REALMGATE_GATEWAY']}"
    environment["REALMGATE_GUARD"] = str(PROXIES / "haproxy/realmgate_guard.lua")
    environment["SERVICE"] = f"unix@{environment['SERVICE']}"
    return ["haproxy", "-db", "-f", str(PROXIES / "haproxy/haproxy.cfg")]


def _caddy(folder: Path, environment: dict[str, str]) -> list[str]:
    environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    environment["REALMGATE_GATEWAY"] = f"unix/{environment['REALMGATE_GATEWAY']}"
    environment["SERVICE"] = f"unix/{environment['SERVICE']}"
    return ["caddy", "run", "--config", str(PROXIES / "caddy/Caddyfile"), "--adapter", "caddyfile"]


def _apache(folder: Path, environment: dict[str, str]) -> list[str]:
    loaded = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in _APACHE_MODULES]
    port = f"{ADDRESS}:{environment['PORT']}"
    rest = _APACHE.format(folder=folder, port=port, proxies=PROXIES)
    (folder / "apache.conf").write_text("\n".join([*loaded, rest]))
    environment["GUARD"] = str(PROXIES / "apache")
    environment["SERVICE"] = f"unix:{environment['SERVICE']}|http://service/"
    return ["apache2", "-f", str(folder / "apache.conf"), "-D", "FOREGROUND"]


COMMANDS: Final[Mapping[str, Callable[[Path, dict[str, str]], list[str]]]] = {
    "haproxy": _haproxy,
    "caddy": _caddy,
    "apache": _apache,
}


@contextmanager
def start_open_site(certificates: EdgeCertificates) -> Iterator[Protected]:
    """Run gateway and service where a proxy of another user reaches them."""
    with tempfile.TemporaryDirectory(prefix="realmgate-proxies-") as made:
        folder = Path(made)
        with start_protected(folder, certificates) as protected:
            for path in (protected.gateway.socket, protected.service.path):
                path.chmod(0o777)
                for above in path.relative_to(folder).parents:
                    (folder / above).chmod(0o755)
            yield protected


@pytest.fixture(scope="session")
def open_site(edge_certificates: EdgeCertificates) -> Iterator[Protected]:
    """Run one such gateway and service for all tests."""
    with start_open_site(edge_certificates) as protected:
        yield protected


@contextmanager
def start_proxy(
    name: str, host: str, protected: Protected, gateway: Path | None = None
) -> Iterator[GuardingProxy]:
    """Run the proxy in front of the gateway and the service of `protected`.

    `gateway` is the socket of another one.
    """
    (port,) = free_ports(1)
    with apache_folder(protected.certificates.folder) as folder:
        shutil.copy(protected.certificates.folder / "ca.crl", folder)
        environment = {
            "PATH": _PATH,
            "PORT": str(port),
            "SITE": host,
            "CERTIFICATES": str(folder),
            "SERVICE": str(protected.service.path),
            "REALMGATE_GATEWAY": str(gateway or protected.gateway.socket),
            "REALMGATE_PROXY_SECRET": PROXY_SECRET,
        }
        command = COMMANDS[name](folder, environment)
        binary = shutil.which(command[0], path=_PATH)
        assert binary, f"{command[0]} is not installed: scripts/test installs it"
        user = hand_over(folder)
        with (folder / "output.log").open("wb") as log:
            process = subprocess.Popen(
                [binary, *command[1:]],
                env=environment,
                stdout=log,
                stderr=log,
                user=user,
                group=user,
            )
        try:
            until(lambda: process.poll() is not None or is_listening(port), f"{name} did not start")
            assert process.poll() is None, "".join(
                each.read_text() for each in folder.glob("*.log")
            )
            yield GuardingProxy(name, port, host, protected)
        finally:
            process.terminate()
            process.wait(20)
