"""`realmgate realm import|export|plan|apply`: realms as files.

A wrong file changes nothing and ends with exit code 2, each wrong field on a line of its own.
Exit codes of `plan`: 0 in sync, 1 differs, 2 bad input, 3 unreachable.
"""

import asyncio
import json
import os
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from gateway.cli.administration import LocalOperator, administer, output_option
from gateway.cli.installation import installed_settings
from gateway.cli.output import counted, visible

if TYPE_CHECKING:
    from gateway.admin.realm_files import (
        Difference,
        ImportedRealm,
        RealmDifference,
        RealmFile,
        Report,
    )

_PRIVATE = 0o600
_DIFFERS = 1
_LONGEST = 100
_CUT = "..."
_files = click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)


_strict = click.option(
    "--strict", is_flag=True, help="Exit with 1 if the report is not empty; import nothing then."
)
_users = click.option(
    "--users",
    type=click.Choice(["keep", "update"]),
    default="keep",
    show_default=True,
    help="Keep users who exist, or update them: fields, roles and groups, no passwords.",
)


@click.command("import", short_help="Import realm files, all or nothing.")
@click.argument("files", nargs=-1, metavar="FILE...", type=click.Path(path_type=Path))
@click.option("--reference", is_flag=True, help="Import the reference configuration first.")
@click.option("--skip-existing", is_flag=True, help="Do not change existing realms.")
@_users
@_strict
@output_option
@click.pass_context
def import_(
    context: click.Context,
    files: tuple[Path, ...],
    *,
    reference: bool,
    skip_existing: bool,
    users: str,
    strict: bool,
    output: str,
) -> None:
    """Import realm files, all or nothing. An import adds and changes, and never removes.

    Reports at last what is lost, is stored without effect, and needs you.
    """
    from gateway.admin.realm_files import REFERENCE_REALMS

    paths = (REFERENCE_REALMS, *files) if reference else files
    if not paths:
        raise click.UsageError("Give at least one FILE, or --reference.")
    loaded = _load(paths)
    if strict:
        _require_empty_reports(context, _rehearse(loaded, users))
    imported = asyncio.run(_import(loaded, skip_existing=skip_existing, users=users))
    if output == "json":
        click.echo(json.dumps([_imported_document(one) for one in imported], indent=2))
    else:
        _show_imported(imported)


@click.command("export")
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
        _export(name, sys.stdout.buffer, include_secrets=include_secrets)
    else:
        with _private_file(output) as file:
            _export(name, file, include_secrets=include_secrets)


def _export(name: str, output: BinaryIO, *, include_secrets: bool) -> None:
    from gateway.admin.realm_files import stream_realm
    from gateway.domain.errors import RealmNotFound

    async def work(operator: LocalOperator) -> None:
        database = operator.services.database
        async with aclosing(stream_realm(database, name, include_secrets=include_secrets)) as parts:
            async for part in parts:
                output.write(part)

    try:
        administer(work)
    except RealmNotFound as error:
        raise click.BadParameter(f"there is no realm {name!r}", param_hint="NAME") from error
    output.flush()


@click.command(short_help="Show what importing realm files would change.")
@_files
@_users
@_strict
@output_option
@click.pass_context
def plan(
    context: click.Context, files: tuple[Path, ...], *, users: str, strict: bool, output: str
) -> None:
    """Show what importing FILE... would change, field by field. Secrets are never shown.

    Stores nothing. Exits with 0 if the realms equal the files, with 1 if they differ.
    """
    found = _rehearse(_load(files), users)
    if output == "json":
        click.echo(json.dumps([_document(one) for one in found], indent=2, default=repr))
    else:
        _show(found)
        _show_reports(found)
    if not all(one.in_sync for one in found) or (strict and any(one.report for one in found)):
        context.exit(_DIFFERS)


@click.command(short_help="Show what importing realm files changes, and import them.")
@_files
@_users
@_strict
@output_option
@click.pass_context
def apply(
    context: click.Context, files: tuple[Path, ...], *, users: str, strict: bool, output: str
) -> None:
    """Show what importing FILE... changes, and import them, all or nothing. Removes nothing."""
    loaded = _load(files)
    found = _rehearse(loaded, users)
    if output != "json":
        _show(found)
    if strict:
        _require_empty_reports(context, found)
    imported = asyncio.run(_import(loaded, skip_existing=False, users=users))
    if output == "json":
        click.echo(json.dumps([_document(one) for one in found], indent=2, default=repr))
    else:
        _show_imported(imported, in_sync=[one.name for one in found if one.in_sync])


def _load(paths: Iterable[Path]) -> "tuple[RealmFile, ...]":
    from gateway.admin.realm_files import load_realm_files
    from gateway.settings import environment_variables

    return load_realm_files(paths, environment_variables())


