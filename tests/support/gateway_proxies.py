"""Debian's HAProxy, Apache and Caddy in front of a gateway, with proxies/*/gateway.* as they are.

What differs between machines is in their environment.
"""

import json
import os
import shutil
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.support.apache import MODULES, apache_folder, hand_over
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import start_gateway, until
from tests.support.nginx import PROXY_SECRET, start_nginx
from tests.support.ports import ADDRESS, free_ports, is_listening

LISTENERS: Final = ("optional", "required", "any")
"""What a client certificate is: optional, required, or of any authority."""
_PROXIES: Final = Path(__file__).parents[2] / "proxies"
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
Include {proxies}/apache/gateway.conf
"""
_APACHE_MODULES: Final = (
    *("mpm_event", "authz_core", "headers", "http2", "macro", "proxy", "proxy_http", "setenvif"),
    *("socache_shmcb", "ssl"),
)


@dataclass(frozen=True, slots=True)
class GatewayProxy:
    """A running proxy; `ports` are those of LISTENERS."""

    name: str
    ports: Mapping[str, int]
    certificates: EdgeCertificates

    def url(self, listener: str) -> str:
        return f"https://localhost:{self.ports[listener]}"

    def client(self, certificate: str | None = None, *, http2: bool = False) -> httpx2.Client:
        """Return a client that shows a certificate, named as in EdgeCertificates."""
        tls = ssl.create_default_context(cafile=self.certificates.folder / "ca.crt")
        tls.set_ciphers("DEFAULT:@SECLEVEL=0")
        if certificate is not None:
            pair = self.certificates.pair(certificate)
            tls.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        return httpx2.Client(verify=tls, http2=http2, trust_env=False, timeout=10)


def _haproxy(folder: Path, environment: dict[str, str]) -> list[str]:
    pair = [(folder / f"server.{kind}").read_text() for kind in ("crt", "key")]
    (folder / "server.pem").write_text("".join(pair))
    for listener in LISTENERS:
        port = environment[f"PORT_{listener.upper()}"]
        environment[f"LISTEN_{listener.upper()}"] = f"{ADDRESS}:{port}"
    environment["REALMGATE_GATEWAY"] = f"unix@{environment['REALMGATE_GATEWAY']}"
    return ["haproxy", "-db", "-f", str(_PROXIES / "haproxy/gateway.cfg")]


def _caddy(folder: Path, environment: dict[str, str]) -> list[str]:
    environment |= {"HOME": str(folder), "XDG_DATA_HOME": str(folder)}
    environment["REALMGATE_GATEWAY"] = f"unix/{environment['REALMGATE_GATEWAY']}"
    file = str(_PROXIES / "caddy/gateway.Caddyfile")
    return ["caddy", "run", "--config", file, "--adapter", "caddyfile"]


def _apache(folder: Path, environment: dict[str, str]) -> list[str]:
    lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in _APACHE_MODULES]
    ports = [environment[f"PORT_{listener.upper()}"] for listener in LISTENERS]
    lines += [f"Listen {ADDRESS}:{port} https" for port in ports]
    lines.append(_APACHE.format(folder=folder, proxies=_PROXIES))
    (folder / "apache.conf").write_text("\n".join(lines))
    return ["apache2", "-f", str(folder / "apache.conf"), "-D", "FOREGROUND"]


COMMANDS: Final[Mapping[str, Callable[[Path, dict[str, str]], list[str]]]] = {
    "haproxy": _haproxy,
    "caddy": _caddy,
    "apache": _apache,
}
SETTINGS: Final[Mapping[str, Mapping[str, Any]]] = {
    "nginx": {},
    "haproxy": {
        "certificate_lookup": "haproxy",
        "certificate_chain_header": "ssl-cert-chain",
        "certificate_chain_length": "10",
    },
    "caddy": {
        "certificate_lookup": "rfc9440",
        "certificate_verdict_header": "ssl-client-verify",
    },
    "apache": {
        "certificate_lookup": "apache",
        "certificate_chain_prefix": "ssl-client-cert-chain",
        "certificate_chain_length": "2",
    },
}
"""The settings of the gateway that each configuration names in its head."""


@contextmanager
def start_gateway_behind(
    name: str, realm: Mapping[str, Any], certificates: EdgeCertificates
) -> Iterator[GatewayProxy]:
    """Run nginx or another proxy in front of a gateway with one realm."""
    with tempfile.TemporaryDirectory(prefix="realmgate-proxy-") as made:
        folder = Path(made)
        (folder / "realm.json").write_text(json.dumps(realm))
        with start_gateway(
            folder,
            import_realm=folder / "realm.json",
            client_ca_file=certificates.folder / "ca.crt",
            client_crl_file=certificates.folder / "ca.crl",
            proxy_secret=PROXY_SECRET,
            **SETTINGS[name],
        ) as gateway:
            gateway.socket.chmod(0o777)
            for above in gateway.socket.relative_to(folder).parents:
                (folder / above).chmod(0o755)
            with _start(name, gateway.socket, certificates, folder) as proxy:
                yield proxy


@contextmanager
def _start(
    name: str, gateway: Path, certificates: EdgeCertificates, folder: Path
) -> Iterator[GatewayProxy]:
    if name != "nginx":
        with start_gateway_proxy(name, gateway, certificates) as proxy:
            yield proxy
        return
    upstreams = [f"unix:{gateway}"]
    with start_nginx(folder, certificates.folder, upstreams, proxy_secret=PROXY_SECRET) as nginx:
        site = nginx.site
        listening = (site.https_port, site.mtls_port, site.self_signed_port)
        yield GatewayProxy(name, dict(zip(LISTENERS, listening, strict=True)), certificates)


@contextmanager
def start_gateway_proxy(
    name: str, gateway: Path, certificates: EdgeCertificates
) -> Iterator[GatewayProxy]:
    """Run the proxy in front of the socket `gateway`, which it has to be able to open."""
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    with apache_folder(certificates.folder) as folder:
        shutil.copy(certificates.folder / "ca.crl", folder)
        environment = {
            "PATH": _PATH,
            "HOST": "localhost",
            "CERTIFICATES": str(folder),
            "REALMGATE_GATEWAY": str(gateway),
            "REALMGATE_PROXY_SECRET": PROXY_SECRET,
            **{f"PORT_{listener.upper()}": str(port) for listener, port in ports.items()},
        }
        command = COMMANDS[name](folder, environment)
        binary = shutil.which(command[0], path=_PATH)
        assert binary, f"{command[0]} is not installed: scripts/test installs it"
        user = hand_over(folder)
        log_file = folder / "output.log"
        with log_file.open("wb") as log:
            process = subprocess.Popen(
                [binary, *command[1:]],
                env=environment,
                stdout=log,
                stderr=log,
                user=user,
                group=user,
            )
        try:
            until(
                lambda: process.poll() is not None or all(map(is_listening, ports.values())),
                f"{name} did not start",
            )
            assert process.poll() is None, "".join(
                each.read_text() for each in folder.glob("*.log")
            )
            yield GatewayProxy(name, ports, certificates)
        finally:
            process.terminate()
            process.wait(20)
