"""The shipped nginx files are accepted as they are and run unprivileged from any prefix."""

import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from gateway.cli.nginx import SHIPPED, PlainHttp, render, render_nginx
from gateway.crypto.x509.development_pki import create_pki
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import (
    Edge,
    http2_of_nginx,
    make_prefix,
    make_site,
    nginx_command,
    start_nginx,
)
from tests.support.nginx_dump import dump
from tests.support.ports import ADDRESS, is_listening
from tests.support.recording_upstream import recording_upstream

NOBODY = 65534
README_BLOCK = re.compile(r"^    http \{\n(?:    .*\n|\n)*?    \}\n", re.MULTILINE)


_HTTP2_PARAMETER = 'the "listen ... http2" directive is deprecated'


def accepted(prefix: Path, configuration: Path, cwd: Path | None = None) -> None:
    """Check that nginx takes the configuration without so much as a warning.

    Newer versions warn of what nginx 1.22 alone can read, for which there is `--http2 directive`.
    """
    command = nginx_command(prefix, configuration, "-t")
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    said = [line for line in done.stderr.splitlines() if _HTTP2_PARAMETER not in line]
    complaints = [line for line in said if not line.startswith("nginx: ")]
    assert (done.returncode, complaints) == (0, []), done.stderr
    assert "[warn]" not in "".join(said)


