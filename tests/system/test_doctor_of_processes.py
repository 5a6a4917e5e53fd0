"""The doctor sees what runs: a stopped gateway, and an nginx that has not read its files."""

import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gateway.cli.nginx import render_nginx
from tests.support.chains import CA, issue
from tests.support.edge_certificates import EdgeCertificates
from tests.support.forked_gateway import run_command
from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.nginx import PROXY_SECRET, RunningNginx, start_nginx

RELOADED = "these files were changed later: "


@dataclass(frozen=True, slots=True)
class Installation:
    """A gateway, the nginx in front of it, and the files of both."""

    folder: Path
    gateway: Gateway
    nginx: RunningNginx

    @property
    def certificates(self) -> Path:
        return self.folder / "certificates"

    def examine(self, *options: str, **settings: object) -> tuple[int, str]:
        settings = {
            "state_dir": self.gateway.state_dir,
            "management_port": self.gateway.management_url.rpartition(":")[2],
            "public_url": self.nginx.https,
            "proxy_secret": PROXY_SECRET,
            "client_ca_file": self.certificates / "ca.crt",
            "client_crl_file": self.certificates / "ca.crl",
        } | settings
        variables = {f"REALMGATE_{name.upper()}": str(value) for name, value in settings.items()}
        done = run_command(
            ["doctor", *options],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"]} | variables,
            timeout=60,
        )
        return done.returncode, done.stdout + done.stderr

    def reload(self) -> None:
        """Let nginx read its files again, and wait for its new workers."""
        os.kill(self.nginx.pid, signal.SIGHUP)
        until(lambda: RELOADED not in self.examine()[1], "nginx was not reloaded")


@pytest.fixture
def installation(tmp_path: Path, edge_certificates: EdgeCertificates) -> Iterator[Installation]:
    certificates = tmp_path / "certificates"
    shutil.copytree(edge_certificates.folder, certificates)
    address = f"unix:{tmp_path / 'state/run/gateway.sock'}"
    with (
        start_nginx(tmp_path, certificates, [address], proxy_secret=PROXY_SECRET) as nginx,
        start_gateway(
            tmp_path,
            public_url=nginx.https,
            proxy_secret=PROXY_SECRET,
            client_ca_file=certificates / "ca.crt",
            client_crl_file=certificates / "ca.crl",
        ) as gateway,
    ):
        yield Installation(tmp_path, gateway, nginx)


def test_what_runs_is_examined_without_being_named(installation: Installation) -> None:
    code, said = installation.examine()
    assert (code, said.count("WRONG")) == (0, 0), said
    assert f"ok    The gateway answers on unix:{installation.gateway.socket}." in said
    assert "ok    The gateway reports that it is ready." in said
    assert f"ok    nginx (process {installation.nginx.pid}) has read its files as they are." in said


def test_a_stopped_gateway_is_reported(installation: Installation) -> None:
    installation.gateway.process.terminate()
    until(lambda: not installation.gateway.has_listener(), "the gateway still listens")
    code, said = installation.examine()
    assert code == 1, said
    address = f"unix:{installation.gateway.socket}"
    assert f"WRONG The gateway does not run: nothing listens on {address}." in said
    assert "Remedy: systemctl start realmgate" in said


def test_files_that_nginx_has_not_read_are_named(installation: Installation) -> None:
    """Of its configuration, of its certificates, and of its revocation lists."""
    folder = installation.nginx.configuration.parent
    new = folder / "servers/new.conf"
    new.parent.mkdir(exist_ok=True)
    new.write_text("server { listen 127.0.0.1:1; server_name later.test; return 404; }")
    files = (
        new,
        folder / "realmgate/site/proxy-secret.conf",
        installation.certificates / "ca.crl",
        installation.certificates / "server.crt",
    )
    for file in files:
        code, said = installation.examine() if file is new else _changed(installation, file)
        assert code == 1, said
        assert f"{RELOADED}{file}." in said
        assert f"-c {installation.nginx.configuration} -s reload" in said
        new.unlink(missing_ok=True)
        installation.reload()


def _changed(installation: Installation, file: Path) -> tuple[int, str]:
    """Replace a file by an older one, as `mv` and `cp -p` do."""
    older = file.with_name("older")
    shutil.copy(file, older)
    os.utime(older, (1, 1))
    older.replace(file)
    return installation.examine("--nginx", str(installation.nginx.configuration.parent))


def test_files_with_which_nginx_cannot_be_reloaded(installation: Installation) -> None:
    """They are named whether nginx or the doctor is asked for the configuration."""
    gone, main = installation.certificates / "server.crt", installation.nginx.configuration
    content = gone.read_bytes()
    gone.unlink()
    for options in ((), ("--nginx", str(main))):
        code, said = installation.examine(*options)
        assert code == 1, said
        assert f"WRONG {gone}, which nginx (process {installation.nginx.pid}) has read, is" in said
        assert "cannot be reloaded or started again: nginx -t failed: cannot load" in said
        assert f"-c {main} -t; shows whether nginx accepts its files" in said
    gone.write_bytes(content)
    main.write_text(f"{main.read_text()}\nunknown_directive on;\n")
    code, said = installation.examine()
    assert code == 1, said
    assert 'nginx -t failed: unknown directive "unknown_directive"' in said


def test_an_nginx_with_another_file_than_the_examined_one(
    installation: Installation, tmp_path: Path
) -> None:
    other = render_nginx(installation.nginx.site, tmp_path / "other")
    code, said = installation.examine("--nginx", str(other))
    running = installation.nginx.configuration
    assert code == 1, said
    assert f"nginx runs with {running} (process {installation.nginx.pid}), and not with the" in said
    # It leads to another gateway.
    site = replace(installation.nginx.site, upstreams=("unix:/run/another.sock",))
    other = render_nginx(site, tmp_path / "other")
    settings = {"listen": "unix:/run/another.sock"}
    _, said = installation.examine("--nginx", str(other), **settings)
    assert "nginx runs with" not in said


def test_one_wrong_secret_is_one_finding(installation: Installation) -> None:
    code, said = installation.examine(proxy_secret="another-secret-than-that-of-nginx")
    assert code == 1
    assert said.count("sends another proxy secret than the gateway requires") == 1, said
    assert said.count("proxy-secret.conf:1 proxy-secret") == 1
    assert " more places of nginx)" in said


def test_an_authority_without_a_revocation_list_is_named(installation: Installation) -> None:
    """Of the files of the settings, and of those of nginx."""
    bundle = installation.certificates / "ca.crt"
    further = issue("without a list", None, CA)
    both = installation.folder / "both.crt"
    both.write_text(bundle.read_text() + further.pem)
    lists = installation.certificates / "ca.crl"
    problem = f"The authority CN=without a list has no usable revocation list in {lists} (there is"
    code, said = installation.examine(client_ca_file=both)
    assert code == 1, said
    assert said.count(f"WRONG {problem}") == 1, said
    bundle.write_text(both.read_text())
    code, said = installation.examine()
    assert code == 1, said
    assert said.count(problem) == 1, said
    own = installation.folder / "own.crt"
    own.write_text(both.read_text().removesuffix(further.pem))
    code, said = installation.examine(client_ca_file=own)
    assert code == 1, said
    assert said.count(problem) == 1, said
    assert "client-authorities.conf:2 revocation-list" in said
