"""The real thing: nginx from the shipped files, in front of `realmgate start` on a unix socket.

Each stack has its own state folder, SQLite database, private redis-server and nginx, on the cores
it is given.
"""

import json
import os
import resource
import secrets
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench.processes import (
    SERVER_CORES,
    BenchError,
    family,
    name_of,
    output_of,
    processor_seconds,
    running,
    until,
)
from bench.workspace import Workspace, free_port

REALM = "bench"
ES256_REALM = "bench-es256"
CLIENT = "device"
PROVING_CLIENT = "proving-device"
"""Authenticates as CLIENT does; its tokens are not bound to the certificate."""
PUBLIC_URL = "https://localhost:8443"
SUBJECT = "CN=device-1,OU=Devices,O=Realmgate Demonstration"
TOKEN_LIFESPAN = 36_000
"""Seconds: tokens outlive a run."""
_REALMGATE = Path(sys.executable).with_name("realmgate")


@dataclass(frozen=True, slots=True)
class Site:
    """A prepared state folder: database with the realms of the measurements, certificates."""

    state: Path
    certificates: Path
    tree: Path | None = None
    """Another checkout whose program runs, with the packages installed for this one."""

    @property
    def program(self) -> tuple[str | Path, ...]:
        """Return the command that the arguments of `realmgate` follow."""
        return (_REALMGATE,) if self.tree is None else (sys.executable, "-m", "gateway")

    def environment(self, **settings: object) -> dict[str, str]:
        """Return the environment of a gateway on this state; `settings` as in `.env.example`."""
        own = {
            "state_dir": self.state,
            "client_ca_file": self.certificates / "ca.crt",
            "client_crl_file": self.certificates / "ca.crl",
            "proxy_secret_file": self.state / "proxy.secret",
            "public_url": PUBLIC_URL,
        } | settings
        names = {f"REALMGATE_{name.upper()}": str(value) for name, value in own.items()}
        first = [str(self.state / "hidden"), *([str(self.tree)] if self.tree else [])]
        return {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(first), **names}


@dataclass(frozen=True, slots=True)
class Stack:
    """A running gateway behind its running nginx."""

    gateway: subprocess.Popen[bytes]
    nginx: subprocess.Popen[bytes]
    mtls_port: int
    https_port: int
    management_port: int
    site: Site
    http_port: int = 0
    """Where the gateway itself listens on TCP; 0 where it has a unix socket."""

    def gateway_seconds(self) -> float:
        """Return the processor time of the gateway's processes."""
        return processor_seconds(self.gateway.pid)

    def nginx_seconds(self) -> float:
        """Return the processor time of nginx's processes."""
        return processor_seconds(self.nginx.pid)

    def gateway_processes(self) -> list[int]:
        """Return supervisor and workers; the private redis-server is not among them."""
        return [pid for pid in family(self.gateway.pid) if "redis" not in name_of(pid)]

    def redis_processes(self) -> list[int]:
        """Return the private redis-server."""
        return [pid for pid in family(self.gateway.pid) if "redis" in name_of(pid)]


@dataclass(frozen=True, slots=True)
class Start:
    """How a stack is started."""

    cores: str = SERVER_CORES
    nginx_cores: str | None = None
    """Where nginx is not to share the gateway's cores."""
    nginx_batch: bool = False
    """Whether nginx, when it has something to do, waits until the gateway pauses."""
    http_port: int = 0
    """Where the gateway is to listen on TCP instead of a unix socket."""
    nginx_servers: str = ""
    """What stands in nginx's http {} beside the shipped files."""
    settings: dict[str, object] = field(default_factory=dict)


def make_certificates(workspace: Workspace) -> Path:
    """Make a development PKI."""
    folder = workspace.folder / "certs"
    output_of([_REALMGATE, "certs", "init", "--directory", folder], cores="0,1", seconds=60)
    return folder


def make_site(
    workspace: Workspace, name: str, certificates: Path, tree: Path | None = None
) -> Site:
    """Make a state folder whose database holds the two realms of the measurements."""
    state = workspace.new_folder(name)
    secret = state / "proxy.secret"
    secret.write_text(secrets.token_urlsafe(32))
    secret.chmod(0o600)
    site = Site(state, certificates, tree)
    _hide_what_only_tests_bring(state / "hidden")
    import_realms(site, realm_documents())
    return site


def import_realms(
    site: Site, documents: Sequence[Mapping[str, object]], **settings: object
) -> None:
    """Import realms and what they hold, as an operator would."""
    file = site.state / "realms.json"
    file.write_text(json.dumps(documents))
    command = [*site.program, "realm", "import", "--reference", file]
    environment = site.environment(**settings)
    output_of(command, cores="0,1", seconds=120, environment=environment, cwd=site.state)


def _hide_what_only_tests_bring(folder: Path) -> None:
    """Keep structlog from importing rich, and redis the SDK: no installation for use has them."""
    for package in ("rich", "opentelemetry/sdk"):
        (folder / package).mkdir(parents=True)
        (folder / package / "__init__.py").write_text("raise ImportError\n")


def realm_documents() -> list[dict[str, object]]:
    """Return the realms: as the reference configuration's, with tokens that outlive a run."""
    return [_realm(REALM, "RS256"), _realm(ES256_REALM, "ES256")]


def _realm(name: str, algorithm: str) -> dict[str, object]:
    return {
        "realm": name,
        "enabled": True,
        "sslRequired": "all",
        "accessTokenLifespan": TOKEN_LIFESPAN,
        "defaultSignatureAlgorithm": algorithm,
        "browserSecurityHeaders": {"xFrameOptions": "SOMEORIGIN"},
        "clients": [client_document(CLIENT), client_document(PROVING_CLIENT, bound=False)],
    }


