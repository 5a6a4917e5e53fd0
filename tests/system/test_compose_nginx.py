"""nginx as docker-compose.yml runs it: reloaded when its certificates or lists are replaced."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml

from gateway.cli.nginx import render_nginx
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import descendants, until
from tests.support.nginx import DEADLINE, RunningNginx, make_prefix, make_site, nginx_command
from tests.system.test_nginx_reload import revoke_client, status

_COMPOSE = Path(__file__).parents[2] / "docker-compose.yml"
_ACCEPTED, _REFUSED = 502, 400
"""There is no gateway behind this nginx."""


def _script(prefix: Path, certificates: Path) -> str:
    """Return the service's own script, for folders of this machine and without its pauses."""
    service: dict[str, Any] = yaml.safe_load(_COMPOSE.read_text())["services"]["nginx"]
    assert service["entrypoint"] == ["sh", "-c"]
    (script,) = service["command"]
    binary = nginx_command(prefix, prefix)[0]
    changes = {
        "$$": "$",
        "/srv/state": str(prefix),
        "/srv/certs": str(certificates),
        "sleep 10": "sleep 0.1",
        "nginx -p": f"{binary} -p",
    }
    for old, new in changes.items():
        assert old in script, old
        script = script.replace(old, new)
    return str(script)


@pytest.fixture
def service(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> Iterator[tuple[RunningNginx, subprocess.Popen[bytes]]]:
    """Run the script with certificates of its own."""
    certificates = shutil.copytree(edge_certificates.folder, tmp_path / "certs")
    prefix = make_prefix(tmp_path / "state")
    site = make_site(certificates, [f"unix:{prefix}/run/none.sock"])
    configuration = render_nginx(site, prefix / "nginx")
    with (tmp_path / "output").open("wb") as output:
        process = subprocess.Popen(
            ["sh", "-c", _script(prefix, certificates)], stdout=output, stderr=output
        )
    nginx = RunningNginx(prefix, configuration, site, process.pid)
    try:
        until(lambda: _is_listening(nginx), "nginx does not answer")
        yield nginx, process
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait(DEADLINE)


def _is_listening(nginx: RunningNginx) -> bool:
    try:
        return status(nginx, "device-1") == _ACCEPTED
    except httpx2.TransportError:
        return False


def test_nginx_refuses_a_revoked_certificate_without_a_restart(
    service: tuple[RunningNginx, subprocess.Popen[bytes]],
) -> None:
    nginx, process = service
    assert status(nginx, "device-1") == _ACCEPTED
    revoke_client(nginx.site.certificates, "device-1")
    until(lambda: status(nginx, "device-1") == _REFUSED, "nginx was not reloaded")
    assert status(nginx, "device-2") == _ACCEPTED
    assert process.poll() is None


def test_the_service_ends_with_nginx(
    service: tuple[RunningNginx, subprocess.Popen[bytes]],
) -> None:
    nginx, process = service
    process.send_signal(signal.SIGQUIT)
    assert process.wait(DEADLINE) == 0
    assert descendants(nginx.pid) == []
