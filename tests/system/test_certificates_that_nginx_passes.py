"""Certificates that nginx lets pass although they are wrong: the gateway alone refuses them.

With `optional_no_ca` nginx passes a certificate whose authority it does not know, such as one of a
realm, and does not say what else is wrong with it. A connection outlives the certificate that it
began with: nginx verifies at the handshake, the gateway at each request. RFC 8705 §7.4, §7.5
"""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID

from gateway.crypto.x509.development_pki import ISSUING, read_authority
from gateway.crypto.x509.issuing import ValidityPeriod
from tests.support.certificates import DAY, WEAK_RSA_BITS, CertificateKeeper
from tests.support.chains import CA, Node, issue
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import start_gateway, until
from tests.support.nginx import PROXY_SECRET, RunningNginx, start_nginx
from tests.support.wire import DEVICE_SUBJECT, device, protocol

REALM: Final = "passed"
_HOST: Final = "device.example"
ROOT: Final = issue("realm root", None, CA, days=(-9, 9))
LOOK_ALIKE: Final = issue("realm root", None, CA, days=(-9, 9))
FORMER: Final = issue("former", ROOT, CA, days=(-9, -1))
FUTURE: Final = issue("future", ROOT, CA, days=(1, 9))
LAST: Final = issue("last", ROOT, x509.BasicConstraints(ca=True, path_length=0))
BELOW_LAST: Final = issue("below last", LAST, CA)
NARROW: Final = issue("narrow", ROOT, CA, x509.NameConstraints(None, [x509.DNSName(_HOST)]))
REGISTERED: Final = (ROOT, FORMER, FUTURE, LAST, BELOW_LAST, NARROW)
_USAGE: Final = dict.fromkeys(
    (
        *("digital_signature", "content_commitment", "data_encipherment", "key_agreement"),
        *("key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
    ),
    False,
)


def _probe(issuer: Node, *extensions: x509.ExtensionType) -> Node:
    return issue("probe", issuer, *extensions)


WRONG: Final[dict[str, tuple[Node, str]]] = {
    "look-alike": (_probe(LOOK_ALIKE), "no path leads over CN=realm root to a trusted root"),
    "unknown": (_probe(issue("nobody", None, CA)), "the issuer CN=nobody is not known"),
    "expired authority": (_probe(FORMER), "the authority CN=former expired at "),
    "future authority": (_probe(FUTURE), "the authority CN=future is not valid before "),
    "long path": (_probe(BELOW_LAST), "the authority CN=last allows fewer authorities below it"),
    "foreign name": (
        _probe(NARROW, x509.SubjectAlternativeName([x509.DNSName(_HOST)])),
        "the authority CN=narrow may not issue for ",
    ),
    "authority": (_probe(ROOT, CA), "it is an authority's certificate"),
    "server": (
        _probe(ROOT, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])),
        "its extended key usage does not allow client authentication",
    ),
    "encryption": (
        _probe(ROOT, x509.KeyUsage(key_encipherment=True, **_USAGE)),
        "its key usage does not allow digital signatures",
    ),
    "unknown extension": (
        _probe(ROOT, x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3.4"), b"\5\0")),
        "critical extension 1.2.3.4",
    ),
    "weak key": (
        issue("probe", ROOT, key=rsa.generate_private_key(65537, WEAK_RSA_BITS)),
        "its key is weak",
    ),
}
"""Each has the name of the client; only what is wrong with it can refuse it."""


@pytest.fixture(scope="module")
def nginx(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[RunningNginx]:
    """Run the shipped nginx before a gateway whose realm has authorities that nginx lacks."""
    folder, pki = tmp_path_factory.mktemp("passed"), edge_certificates.folder
    realm = {
        "realm": REALM,
        "enabled": True,
        "attributes": {"realmgate.certificates.gatewayAuthorities": "true"},
        "certificateAuthorities": [{"certificate": each.pem} for each in REGISTERED],
        "clients": [device("probe", "CN=probe"), device("device-1", DEVICE_SUBJECT)],
    }
    (folder / "realm.json").write_text(json.dumps(realm))
    gateway = f"unix:{folder / 'state/run/gateway.sock'}"
    with (
        start_nginx(folder, pki, [gateway], proxy_secret=PROXY_SECRET) as running,
        start_gateway(
            folder,
            import_realm=folder / "realm.json",
            public_url=running.https,
            proxy_secret=PROXY_SECRET,
            client_ca_file=pki / "ca.crt",
            client_crl_file=pki / "ca.crl",
        ),
    ):
        yield running


def _write(node: Node, pair: Path) -> Path:
    key = node.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pair.with_suffix(".crt").write_text(node.pem)
    pair.with_suffix(".key").write_bytes(key)
    return pair


def _ask(http: httpx2.Client, url: str, client_id: str) -> httpx2.Response:
    form = {"grant_type": "client_credentials", "client_id": client_id}
    return http.post(f"{url}{protocol(REALM, 'token')}", data=form)


def test_what_nginx_passes_on_is_refused_by_the_gateway(
    nginx: RunningNginx, tmp_path: Path
) -> None:
    """attacks: A6, A7, A8."""
    with nginx.client(_write(_probe(ROOT), tmp_path / "right")) as http:
        assert _ask(http, nginx.self_signed, "probe").status_code == 200
    for kind, (node, reason) in WRONG.items():
        with nginx.client(_write(node, tmp_path / kind)) as http:
            answer = _ask(http, nginx.self_signed, "probe")
        assert (answer.status_code, answer.json()["error"]) == (401, "invalid_client"), kind
        assert f": {reason}" in answer.json()["error_description"], (kind, answer.text)
        seen = nginx.log_entry(answer.headers["x-request-id"])
        assert seen["client_certificate_verify"].startswith("FAILED:unable to "), kind
        assert seen["upstream_status"] == "401", kind


def test_a_connection_does_not_outlive_its_certificate(
    nginx: RunningNginx, edge_certificates: EdgeCertificates, tmp_path: Path
) -> None:
    """Verified at the handshake: nginx says SUCCESS from then on. attacks: A8."""
    now = datetime.now(UTC)
    keeper = CertificateKeeper(tmp_path, read_authority(edge_certificates.folder, ISSUING), now)
    keeper.add("brief", validity=ValidityPeriod(now - DAY, now + timedelta(seconds=5)))
    pair = keeper.animals["brief"].certificate.with_suffix("")
    with nginx.client(pair) as http:
        first = _ask(http, nginx.mtls, "device-1")
        assert first.status_code == 200, first.text

        def refused() -> list[httpx2.Response]:
            answer = _ask(http, nginx.mtls, "device-1")
            return [] if answer.is_success else [answer]

        (last,) = until(refused, "the certificate has not expired")
    assert (last.status_code, last.json()["error"]) == (401, "invalid_client")
    assert re.search(r": it expired at 20", last.json()["error_description"])
    seen, begun = (nginx.log_entry(each.headers["x-request-id"]) for each in (last, first))
    assert seen["connection"] == begun["connection"]
    assert seen["client_certificate_verify"] == "SUCCESS"
