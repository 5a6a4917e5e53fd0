"""What runs here: the gateway, its own health checks, and the nginx that read the configuration.

nginx keeps what it read until it is reloaded, certificates and revocation lists included. Its
master names its configuration in its title, and its workers begin when it is read. Source:
https://nginx.org/en/docs/control.html; proc(5)
"""

import http.client
import json
import os
import re
import shlex
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from gateway.doctor.findings import Examination, ExaminationOutcome, Finding
from gateway.doctor.installation import (
    NginxUnreadable,
    find_program,
    has_database,
    read_nginx_output,
)
from gateway.doctor.nginx_scopes import NginxConfiguration
from gateway.doctor.nginx_syntax import Directive
from gateway.http.errors import UNMATCHED
from gateway.settings import TcpAddress

if TYPE_CHECKING:
    from gateway.settings import Settings

GATEWAY: Final = "gateway-process"
HEALTH: Final = "gateway-health"
NGINX: Final = "nginx-process"
NGINX_TEST: Final = "nginx-test"
_TIME_TO_ANSWER: Final = timedelta(seconds=3)
_LARGEST_ANSWER: Final = 256 * 1024
_LISTENERS_OF_ALL: Final = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared
_START: Final = "systemctl start realmgate, or realmgate start; its log says why it ended"


def examine_gateway(settings: "Settings") -> Iterator[Examination]:
    """Yield whether the gateway answers, and which of its health checks fail.

    Before the first start nothing is expected to run.
    """
    address = settings.listen
    try:
        answers = _answers(settings)
    except PermissionError:
        reason = f"this user may not connect to {address}: run doctor as the user of the gateway"
        yield Examination(GATEWAY, ExaminationOutcome.NOT_DONE, f"{reason}.")
        return
    except TimeoutError:
        problem = (
            f"The gateway does not answer at {address} within {_TIME_TO_ANSWER.seconds} seconds."
        )
        yield _wrong(GATEWAY, problem, "systemctl restart realmgate; its log says what it does")
        return
    except OSError:
        if not (has_database(settings) and (settings.state_dir / "run").exists()):
            text = f"the gateway was not started yet with the state folder {settings.state_dir}"
            yield Examination(GATEWAY, ExaminationOutcome.NOT_DONE, f"{text}.")
            return
        yield _wrong(GATEWAY, f"The gateway does not run: nothing listens on {address}.", _START)
        return
    if not answers:
        problem = f"Another program than the gateway answers at {address}."
        yield _wrong(GATEWAY, problem, "end it, or set REALMGATE_LISTEN to another address")
        return
    yield Examination(GATEWAY, ExaminationOutcome.OK, f"The gateway answers on {address}.")
    yield from _examine_health(settings)


def _wrong(name: str, problem: str, remedy: str) -> Examination:
    return Examination(name, ExaminationOutcome.WRONG, "", (Finding(problem, remedy),))


def _answers(settings: "Settings") -> bool:
    """Return whether the listener answers as the gateway; raises OSError without an answer.

    The gateway refuses `/` of callers that ask for no page by a document that is known.
    """
    address = settings.listen
    timeout = _TIME_TO_ANSWER.total_seconds()
    if isinstance(address, TcpAddress):
        host = _LISTENERS_OF_ALL.get(address.host, address.host)
        connection = socket.create_connection((host, address.port), timeout)
    else:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(timeout)
    with closing(connection):
        if not isinstance(address, TcpAddress):
            connection.connect(str(address.path))
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = http.client.HTTPResponse(connection, method="GET")
        try:
            answer.begin()
            content = answer.read(_LARGEST_ANSWER)
        except (http.client.HTTPException, ValueError):
            return False
    return UNMATCHED.encode() in content


