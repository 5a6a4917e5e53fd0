"""`realmgate group`: the groups of a realm by path, over the use cases of the admin API."""

from typing import Any

import click

from gateway.cli.admin_objects import GROUP
from gateway.cli.admin_rows import AdminRows
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
from gateway.cli.object_commands import add_object_commands
from gateway.cli.output import show_rows

_group = click.argument("path", metavar="/PATH")
_OWN = ("description", "attributes")


@click.group()
def group() -> None:
    """List, create, change and delete groups."""


@group.command("list")
@on_realm
@output_option
async def list_(operator: RealmOperator, output: str) -> None:
    """List all groups of a realm by path."""
    found = await operator.groups.groups(operator.acting.realm)
    if output == "json":
        echo_document([{"id": one.id, "name": one.name, "path": one.path} for one in found])
        return
    show_rows((one.path, "default" if one.is_default else "", one.id) for one in found)


@group.command(short_help="Show a group.")
@_group
@on_realm
async def show(operator: RealmOperator, path: str) -> None:
    """Show the group at /PATH with its attributes and roles, as JSON."""
    echo_document(await _found(operator, path))


@group.command(short_help="Create a group.")
@_group
@on_realm
@set_option(only=_OWN)
async def create(operator: RealmOperator, path: str, fields: dict[str, Any]) -> None:
    """Create the group at /PATH. Its parent group must exist."""
    from gateway.domain.groups import parse_group_path, render_group_path

    above, name = parse_group_path(path)[:-1], parse_group_path(path)[-1:]
    parent = (await _found(operator, render_group_path(above)))["id"] if above else None
    document = {**fields, "name": "".join(name)}
    made = await operator.groups.put_group(operator.acting, parent, document)
    click.echo(f"group {path}: created, id {(made or {}).get('id', '')}")


@group.command(short_help="Change a group.")
@_group
@on_realm
@set_option(only=("name", *_OWN), required=True)
async def update(operator: RealmOperator, path: str, fields: dict[str, Any]) -> None:
    """Change name, description or attributes of the group at /PATH."""
    before = await _found(operator, path)
    document = {name: before[name] for name in ("name", "description") if name in before} | fields
    await operator.groups.update_group(operator.acting, before["id"], document)
    click.echo(f"group {path}: updated")


@group.command(short_help="Delete a group.")
@_group
@on_realm
@yes_option
async def delete(operator: RealmOperator, path: str, *, yes: bool) -> None:
    """Delete the group at /PATH and all groups below it."""
    found, realm = await _found(operator, path), operator.acting.realm.name
    confirm_removal(f"the group {path} of {realm} with all below it", yes=yes)
    await operator.groups.remove_group(operator.acting, found["id"])
    click.echo(f"group {path}: removed")


@group.command(short_help="List, add and remove the members of a group.")
@_group
@on_realm
@click.option("--add", multiple=True, metavar="USER", help="Add this user. Repeatable.")
@click.option("--remove", multiple=True, metavar="USER", help="Remove this user. Repeatable.")
@page_options("members", 10_000)
@output_option
async def members(
    operator: RealmOperator,
    path: str,
    add: tuple[str, ...],
    remove: tuple[str, ...],
    *,
    first: int,
    maximum: int,
    output: str,
) -> None:
    """List the members of the group at /PATH, after adding and removing some.

    Members of groups below it are not listed.
    """
    from gateway.admin.access import ListingPage

    group_id = (await _found(operator, path))["id"]
    joining = [(await operator.user(name)).id for name in add]
    leaving = [(await operator.user(name)).id for name in remove]
    of_users = operator.users.groups
    for user_id in joining:
        await of_users.join_group(operator.acting, user_id, group_id)
    for user_id in leaving:
        await of_users.leave_group(operator.acting, user_id, group_id)
    page = ListingPage(first, maximum)
    found = await operator.groups.list_members(operator.acting.realm, group_id, page, brief=True)
    if output == "json":
        echo_document(found)
        return
    show_rows(
        (
            item["username"],
            item.get("email") or "",
            "" if item["enabled"] else "disabled",
            item["id"],
        )
        for item in found
    )


async def _found(operator: RealmOperator, path: str) -> dict[str, Any]:
    return await AdminRows(operator).find(GROUP, path, {})


add_object_commands(group, "group")
