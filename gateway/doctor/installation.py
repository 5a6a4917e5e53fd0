"""Checks an installation and its realms without a running gateway: files, programs, stores."""

import asyncio
import os
import re
import shutil
import stat
import subprocess
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.cli.output import counted
from gateway.doctor.findings import (
    Examination,
    ExaminationOutcome,
    Finding,
    NotChecked,
    ProblemFound,
    WarningFound,
)
from gateway.domain.errors import RealmgateError, StoreUnavailable
from gateway.domain.secrets import Secret

if TYPE_CHECKING:
    from gateway.admin.clients import CertificateConflict
    from gateway.admin.realms import Administrator
    from gateway.admin.users import LookAlike
    from gateway.domain.forward_auth import Site
    from gateway.forward_auth.site_table import SiteTable
    from gateway.settings import Settings
    from gateway.supervisor.housekeeping import ExpiringPassword


_SYSTEM_FOLDERS: Final = "/usr/local/sbin:/usr/sbin:/sbin"
"""Where Debian installs nginx: not in the PATH of users."""
_SECONDS: Final = 10
_EMERGENCY: Final = re.compile(r"\[emerg\] (?:\d+#\d+: )?(.*)")


class NginxUnreadable(Exception):
    """nginx gives no configuration, or does not accept it; `str()` says why."""


def find_program(name: str) -> str | None:
    """Return the path of a program, None where it is not installed."""
    return shutil.which(name) or shutil.which(name, path=_SYSTEM_FOLDERS)


def installed_configuration() -> str:
    """Return the output of `nginx -T`; raises NginxUnreadable."""
    return read_nginx_output("-T")


def read_nginx_output(test: str, *options: str) -> str:
    """Return the output of `nginx -t` or `nginx -T`; raises NginxUnreadable.

    nginx reads certificates and keys too, and creates log files that are missing. It gets nothing
    of the environment, which has the gateway's secrets. Source: https://nginx.org/en/docs/switches.html
    """
    binary = find_program("nginx")
    if binary is None:
        raise NginxUnreadable("nginx is not installed here")
    try:
        done = subprocess.run(
            [binary, *options, test],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_SECONDS,
            env={"PATH": os.defpath},
        )
    except (OSError, subprocess.TimeoutExpired) as failure:
        raise NginxUnreadable(f"nginx {test} cannot be run: {failure}") from failure
    if done.returncode:
        raise NginxUnreadable(f"nginx {test} failed: {_reason(done.stderr)}")
    return done.stdout.decode(errors="replace")


def _reason(errors: bytes) -> str:
    """Return nginx's reason, which is not always in the last line."""
    text = errors.decode(errors="replace")
    found = _EMERGENCY.search(text)
    return found[1] if found else (text.splitlines() or ["without a reason"])[-1]


_SHOWN_RULES: Final = 5
_OLDEST = {"nginx": (1, 22), "redis-server": (6, 0)}
_VERSION = re.compile(r"(?:nginx/|v=)(\d+)\.(\d+)")


