"""A static answer of a token's size on a unix socket: a gateway that costs nothing."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.processes import SERVER_CORES, running, until

_ANSWER = "x" * 1500
_CONFIGURATION = """
worker_processes 1;
{user}pid {prefix}/nginx.pid;
events {{ worker_connections 2048; }}
http {{
    access_log off;
    keepalive_requests 100000000;
    client_body_temp_path {prefix}/body;
    proxy_temp_path {prefix}/proxy;
    fastcgi_temp_path {prefix}/fastcgi;
    uwsgi_temp_path {prefix}/uwsgi;
    scgi_temp_path {prefix}/scgi;
    server {{
        listen unix:{prefix}/static.sock;
        location / {{ return 200 "{answer}"; }}
    }}
}}
"""


@dataclass(frozen=True, slots=True)
class StaticAnswer:
    """The running server and its socket."""

    process: subprocess.Popen[bytes]
    socket: Path


@contextmanager
def static_answer(prefix: Path) -> Iterator[StaticAnswer]:
    """Run it on the server's core."""
    prefix.mkdir(mode=0o700)
    configuration = prefix / "nginx.conf"
    configuration.write_text(
        _CONFIGURATION.format(
            prefix=prefix, answer=_ANSWER, user="user root;\n" if os.geteuid() == 0 else ""
        )
    )
    log = prefix / "error.log"
    log.touch()
    command: list[str | Path] = [
        "nginx",
        "-p",
        prefix,
        "-c",
        configuration,
        "-e",
        log,
        "-g",
        "daemon off;",
    ]
    with running(command, cores=SERVER_CORES, log=log) as process:
        until((prefix / "nginx.pid").exists, "the static answer", process, log)
        yield StaticAnswer(process, prefix / "static.sock")