def client_document(client_id: str, *, bound: bool = True) -> dict[str, object]:
    """Return a client as demo-device is: known by the certificate, its tokens `bound` to it."""
    return {
        "clientId": client_id,
        "clientAuthenticatorType": "client-x509",
        "standardFlowEnabled": False,
        "serviceAccountsEnabled": True,
        "attributes": {
            "x509.subjectdn": SUBJECT,
            "x509.allow.regex.pattern.comparison": "false",
            "tls.client.certificate.bound.access.tokens": str(bound).lower(),
        },
        "protocolMappers": [
            {
                "name": "audience",
                "protocol": "openid-connect",
                "protocolMapper": "oidc-audience-mapper",
                "config": {"included.client.audience": client_id, "access.token.claim": "true"},
            }
        ],
    }


@contextmanager
def stack(site: Site, start: Start | None = None) -> Iterator[Stack]:
    """Run a gateway and its nginx, from ready to end."""
    start = start or Start()
    listen = f"unix:{site.state / 'run' / f'gateway-{free_port()}.sock'}"
    if start.http_port:
        listen = f"127.0.0.1:{start.http_port}"
    with (
        gateway(site, start, listen) as (process, management),
        nginx(
            site,
            listen,
            start.nginx_cores or start.cores,
            batch=start.nginx_batch,
            servers=start.nginx_servers,
        ) as (server, mtls, https),
    ):
        yield Stack(process, server, mtls, https, management, site, start.http_port)


@contextmanager
def gateway(site: Site, start: Start, listen: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run `realmgate start` until it is ready, and to the end of the block."""
    port = free_port()
    settings = {"listen": listen, "management_port": port} | start.settings
    if start.http_port:
        settings["trusted_proxies"] = "127.0.0.1"
    log = site.state / f"gateway-{port}.log"
    with running(
        [*site.program, "start"],
        cores=start.cores,
        log=log,
        environment=site.environment(**settings),
        cwd=site.state,
    ) as process:
        until(lambda: is_ready(port), "the gateway", process, log)
        workers = int(str(settings.get("workers", 1)))
        # Readiness is one worker's word: where there are more, wait for all of them.
        until(lambda: workers == 1 or _ready_workers(log) >= workers, "a worker", process, log)
        yield process, port


def _ready_workers(log: Path) -> int:
    return log.read_text(errors="replace").count('"worker ready"')


def is_ready(management_port: int) -> bool:
    """Ask the management listener."""
    try:
        url = f"http://127.0.0.1:{management_port}/health/ready"
        with urllib.request.urlopen(url, timeout=2) as answer:
            return bool(answer.status == 200)  # noqa: PLR2004
    except OSError:
        return False


@contextmanager
def nginx(
    site: Site, upstream: str, cores: str, *, batch: bool = False, servers: str = ""
) -> Iterator[tuple[subprocess.Popen[bytes], int, int]]:
    """Run the shipped nginx in front of `upstream`, with further `servers`."""
    https, mtls, self_signed, http = (free_port() for _ in range(4))
    prefix = site.state / f"nginx-{mtls}"
    for folder in (prefix, prefix / "run", prefix / "logs"):
        folder.mkdir(mode=0o700)
    command: list[str | Path] = [_REALMGATE, "nginx", "render"]
    command += ["--output", prefix / "conf", "--upstream", upstream]
    command += ["--certificates", site.certificates, "--address", "127.0.0.1"]
    command += ["--proxy-secret-file", site.state / "proxy.secret"]
    command += ["--https-port", str(https), "--mtls-port", str(mtls)]
    command += ["--self-signed-port", str(self_signed), "--http-port", str(http)]
    if os.geteuid() == 0:
        command += ["--user", "root"]
    output_of(command, cores="0,1", seconds=30)
    configuration = prefix / "conf" / "realmgate.conf"
    text = configuration.read_text().rstrip().removesuffix("}")
    configuration.write_text(f"{text}{servers}}}\n")
    log = prefix / "logs" / "error.log"
    log.touch()
    server: list[str | Path] = ["chrt", "--batch", "0"] if batch else []
    server += ["nginx", "-p", prefix, "-c", configuration]
    server += ["-e", log, "-g", "daemon off;"]
    with running(server, cores=cores, log=log) as process:
        until((prefix / "run" / "nginx.pid").exists, "nginx", process, log)
        yield process, mtls, https


def seconds_to_ready(site: Site) -> float:
    """Return how long a start takes until readiness, with the database as it is."""
    port = free_port()
    log = site.state / f"gateway-{port}.log"
    socket = site.state / "run" / f"gateway-{port}.sock"
    environment = site.environment(listen=f"unix:{socket}", management_port=port)
    began = time.perf_counter()
    with running(
        [_REALMGATE, "start"],
        cores=SERVER_CORES,
        log=log,
        environment=environment,
        cwd=site.state,
    ) as process:
        until(lambda: is_ready(port), "the gateway", process, log)
        return time.perf_counter() - began


def processor_seconds_of_command(site: Site, *arguments: str) -> float:
    """Return the processor time of a command on the database of the site, user and system."""
    before = _of_children()
    environment = site.environment()
    output_of([_REALMGATE, *arguments], cores=SERVER_CORES, seconds=60, environment=environment)
    return _of_children() - before


def _of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds_to_help() -> float:
    """Return how long `realmgate --help` takes."""
    began = time.perf_counter()
    text = output_of([_REALMGATE, "--help"], cores=SERVER_CORES, seconds=20)
    taken = time.perf_counter() - began
    if "Usage" not in text:
        raise BenchError("realmgate --help prints no help")
    return taken