_MOST_PAIRS: Final = 20
"""Pairs of users that a finding names."""
_TIME_TO_ANSWER = timedelta(seconds=3)
"""Timeout of a program that prints its version."""
Check = Callable[["Settings"], str]
"""Checks one part: returns a sentence that it works, or raises ProblemFound."""


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
    from gateway.storage.redis.private_server import PROGRAMS

    if name == "redis-server" and settings.redis_url is not None:
        return "A Redis is configured, so no local redis-server is needed."
    names = PROGRAMS if name == "redis-server" else (name,)
    binary = next(filter(None, map(find_program, names)), None)
    if binary is None:
        raise ProblemFound(f"{name} is not installed: apt-get install {name}")
    try:
        done = subprocess.run(
            [binary, option],
            capture_output=True,
            text=True,
            check=False,
            timeout=_TIME_TO_ANSWER.total_seconds(),
        )
    except subprocess.TimeoutExpired as failure:
        raise ProblemFound(f"{binary} {option} does not end.") from failure
    oldest, name = _OLDEST[name], Path(binary).name
    match = _VERSION.search(done.stdout + done.stderr)
    if match is None:
        raise ProblemFound(f"{name} does not report its version.")
    version = int(match[1]), int(match[2])
    if version < oldest:
        needed = ".".join(map(str, oldest))
        raise ProblemFound(f"{name} {match[1]}.{match[2]} is too old: {needed} or later is needed.")
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
    from gateway.admin.users import list_look_alikes
    from gateway.bootstrap.encryption_keys import check_encryption_keys, encryption_keys_exist
    from gateway.bootstrap.services import open_services
    from gateway.domain.clock import SystemClock
    from gateway.storage.sql.migrate import needs_migration
    from gateway.supervisor.housekeeping import NO_ADMINISTRATOR, expiring_passwords

    if not has_database(settings):
        administrator = "an" if settings.admin_password else "no"
        return f"The first start will create the database and {administrator} administrator."
    if not encryption_keys_exist(settings):
        raise ProblemFound(
            f"There is a database, but no key that decrypts it: {settings.encryption_key_file}."
            " Restore the key from your backup, or set REALMGATE_ENCRYPTION_KEY_FILE."
        )

    async def ask() -> "tuple[dict[str, str], tuple[Administrator, ...], tuple[LookAlike, ...]]":
        is_old = await needs_migration(settings.database_url)
        async with open_services(settings) as services:
            await check_encryption_keys(services.database, settings)
            async with services.database.read() as stores:
                names = {realm.id: realm.name for realm in await stores.realms.list_realms()}
                alike = () if is_old else await list_look_alikes(stores)
                return names, await list_administrators(stores), alike

    names, administrators, alike = asyncio.run(ask())
    if not administrators:
        realms = counted(len(names), "realm")
        raise ProblemFound(f"The database holds {realms} and no administrator: {NO_ADMINISTRATOR}.")
    expiring = expiring_passwords(administrators, SystemClock().now())
    if expiring:
        raise ProblemFound(" ".join(map(_of_password, expiring)))
    if alike:
        raise ProblemFound(_of_look_alikes(alike, names))
    return f"The database answers, holds {counted(len(names), 'realm')}, and the key decrypts it."


def _of_look_alikes(alike: "tuple[LookAlike, ...]", realms: "dict[str, str]") -> str:
    from gateway.admin.users import REMEDY

    pairs = (
        f"{one.first!r} and {one.second!r} ({one.field}, realm {realms[one.realm_id]})"
        for one in alike[:_MOST_PAIRS]
    )
    return f"{counted(len(alike), 'pair')} of users look alike: {', '.join(pairs)}: {REMEDY}."


def _of_password(password: "ExpiringPassword") -> str:
    expires = "has expired on" if password.has_expired else "expires on"
    return (
        f"The password of the administrator {password.username} {expires}"
        f" {_day(password.expires_at)}: sign in on the pages and change it, or run"
        f" {password.remedy}."
    )


def _rules_file(settings: "Settings") -> str:
    from gateway.bootstrap.services import rules_file

    file = rules_file(settings)
    if file is None:
        return "There is no rules file; realms may have sites of their own."
    file.load()
    return f"{settings.guard_file} is valid: {counted(len(file.sites), 'site')}."


def _site_audiences(settings: "Settings") -> str:
    """Raise WarningFound for sites that accept tokens for other services and never chose to."""
    try:
        sites = _protected_sites(settings)
    except (RealmgateError, OSError) as failure:  # which another check reports
        raise NotChecked("the protected sites cannot be read") from failure
    unchecked = [site for site in sites if site.bearer_audience is None and site.unchecked_rules]
    if unchecked:
        raise WarningFound(tuple(map(_unchecked, unchecked)))
    return f"{counted(len(sites), 'protected site')}, each with an audience for bearer tokens."


def _protected_sites(settings: "Settings") -> "list[Site]":
    """Return the sites of the rules file and of all realms, none where there is no database yet."""
    from gateway.bootstrap.encryption_keys import encryption_keys_exist
    from gateway.bootstrap.services import open_services, rules_file

    found: list[Site] = []
    file = rules_file(settings)
    if file is not None:
        file.load()
        found += file.sites
    if not has_database(settings) or not encryption_keys_exist(settings):
        return found

    async def ask() -> "list[Site]":
        async with open_services(settings) as services, services.database.read() as stores:
            every = await stores.sites.all()
            return [site for of_realm in every.values() for site in of_realm]

    return [*found, *asyncio.run(ask())]


def _unchecked(site: "Site") -> Finding:
    names = [rule.name for rule in site.unchecked_rules]
    more = f" and {len(names) - _SHOWN_RULES} more" if len(names) > _SHOWN_RULES else ""
    problem = (
        f"The site {site.name} of {', '.join(site.realms)} accepts bearer tokens for other services"
        f" at the rules {', '.join(names[:_SHOWN_RULES])}{more}."
    )
    remedy = (
        "bearerAudience site (tokens for the client of the site), or audiences of the rules;"
        " bearerAudience any keeps it so, without this warning"
    )
    return Finding(problem, remedy)


