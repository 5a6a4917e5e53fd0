"""A certificate that was revoked is refused by every gateway at its next use. Attacks A9, S4."""

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cryptography import x509

from gateway.cli.nginx import RevocationCheck
from gateway.crypto.x509.development_pki import (
    REVOCATION_LISTS,
    ROOT,
    pem,
    read_authority,
    revoke_certificate,
)
from gateway.crypto.x509.issuing import ValidityPeriod, issue_revocation_list
from tests.support.certificates import DAY
from tests.support.edge_certificates import EdgeCertificates, stale_revocation_lists
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.nginx import RunningNginx, start_nginx
from tests.support.wire import (
    BOUND,
    DEVICE_SUBJECT,
    SECRET,
    audience,
    client,
    device,
    protocol,
)

REALM = {
    "realm": "r",
    "enabled": True,
    "clients": [
        device("device-1", DEVICE_SUBJECT, **BOUND),
        client("bound", serviceAccountsEnabled=True, protocolMappers=[audience("bound")])
        | {"attributes": BOUND},
    ],
}


def test_a_changed_list_is_in_force_on_every_gateway_at_once(tmp_path: Path, pki: Path) -> None:
    """Without a restart, and for the token that is bound to the certificate too. attacks: A9."""
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    folder = shutil.copytree(pki, tmp_path / "certs")
    certificate = (folder / "device-1.crt").read_bytes()
    shared: dict[str, Any] = {
        "database_url": f"sqlite:///{tmp_path}/shared.db",
        "encryption_key_file": tmp_path / "encryption.key",
        "import_realm": tmp_path / "realms.json",
        "client_ca_file": folder / "ca.crt",
        "client_crl_file": folder / "ca.crl",
    }
    headers = {"ssl-client-cert": quote(certificate, safe=""), "ssl-client-verify": "SUCCESS"}
    with ExitStack() as running:
        gateways = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            gateway = running.enter_context(start_gateway(tmp_path / name, **shared))
            gateways.append(running.enter_context(gateway.client(**headers)))
        grant = {"grant_type": "client_credentials", "client_id": "device-1"}
        answers = [http.post(protocol("r", "token"), data=grant) for http in gateways]
        assert [answer.status_code for answer in answers] == [200, 200]
        token = {"client_id": "device-1", "token": answers[0].json()["access_token"]}
        assert gateways[1].post(protocol("r", "token/introspect"), data=token).json()["active"]

        revoke_certificate(
            folder, x509.load_pem_x509_certificate(certificate), now=datetime.now(UTC)
        )
        for http in gateways:
            refused = http.post(protocol("r", "token"), data=grant)
            assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
            refused = http.post(protocol("r", "token/introspect"), data=token)
            assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")


@contextmanager
def _behind_nginx(
    tmp_path: Path, folder: Path, check: RevocationCheck = RevocationCheck.NGINX
) -> Iterator[tuple[RunningNginx, Gateway]]:
    """Run nginx in front of a gateway that has the same authorities and lists."""
    (tmp_path / "realms.json").write_text(json.dumps(REALM))
    socket = f"unix:{tmp_path / 'state/run/gateway.sock'}"
    with (
        start_nginx(tmp_path, folder, [socket], revocation=check) as nginx,
        start_gateway(
            tmp_path,
            import_realm=tmp_path / "realms.json",
            public_url=nginx.https,
            client_ca_file=folder / "ca.crt",
            client_crl_file=folder / "ca.crl",
        ) as gateway,
    ):
        yield nginx, gateway


