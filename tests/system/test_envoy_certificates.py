"""What a client writes into its own certificate is no other certificate in Envoy's XFCC.

Envoy writes URIs of a certificate into the header as they are. Attacks A2, A18
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography import x509

from gateway.crypto.x509.development_pki import ISSUING, read_authority
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.http.certificate_lookup import EnvoyLookup
from tests.support.certificates import CertificateKeeper
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_proxies import GatewayProxy, start_gateway_proxy
from tests.support.proxy_process import PROXIES
from tests.support.recording_upstream import RecordingUpstream, recording_upstream

SHIPPED = "{ chain: true }"
"""What XFCC contains, in the configuration."""


def _with_uris(
    certificates: EdgeCertificates, folder: Path, **uris: str
) -> tuple[EdgeCertificates, str]:
    """Issue certificates with a URI each; return them and the PEM of device-1, URL-encoded."""
    issuing = read_authority(certificates.folder, ISSUING)
    keeper = CertificateKeeper(folder, issuing, datetime.now(UTC))
    victim = certificates.pair("device-1").with_suffix(".crt").read_text()
    escaped = quote(f"{victim.partition('-----END')[0]}-----END CERTIFICATE-----\n", safe="")
    for name, uri in uris.items():
        names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri.format(escaped))])
        keeper.add(name, extensions=[(names, False)])
    zoo = replace(certificates.zoo, animals={**certificates.zoo.animals, **keeper.animals})
    return EdgeCertificates(zoo), escaped


@contextmanager
def _envoy(
    certificates: EdgeCertificates, details: str
) -> Iterator[tuple[GatewayProxy, RecordingUpstream]]:
    """Run Envoy with other details in XFCC than the shipped ones."""
    text = (PROXIES / "envoy/gateway.yaml").read_text()
    assert text.count(SHIPPED) == 1
    with tempfile.TemporaryDirectory(prefix="realmgate-envoy-") as made:
        folder = Path(made)
        folder.chmod(0o755)
        file = folder / "changed.yaml"
        file.write_text(text.replace(SHIPPED, details))
        with recording_upstream(folder / "gateway.sock") as upstream:
            upstream.path.chmod(0o777)
            with start_gateway_proxy("envoy", upstream.path, certificates, file) as proxy:
                yield proxy, upstream


@pytest.mark.parametrize(
    "details",
    [
        "{ uri: true, dns: true, subject: true }",
        "{ chain: true, uri: true, dns: true, subject: true }",
        "{ cert: true, chain: true, uri: true }",
    ],
)
def test_a_uri_of_a_certificate_is_no_certificate(
    edge_certificates: EdgeCertificates, tmp_path: Path, details: str
) -> None:
    """Where Envoy sends no certificate, the one in the URI would be the only one."""
    certificates, victim = _with_uris(
        edge_certificates,
        tmp_path,
        harmless="spiffe://example.org/a",
        pair='urn:x;Chain="{}"',
        element='urn:x,Hash=00;Chain="{}"',
        hashed='urn:x;Hash=00;Chain="{}"',
        quote='urn:x";Cert="{}',
    )
    with _envoy(certificates, details) as (proxy, upstream):
        for name in ("harmless", "pair", "element", "hashed", "quote"):
            with proxy.client(name) as client:
                assert client.get(f"{proxy.url('optional')}/x").status_code == 200
            (value,) = upstream.last.all("X-Forwarded-Client-Cert")
            headers = {b"x-forwarded-client-cert": value.encode("latin-1")}
            if name == "harmless":
                found = EnvoyLookup().find_certificate(headers)
                sent = None if found is None else found.leaf
                own = (
                    certificates.zoo[name].der if "cert" in details or "chain" in details else None
                )
                assert sent == own
                continue
            assert victim in value
            with pytest.raises(MalformedCertificate):
                EnvoyLookup().find_certificate(headers)