def current_sites(settings: "Settings") -> "SiteTable | None":
    """Return the protected sites, None where the stores or the rules file cannot be read.

    The examination of the installation reports the reason.
    """
    from gateway.bootstrap.services import open_services

    if not has_database(settings):
        return None

    async def read_sites() -> "SiteTable":
        async with open_services(settings) as services:
            if services.rules_file is not None:
                services.rules_file.load()
            return await services.sites.table()

    try:
        return asyncio.run(read_sites())
    except (RealmgateError, OSError):
        return None


def _site_hosts(settings: "Settings") -> str:
    table = current_sites(settings)
    if table is None:
        return "The hosts of sites are not known without the database."
    problems = [*_contested_names(table, settings)]
    if problems:
        raise ProblemFound(" ".join(problems))
    hosts = sum(len(site.hosts) for site in table.sites)
    return f"Each of {counted(hosts, 'host')} of sites belongs to one realm or to the rules file."


def _contested_names(table: "SiteTable", settings: "Settings") -> "Iterator[str]":
    """Yield sentences about names of sites that this version does not let a realm take."""
    from gateway.bootstrap.services import public_urls, rules_file
    from gateway.domain.forward_auth import ReservedNames, contested_domains
    from gateway.domain.hosts import WILDCARD

    if table.contested:
        claims = "; ".join(reason for _, reason in sorted(table.contested.items()))
        yield (
            f"Hosts of several owners: {claims}. The rules file and the gateway keep their hosts,"
            " and requests for the others are refused: remove each from the sites of all owners but"
            " one, and change the cookie domain of a site that shares it with the rules file."
        )
    of_gateway = ReservedNames.of((), public_urls(settings)).hosts
    file = rules_file(settings)
    if file is not None:
        file.load()
    for site in table.sites:
        for host in filter(of_gateway.owners, site.hosts):
            if host.startswith(WILDCARD) and file is not None and site in file.sites:
                continue  # the operator knows that the gateway's own server comes first
            yield (
                f"The host {host} of the site {site.name} of {site.realms[0]} is one of the gateway"
                " itself (REALMGATE_PUBLIC_URL, REALMGATE_MTLS_PUBLIC_URL): remove it."
            )
    for one, other in contested_domains(table.sites):
        yield (
            f"The site {one.name} of {one.realms[0]} and the site {other.name} of"
            f" {other.realms[0]} share cookies by the domains {one.cookie_domain} and"
            f" {other.cookie_domain}: a sign-in at one of them ends the session at the other."
        )


_MOST_NAMES: Final = 5
_MOST_CLIENT_PAIRS: Final = 20
"""Pairs of clients that a check names."""


def has_database(settings: "Settings") -> bool:
    """Return whether there is a database; a server's is taken to be there."""
    default = settings.state_dir / "realmgate.db"
    return str(default) not in settings.database_url.reveal() or default.exists()


def trusts_certificates(settings: "Settings") -> bool:
    """Return whether the settings or a realm name an authority; True where that is not known.

    It is not known of realms before the first start, and without the key of the database.
    """
    from gateway.bootstrap.encryption_keys import encryption_keys_exist
    from gateway.bootstrap.services import open_services

    if settings.client_ca_file is not None:
        return True
    if not has_database(settings) or not encryption_keys_exist(settings):
        return True

    async def ask() -> bool:
        async with open_services(settings) as services, services.database.read() as stores:
            for realm in await stores.realms.list_realms():
                if await stores.authorities.list_values(realm.id, 0, 1):
                    return True
        return False

    try:
        return asyncio.run(ask())
    except (RealmgateError, OSError):
        return True


def authority_names(settings: "Settings") -> str:
    """Find names that several authorities of a realm have: x509.casubjectdn cannot use them."""
    from gateway.bootstrap.client_certificates import read_client_certificates
    from gateway.bootstrap.encryption_keys import encryption_keys_exist
    from gateway.bootstrap.services import open_services

    if not has_database(settings) or not encryption_keys_exist(settings):
        return "There is no realm yet."

    async def ask() -> list[str]:
        found = []
        async with open_services(settings) as services:
            async with services.database.read() as stores:
                realms = await stores.realms.list_realms()
            selection = read_client_certificates(settings).selection(services.authorities)
            for realm in realms:
                selected = await selection.select(realm, None)
                names = (f'"{name.rfc4514()}"' for name in selected.authorities.shared_names())
                found += [f"{name} of the realm {realm.name}" for name in names]
        return found

    try:
        shared = asyncio.run(ask())
    except StoreUnavailable:
        return "The authorities of realms are not examined, as the database does not answer."
    if shared:
        raise ProblemFound(
            f"Several authorities have the name {', '.join(shared[:_MOST_NAMES])}: clients with"
            " that x509.casubjectdn are refused. Give each of them its own anchor: realmgate certs"
            " authority add FILE --realm REALM --client CLIENT_ID."
        )
    return "In each realm the name of an authority means one authority."