def _show_imported(realms: "tuple[ImportedRealm, ...]", *, in_sync: Collection[str] = ()) -> None:
    """Print a line for each realm that is not in sync, and the report of all."""
    for imported in realms:
        if imported.name not in in_sync:
            click.echo(_imported(imported))
        for note in _notes(imported):
            click.echo(f"realm {visible(imported.name)}: {note}", err=True)


def _require_empty_reports(context: click.Context, found: "tuple[RealmDifference, ...]") -> None:
    """Exit with 1 before anything is imported where the report names something."""
    if any(one.report for one in found):
        _show_reports(found)
        click.echo("nothing was imported: the report is not empty (--strict)", err=True)
        context.exit(_DIFFERS)


async def _import(
    files: "tuple[RealmFile, ...]", *, skip_existing: bool, users: str
) -> "tuple[ImportedRealm, ...]":
    from gateway.bootstrap.administration import realm_import
    from gateway.bootstrap.services import open_services
    from gateway.storage.sql.migrate import migrate

    settings = installed_settings(begins=True)
    await migrate(settings.database_url)
    async with open_services(settings) as services:
        importing = realm_import(services, settings.themes)
        return await importing.run(
            files, skip_existing=skip_existing, updates_users=users == "update"
        )


def _imported(imported: "ImportedRealm") -> str:
    if imported.skipped:
        return f"realm {imported.name}: exists, left alone"
    done = "created" if imported.created else "updated"
    added = f"{counted(imported.clients, 'client')} and {counted(imported.users, 'user')} added"
    return f"realm {imported.name}: {done}, {added}"


def _notes(imported: "ImportedRealm") -> list[str]:
    notes = [visible(str(each)) for each in imported.report]
    if not imported.announced:
        notes.append("Redis is unavailable, so running gateways apply the change within 5 s")
    return notes


@contextmanager
def _private_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name when it is complete, readable by its owner alone."""
    # Written under another name and moved: an existing file may be readable by others.
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    if path.is_symlink() or (path.exists() and not path.is_file()):
        # A move would replace /dev/null, or a pipe that is read.
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


def _rehearse(files: "tuple[RealmFile, ...]", users: str) -> "tuple[RealmDifference, ...]":
    from gateway.bootstrap.administration import import_dry_run

    updates = users == "update"

    async def compare(operator: LocalOperator) -> "tuple[RealmDifference, ...]":
        dry_run = import_dry_run(operator.services, installed_settings().themes)
        return await dry_run.run(files, updates_users=updates)

    return administer(compare)


def _show(found: "tuple[RealmDifference, ...]") -> None:
    for one in found:
        state = "in sync" if one.in_sync else "new" if one.created else "differs"
        click.echo(f"realm {visible(one.name)}: {state}")
        for change in one.changes:
            click.echo(f"  {change.sign} {visible(_line(change))}")


def _show_reports(found: "tuple[RealmDifference, ...]") -> None:
    for one in found:
        for each in one.report:
            click.echo(f"realm {visible(one.name)}: {visible(str(each))}", err=True)


def _line(change: "Difference") -> str:
    if not change.field:
        return change.what
    text = f"{change.field}: {_values(change)}"
    return f"{change.what}: {text}" if change.what else text


def _values(change: "Difference") -> str:
    if change.is_secret:
        return "a secret, which is not shown"
    before, after = _value(change.before), _value(change.after)
    lists = isinstance(change.before, list) and isinstance(change.after, list)
    if lists and any(text.endswith(_CUT) for text in (before, after)):
        return _of_lists(change)
    return f"{before} -> {after}"


def _of_lists(change: "Difference") -> str:
    """Show what only one of them has: two long lists may begin alike."""
    removed = [item for item in change.before if item not in change.after]
    added = [item for item in change.after if item not in change.before]
    if not removed and not added:
        return "the same in another order"
    return f"of many, {_value(removed)} -> {_value(added)}"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}{_CUT}"


def _document(one: "RealmDifference") -> dict[str, Any]:
    return {
        "realm": one.name,
        "created": one.created,
        "inSync": one.in_sync,
        "changes": [
            {
                "action": change.sign.name.lower(),
                "resource": change.what,
                "field": change.field,
                "before": change.before,
                "after": change.after,
            }
            for change in one.changes
        ],
        "notImported": list(one.not_imported),
        "ineffective": [str(setting) for setting in one.ineffective],
        "refusedClients": [str(client) for client in one.refused_clients],
        "report": _report(one.report),
    }


def _imported_document(one: "ImportedRealm") -> dict[str, Any]:
    return {
        "realm": one.name,
        "created": one.created,
        "skipped": one.skipped,
        "clients": one.clients,
        "users": one.users,
        "report": _report(one.report),
    }


def _report(report: "Report") -> dict[str, Any]:
    from gateway.admin.realm_files import render_report

    return render_report(report)


COMMANDS = (import_, export, plan, apply)
