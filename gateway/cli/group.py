"""`realmgate group`: the groups of a realm by path, over the use cases of the admin API."""

# Everything heavy is imported by the command that runs, so that help and usage errors stay quick.
# ruff: noqa: PLC0415

from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import (
    Administration,
    administer,
    assigned,
    confirm_removal,
    echo_document,
    output_option,
    realm_option,
    set_option,
    yes_option,
)
from gateway.cli.output.columns import show_rows

if TYPE_CHECKING:
    from gateway.admin.access import Acting
    from gateway.admin.groups import GroupUseCases
    from gateway.domain.groups import Group

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

    async def ask(administration: Administration) -> "tuple[Group, ...]":
        acting = await administration.acting(realm)
        async with administration.services.database.read() as stores:
            return await stores.groups.list(acting.realm.id)

    found = administer(ask)
    if output == "json":
        echo_document([{"id": one.id, "name": one.name, "path": one.path} for one in found])
        return
    show_rows((one.path, "default" if one.is_default else "", one.id) for one in found)


@group.command(short_help="Show a group.")
@_group
@realm_option
def show(path: str, realm: str) -> None:
    """Show the group at /PATH with its attributes and roles, as JSON."""

    async def ask(administration: Administration) -> dict[str, Any]:
        acting = await administration.acting(realm)
        listing = _groups(administration).listing
        return await listing.at_path(acting.realm, acting.rights, path)

    echo_document(administer(ask))


@group.command(short_help="Create a group.")
@_group
@realm_option
@set_option
def create(path: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Create the group at /PATH. Its parent group must exist."""
    above, _, name = path.rpartition("/")
    document = {**assigned(assignments, only=_OWN), "name": name}

    async def work(administration: Administration) -> str:
        acting = await administration.acting(realm)
        parent = await _found(administration, acting, above) if above else None
        made = await _groups(administration).administration.put(acting, parent, document)
        return str((made or {}).get("id", ""))

    click.echo(f"group {path}: created, id {administer(work)}")


@group.command(short_help="Change a group.")
@_group
@realm_option
@set_option
def update(path: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Change name, description or attributes of the group at /PATH."""
    given = assigned(assignments, only=("name", *_OWN))
    if not given:
        raise click.UsageError("Give at least one --set FIELD=VALUE.")

    async def work(administration: Administration) -> None:
        acting = await administration.acting(realm)
        groups = _groups(administration)
        before = await groups.listing.at_path(acting.realm, acting.rights, path)
        kept: dict[str, Any] = {
            name: before[name] for name in ("name", "description") if name in before
        }
        await groups.administration.update(acting, before["id"], {**kept, **given})

    administer(work)
    click.echo(f"group {path}: updated")


@group.command(short_help="Delete a group.")
@_group
@realm_option
@yes_option
def delete(path: str, realm: str, *, yes: bool) -> None:
    """Delete the group at /PATH and all groups below it."""

    async def work(administration: Administration) -> None:
        acting = await administration.acting(realm)
        identity = await _found(administration, acting, path)
        confirm_removal(f"the group {path} of {realm} with all below it", yes=yes)
        await _groups(administration).administration.remove(acting, identity)

    administer(work)
    click.echo(f"group {path}: removed")


async def _found(administration: Administration, acting: "Acting", path: str) -> str:
    from gateway.admin.access import Missing

    async with administration.services.database.read() as stores:
        found = await stores.group_catalogue.find_by_path(acting.realm.id, path)
    if found is None:
        raise Missing(f"there is no group {path} in {acting.realm.name}")
    return found.id


def _groups(administration: Administration) -> "GroupUseCases":
    from gateway.bootstrap.groups import group_use_cases

    return group_use_cases(administration.services, administration.changes)