def _examine_health(settings: "Settings") -> Iterator[Examination]:
    """Yield the checks of `/health/ready` that are not UP, if the management port answers."""
    host = _LISTENERS_OF_ALL.get(settings.management_host, settings.management_host)
    timeout = _TIME_TO_ANSWER.total_seconds()
    try:
        with closing(http.client.HTTPConnection(host, settings.management_port, timeout)) as peer:
            peer.request("GET", "/health/ready")
            document = json.loads(peer.getresponse().read(_LARGEST_ANSWER))
        failed = [check for check in document["checks"] if check["status"] != "UP"]
        findings = tuple(map(_of_health, failed))
    except (OSError, http.client.HTTPException, RecursionError, *_OTHER_SHAPE):
        reason = f"/health/ready of {host}:{settings.management_port} cannot be read"
        yield Examination(HEALTH, ExaminationOutcome.NOT_DONE, f"{reason}.")
        return
    if findings:
        yield Examination(HEALTH, ExaminationOutcome.WRONG, "", findings)
    else:
        yield Examination(HEALTH, ExaminationOutcome.OK, "The gateway reports that it is ready.")


_OTHER_SHAPE: Final = (ValueError, KeyError, TypeError, AttributeError)


def _of_health(check: dict[str, Any]) -> Finding:
    data = ", ".join(f"{name} {value}" for name, value in (check.get("data") or {}).items())
    problem = f"The gateway reports that its check {check['name']} fails{f': {data}' * bool(data)}."
    return Finding(problem, "its log has the reason; docs/operations.md describes the checks")


@dataclass(frozen=True, slots=True)
class RunningNginx:
    """A master process of nginx: its configuration, its prefix, and when it was read last."""

    process: int
    main_file: Path
    prefix: Path | None
    read_at: datetime | None
    is_own: bool = True
    """Whether it was started by the user of this process, who can test what it can read."""

    @property
    def reload_command(self) -> str:
        """The command by which it reads its configuration again."""
        return shlex.join(("nginx", *self.options, "-s", "reload"))

    @property
    def options(self) -> tuple[str, ...]:
        """The options of its configuration."""
        prefix = () if self.prefix is None else ("-p", str(self.prefix))
        return (*prefix, "-c", str(self.main_file))


_PROCESSES: Final = Path("/proc")
_MASTER: Final = "nginx: master process "
_WORKER: Final = "nginx: worker process"
_ENDING: Final = "shutting down"
_STARTED: Final = 19
"""The place of `starttime` behind the name of the program, which may have spaces. proc(5)"""


def running_nginx() -> Iterator[RunningNginx]:
    """Yield every nginx of root or of this user that runs here and not in a container.

    Other users choose the titles of their processes. Where the mount namespace of a process cannot
    be read, the depth of its PID namespace counts. Skipped is an nginx with a relative path whose
    working folder cannot be read.
    """
    titles = {process: _title(process) for process in _process_ids()}
    for process, title in titles.items():
        if not title.startswith(_MASTER) or not _is_of_host(process):
            continue
        words = title.removeprefix(_MASTER).split()
        given = _option(words, "-p")
        prefix = None if given is None else _absolute(process, Path(given))
        main_file = Path(_option(words, "-c") or _compiled("conf-path") or "conf/nginx.conf")
        if given is not None and prefix is None:
            continue
        if not main_file.is_absolute():
            main_file = (prefix or Path(_compiled("prefix") or "/")) / main_file
        workers = [
            _started_at(child)
            for child, name in titles.items()
            if name.startswith(_WORKER) and _ENDING not in name and _parent(child) == process
        ]
        known = [instant for instant in workers if instant is not None]
        is_own = _owner(process) == os.geteuid()
        yield RunningNginx(process, main_file, prefix, min(known, default=None), is_own)


def _is_of_host(process: int) -> bool:
    """Return whether a process is of a trusted user, and in the namespaces of this one."""
    if _owner(process) not in {0, os.geteuid()}:
        return False
    namespace = _mount_namespace(str(process))
    if namespace is not None:
        return namespace == _mount_namespace("self")
    return _namespace_depth(str(process)) == _namespace_depth("self")


