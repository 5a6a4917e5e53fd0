"""Importing realm files from a shell, and telling what became of each realm."""

import asyncio
from collections.abc import Collection
from typing import TYPE_CHECKING

import click

from gateway.cli.installation import installed_settings
from gateway.cli.output.columns import counted, visible

if TYPE_CHECKING:
    from gateway.admin.realm_files import ImportedRealm, RealmFile


def import_files(
    files: "tuple[RealmFile, ...]", *, skip_existing: bool = False, told: Collection[str] = ()
) -> None:
    """Import the files and tell what became of each realm but those that were told of before."""
    for imported in asyncio.run(_import(files, skip_existing=skip_existing)):
        if imported.name not in told:
            click.echo(_line(imported))
        for note in _notes(imported):
            click.echo(f"realm {imported.name}: {note}", err=True)


async def _import(
    files: "tuple[RealmFile, ...]", *, skip_existing: bool
) -> "tuple[ImportedRealm, ...]":
    from gateway.bootstrap.realm_files import realm_import
    from gateway.bootstrap.services import open_services
    from gateway.storage.sql.migrate import migrate

    settings = installed_settings(begins=True)
    await migrate(settings.database_url)
    async with open_services(settings) as services:
        return await realm_import(services).run(files, skip_existing=skip_existing)


def _line(imported: "ImportedRealm") -> str:
    if imported.skipped:
        return f"realm {imported.name}: exists, left alone"
    done = "created" if imported.created else "updated"
    added = f"{counted(imported.clients, 'client')} and {counted(imported.users, 'user')} added"
    return f"realm {imported.name}: {done}, {added}"


def _notes(imported: "ImportedRealm") -> list[str]:
    notes = [f"{part} not imported by this version" for part in imported.not_imported]
    notes += [visible(str(setting)) for setting in imported.ineffective]
    if not imported.announced:
        notes.append("Redis is unavailable, so running gateways apply the change within 5 s")
    return notes
