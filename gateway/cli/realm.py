"""`realmgate realm`: realms one by one, over the use cases of the admin API, and as files."""

from collections.abc import Collection
from typing import Any

import click

from gateway.cli.administration import (
    LocalOperator,
    administer,
    confirm_removal,
    echo_document,
    output_option,
    set_option,
    yes_option,
)
from gateway.cli.object_commands import add_object_commands
from gateway.cli.output import show_rows
from gateway.cli.realm_files import COMMANDS

_name = click.argument("name")


@click.group()
def realm() -> None:
    """Create, change, delete, import and export realms."""


for _command in COMMANDS:
    realm.add_command(_command)


@realm.command("list")
@output_option
def list_(output: str) -> None:
    """List the realms."""
    found = administer(lambda operator: operator.realms.listing.list_realms())
    if output == "json":
        echo_document(found)
        return
    show_rows(
        (item["realm"], "enabled" if item["enabled"] else "disabled", item.get("displayName", ""))
        for item in found
    )


@realm.command()
@_name
def show(name: str) -> None:
    """Show every setting of the realm NAME as JSON, secrets masked."""

    async def ask(operator: LocalOperator) -> dict[str, Any]:
        acting = await operator.on(name, option=None)
        return await operator.realms.listing.get_realm_document(acting)

    echo_document(administer(ask))


@realm.command(short_help="Create a realm.")
@_name
@click.option("--enabled", is_flag=True, help="Create the realm enabled.")
@set_option(never=("realm",))
def create(name: str, fields: dict[str, Any], *, enabled: bool) -> None:
    """Create the realm NAME with the default clients, roles, scopes and keys."""
    document = {"enabled": enabled, **fields, "realm": name}

    async def work(operator: LocalOperator) -> str:
        from gateway.bootstrap.administration import realm_creation
        from gateway.domain.realm import MASTER

        creation = realm_creation(operator.services)
        acting = await operator.on(MASTER, option=None)
        realm, _ = await creation.create(acting, document)
        return realm.id

    click.echo(f"realm {name}: created, id {administer(work)}")


def _no_settings() -> Collection[str]:
    from gateway.representations.realms import IMPORTED, NOT_IMPORTED

    return ((IMPORTED | NOT_IMPORTED) - {"defaultGroups"}) | {"id"}


@realm.command(short_help="Change settings of a realm, or its name.")
@_name
@set_option(never=_no_settings, required=True)
def update(name: str, fields: dict[str, Any]) -> None:
    """Change settings of the realm NAME. `--set realm=NEW` renames it.

    Attributes that `--set attributes=JSON` does not name stay; null removes one.
    """

    async def work(operator: LocalOperator) -> str:
        acting = await operator.on(name, option=None)
        changed = fields
        if isinstance(given := fields.get("attributes"), dict):
            # Over the admin API the attributes are replaced as a whole, as in Keycloak.
            stored = (await operator.realms.listing.get_realm_document(acting))["attributes"]
            merged = {key: text for key, text in (stored | given).items() if text is not None}
            changed = fields | {"attributes": merged}
        return (await operator.realms.administration.update_realm(acting, changed)).name

    click.echo(f"realm {administer(work)}: updated")


@realm.command(short_help="Delete a realm and everything in it.")
@_name
@yes_option
def delete(name: str, *, yes: bool) -> None:
    """Delete the realm NAME with its users, clients, keys and sessions."""

    async def work(operator: LocalOperator) -> None:
        acting = await operator.on(name, option=None)
        confirm_removal(f"the realm {name} and all that is in it", yes=yes)
        await operator.realms.administration.remove_realm(acting)

    administer(work)
    click.echo(f"realm {name}: removed")


add_object_commands(realm, "realm")
