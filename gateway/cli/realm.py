"""`realmgate realm`: realms as files, in and out.

A wrong file changes nothing and ends with exit code 2, each wrong field on a line of its own.
"""

# Everything heavy is imported by the command that runs, so that help and usage errors stay quick.
# ruff: noqa: PLC0415

import asyncio
import os
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.installation import installed_settings

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from gateway.admin.realm_files import RealmFile
    from gateway.admin.realm_plan import ImportedRealm

_PRIVATE = 0o600


@click.group()
def realm() -> None:
    """Import and export realms as files."""


@realm.command("import", short_help="Import realm files, all of them or nothing.")
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--reference", is_flag=True, help="Import the reference configuration too.")
@click.option("--skip-existing", is_flag=True, help="Leave realms alone that exist already.")
def import_(files: tuple[Path, ...], *, reference: bool, skip_existing: bool) -> None:
    """Import realm files, all of them or nothing; nothing is ever removed."""
    from gateway.admin.realm_files import REFERENCE_REALMS, load_realm_files

    paths = (REFERENCE_REALMS, *files) if reference else files
    if not paths:
        raise click.UsageError("Give at least one FILE, or --reference.")
    for imported in asyncio.run(_import(load_realm_files(paths), skip_existing=skip_existing)):
        click.echo(_line(imported))
        for note in _notes(imported):
            click.echo(f"realm {imported.name}: {note}", err=True)


@realm.command("export")
@click.argument("name")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, readable by you alone, instead of standard output.",
)
@click.option("--include-secrets", is_flag=True, help="Write secrets and password hashes in clear.")
def export(name: str, output: Path | None, *, include_secrets: bool) -> None:
    """Export the realm NAME with its roles, clients and users."""
    if output is None:
        asyncio.run(_export(name, sys.stdout.buffer, clear=include_secrets))
    else:
        with _private_file(output) as file:
            asyncio.run(_export(name, file, clear=include_secrets))


async def _import(
    files: "tuple[RealmFile, ...]", *, skip_existing: bool
) -> "tuple[ImportedRealm, ...]":
    from gateway.admin.realm_import import RealmImport
    from gateway.bootstrap.services import open_services
    from gateway.storage.sql.migrate import migrate

    settings = installed_settings(begins=True)
    await migrate(settings.database_url)
    async with open_services(settings) as services:
        importing = RealmImport(
            database=services.database,
            keys=services.keys,
            passwords=services.passwords,
            clock=services.clock,
            invalidation=services.invalidation,
            blacklists=services.blacklists,
        )
        return await importing.run(files, skip_existing=skip_existing)


async def _export(name: str, output: "BinaryIO", *, clear: bool) -> None:
    from gateway.admin.realm_export import stream_realm
    from gateway.bootstrap.services import open_services
    from gateway.domain.errors import RealmNotFound

    async with open_services(installed_settings()) as services:
        try:
            async for part in stream_realm(services.database, name, include_secrets=clear):
                output.write(part)
        except RealmNotFound as error:
            raise click.BadParameter(f"there is no realm {name!r}", param_hint="NAME") from error
    output.flush()


def _line(imported: "ImportedRealm") -> str:
    if imported.skipped:
        return f"realm {imported.name}: exists, left alone"
    done = "created" if imported.created else "updated"
    added = f"{imported.clients} clients and {imported.users} users added"
    return f"realm {imported.name}: {done}, {added}"


def _notes(imported: "ImportedRealm") -> list[str]:
    notes = [f"{part} not imported by this version" for part in imported.not_imported]
    if not imported.announced:
        notes.append("Redis does not answer, so running gateways learn of it within seconds only")
    return notes


@contextmanager
def _private_file(path: Path) -> "Iterator[BinaryIO]":
    """Open a file that appears under its name once it is whole, readable by its owner alone."""
    # Written beside it and moved into place: what stood there may be readable by others.
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _PRIVATE)
        try:
            with os.fdopen(descriptor, "wb") as file:
                yield file
            fresh.replace(path)
        finally:
            fresh.unlink(missing_ok=True)
    except OSError as error:
        raise click.FileError(str(path), error.strerror or "cannot be written") from error
