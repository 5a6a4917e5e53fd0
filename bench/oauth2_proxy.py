"""oauth2-proxy, the peer of a decision about a browser's session, pinned like Realmgate.

Go's module proxy has it; built, it stays in the user's cache folder, as Keycloak does.
"""

import base64
import hashlib
import os
import re
import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.processes import SERVER_CORES, BenchError, output_of, running, until
from bench.workspace import Workspace

VERSION = "v7.15.3"
_MODULE = f"github.com/oauth2-proxy/oauth2-proxy/v7@{VERSION}"
_USER, _PASSWORD = "person", "of-nobody"
_BUILD_SECONDS = 900
_COOKIE = re.compile(r"^set-cookie: (_oauth2_proxy=[^;]+)", re.IGNORECASE | re.MULTILINE)


@dataclass(frozen=True, slots=True)
class OAuth2Proxy:
    """A running oauth2-proxy, and the cookie of a browser that has signed in."""

    process: subprocess.Popen[bytes]
    socket: Path
    cookies: str


def built_program() -> Path:
    """Return the program; it is built once. Raises BenchError where Go cannot."""
    folder = Path.home() / ".cache" / "realmgate-bench" / f"oauth2-proxy-{VERSION}"
    program = folder / "oauth2-proxy"
    if not program.exists():
        environment = dict(os.environ) | {"GOBIN": str(folder)}
        try:
            output_of(
                ["go", "install", _MODULE],
                cores="0,1",
                seconds=_BUILD_SECONDS,
                environment=environment,
            )
        except (FileNotFoundError, subprocess.TimeoutExpired) as error:
            raise BenchError(f"oauth2-proxy cannot be built: {error}") from error
    return program


@contextmanager
def oauth2_proxy(workspace: Workspace, program: Path) -> Iterator[OAuth2Proxy]:
    """Run it on the server's core; its session is in the encrypted cookie, as by default."""
    folder = workspace.new_folder("oauth2-proxy")
    # The one sign-in of the run: what it costs is not measured.
    digest = hashlib.sha1(_PASSWORD.encode(), usedforsecurity=False).digest()
    users = folder / "users"
    users.write_text(f"{_USER}:{{SHA}}{base64.b64encode(digest).decode()}\n")
    socket, log = folder / "socket", folder / "log"
    command: list[str | Path] = [program, f"--http-address=unix://{socket}", "--provider=github"]
    command += ["--client-id=bench", "--client-secret=of-nobody", "--email-domain=*"]
    command += [f"--cookie-secret={secrets.token_hex(16)}", f"--htpasswd-file={users}"]
    command += ["--reverse-proxy=true", "--set-xauthrequest=true", "--upstream=static://202"]
    environment = {"PATH": os.environ["PATH"], "GOMAXPROCS": "1"}
    with running(command, cores=SERVER_CORES, log=log, environment=environment) as process:
        until(socket.exists, "oauth2-proxy", process, log)
        yield OAuth2Proxy(process, socket, _cookies(socket))


def _cookies(socket: Path) -> str:
    """Sign in with a password, as no browser would be measured doing."""
    command: list[str | Path] = ["curl", "-sS", "-i", "--unix-socket", socket]
    command += ["-H", "X-Forwarded-Proto: https", "-d", f"username={_USER}&password={_PASSWORD}"]
    answer = output_of([*command, "http://localhost/oauth2/sign_in"], cores="0,1", seconds=20)
    found = _COOKIE.search(answer)
    if found is None:
        raise BenchError(f"oauth2-proxy begins no session: {answer[:500]}")
    return found[1]
