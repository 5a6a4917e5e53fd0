"""The names, options and files of a command line that make the fields of an object.

Maps such as `config` are merged entry by entry: `--file`, `--set` and `--config` each give some.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any

import click

from gateway.cli.admin_objects import MapOption
from gateway.cli.admin_rows import Argument

Body = Callable[..., Any]
_DICTS = ("attributes", "config")
"""Members whose entries stay where an update does not name them; null removes one."""


def with_names(arguments: Sequence[Argument]) -> Callable[[Body], Body]:
    """Return the decorator that passes the names on the command line as `names`."""

    def decorate(body: Body) -> Body:
        @wraps(body)
        def run(*positional: Any, **options: Any) -> Any:
            names = [options.pop(f"argument_{place}") for place in range(len(arguments))]
            return body(*positional, names=names, **options)

        for place, argument in reversed(tuple(enumerate(arguments))):
            run = click.argument(f"argument_{place}", metavar=argument.metavar)(run)
        return run

    return decorate


def with_maps(maps: Sequence[MapOption]) -> Callable[[Body], Body]:
    """Return the decorator for options such as `--config NAME=VALUE`, merged into `fields`."""

    def decorate(body: Body) -> Body:
        @wraps(body)
        def run(*positional: Any, fields: dict[str, Any], **options: Any) -> Any:
            for each in maps:
                given = options.pop(f"map_{each.member}")
                if given:
                    fields = {**fields, each.member: _entries(each, given, fields)}
            return body(*positional, fields=fields, **options)

        for each in maps:
            run = click.option(
                f"--{each.member.removesuffix('s')}",
                f"map_{each.member}",
                multiple=True,
                metavar="NAME=VALUE",
                help=f"Set an entry of `{each.member}`; others stay. Repeatable.",
            )(run)
        return run

    return decorate


def _entries(option: MapOption, given: Sequence[str], fields: Mapping[str, Any]) -> dict[str, Any]:
    hint = f"--{option.member.removesuffix('s')}"
    before = entries_of(fields, option.member)
    entries: dict[str, Any] = {}
    for text in given:
        name, value = parse_entry(text, hint)
        if name in before or (name in entries and not option.lists):
            raise click.BadParameter(f"{name!r}: given twice", param_hint=hint)
        entries[name] = [*entries.get(name, ()), value] if option.lists else value
    return {**before, **entries}


def parse_entry(text: str, option: str) -> tuple[str, str]:
    """Return the name and the value of `NAME=VALUE`; raises BadParameter."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f"{text!r}: expected NAME=VALUE", param_hint=option)
    return name, value


def entries_of(fields: Mapping[str, Any], member: str) -> dict[str, Any]:
    """Return the entries of a map in `--set`, empty where none is given; raises BadParameter."""
    given = fields.get(member)
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise click.BadParameter(f"{member}: an object is expected", param_hint="--set")
    return given


file_option = click.option(
    "--file",
    type=click.File("rb"),
    help="Read the JSON object from this file, - for standard input. --set goes before it.",
)


def fields_of(file: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of the file and of `--set`; raises InvalidInput for unreadable JSON."""
    from gateway.cli.secret_input import read_whole
    from gateway.representations.json_input import parse_json

    if file is None:
        return dict(fields)
    document = parse_json(read_whole(file, _LARGEST, "--file"), "--file")
    if not isinstance(document, dict):
        raise click.BadParameter("expected a JSON object", param_hint="--file")
    return {**document, **fields, **dict(_entries_of_both(document, fields))}


def _entries_of_both(
    document: Mapping[str, Any], fields: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each map that both have, with the entries of both; those of `fields` win."""
    for name in _DICTS:
        first, second = document.get(name), fields.get(name)
        if isinstance(first, dict) and isinstance(second, dict):
            yield name, {**first, **second}


def read_text(file: Any) -> str:
    """Return the text of a file; raises BadParameter for a large one, and for other than UTF-8."""
    from gateway.cli.secret_input import read_whole

    try:
        return bytes(read_whole(file, _LARGEST, "--file")).decode()
    except UnicodeDecodeError:
        raise click.BadParameter("expected UTF-8", param_hint="--file") from None


_LARGEST = 1024 * 1024
"""Bytes of a file, as of a request."""


def require_some(fields: Mapping[str, Any]) -> None:
    """Raise UsageError without fields."""
    if not fields:
        raise click.UsageError("Give --file, or at least one --set FIELD=VALUE.")


def merged(before: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object after an update: maps entry by entry, all other members as a whole."""
    document = {**before, **fields}
    for name, entries in _entries_of_both(before, fields):
        document[name] = {key: value for key, value in entries.items() if value is not None}
    return document