def certificate_names(settings: "Settings") -> str:
    """Raise WarningFound for clients to which administrators gave one name of certificates."""
    from gateway.admin.clients import list_certificate_conflicts
    from gateway.bootstrap.encryption_keys import encryption_keys_exist
    from gateway.bootstrap.services import open_services

    if not has_database(settings) or not encryption_keys_exist(settings):
        return "There is no realm yet."

    async def ask() -> "list[CertificateConflict]":
        found: list[CertificateConflict] = []
        async with open_services(settings) as services, services.database.read() as stores:
            for realm in await stores.realms.list_realms():
                found += await list_certificate_conflicts(stores, realm, _MOST_CLIENT_PAIRS)
        return found

    try:
        shared = asyncio.run(ask())
    except RealmgateError as failure:  # which another check reports
        raise NotChecked("the clients of realms cannot be read") from failure
    if shared:
        raise WarningFound(tuple(map(_of_shared_name, shared[:_MOST_CLIENT_PAIRS])))
    return "A certificate belongs to one client of a realm at most."


def _of_shared_name(pair: "CertificateConflict") -> Finding:
    return Finding(
        f"A certificate can belong to the clients {pair.first} and {pair.second} of the realm"
        f" {pair.realm}: devices that send no client_id are refused.",
        "another name or template for one of them, or a client_id in every request of the devices",
    )


def _certificates(settings: "Settings") -> str:
    """Each authority of the settings needs a list; without authorities people alone sign in."""
    from gateway.bootstrap.client_certificates import read_client_certificates
    from gateway.domain.clock import SystemClock

    if settings.client_ca_file is None:
        return (
            "No authority of client certificates is configured (REALMGATE_CLIENT_CA_FILE):"
            " certificates count where a realm or client has authorities of its own."
        )
    found = read_client_certificates(settings)
    if settings.client_crl_urls or found.revocation is None:
        return "The revocation lists are downloaded: see the check revocation-lists of /health."
    now = SystemClock().now()
    gaps = tuple(
        list_finding(authority.subject, reason, str(settings.client_crl_file))
        for authority, reason in found.revocation.gaps(now)
    )
    if gaps:
        raise ProblemFound(findings=gaps)
    status = found.revocation.status(now)
    if status.problem is not None:
        raise ProblemFound(f"{settings.client_crl_file}: {status.problem}.")
    return f"The revocation lists are valid until {_day(status.next_update)}."


def list_finding(authority: object, reason: str, file: str) -> Finding:
    """Return the finding about an authority whose revocation list cannot be used."""
    return Finding(
        f"The authority {authority} has no usable revocation list in {file} ({reason}): each of its"
        " certificates is refused.",
        f"append the current list of {authority} in PEM to {file} (its operator publishes it;"
        " realmgate certs crl for the authorities of realmgate certs init), and reload nginx",
    )


def _day(instant: datetime | None) -> str:
    return "an unknown date" if instant is None else instant.isoformat(" ", "minutes")


CHECKS: Final[tuple[tuple[str, Check], ...]] = (
    ("state-folder", _state_folder),
    ("proxy-trust", _proxy),
    ("nginx-version", partial(_program, "nginx", "-v")),
    ("redis-version", partial(_program, "redis-server", "--version")),
    ("redis", _redis),
    ("database", _database),
    ("rules-file", _rules_file),
    ("site-hosts", _site_hosts),
    ("site-audiences", _site_audiences),
    ("client-certificates", _certificates),
    ("authority-names", authority_names),
    ("certificate-names", certificate_names),
)
"""Names and checks, in the order of the report."""


def examine_installation(settings: "Settings") -> Iterator[Examination]:
    """Yield the findings of each check."""
    for name, check in CHECKS:
        try:
            yield Examination(name, ExaminationOutcome.OK, check(settings))
        except NotChecked as obstacle:
            yield Examination(name, ExaminationOutcome.NOT_DONE, str(obstacle))
        except WarningFound as warning:
            yield Examination(name, ExaminationOutcome.WARNING, "", warning.findings)
        except ProblemFound as problem:
            yield Examination(name, ExaminationOutcome.WRONG, "", problem.findings)
        except (RealmgateError, OSError) as failure:
            yield Examination(name, ExaminationOutcome.WRONG, "", (Finding(str(failure), ""),))
