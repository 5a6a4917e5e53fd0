"""A certificate that is revoked while gateway and nginx run is refused at a protected site.

nginx keeps the list that it started with, so it is the gateway that refuses. attacks: A9, S4
"""

import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from cryptography import x509

from gateway.crypto.x509.development_pki import revoke_certificate
from tests.support.edge_certificates import EdgeCertificates
from tests.support.protected_sites import HOST, Protected, start_protected

_SECOND = 1.0
_IN_A_ROW = 10
"""Refusals without a pass between them: enough for each worker to have answered."""


@pytest.fixture
def protected(tmp_path: Path, edge_certificates: EdgeCertificates) -> Iterator[Protected]:
    """Run a site with certificate files of its own."""
    folder = shutil.copytree(edge_certificates.folder, tmp_path / "certificates")
    own = EdgeCertificates(replace(edge_certificates.zoo, directory=folder))
    with start_protected(tmp_path, own, workers=2) as running:
        yield running


def _revoke(protected: Protected, certificate: str) -> None:
    folder = protected.certificates.folder
    pem = (folder / f"{certificate}.crt").read_bytes()
    revoke_certificate(folder, x509.load_pem_x509_certificate(pem), now=datetime.now(UTC))


def _connection(response: httpx2.Response) -> object:
    """Return the client's end of the TCP connection, which names the TLS connection too."""
    return response.extensions["network_stream"].get_extra_info("client_addr")


def test_certificates_and_bound_tokens_are_refused_in_a_second(
    protected: Protected,
) -> None:
    """On new connections, and on the one that was verified before the revocation."""
    nginx = protected.nginx
    token = {"Authorization": f"Bearer {protected.bound_token('device-1')}"}
    with nginx.client("device-1") as kept, nginx.client("device-2") as other:

        def ask(http: httpx2.Client, path: str, **headers: str) -> httpx2.Response:
            return http.get(f"{nginx.https}{path}", headers={"Host": HOST, **headers})

        def ask_all() -> list[httpx2.Response]:
            with nginx.client("device-1") as new:
                return [
                    ask(http, path, **headers)
                    for http in (kept, new)
                    for path, headers in (("/machines/1", {}), ("/bound/1", token))
                ]

        before = ask_all()
        assert [response.status_code for response in before] == [200] * 4
        connection = _connection(before[0])
        _revoke(protected, "device-1")
        revoked_at = time.monotonic()
        refused = 0
        while refused < _IN_A_ROW:
            sent_at = time.monotonic()
            answers = ask_all()
            assert _connection(answers[0]) == _connection(answers[1]) == connection
            if {response.status_code for response in answers} == {401}:
                refused += 1
            else:
                refused = 0
                assert sent_at < revoked_at + _SECOND
        assert [response.headers["x-realmgate-reason"] for response in answers] == [
            "untrusted_certificate",
            "certificate_mismatch",
        ] * 2
        trusted = ask(other, "/machines/1")
        assert trusted.headers["x-realmgate-reason"] == "certificate_not_allowed"