def _owner(process: int) -> int | None:
    try:
        return (_PROCESSES / str(process)).stat().st_uid
    except OSError:
        return None


def _namespace_depth(process: str) -> int:
    """Return the number of PID namespaces from this one down to that of a process.

    Source: proc(5), NSpid
    """
    try:
        lines = (_PROCESSES / process / "status").read_text(errors="replace").splitlines()
    except OSError:
        return 0
    return next((len(line.split()) - 1 for line in lines if line.startswith("NSpid:")), 1)


def _absolute(process: int, path: Path) -> Path | None:
    """Return a path of a command line; None where the process's working folder is not known."""
    if path.is_absolute():
        return path
    try:
        return (_PROCESSES / str(process) / "cwd").readlink() / path
    except OSError:
        return None


def _process_ids() -> list[int]:
    return sorted(int(each.name) for each in _PROCESSES.glob("[0-9]*"))


def _title(process: int) -> str:
    try:
        text = (_PROCESSES / str(process) / "cmdline").read_bytes()
    except OSError:
        return ""
    return text.replace(b"\0", b" ").decode(errors="replace").strip()


def _mount_namespace(process: str) -> str | None:
    try:
        return (_PROCESSES / process / "ns/mnt").readlink().name
    except OSError:
        return None


def _option(words: list[str], option: str) -> str | None:
    places = [place for place, word in enumerate(words[:-1]) if word == option]
    return words[places[-1] + 1] if places else None


def _compiled(name: str) -> str | None:
    """Return a path that nginx was built with."""
    program = find_program("nginx")
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "-V"],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIME_TO_ANSWER.total_seconds(),
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    option = f"--{name}="
    words = done.stderr.split()
    return next((word.removeprefix(option) for word in words if word.startswith(option)), None)


