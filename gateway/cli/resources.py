"""The commands of small resources, by the declaration of their kind.

A kind in the table of commands has a group of its own: list, show, create, replace and delete. A
group with commands of its own takes the list from here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import (
    RealmOperator,
    confirm_removal,
    echo_document,
    on_realm,
    output_option,
    page_options,
    set_option,
    yes_option,
)
from gateway.cli.output import show_rows

if TYPE_CHECKING:
    from gateway.admin.resources import ResourceKind

Kind = Callable[[], "ResourceKind[Any]"]
"""Returns a declaration, which is imported when a command runs."""
Row = Callable[[Mapping[str, Any]], Sequence[str]]

_MOST = 10_000


def list_command(
    load: Kind, help_text: str, *, row: Row, values: str = "", searched: bool = False
) -> click.Command:
    """Return the command that lists the values of a realm, each as the `row` of its document.

    `values` names them in the options of pages; empty for a list without pages.
    """

    async def list_(operator: RealmOperator, *, output: str, **query: Any) -> None:
        first, maximum = query.get("first", 0), query.get("maximum")
        resources, realm = operator.resources(load()), operator.acting.realm
        search = query.get("search") or ""
        found = await resources.list_values(realm, first, maximum, search=search)
        if output == "json":
            echo_document(found)
            return
        show_rows(map(row, found))

    command = output_option(list_)
    if values:
        command = page_options(values, _MOST)(command)
    if searched:
        command = click.option("--search", metavar="TEXT", help="Part of a name.")(command)
    return click.command("list", help=help_text)(on_realm(command))


def resource_group(kind: "ResourceKind[Any]") -> click.Group:
    """Return the group of a kind, whose summaries are its help."""
    texts, what = kind.summaries, kind.title.lower()
    group = click.Group(help=f"Manage the {kind.plural} of a realm.")
    columns = kind.page.columns
    group.add_command(
        list_command(
            lambda: kind,
            f"{texts.list}.",
            row=lambda document: [_text(document.get(name)) for name in columns],
            values=kind.plural if kind.page_size is not None else "",
            searched=bool(kind.stored.search),
        )
    )
    key = click.argument("key", metavar=kind.key.upper())

    @click.command("show", help=f"{texts.get}, as JSON.")
    @key
    @on_realm
    async def show(operator: RealmOperator, *, key: str) -> None:
        echo_document(await operator.resources(kind).get_value(operator.acting.realm, key))

    @click.command("create", help=f"{texts.create}.")
    @on_realm
    @set_option(required=True)
    async def create(operator: RealmOperator, *, fields: dict[str, Any]) -> None:
        created = await operator.resources(kind).create_value(operator.acting, fields)
        click.echo(f"{what} {created}: created")

    @click.command("replace", help=f"{texts.replace}.")
    @key
    @on_realm
    @set_option(required=True)
    async def replace(operator: RealmOperator, *, key: str, fields: dict[str, Any]) -> None:
        await operator.resources(kind).replace_value(operator.acting, key, fields)
        click.echo(f"{what} {key}: replaced")

    @click.command("delete", help=f"{texts.delete}.")
    @key
    @on_realm
    @yes_option
    async def delete(operator: RealmOperator, *, key: str, yes: bool) -> None:
        confirm_removal(f"the {what} {key} of {operator.acting.realm.name}", yes=yes)
        await operator.resources(kind).remove_value(operator.acting, key)
        click.echo(f"{what} {key}: deleted")

    changes = [
        command for command, text in ((replace, texts.replace), (delete, texts.delete)) if text
    ]
    for command in (show, create, *changes):
        group.add_command(command)
    return group


def _text(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
