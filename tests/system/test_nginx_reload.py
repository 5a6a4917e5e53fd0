"""A reload of nginx brings in new lists and secrets, and loses no request.

Attacks A9, F13.
"""

import os
import shutil
import signal
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509

from gateway.cli.nginx import render_nginx
from gateway.crypto.x509.pki_revocation import revoke
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import RunningNginx, make_prefix, polling, start_nginx
from tests.support.recording_upstream import recording_upstream

RELOADS = 5


def reload(nginx: RunningNginx) -> None:
    os.kill(nginx.pid, signal.SIGHUP)


def status(nginx: RunningNginx, certificate: str | None) -> int:
    """Return the answer to a request on a connection of its own."""
    with nginx.client(certificate) as client:
        return client.get(nginx.https).status_code


def test_a_certificate_revoked_while_nginx_runs_is_refused_after_a_reload(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    certificates = shutil.copytree(edge_certificates.folder, tmp_path / "certs")
    make_prefix(tmp_path)
    with (
        recording_upstream(tmp_path / "run/gateway.sock") as upstream,
        start_nginx(tmp_path, certificates, [upstream.address]) as nginx,
    ):
        assert status(nginx, "device-1") == 200
        certificate = x509.load_pem_x509_certificate((certificates / "device-1.crt").read_bytes())
        revoke(certificates, certificate, now=datetime.now(UTC))
        reload(nginx)
        refused = 0  # in a row: a worker that is about to leave may still answer in between
        for _ in polling():
            refused = refused + 1 if status(nginx, "device-1") == 400 else 0
            if refused == 5:
                break
        assert refused == 5
        assert status(nginx, "device-2") == 200


def test_a_new_proxy_secret_is_sent_after_rendering_again_and_a_reload(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    make_prefix(tmp_path)
    with (
        recording_upstream(tmp_path / "run/gateway.sock") as upstream,
        start_nginx(tmp_path, edge_certificates.folder, [upstream.address]) as nginx,
    ):
        new = replace(nginx.site, proxy_secret="the-secret-after-rotation")
        render_nginx(new, nginx.configuration.parent)
        reload(nginx)
        for _ in polling():
            status(nginx, None)
            if upstream.last.all("x-realmgate-proxy-secret"):
                break
        assert upstream.last.all("x-realmgate-proxy-secret") == ["the-secret-after-rotation"]


def test_no_request_is_lost_while_nginx_reloads(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    make_prefix(tmp_path)
    with (
        recording_upstream(tmp_path / "run/gateway.sock") as upstream,
        start_nginx(tmp_path, edge_certificates.folder, [upstream.address]) as nginx,
    ):
        for _ in range(RELOADS):
            reload(nginx)
            assert [status(nginx, "device-1") for _ in range(10)] == [200] * 10
    assert len(upstream.received) == RELOADS * 10