def test_a_bound_token_fails_once_its_certificate_is_revoked(tmp_path: Path, pki: Path) -> None:
    """RFC 8705 §3; nginx has the old list until its reload, so the gateway alone refuses."""
    folder = shutil.copytree(pki, tmp_path / "certs")
    certificate = (folder / "device-1.crt").read_bytes()
    with (
        _behind_nginx(tmp_path, folder) as (nginx, _),
        nginx.client("device-1") as http,
    ):
        named = {"client_id": "bound", "client_secret": SECRET}
        grant = {"grant_type": "client_credentials", **named}
        base = f"{nginx.https}{protocol('r', '')}"
        token = http.post(f"{base}token", data=grant).json()["access_token"]
        asked = {**named, "token": token}
        assert http.post(f"{base}token/introspect", data=asked).json()["active"] is True
        revoke_certificate(
            folder, x509.load_pem_x509_certificate(certificate), now=datetime.now(UTC)
        )
        refused = http.post(f"{base}token/introspect", data=asked)
        assert (refused.status_code, refused.json()["error"]) == (401, "invalid_token")
        assert refused.json()["error_description"].endswith(f"{DEVICE_SUBJECT} was revoked")


@pytest.mark.parametrize(
    ("check", "status", "reason"),
    [
        (RevocationCheck.NGINX, 400, "Your client certificate was refused. It was revoked."),
        (RevocationCheck.GATEWAY, 401, f"{DEVICE_SUBJECT} was revoked"),
    ],
)
def test_a_revoked_certificate_is_refused_by_nginx_or_gateway(
    tmp_path: Path, pki: Path, check: RevocationCheck, status: int, reason: str
) -> None:
    folder = shutil.copytree(pki, tmp_path / "certs")
    certificate = x509.load_pem_x509_certificate((folder / "device-1.crt").read_bytes())
    revoke_certificate(folder, certificate, now=datetime.now(UTC))
    with (
        _behind_nginx(tmp_path, folder, check) as (nginx, _),
        nginx.client("device-1") as http,
    ):
        grant = {"grant_type": "client_credentials", "client_id": "device-1"}
        refused = http.post(f"{nginx.mtls}{protocol('r', 'token')}", data=grant)
        assert (refused.status_code, refused.json()["error"]) == (status, "invalid_client")
        assert reason in refused.json()["error_description"]


@pytest.mark.parametrize(
    ("check", "status", "reason"),
    [
        (RevocationCheck.NGINX, 400, "The revocation list of this server is out of date"),
        (RevocationCheck.GATEWAY, 401, "the revocation list of CN=Realmgate Development "),
    ],
)
def test_a_stale_list_refuses_all_also_if_the_gateway_checks(
    tmp_path: Path,
    edge_certificates: EdgeCertificates,
    check: RevocationCheck,
    status: int,
    reason: str,
) -> None:
    """The age of the list was reported before. attacks: A10."""
    folder = stale_revocation_lists(edge_certificates, tmp_path / "certs")
    with (
        _behind_nginx(tmp_path, folder, check) as (nginx, gateway),
        nginx.client("device-1") as http,
    ):
        grant = {"grant_type": "client_credentials", "client_id": "device-1"}
        refused = http.post(f"{nginx.mtls}{protocol('r', 'token')}", data=grant)
        found = gateway.health()[1]["checks"]
    assert (refused.status_code, refused.json()["error"]) == (status, "invalid_client")
    assert reason in refused.json()["error_description"]
    assert [each["status"] for each in found if each["name"] == "revocation-lists"] == ["DOWN"]


def test_an_authority_without_a_list_refuses_its_certificates(tmp_path: Path, pki: Path) -> None:
    """The gateway alone checks lists here; that of its root is not enough. attacks: A10."""
    folder = shutil.copytree(pki, tmp_path / "certs")
    now = datetime.now(UTC)
    of_root = issue_revocation_list(
        read_authority(folder, ROOT), (), 2, ValidityPeriod(now, now + DAY)
    )
    (folder / REVOCATION_LISTS).write_bytes(pem(of_root))
    with (
        _behind_nginx(tmp_path, folder, RevocationCheck.GATEWAY) as (nginx, _),
        nginx.client("device-1") as http,
    ):
        grant = {"grant_type": "client_credentials", "client_id": "device-1"}
        refused = http.post(f"{nginx.mtls}{protocol('r', 'token')}", data=grant)
    assert (refused.status_code, refused.json()["error"]) == (401, "invalid_client")
    assert "there is no revocation list of CN=" in refused.json()["error_description"]
