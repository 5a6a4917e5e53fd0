"""Keycloak in production mode, behind the same nginx, pinned like Realmgate.

Its distribution comes from Maven's registry once and stays, built, in the user's cache folder.
"""

import json
import os
import shutil
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path
from typing import Any

from bench.administrators import ADMIN_PASSWORD, ADMINISTRATOR, MASTER, administrator_form
from bench.people import token_path
from bench.processes import BOTH_CORES, SERVER_CORES, BenchError, output_of, running, until
from bench.stack import TOKEN_LIFESPAN, Site, Stack, nginx
from bench.workspace import Workspace, free_port

VERSION = "26.7.3"
_ARTIFACT = f"org.keycloak:keycloak-quarkus-dist:{VERSION}:zip"
_BUILD = ("build", "--db=dev-file")
_HEAP = "-Xms1g -Xmx1g"
_FETCH_SECONDS = 900
_BUILD_SECONDS = 600
_START_SECONDS = 400
_PROGRAMS = {"java": "Java (17 or later)", "mvn": "Maven"}


@contextmanager
def keycloak(
    workspace: Workspace,
    site: Site,
    realms: Sequence[Mapping[str, object]] = (),
    *,
    password_policy: str = "",
) -> Iterator[Stack]:
    """Run Keycloak with an empty database and these realms, and an nginx on its core.

    Its administrators are the service account of bench/administrators.py and the user `admin`. The
    realm master has the password policy.
    """
    home = workspace.folder / f"keycloak-{site.state.name}"
    shutil.copytree(_built_distribution(), home)
    port = free_port()
    log = home / "keycloak.log"
    options = [f"--http-port={port}", "--http-host=127.0.0.1", "--http-enabled=true"]
    options += ["--hostname=https://localhost:8443", "--proxy-headers=xforwarded", "--cache=local"]
    command: list[str | Path] = ["sh", home / "bin" / "kc.sh", "start", "--optimized", *options]
    environment = {
        **_environment(),
        "JAVA_OPTS_KC_HEAP": _HEAP,
        "KC_BOOTSTRAP_ADMIN_CLIENT_ID": ADMINISTRATOR.client,
        "KC_BOOTSTRAP_ADMIN_CLIENT_SECRET": ADMINISTRATOR.secret,
        "KC_BOOTSTRAP_ADMIN_USERNAME": "admin",
        "KC_BOOTSTRAP_ADMIN_PASSWORD": ADMIN_PASSWORD,
    }
    with running(
        command, cores=SERVER_CORES, log=log, environment=environment, cwd=home
    ) as process:
        until(lambda: _answers(port), "Keycloak", process, log, _START_SECONDS)
        _prepare(port, realms, password_policy)
        with nginx(site, f"127.0.0.1:{port}", SERVER_CORES) as (server, mtls, https):
            yield Stack(process, server, mtls, https, 0, site, port)


def _built_distribution() -> Path:
    """Return the folder of the distribution, fetched and built if it is not in the cache."""
    _require_programs()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "realmgate-bench"
    built = cache / f"keycloak-{VERSION}"
    if built.exists():
        return built
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache) as folder:
        unpacked = _fetch(Path(folder))
        build: list[str | Path] = ["sh", unpacked / "bin" / "kc.sh", *_BUILD]
        output_of(build, cores=BOTH_CORES, seconds=_BUILD_SECONDS, environment=_environment())
        unpacked.rename(built)
    return built


def _require_programs() -> None:
    missing = [name for program, name in _PROGRAMS.items() if shutil.which(program) is None]
    if missing:
        raise BenchError(f"Keycloak needs {' and '.join(missing)}: not installed")


def _fetch(folder: Path) -> Path:
    """Copy the distribution from Maven's registry and unpack it."""
    copy = ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact={_ARTIFACT}"]
    copy.append(f"-DoutputDirectory={folder}")
    output_of(copy, cores=BOTH_CORES, seconds=_FETCH_SECONDS, environment=dict(os.environ))
    with zipfile.ZipFile(next(folder.glob("*.zip"))) as archive:
        archive.extractall(folder)
    return folder / f"keycloak-{VERSION}"


def _environment() -> dict[str, str]:
    """Return the variables by which kc.sh finds Java; settings of the caller's are left out."""
    names = ("PATH", "HOME", "JAVA_HOME", "LANG")
    return {name: os.environ[name] for name in names if name in os.environ}


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/realms/{MASTER}", timeout=10) as got:
            return bool(got.status == HTTPStatus.OK)
    except (OSError, HTTPException):
        return False


def _prepare(port: int, realms: Sequence[Mapping[str, object]], password_policy: str) -> None:
    """Let the administrator's tokens outlive the measurement, and add the realms."""
    token = _token(port)
    master = {"accessTokenLifespan": TOKEN_LIFESPAN, "passwordPolicy": password_policy}
    _send(port, "PUT", f"/admin/realms/{MASTER}", json.dumps(master), token)
    for realm in realms:
        _send(port, "POST", "/admin/realms", json.dumps(realm), token)


def _token(port: int) -> str:
    document: dict[str, Any] = json.loads(
        _send(port, "POST", token_path(MASTER), administrator_form())
    )
    return str(document["access_token"])


def _send(port: int, method: str, path: str, body: str, token: str = "") -> bytes:
    kind = "application/json" if token else "application/x-www-form-urlencoded"
    headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {token}"} if token else {})
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}", body.encode(), headers, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=120) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        raise BenchError(
            f"Keycloak: {method} {path}: {error.code} {error.read()[:300]!r}"
        ) from None
