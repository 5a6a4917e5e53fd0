"""`realmgate group`: the groups of a realm by path, over the use cases of the admin API."""

from typing import Any

import click

from gateway.cli.administration import (
    RealmOperator,
    administer_realm,
    assigned,
    confirm_removal,
    echo_document,
    output_option,
    realm_option,
    set_option,
    yes_option,
)
from gateway.cli.output import show_rows

_group = click.argument("path", metavar="/PATH")
_OWN = ("description", "attributes")


@click.group()
def group() -> None:
    """List, create, change and delete groups."""


@group.command("list")
@realm_option
@output_option
def list_(realm: str, output: str) -> None:
    """List all groups of a realm by path."""
    found = administer_realm(
        realm, lambda operator: operator.groups.listing.groups(operator.acting.realm)
    )
    if output == "json":
        echo_document([{"id": one.id, "name": one.name, "path": one.path} for one in found])
        return
    show_rows((one.path, "default" if one.is_default else "", one.id) for one in found)


@group.command(short_help="Show a group.")
@_group
@realm_option
def show(path: str, realm: str) -> None:
    """Show the group at /PATH with its attributes and roles, as JSON."""
    echo_document(
        administer_realm(
            realm,
            lambda operator: operator.groups.listing.at_path(
                operator.acting.realm, operator.acting.rights, path
            ),
        )
    )


@group.command(short_help="Create a group.")
@_group
@realm_option
@set_option
def create(path: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Create the group at /PATH. Its parent group must exist."""
    above, _, name = path.rpartition("/")
    document = {**assigned(assignments, only=_OWN), "name": name}

    async def work(operator: RealmOperator) -> str:
        parent = await _found(operator, above) if above else None
        made = await operator.groups.administration.put(operator.acting, parent, document)
        return str((made or {}).get("id", ""))

    click.echo(f"group {path}: created, id {administer_realm(realm, work)}")


@group.command(short_help="Change a group.")
@_group
@realm_option
@set_option
def update(path: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Change name, description or attributes of the group at /PATH."""
    given = assigned(assignments, only=("name", *_OWN), required=True)

    async def work(operator: RealmOperator) -> None:
        groups = operator.groups
        before = await groups.listing.at_path(operator.acting.realm, operator.acting.rights, path)
        kept: dict[str, Any] = {
            name: before[name] for name in ("name", "description") if name in before
        }
        await groups.administration.update(operator.acting, before["id"], {**kept, **given})

    administer_realm(realm, work)
    click.echo(f"group {path}: updated")


@group.command(short_help="Delete a group.")
@_group
@realm_option
@yes_option
def delete(path: str, realm: str, *, yes: bool) -> None:
    """Delete the group at /PATH and all groups below it."""

    async def work(operator: RealmOperator) -> None:
        identity = await _found(operator, path)
        confirm_removal(f"the group {path} of {realm} with all below it", yes=yes)
        await operator.groups.administration.remove(operator.acting, identity)

    administer_realm(realm, work)
    click.echo(f"group {path}: removed")


async def _found(operator: RealmOperator, path: str) -> str:
    found = await operator.groups.listing.at_path(
        operator.acting.realm, operator.acting.rights, path
    )
    return str(found["id"])
