"""The certificate travels in the configured header, and in no other. Keycloak: 11.1."""

import json
import os
import subprocess
from pathlib import Path
from urllib.parse import quote

import pytest

from gateway.cli.nginx import SHIPPED
from tests.support.edge_certificates import EdgeCertificates
from tests.support.forked_gateway import run_command
from tests.support.gateway_process import start_gateway
from tests.support.nginx import changed_source, start_nginx
from tests.support.spec_stack import DEVICE_SUBJECT, protocol
from tests.support.wire import BOUND, device

HEADER = "x-client-cert"
REALM = {
    "realm": "edge",
    "enabled": True,
    "defaultSignatureAlgorithm": "ES256",
    "clients": [device("device-1", DEVICE_SUBJECT, **BOUND)],
}
FORM = {"grant_type": "client_credentials", "client_id": "device-1"}
UNDERSCORES_ON = {
    "realmgate/server.conf": ("underscores_in_headers off;", "underscores_in_headers on;")
}


def render(folder: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `realmgate nginx render`."""
    command = ["nginx", "render", "--output", str(folder)]
    command += ["--upstream", "unix:/run/gateway.sock", "--certificates", str(folder)]
    environment["PATH"] = os.environ["PATH"]
    return run_command([*command, *options], env=environment, cwd=folder, timeout=30)


def rendered(folder: Path, *options: str, **environment: str) -> str:
    """Return what it writes for the certificate's header."""
    done = render(folder, *options, **environment)
    assert done.returncode == 0, done.stderr
    return (folder / "realmgate/site/certificate-header.conf").read_text()


def test_render_follows_the_setting_and_the_option_wins(tmp_path: Path) -> None:
    setting = {"REALMGATE_CERTIFICATE_HEADER": "X-Client-Cert"}
    sends = "proxy_set_header {} $ssl_client_escaped_cert;"
    assert sends.format(HEADER) in rendered(tmp_path, **setting)
    text = rendered(tmp_path, "--certificate-header", "X-Device", **setting)
    assert sends.format("x-device") in text
    shipped = SHIPPED / "realmgate/site/certificate-header.conf"
    assert rendered(tmp_path) == shipped.read_text()


def test_render_drops_chain_headers_that_nginx_cannot_send(tmp_path: Path) -> None:
    text = rendered(tmp_path, REALMGATE_CERTIFICATE_CHAIN_PREFIX="cert-chain")
    for index in range(10):
        for name in (f"cert-chain_{index}", f"cert_chain_{index}", f"cert-chain-{index}"):
            assert f'proxy_set_header {name} "";' in text


def test_render_refuses_settings_that_nginx_does_not_follow(tmp_path: Path) -> None:
    for setting, reason in (
        ({"REALMGATE_CERTIFICATE_LOOKUP": "haproxy"}, "so nginx is expected and haproxy was given"),
        ({"REALMGATE_CERTIFICATE_URL_ENCODED": "false"}, "so true is expected and false was given"),
    ):
        done = render(tmp_path, **setting)
        assert done.returncode != 0
        assert done.stderr.startswith(f"Error: {next(iter(setting))}: nginx sends URL-encoded PEM")
        assert reason in done.stderr


def test_render_takes_the_proxy_secret_from_the_settings(tmp_path: Path) -> None:
    rendered_file = tmp_path / "realmgate/site/proxy-secret.conf"
    configured, other = tmp_path / "configured", tmp_path / "other"
    configured.write_text("the-configured-secret\n")
    other.write_text("another-proxy-secret\n")
    setting = {"REALMGATE_PROXY_SECRET_FILE": str(configured)}
    rendered(tmp_path, **setting)
    assert '"the-configured-secret"' in rendered_file.read_text()
    rendered(tmp_path, "--proxy-secret-file", str(other), **setting)
    assert '"another-proxy-secret"' in rendered_file.read_text()
    rendered(tmp_path)
    assert 'Secret ""' in rendered_file.read_text()


@pytest.mark.parametrize("underscores", [False, True])
def test_another_certificate_header_works_and_forgeries_drop(
    tmp_path: Path,
    edge_certificates: EdgeCertificates,
    underscores: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    realm = tmp_path / "realm.json"
    realm.write_text(json.dumps(REALM))
    certificates = edge_certificates.folder
    forged = quote((certificates / "device-1.crt").read_text())
    socket = f"unix:{tmp_path / 'state/run/gateway.sock'}"
    source = changed_source(tmp_path, UNDERSCORES_ON) if underscores else SHIPPED
    with (
        start_nginx(
            tmp_path, certificates, [socket], source=source, certificate_header=HEADER
        ) as nginx,
        start_gateway(
            tmp_path,
            import_realm=realm,
            public_url=nginx.https,
            certificate_header=HEADER,
            client_ca_file=certificates / "ca.crt",
            client_crl_file=certificates / "ca.crl",
        ),
        nginx.client("device-1") as proved,
        nginx.client() as stranger,
    ):
        url = f"{nginx.https}{protocol('edge')}/token"
        assert proved.post(url, data=FORM).status_code == 200
        for name in (
            HEADER,
            "X_Client_Cert",
            "x_client-cert",
            "ssl-client-cert",
            "ssl_client_cert",
        ):
            answer = stranger.post(url, data=FORM, headers={name: forged})
            assert answer.status_code == 401, (name, answer.text)
