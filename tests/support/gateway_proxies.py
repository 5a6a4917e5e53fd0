"""HAProxy, Apache, Caddy and Envoy in front of a gateway, with proxies/*/gateway.* as they are."""

import json
import ssl
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2

from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.nginx import PROXY_SECRET, start_nginx
from tests.support.ports import ADDRESS, free_ports
from tests.support.proxy_process import (
    PROXIES,
    open_to_other_users,
    socket_address,
    start_proxy_process,
)

LISTENERS: Final = ("optional", "required", "any")
"""What a client certificate is: optional, required, or of any authority."""
_FILES: Final[Mapping[str, str]] = {
    "haproxy": "haproxy/gateway.cfg",
    "caddy": "caddy/gateway.Caddyfile",
    "apache": "apache/gateway.conf",
    "envoy": "envoy/gateway.yaml",
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
    "envoy": {
        "certificate_lookup": "envoy",
        "certificate_verdict_header": "ssl-client-verify",
    },
}
"""The settings of the gateway that each configuration names in its head."""


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


@contextmanager
def start_gateway_behind(
    name: str, realm: Mapping[str, Any], certificates: EdgeCertificates
) -> Iterator[GatewayProxy]:
    """Run nginx or another proxy in front of a gateway with one realm."""
    with (
        start_gateway_for(name, realm, certificates) as gateway,
        _start(name, gateway, certificates) as proxy,
    ):
        yield proxy


@contextmanager
def start_gateway_for(
    name: str,
    realm: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    certificates: EdgeCertificates,
    **settings: Any,
) -> Iterator[Gateway]:
    """Run a gateway with realms that reads the headers of this proxy, and lets it connect."""
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
            **settings,
        ) as gateway:
            open_to_other_users(gateway.socket, folder)
            yield gateway


@contextmanager
def _start(name: str, gateway: Gateway, certificates: EdgeCertificates) -> Iterator[GatewayProxy]:
    if name != "nginx":
        with start_gateway_proxy(name, gateway.socket, certificates) as proxy:
            yield proxy
        return
    folder, upstreams = gateway.state_dir.parent, [f"unix:{gateway.socket}"]
    with start_nginx(folder, certificates.folder, upstreams, proxy_secret=PROXY_SECRET) as nginx:
        site = nginx.site
        listening = (site.https_port, site.mtls_port, site.self_signed_port)
        yield GatewayProxy(name, dict(zip(LISTENERS, listening, strict=True)), certificates)


@contextmanager
def start_gateway_proxy(
    name: str, gateway: Path, certificates: EdgeCertificates, file: Path | None = None
) -> Iterator[GatewayProxy]:
    """Run the proxy in front of the socket `gateway`, which it has to be able to open.

    `file` is another configuration than that of proxies/.
    """
    ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
    environment = {"HOST": "localhost", "REALMGATE_GATEWAY": socket_address(name, gateway)}
    for listener, port in ports.items():
        environment[f"PORT_{listener.upper()}"] = str(port)
        environment[f"LISTEN_{listener.upper()}"] = f"{ADDRESS}:{port}"
    folder = certificates.folder
    shipped = PROXIES / _FILES[name]
    with start_proxy_process(name, file or shipped, folder, [*ports.values()], environment):
        yield GatewayProxy(name, ports, certificates)
