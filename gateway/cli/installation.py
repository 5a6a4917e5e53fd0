"""`realmgate start`, `migrate` and `settings show`, and the check that an installation exists.

The state folder is `var` below the working directory unless it is set. A command that is started
in another folder must not create a key there and encrypt a realm's secrets with it.

Flags override the environment, which overrides `.env`. The options of the certificate lookup have
the specification's names, in both spellings of Keycloak. Exit codes of `migrate`: 0 done or in
sync, 1 differs (`--check`), 2 bad input, 3 unreachable.
"""

import asyncio
import gc
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.output import report
from gateway.http.certificate_lookup import LOOKUPS
from gateway.http.certificate_options import FLAGS

if TYPE_CHECKING:
    from gateway.settings import Settings


def installed_settings(*, begins: bool = False, needs_key: bool = True) -> "Settings":
    """Return the settings of an installation; raises SettingsError where there is none.

    A command that `begins` may create database and key in a folder that is set explicitly.
    """
    from gateway.settings import SettingsError, load_settings

    settings = load_settings()
    may_create = begins and "state_dir" in settings.given
    if not may_create and (
        missing := tuple(_missing(settings, begins=begins, needs_key=needs_key))
    ):
        raise SettingsError(missing)
    return settings


def _missing(settings: "Settings", *, begins: bool, needs_key: bool) -> Iterator[str]:
    given = settings.given
    database = _database_file(settings)
    if "database_url" not in given and database is not None and not database.exists():
        yield (
            f"no Realmgate state in {settings.state_dir}: set REALMGATE_STATE_DIR to the folder of"
            " the gateway that is meant, or REALMGATE_DATABASE_URL and REALMGATE_ENCRYPTION_KEY"
            " (after scripts/run --detach: set -a; . var/run.env; set +a)"
        )
        return
    if database is not None and not database.exists() and not begins:
        yield f"there is no database {database}: see REALMGATE_DATABASE_URL"
    key = settings.encryption_key_file
    if needs_key and settings.encryption_key is None and not key.exists():
        yield (
            f"there is no key {key} that opens the database: set REALMGATE_STATE_DIR,"
            " REALMGATE_ENCRYPTION_KEY or REALMGATE_ENCRYPTION_KEY_FILE"
        )


def _database_file(settings: "Settings") -> Path | None:
    from gateway.storage.sql.address import SqliteFile, parse_database_url

    address = parse_database_url(settings.database_url)
    return address.path if isinstance(address, SqliteFile) else None


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 if a migration is due.")
@click.pass_context
def migrate(ctx: click.Context, *, check: bool) -> None:
    """Migrate the database to the schema of this version. Several may run at once."""
    from gateway.storage.sql.migrations import HEAD

    url = installed_settings(begins=True, needs_key=False).database_url
    if check:
        from gateway.storage.sql.migrate import current_revision, is_older

        revision = asyncio.run(current_revision(url))
        click.echo(f"schema {revision or 'none'}, this version works with {HEAD}")
        ctx.exit(1 if is_older(revision) else 0)

    from gateway.storage.sql.migrate import migrate as migrate_database

    changed = asyncio.run(migrate_database(url))
    click.echo(f"schema brought to {HEAD}" if changed else f"schema already at {HEAD}")


@click.group()
def settings() -> None:
    """Show the settings in force, secrets masked."""


@settings.command(short_help="Print every setting in the format of .env.")
def show() -> None:
    """Print every setting with its environment variable, in the format of .env.

    Secrets are masked, so their lines are comments.
    """
    from gateway.settings import SETTING_NAMES, load_settings, variable, written
    from gateway.settings.values import HIDDEN

    values = load_settings()
    for field in SETTING_NAMES:
        value = getattr(values, field)
        text = written(value)
        hidden = HIDDEN in text and text != str(value)
        click.echo(f"{'# ' if hidden else ''}{variable(field)}={shlex.quote(text) if text else ''}")


def _lookup_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all lookups, which docs/certificates-behind-proxies.md lists."""
    for flag in reversed(FLAGS):
        shown = flag.lookup is None
        text = f"An option of the lookup {flag.lookup}."
        if shown:
            text = f"How the proxy sends the client certificate: {', '.join(LOOKUPS)}."
        command = click.option(
            *flag.spellings, flag.variables[0], metavar="NAME", help=text, hidden=not shown
        )(command)
    return command


@click.command()
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Where the proxy reaches the gateway: unix:PATH or HOST:PORT.",
)
@click.option("--workers", metavar="N", help="Number of worker processes.")
@click.option(
    "--import-realm",
    metavar="FILE",
    multiple=True,
    help="Import a realm before serving, unless it exists. Repeatable.",
)
@_lookup_flags
@click.pass_context
def start(ctx: click.Context, /, **options: object) -> None:
    """Run the gateway until SIGTERM. SIGHUP replaces its workers one by one."""
    # Imported modules stay: garbage collection would take a fifth of the start.
    gc.disable()
    from gateway.settings import load_settings
    from gateway.supervisor.gateway import run_gateway

    ctx.exit(run_gateway(load_settings(options), report))