def test_the_shipped_file_is_accepted_in_a_checkout(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    shutil.copytree(SHIPPED, tmp_path / "nginx")
    state = make_prefix(tmp_path / "var")
    shutil.copytree(edge_certificates.folder, state / "certs")
    accepted(Path("var"), tmp_path / "nginx/realmgate.conf", cwd=tmp_path)


@pytest.mark.parametrize("plain_http", PlainHttp)
@pytest.mark.parametrize("addresses", [(), ("127.0.0.1",), ("127.0.0.1", "[::1]")])
@pytest.mark.parametrize(
    "upstreams",
    [("unix:/srv/realmgate/run/gateway.sock",), ("127.0.0.1:8000", "[::1]:8000")],
)
def test_every_rendered_variant_is_accepted(
    tmp_path: Path,
    edge_certificates: EdgeCertificates,
    plain_http: PlainHttp,
    addresses: tuple[str, ...],
    upstreams: tuple[str, ...],
) -> None:
    site = make_site(
        edge_certificates.folder,
        upstreams,
        addresses=addresses,
        plain_http=plain_http,
        proxy_secret="0123456789abcdef~/+=._-",
    )
    prefix = make_prefix(tmp_path / "a prefix")
    accepted(prefix, render_nginx(site, prefix / "nginx files"))
    site = replace(site, http2=http2_of_nginx())
    configuration = render_nginx(site, prefix / "nginx files")
    accepted(prefix, configuration)
    command = nginx_command(prefix, configuration, "-t", "-q")
    assert subprocess.run(command, capture_output=True, check=False).stderr == b""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Return a folder that other users can reach, unlike tmp_path."""
    with tempfile.TemporaryDirectory(prefix="realmgate-nginx-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


def test_it_runs_unprivileged_from_any_prefix(
    open_folder: Path, edge_certificates: EdgeCertificates
) -> None:
    prefix = make_prefix(open_folder / "prefix")
    certificates = shutil.copytree(edge_certificates.folder, prefix / "certs")
    # Only root can become somebody else; anybody else is unprivileged already.
    user = NOBODY if os.geteuid() == 0 else None
    if user is not None:
        for path in (open_folder, *open_folder.rglob("*")):
            os.chown(path, user, user)
    with (
        recording_upstream(prefix / "run/gateway.sock") as upstream,
        start_nginx(prefix, certificates, [upstream.address], run_as=user) as nginx,
        nginx.client("device-1") as client,
    ):
        upstream.path.chmod(0o777)
        for listener in nginx.listeners:
            assert client.get(listener).status_code == 200
        assert client.post(nginx.mtls, content=b"x" * 65_536).status_code == 200
        assert client.get(nginx.http).status_code == 308
        if user is not None:
            assert (prefix / "run/nginx.pid").stat().st_uid == user


def test_people_alone_need_no_authority_and_no_revocation_list(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """A protected service has the same lines as ever, and no caller is asked for a certificate."""
    certificates = tmp_path / "certificates"
    certificates.mkdir()
    for name in ("server.crt", "server.key"):
        shutil.copy(edge_certificates.folder / name, certificates)
    prefix = make_prefix(tmp_path / "prefix")
    servers = prefix / "nginx/servers"
    servers.mkdir(parents=True)
    (servers / "app.conf").write_text(
        """server {
        include realmgate/site/listen-https.conf;
        server_name app.test;
        include realmgate/tls.conf;
        include realmgate/client-certificate-optional.conf;
        include realmgate/guard-server.conf;
        location / { include realmgate/guard.conf; proxy_pass http://127.0.0.1:1; }
        }"""
    )
    trust = ssl.create_default_context(cafile=edge_certificates.folder / "ca.crt")
    with (
        recording_upstream(prefix / "gateway.sock") as upstream,
        start_nginx(prefix, certificates, [upstream.address], client_certificates=False) as nginx,
        httpx2.Client(verify=trust, trust_env=False) as client,
    ):
        assert client.get(nginx.https).status_code == 200
        (asked,) = upstream.received
        assert asked.all("ssl-client-cert") == []
        assert not is_listening(nginx.site.mtls_port)
        assert not is_listening(nginx.site.self_signed_port)


def test_a_server_keeps_its_own_certificate(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """The shared TLS lines name none; without one of its own a server has the rendered one."""
    own = tmp_path / "own"
    create_pki(own, now=datetime.now(UTC), names=("own.test",))
    prefix = make_prefix(tmp_path / "prefix")
    servers = prefix / "nginx/servers"
    servers.mkdir(parents=True)
    lines = f"ssl_certificate {own}/server.crt; ssl_certificate_key {own}/server.key;"
    for name, certificate in (("own.test", lines), ("other.test", "")):
        (servers / f"{name}.conf").write_text(
            f"""server {{
            include realmgate/site/listen-https.conf;
            server_name {name};
            {certificate}
            include realmgate/tls.conf;
            include realmgate/client-certificate-optional.conf;
            include realmgate/guard-server.conf;
            location / {{ include realmgate/guard.conf; proxy_pass http://127.0.0.1:1; }}
            }}"""
        )
    rendered = edge_certificates.folder / "server.crt"
    with start_nginx(prefix, edge_certificates.folder, ["127.0.0.1:1"]) as nginx:
        for name, expected in (
            ("own.test", own / "server.crt"),
            ("other.test", rendered),
            ("localhost", rendered),
        ):
            shown = _certificate_shown_to(name, nginx.site.https_port)
            assert expected.read_text().startswith(shown.strip()), name


def _certificate_shown_to(name: str, port: int) -> str:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with (
        socket.create_connection((ADDRESS, port), timeout=10) as connection,
        context.wrap_socket(connection, server_hostname=name) as tls,
    ):
        der = tls.getpeercert(binary_form=True)
    assert der is not None
    return ssl.DER_cert_to_PEM_cert(der)


def test_the_command_renders_what_nginx_accepts(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    prefix = make_prefix(tmp_path / "prefix")
    secret = prefix / "proxy.secret"
    secret.write_text("a-secret-of-the-deployment\n")
    command = [sys.executable, "-m", "gateway", "nginx", "render"]
    options = {
        "--output": prefix / "nginx",
        "--certificates": edge_certificates.folder,
        "--upstream": f"unix:{prefix}/run/gateway.sock",
        "--https-port": "18443",
        "--http-port": "18080",
        "--public-url": "https://id.realmgate.test/auth",
        "--address": "127.0.0.1",
        "--proxy-secret-file": secret,
    }
    command += [str(word) for option in options.items() for word in option]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert shown.strip() == str(prefix / "nginx/realmgate.conf")
    accepted(prefix, Path(shown.strip()))
    site = prefix / "nginx/realmgate/site"
    assert (site / "listen-https.conf").read_text() == "listen 127.0.0.1:18443 ssl http2;\n"
    assert "id[.]realmgate[.]test" in (site / "hosts.conf").read_text()
    assert '"a-secret-of-the-deployment"' in (site / "proxy-secret.conf").read_text()


_CHOSEN = (
    *("--upstream", "unix:/run/a.sock", "--upstream", "127.0.0.1:9000"),
    *("--certificates", "certificates", "--without-client-certificates"),
    *("--https-port", "18443", "--mtls-port", "18444", "--self-signed-port", "18445"),
    *("--http-port", "18080", "--public-url", "https://id.test", "--address", "[::1]"),
    *("--plain-http", "forward", "--connections-per-address", "7", "--revocation", "gateway"),
    *("--http2", "directive", "--proxy-secret-file", "secret", "--user", "nobody"),
    *("--certificate-header", "x-client-certificate"),
)


def test_rendering_again_keeps_the_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every option is kept; one that is given replaces the kept one."""
    (tmp_path / "secret").write_text("a-secret-of-the-deployment")
    output = tmp_path / "nginx"
    monkeypatch.chdir(tmp_path)

    def rendered(*options: str) -> dict[str, str]:
        done = CliRunner().invoke(render, ["--output", str(output), *options])
        assert done.exit_code == 0, done.output
        return {
            str(path.relative_to(output)): path.read_text()
            for path in sorted(output.rglob("*"))
            if path.is_file()
        }

    first = rendered(*_CHOSEN)
    monkeypatch.chdir("/")
    assert rendered() == first
    options = json.loads(first.pop("realmgate/render-options.json"))
    assert not [name for name, text in first.items() if "18446" in text]
    assert "a-secret-of-the-deployment" not in json.dumps(options)
    assert {option.name for option in render.params} - set(options) == {"output", "source"}
    changed = rendered("--https-port", "18446")
    assert "18446" in changed["realmgate/site/listen-https.conf"]
    assert changed["realmgate/site/hosts.conf"] == first["realmgate/site/hosts.conf"]
    assert rendered() == changed


def test_operators_servers_are_included_last_and_survive_renders(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    """The first server of a listener is its default: that is the gateway's."""
    prefix = make_prefix(tmp_path)
    site = make_site(edge_certificates.folder, ["127.0.0.1:8000"])
    own = prefix / "nginx/servers/app.conf"
    own.parent.mkdir(parents=True)
    own.write_text(
        "server { include realmgate/site/listen-https.conf; server_name app.example.test;"
        " include realmgate/tls.conf; include realmgate/client-certificate-optional.conf;"
        " include realmgate/guard-server.conf; location / { include realmgate/guard.conf;"
        " proxy_pass http://127.0.0.1:3000; } }\n"
    )
    for _ in range(2):
        configuration = render_nginx(site, prefix / "nginx")
    accepted(prefix, configuration)
    (http,) = dump(prefix, configuration).children("http")
    *gateways, last = http.children("server")
    assert len(gateways) == 4
    assert last.value("server_name") == "app.example.test"


EXAMPLES = README_BLOCK.findall((SHIPPED / "README.md").read_text())


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize("example", EXAMPLES, ids=["gateway", "protected service"])
def test_the_examples_of_the_readme_are_accepted(
    tmp_path: Path, edge_certificates: EdgeCertificates, example: str, *, cached: bool
) -> None:
    site = make_site(edge_certificates.folder, ["127.0.0.1:8000"])
    render_nginx(site, tmp_path)
    (tmp_path / "run").mkdir()
    example = example.replace("443", str(site.https_port)).replace("/var/log/nginx", str(tmp_path))
    if cached:
        example = example.replace("guard-server.conf", "guard-cache.conf").replace(
            "realmgate/http.conf;", "realmgate/http.conf; include realmgate/guard-cache-zone.conf;"
        )
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(f"pid nginx.pid;\nevents {{}}\n{example}")
    accepted(tmp_path, configuration)


def test_every_server_states_its_header_rules_and_limits(edge: Edge) -> None:
    (http,) = dump(edge.nginx.prefix, edge.nginx.configuration).children("http")
    servers = list(http.children("server"))
    assert len(servers) == 4
    for server in servers:
        assert server.value("underscores_in_headers") == "off"
        assert server.value("ignore_invalid_headers") == "on"
        assert server.value("client_max_body_size") == "64k"
        for name in ("client_header_timeout", "client_body_timeout", "send_timeout"):
            assert 0 < int(server.value(name).removesuffix("s")) <= 15


def test_realm_imports_have_minutes_and_all_else_half_a_minute(edge: Edge) -> None:
    (http,) = dump(edge.nginx.prefix, edge.nginx.configuration).children("http")
    for server in http.children("server"):
        assert server.value("proxy_read_timeout") == "30s"
        for location in server.children("location"):
            own = [line.arguments[1] for line in location.children("proxy_read_timeout")]
            name = location.arguments[-1]
            page = ["5s"] if name.startswith("@realmgate_") else []
            assert own == (["10m"] if name.endswith("/admin/") else page)


def test_chains_with_two_intermediate_authorities_are_followed(edge: Edge) -> None:
    """With nginx's own limit of 1 such a client meets a 400 that explains nothing."""
    (http,) = dump(edge.nginx.prefix, edge.nginx.configuration).children("http")
    depths = [
        int(server.value("ssl_verify_depth"))
        for server in http.children("server")
        if any(server.children("ssl_protocols"))
    ]
    assert depths == [3, 3, 3]


def test_the_redirect_names_no_default_port(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    site = make_site(edge_certificates.folder, ["127.0.0.1:8000"], https_port=443)
    render_nginx(site, tmp_path)
    text = (tmp_path / "realmgate/site/public-address.conf").read_text()
    assert 'map "" $realmgate_public_address { default "localhost"; }\n' in text