def _fields(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat that follow the name; none for a process that is gone."""
    try:
        text = (_PROCESSES / str(process) / "stat").read_text(errors="replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()


def _parent(process: int) -> int | None:
    fields = _fields(process)
    return int(fields[1]) if fields else None


def _started_at(process: int) -> datetime | None:
    fields = _fields(process)
    if len(fields) <= _STARTED:
        return None
    since_boot = int(fields[_STARTED]) / os.sysconf("SC_CLK_TCK")
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - since_boot
    return datetime.now(UTC) - timedelta(seconds=age)


_TOLERANCE: Final = timedelta(milliseconds=20)
"""The kernel counts the start of a process in hundredths of a second."""
_READ_FILES: Final = frozenset(
    {
        *("ssl_certificate", "ssl_certificate_key", "ssl_client_certificate", "ssl_crl"),
        *("ssl_trusted_certificate", "ssl_dhparam", "ssl_stapling_file", "ssl_password_file"),
        "ssl_session_ticket_key",
        *(
            f"{module}_ssl_{name}"
            for module in ("proxy", "grpc", "uwsgi")
            for name in ("certificate", "certificate_key", "crl", "trusted_certificate")
        ),
        *(f"{module}_ssl_password_file" for module in ("proxy", "grpc", "uwsgi")),
    }
)
"""Directives with a file that nginx reads together with its configuration."""
_NO_FILE: Final = re.compile(r"(data|engine|store):|.*\$", re.DOTALL)
"""Arguments of `_READ_FILES` that name no file, or one that is read for each request."""
_MOST_NAMED: Final = 3


def examine_nginx_process(
    main_file: Path, configuration: NginxConfiguration, others: Iterable[RunningNginx] = ()
) -> Iterator[Examination]:
    """Yield whether the nginx that runs has read these files as they are now.

    `others` run with another configuration that leads to the same gateway. Nothing is known about
    an nginx that runs elsewhere.
    """
    examined = main_file.resolve()
    own = [each for each in running_nginx() if each.main_file.resolve() == examined]
    if not own:
        findings = tuple(
            Finding(
                f"nginx runs with {each.main_file} (process {each.process}), and not with the"
                f" examined {main_file}.",
                f"realmgate doctor --nginx {shlex.quote(str(each.main_file))}, or start nginx with"
                f" {shlex.quote(str(main_file))}",
            )
            for each in others
        )
    else:
        findings = tuple(
            finding for each in own for finding in _stale(each, main_file, configuration)
        )
    if findings:
        yield Examination(NGINX, ExaminationOutcome.WRONG, "", findings)
    elif own:
        numbers = ", ".join(str(each.process) for each in own)
        text = f"nginx (process {numbers}) has read its files as they are."
        yield Examination(NGINX, ExaminationOutcome.OK, text)
    yield from map(_test_files, own)


def _test_files(nginx: RunningNginx) -> Examination:
    """Return whether nginx accepts its files as they are: otherwise its next reload fails."""
    test = shlex.join(("nginx", *nginx.options, "-t"))
    if not nginx.is_own:
        text = f"only the user of nginx (process {nginx.process}) can run {test}"
        return Examination(NGINX_TEST, ExaminationOutcome.NOT_DONE, f"{text}.")
    try:
        read_nginx_output("-t", *nginx.options)
    except NginxUnreadable as failure:
        problem = f"nginx (process {nginx.process}) cannot be reloaded or started again: {failure}"
        return _wrong(NGINX_TEST, f"{problem}.", f"{test}; shows whether nginx accepts its files")
    text = f"nginx (process {nginx.process}) accepts its files as they are."
    return Examination(NGINX_TEST, ExaminationOutcome.OK, text)


def _stale(
    nginx: RunningNginx, main_file: Path, configuration: NginxConfiguration
) -> Iterator[Finding]:
    if nginx.read_at is None:
        return
    changed = []
    for file in sorted(_files(configuration, main_file)):
        try:
            written = _changed_at(Path(file))
        except FileNotFoundError:
            yield Finding(
                f"{file}, which nginx (process {nginx.process}) has read, is gone: nginx refuses to"
                " be reloaded or started.",
                f"restore {shlex.quote(file)}; {shlex.join(('nginx', *nginx.options, '-t'))}",
            )
            continue
        except OSError:
            continue  # this user may not look at it
        if written > nginx.read_at + _TOLERANCE:
            changed.append(file)
    if changed:
        more = f" and {len(changed) - _MOST_NAMED} more" if len(changed) > _MOST_NAMED else ""
        yield Finding(
            f"nginx (process {nginx.process}) read its configuration at"
            f" {nginx.read_at:%Y-%m-%d %H:%M:%S} UTC, and these files were changed later:"
            f" {', '.join(changed[:_MOST_NAMED])}{more}. It works with the former ones.",
            nginx.reload_command,
        )


def _changed_at(path: Path) -> datetime:
    """Return when a file or a link to it was changed or put there; raises OSError.

    `mv`, `cp -p` and `rsync -t` keep the time of modification, but not that of the inode.
    """
    links = [each.lstat().st_ctime for each in (path, *path.parents) if each.is_symlink()]
    status = path.stat()
    return datetime.fromtimestamp(max(status.st_mtime, status.st_ctime, *links), UTC)


def _files(configuration: NginxConfiguration, main_file: Path) -> set[str]:
    """Return the files of the configuration, and those that it names for TLS."""
    found = {str(main_file)}
    for directive in _directives(configuration):
        found.add(directive.place.file)
        if directive.name in _READ_FILES and directive.arguments:
            argument = directive.arguments[0]
            if not _NO_FILE.match(argument):
                found.add(str(main_file.parent / argument))
    return found


def _directives(configuration: NginxConfiguration) -> Iterator[Directive]:
    waiting = [scope.directive for scope in configuration.http]
    while waiting:
        directive = waiting.pop()
        yield directive
        waiting.extend(directive.block or ())
