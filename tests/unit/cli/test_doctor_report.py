"""The report of the doctor for people."""

import os
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from gateway.doctor.findings import Examination, ExaminationOutcome, Finding, text_lines
from gateway.doctor.nginx_examinations import examine_nginx
from gateway.doctor.nginx_scopes import GatewayFacts, NginxConfiguration, Proxy
from gateway.doctor.nginx_syntax import parse_configuration
from gateway.doctor.processes import RunningNginx, examine_gateway, running_nginx
from gateway.http.errors import UNMATCHED
from gateway.settings import read_settings


def test_findings_with_the_same_remedy_name_it_once() -> None:
    findings = (Finding("a", "do x"), Finding("b", "do x"), Finding("c", "do y"))
    examination = Examination("paths", ExaminationOutcome.WRONG, findings=findings)
    assert list(text_lines(examination)) == [
        "WRONG a",
        "WRONG b",
        "      Remedy: do x",
        "WRONG c",
        "      Remedy: do y",
    ]


def test_mistakes_are_merged_where_they_are_the_same() -> None:
    """A line in force in two locations is one; two mistakes of one line and remedy are two."""
    passed = "proxy_pass http://realmgate;"
    header = "proxy_set_header ssl-client-cert"
    facts = GatewayFacts("ssl-client-cert", None, "unix:/run/gateway.sock", is_local=True)
    found = []
    for text in (
        f"{header} $x;\n location /a {{ {passed} }} location /b {{ {passed} }}",
        f"location /a {{ {header} $x; {passed} }} location /b {{ {header} $y; {passed} }}",
    ):
        directives = parse_configuration(f"http {{ server {{ {text} }} }}", "nginx.conf")
        proxy = Proxy(NginxConfiguration(directives), facts)
        by_name = {each.name: each.findings for each in examine_nginx(proxy)}
        found.append([finding.problem for finding in by_name["certificate-variable"]])
    end = "as the certificate, which the gateway cannot read"
    assert found == [
        [f"location /a sends $x {end} (and in 1 more place of nginx)"],
        [f"location /a sends $x {end}", f"location /b sends $y {end}"],
    ]


def test_a_command_quotes_the_paths_of_processes() -> None:
    nginx = RunningNginx(1, Path("/etc/a b;c.conf"), Path("/srv/$(x)"), None)
    assert nginx.reload_command == "nginx -p '/srv/$(x)' -c '/etc/a b;c.conf' -s reload"


@contextmanager
def answering(family: int, address: Any, answer: bytes) -> Iterator[Any]:
    """Answer one connection; yield the address."""

    def reply() -> None:
        connection, _ = listener.accept()
        with closing(connection), suppress(OSError):
            connection.recv(4096)
            connection.sendall(answer[:1])
            connection.sendall(answer[1:])

    with closing(socket.socket(family)) as listener:
        listener.bind(address)
        listener.listen()
        thread = Thread(target=reply)
        thread.start()
        yield listener.getsockname()
        thread.join()


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\n\r\nhello",
        b'HTTP/1.1 404 Not Found\r\nContent-Length: 17\r\n\r\n{"error":"other"}',
        b"SSH-2.0-OpenSSH\r\n",
        b"",
    ],
)
def test_another_program_is_not_taken_for_the_gateway(tmp_path: Path, answer: bytes) -> None:
    settings = read_settings(state_dir=tmp_path, listen=f"unix:{tmp_path / 's'}")
    with answering(socket.AF_UNIX, str(tmp_path / "s"), answer):
        (examination,) = examine_gateway(settings)
    assert examination.outcome is ExaminationOutcome.WRONG
    assert examination.findings[0].problem.startswith("Another program than the gateway answers")


@pytest.mark.parametrize(
    "document",
    [
        *("[]", "1", '{"checks": 1}', '{"checks": [1]}', '{"checks": [{"status": "DOWN"}]}'),
        *('{"checks": [{"name": "x", "status": "DOWN", "data": [1]}]}', "[" * 200_000, "\xff"),
    ],
    ids=lambda document: document[:20],
)
def test_health_of_another_shape_is_not_examined(tmp_path: Path, document: str) -> None:
    gateway = f"HTTP/1.1 404 Not Found\r\n\r\n{UNMATCHED}".encode()
    health = f"HTTP/1.1 200 OK\r\n\r\n{document}".encode("latin-1")
    with (
        answering(socket.AF_UNIX, str(tmp_path / "s"), gateway),
        answering(socket.AF_INET, ("127.0.0.1", 0), health) as address,
    ):
        settings = read_settings(
            state_dir=tmp_path, listen=f"unix:{tmp_path / 's'}", management_port=address[1]
        )
        outcomes = [examination.outcome for examination in examine_gateway(settings)]
    assert outcomes == [ExaminationOutcome.OK, ExaminationOutcome.NOT_DONE]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts a process of another user")
@pytest.mark.parametrize(("user", "is_found"), [(0, True), (65_534, False)])
def test_only_masters_of_trusted_users_count(user: int, *, is_found: bool) -> None:
    """A process may have any title."""
    title = "nginx: master process nginx -p relative -c a.conf"
    program = shutil.which("sleep")
    assert program
    with subprocess.Popen([title, "60"], executable=program, user=user, cwd="/usr") as process:
        found = {each.process: each for each in running_nginx()}
        process.kill()
    assert (process.pid in found) is is_found
    if is_found:
        assert found[process.pid].main_file == Path("/usr/relative/a.conf")
