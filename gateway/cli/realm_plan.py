"""`realmgate realm plan` and `apply`: what importing realm files would change, and doing it.

Exit codes of `plan`: 0 in sync, 1 differs, 2 bad input, 3 unreachable.
"""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import Administration, administer, output_option
from gateway.cli.output.columns import visible

if TYPE_CHECKING:
    from gateway.admin.realm_files import Difference, RealmDifference, RealmFile

_DIFFERS = 1
_LONGEST = 100
_CUT = "..."
_files = click.argument(
    "files", nargs=-1, required=True, metavar="FILE...", type=click.Path(path_type=Path)
)


@click.command(short_help="Show what importing realm files would change.")
@_files
@output_option
@click.pass_context
def plan(context: click.Context, files: tuple[Path, ...], *, output: str) -> None:
    """Show what importing FILE... would change, field by field. Secrets are never shown.

    Stores nothing. Exits with 0 if the realms equal the files, with 1 if they differ.
    """
    from gateway.admin.realm_files import load_realm_files

    found = _rehearse(load_realm_files(files))
    if output == "json":
        click.echo(json.dumps([_document(one) for one in found], indent=2, default=repr))
    else:
        _show(found)
        _show_left_out(found)
    if not all(one.in_sync for one in found):
        context.exit(_DIFFERS)


@click.command(short_help="Show what importing realm files changes, and import them.")
@_files
def apply(files: tuple[Path, ...]) -> None:
    """Show what importing FILE... changes, and import them, all or nothing. Removes nothing."""
    from gateway.admin.realm_files import load_realm_files
    from gateway.cli.realm_import import import_files

    loaded = load_realm_files(files)
    found = _rehearse(loaded)
    _show(found)
    import_files(loaded, told=[one.name for one in found if one.in_sync])


def _rehearse(files: "tuple[RealmFile, ...]") -> "tuple[RealmDifference, ...]":
    from gateway.bootstrap.realm_files import realm_rehearsal

    async def work(administration: Administration) -> "tuple[RealmDifference, ...]":
        return await realm_rehearsal(administration.services).run(files)

    return administer(work)


def _show(found: "tuple[RealmDifference, ...]") -> None:
    for one in found:
        state = "in sync" if one.in_sync else "new" if one.created else "differs"
        click.echo(f"realm {visible(one.name)}: {state}")
        for change in one.changes:
            click.echo(f"  {change.sign} {visible(_line(change))}")


def _show_left_out(found: "tuple[RealmDifference, ...]") -> None:
    for one in found:
        for part in one.not_imported:
            click.echo(f"realm {visible(one.name)}: {part} not imported by this version", err=True)
        for setting in one.ineffective:
            click.echo(f"realm {visible(one.name)}: {visible(str(setting))}", err=True)


def _line(change: "Difference") -> str:
    if not change.field:
        return change.what
    told = f"{change.field}: {_values(change)}"
    return f"{change.what}: {told}" if change.what else told


def _values(change: "Difference") -> str:
    if change.is_secret:
        return "a secret, which is not shown"
    before, after = _value(change.before), _value(change.after)
    told = f"{before} -> {after}"
    lists = isinstance(change.before, list) and isinstance(change.after, list)
    return _of_lists(change) if lists and _is_cut(before, after) else told


def _of_lists(change: "Difference") -> str:
    """Show what only one of them has: the beginnings of two long lists may well be the same."""
    gone = [item for item in change.before if item not in change.after]
    come = [item for item in change.after if item not in change.before]
    if not gone and not come:
        return "the same in another order"
    return f"of many, {_value(gone)} -> {_value(come)}"


def _is_cut(*texts: str) -> bool:
    return any(text.endswith(_CUT) for text in texts)


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
    }
