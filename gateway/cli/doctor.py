"""`realmgate doctor`: checks an installation and reports every problem in a sentence.

Changes nothing, and needs no running gateway. Exit codes: 0 all in order, 1 something is not.
"""

import asyncio
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.output import counted
from gateway.domain.secrets import Secret
from gateway.http.edge.certificate_lookup import NginxLookup

if TYPE_CHECKING:
    from gateway.admin.realms import Administrator
    from gateway.settings import Settings
    from gateway.supervisor.administrator_warnings import ExpiringPassword

_OLDEST = {"nginx": (1, 22), "redis-server": (6, 0)}
_SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where Debian installs nginx: not in the PATH of users."""
_VERSION = re.compile(r"(?:nginx/|v=)(\d+)\.(\d+)")


_SENT_CERTIFICATE = re.compile(
    rf"^\s*proxy_set_header\s+([A-Za-z0-9-]+)\s+{re.escape(NginxLookup.variable)}\s*;", re.MULTILINE
)


_SENT_SECRET = re.compile(
    r'^\s*proxy_set_header\s+X-Realmgate-Proxy-Secret\s+"([^"]*)"\s*;',
    re.MULTILINE | re.IGNORECASE,
)


class ProblemFound(Exception):
    """A problem; `str()` says what, and what to do."""


Check = Callable[["Settings"], str]
"""Checks one part: returns a sentence that it works, or raises ProblemFound."""


@click.command()
@click.option(
    "--nginx-configuration",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Output folder of `realmgate nginx render`, to compare its certificate header"
    " and proxy secret.",
)
@click.pass_context
def doctor(ctx: click.Context, nginx_configuration: Path | None) -> None:
    """Check settings, files, programs and stores, and report every problem."""
    from gateway.settings import load_settings

    settings = load_settings()
    click.echo("ok    The settings are valid.")
    nginx: tuple[Check, ...] = (
        partial(_certificate_header, nginx_configuration),
        partial(_proxy_secret, nginx_configuration),
    )
    passed = [_passes(check, settings) for check in (*CHECKS, *nginx)]
    ctx.exit(0 if all(passed) else 1)


def _passes(check: Check, settings: "Settings") -> bool:
    from gateway.domain.errors import RealmgateError

    try:
        click.echo(f"ok    {check(settings)}")
    except (ProblemFound, RealmgateError, OSError) as failure:
        click.echo(f"WRONG {failure}")
        return False
    return True


def _state_folder(settings: "Settings") -> str:
    from gateway.supervisor.sockets import check_directory

    if not settings.state_dir.exists():
        return f"The state folder {settings.state_dir} will be created at the first start."
    run = settings.state_dir / "run"
    if run.exists():
        # Root examines the gateway of another user, who owns the state folder.
        root = os.geteuid() == 0
        check_directory(run, settings.state_dir.stat().st_uid if root else None)
    for secret in (settings.state_dir / "secrets").glob("*"):
        _private(secret)
    return f"Only the owner can access sockets and secrets in {settings.state_dir}."


def _private(file: Path) -> None:
    mode = stat.S_IMODE(file.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ProblemFound(f"{file} can be read by others (mode {mode:04o}): chmod 0600 {file}")


def _proxy(settings: "Settings") -> str:
    from gateway.settings import TcpAddress

    if isinstance(settings.listen, TcpAddress) and not settings.trusted_proxies:
        raise ProblemFound(
            f"The gateway listens on {settings.listen} and trusts no proxy, so it never sees"
            " certificates and https: set REALMGATE_TRUSTED_PROXIES and REALMGATE_PROXY_SECRET."
        )
    return f"The gateway trusts the proxy on {settings.listen}."


def _program(name: str, option: str, settings: "Settings") -> str:
    if name == "redis-server" and settings.redis_url is not None:
        return "A Redis is configured, so no local redis-server is needed."
    binary = shutil.which(name) or shutil.which(name, path=_SYSTEM_FOLDERS)
    if binary is None:
        raise ProblemFound(f"{name} is not installed: apt-get install {name}")
    done = subprocess.run([binary, option], capture_output=True, text=True, check=False, timeout=5)
    match = _VERSION.search(done.stdout + done.stderr)
    if match is None:
        raise ProblemFound(f"{name} does not report its version.")
    version = int(match[1]), int(match[2])
    if version < _OLDEST[name]:
        oldest = ".".join(map(str, _OLDEST[name]))
        raise ProblemFound(f"{name} {match[1]}.{match[2]} is too old: {oldest} or later is needed.")
    return f"{name} {match[1]}.{match[2]} is installed."


def _redis(settings: "Settings") -> str:
    from gateway.storage.redis.connection import check_server, create_client

    async def ask(url: Secret) -> tuple[str, ...]:
        client = create_client(url)
        try:
            return await check_server(client)
        finally:
            await client.aclose()

    if settings.redis_url is None:
        return "The gateway starts a private redis-server."
    warnings = asyncio.run(ask(settings.redis_url))
    return " ".join(("Redis answers and is configured correctly.", *warnings))


def _database(settings: "Settings") -> str:
    from gateway.admin.realms import list_administrators
    from gateway.bootstrap.encryption_keys import check_encryption_keys, encryption_keys_exist
    from gateway.bootstrap.services import open_services
    from gateway.domain.clock import SystemClock
    from gateway.supervisor.administrator_warnings import NO_ADMINISTRATOR, expiring_passwords

    default = settings.state_dir / "realmgate.db"
    if str(default) in settings.database_url.reveal() and not default.exists():
        administrator = "an" if settings.admin_password else "no"
        return f"The first start will create the database and {administrator} administrator."
    if not encryption_keys_exist(settings):
        raise ProblemFound(
            f"There is a database, but no key that decrypts it: {settings.encryption_key_file}."
            " Restore the key from your backup, or set REALMGATE_ENCRYPTION_KEY_FILE."
        )

    async def ask() -> "tuple[int, tuple[Administrator, ...]]":
        async with open_services(settings) as services:
            await check_encryption_keys(services.database, settings)
            async with services.database.read() as stores:
                realms = await stores.realms.list()
                return len(realms), await list_administrators(stores)

    number, administrators = asyncio.run(ask())
    if not administrators:
        realms = counted(number, "realm")
        raise ProblemFound(f"The database holds {realms} and no administrator: {NO_ADMINISTRATOR}.")
    expiring = expiring_passwords(administrators, SystemClock().now())
    if expiring:
        raise ProblemFound(" ".join(map(_of_password, expiring)))
    return f"The database answers, holds {counted(number, 'realm')}, and the key decrypts it."


def _of_password(password: "ExpiringPassword") -> str:
    expires = "has expired on" if password.has_expired else "expires on"
    return (
        f"The password of the administrator {password.username} {expires}"
        f" {_day(password.expires_at)}: sign in on the pages and change it, or run"
        f" {password.remedy}."
    )


def _certificates(settings: "Settings") -> str:
    from gateway.bootstrap.client_certificates import read_client_certificates
    from gateway.domain.clock import SystemClock

    found = read_client_certificates(settings)
    if settings.client_ca_file is None or found.revocation is None:
        raise ProblemFound("No client certificate is trusted: set REALMGATE_CLIENT_CA_FILE.")
    status = found.revocation.status(SystemClock().now())
    if status.problem is not None:
        raise ProblemFound(f"{settings.client_crl_file}: {status.problem}.")
    return f"The revocation lists are valid until {_day(status.next_update)}."


def _certificate_header(configuration: Path | None, settings: "Settings") -> str:
    """Compare the header that nginx sends with the one that the gateway reads."""
    expected = settings.certificate_header
    if configuration is None:
        if expected == NginxLookup.default_header:
            return f"The gateway reads certificates from {expected}, the default of nginx."
        raise ProblemFound(
            f"The gateway reads certificates from {expected}, and it is not known whether nginx"
            " sends that: run doctor with --nginx-configuration FOLDER."
        )
    sent = {name.lower() for name in _SENT_CERTIFICATE.findall(_text_of(configuration))}
    if sent != {expected}:
        raise ProblemFound(
            f"The gateway reads certificates from {expected}, nginx sends them in"
            f" {', '.join(sorted(sent)) or 'no header'}: run realmgate nginx render again, or"
            " correct REALMGATE_CERTIFICATE_HEADER."
        )
    return f"nginx sends certificates in {expected}, where the gateway reads them."


def _proxy_secret(configuration: Path | None, settings: "Settings") -> str:
    """Compare the secret that nginx sends with the one that the gateway requires."""
    expected = "" if settings.proxy_secret is None else settings.proxy_secret.reveal()
    if configuration is None:
        if not expected:
            return "The gateway requires no proxy secret."
        return (
            "The gateway requires the proxy secret; doctor --nginx-configuration FOLDER checks that"
            " nginx sends it."
        )
    sent = set(_SENT_SECRET.findall(_text_of(configuration)))
    remedy = (
        "run realmgate nginx render again with the settings of the gateway"
        " (REALMGATE_PROXY_SECRET_FILE), and reload nginx."
    )
    if sent <= {""} and expected:
        raise ProblemFound(f"nginx does not send the proxy secret: {remedy}")
    if expected and sent != {expected}:
        raise ProblemFound(f"nginx sends another proxy secret than the gateway requires: {remedy}")
    return (
        "nginx sends the proxy secret that the gateway requires."
        if expected
        else "The gateway requires no proxy secret."
    )


def _text_of(configuration: Path) -> str:
    return "\n".join(file.read_text() for file in sorted(configuration.rglob("*.conf")))


def _day(instant: datetime | None) -> str:
    return "an unknown date" if instant is None else instant.isoformat(" ", "minutes")


CHECKS: tuple[Check, ...] = (
    _state_folder,
    _proxy,
    partial(_program, "nginx", "-v"),
    partial(_program, "redis-server", "--version"),
    _redis,
    _database,
    _certificates,
)
"""In the order of the report."""
