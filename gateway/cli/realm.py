"""`realmgate realm`: realms one by one, and as files, in and out.

A wrong file changes nothing and ends with exit code 2, each wrong field on a line of its own.
"""

import asyncio
import os
import sys
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.installation import installed_settings
from gateway.cli.realm_administration import COMMANDS
from gateway.cli.realm_plan import apply, plan

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_PRIVATE = 0o600


@click.group()
def realm() -> None:
    """Create, change, delete, import and export realms."""


for _command in (*COMMANDS, plan, apply):
    realm.add_command(_command)


@realm.command("import", short_help="Import realm files, all or nothing.")
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--reference", is_flag=True, help="Import the reference configuration first.")
@click.option("--skip-existing", is_flag=True, help="Do not change existing realms.")
def import_(files: tuple[Path, ...], *, reference: bool, skip_existing: bool) -> None:
    """Import realm files, all or nothing. An import adds and changes, and never removes."""
    from gateway.admin.realm_files import REFERENCE_REALMS, load_realm_files
    from gateway.cli.realm_import import import_files

    paths = (REFERENCE_REALMS, *files) if reference else files
    if not paths:
        raise click.UsageError("Give at least one FILE, or --reference.")
    import_files(load_realm_files(paths), skip_existing=skip_existing)


@realm.command("export")
@click.argument("name")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write to this file, readable only by you, instead of standard output.",
)
@click.option(
    "--include-secrets", is_flag=True, help="Include secrets and password hashes in clear text."
)
def export(name: str, output: Path | None, *, include_secrets: bool) -> None:
    """Export the realm NAME with its roles, clients and users."""
    if output is None:
        asyncio.run(_export(name, sys.stdout.buffer, clear=include_secrets))
    else:
        with _private_file(output) as file:
            asyncio.run(_export(name, file, clear=include_secrets))


async def _export(name: str, output: "BinaryIO", *, clear: bool) -> None:
    from gateway.admin.realm_files import stream_realm
    from gateway.bootstrap.services import open_services
    from gateway.domain.errors import RealmNotFound

    async with open_services(installed_settings()) as services:
        try:
            parts = stream_realm(services.database, name, include_secrets=clear)
            async with aclosing(parts):
                async for part in parts:
                    output.write(part)
        except RealmNotFound as error:
            raise click.BadParameter(f"there is no realm {name!r}", param_hint="NAME") from error
    output.flush()


@contextmanager
def _private_file(path: Path) -> "Iterator[BinaryIO]":
    """Open a file that appears under its name once it is whole, readable by its owner alone."""
    # Written beside it and moved into place: what stood there may be readable by others.
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        # Moved over it, the file would take the place of /dev/null, or of a pipe that is read.
        raise click.FileError(str(path), "there is something else than a file")
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
