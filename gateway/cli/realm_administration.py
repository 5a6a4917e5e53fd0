"""`realmgate realm list|show|create|update|delete`: realms one by one, over the use cases."""

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
    set_option,
    yes_option,
)
from gateway.cli.output.columns import show_rows

if TYPE_CHECKING:
    from gateway.admin.realms import RealmUseCases

_name = click.argument("name")


@click.command("list")
@output_option
def list_(output: str) -> None:
    """List the realms."""

    async def ask(administration: Administration) -> list[dict[str, Any]]:
        from gateway.representations.realms import brief_realm

        async with administration.services.database.read() as stores:
            return [brief_realm(realm) for realm in await stores.realms.list()]

    found = administer(ask)
    if output == "json":
        echo_document(found)
        return
    show_rows(
        (item["realm"], "enabled" if item["enabled"] else "disabled", item.get("displayName", ""))
        for item in found
    )


@click.command()
@_name
def show(name: str) -> None:
    """Show every setting of the realm NAME as JSON, secrets masked."""

    async def ask(administration: Administration) -> dict[str, Any]:
        acting = await administration.acting(name, option=None)
        return await _realms(administration).listing.one(acting)

    echo_document(administer(ask))


@click.command(short_help="Create a realm.")
@_name
@click.option("--enabled", is_flag=True, help="Create the realm enabled.")
@set_option
def create(name: str, assignments: tuple[str, ...], *, enabled: bool) -> None:
    """Create the realm NAME with the default clients, roles, scopes and keys."""
    document = {"enabled": enabled, **assigned(assignments, never=("realm",)), "realm": name}

    async def work(administration: Administration) -> str:
        from gateway.bootstrap.realm_files import realm_creation
        from gateway.domain.realm import MASTER

        creation = realm_creation(administration.services, administration.changes)
        acting = await administration.acting(MASTER, option=None)
        return (await creation.create(acting, document)).id

    click.echo(f"realm {name}: created, id {administer(work)}")


@click.command(short_help="Change settings of a realm, or its name.")
@_name
@set_option
def update(name: str, assignments: tuple[str, ...]) -> None:
    """Change settings of the realm NAME. `--set realm=NEW` renames it."""
    from gateway.representations.realms import IMPORTED, NOT_IMPORTED

    beside = (IMPORTED | NOT_IMPORTED) - {"defaultGroups"}
    document = assigned(assignments, never=beside | {"id"})
    if not document:
        raise click.UsageError("Give at least one --set FIELD=VALUE.")

    async def work(administration: Administration) -> str:
        acting = await administration.acting(name, option=None)
        return (await _realms(administration).changes.update(acting, document)).name

    click.echo(f"realm {administer(work)}: updated")


@click.command(short_help="Delete a realm and everything in it.")
@_name
@yes_option
def delete(name: str, *, yes: bool) -> None:
    """Delete the realm NAME with its users, clients, keys and sessions."""

    async def work(administration: Administration) -> None:
        acting = await administration.acting(name, option=None)
        confirm_removal(f"the realm {name} and all that is in it", yes=yes)
        await _realms(administration).changes.remove(acting)

    administer(work)
    click.echo(f"realm {name}: removed")


def _realms(administration: Administration) -> "RealmUseCases":
    from gateway.bootstrap.realms import realm_use_cases

    return realm_use_cases(administration.services, administration.changes)


COMMANDS = (list_, show, create, update, delete)
