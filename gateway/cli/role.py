"""`realmgate role`: the roles of a realm and of its clients, over the use cases of the admin API.

A role of a client is named `client/role`, as everywhere in this command.
"""

from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import (
    RealmOperator,
    confirm_removal,
    echo_document,
    on_realm,
    output_option,
    set_option,
    yes_option,
)
from gateway.cli.object_commands import add_object_commands
from gateway.cli.output import show_rows

if TYPE_CHECKING:
    from gateway.admin.roles import RoleAddress

_role = click.argument("name", metavar="ROLE")
_OWN = ("description", "attributes")
_COMPOSITES = "composites"


@click.group()
def role() -> None:
    """List, create, change and delete roles."""


@role.command("list")
@on_realm
@click.option("--client", "client_id", metavar="CLIENT", help="List the roles of this client.")
@output_option
async def list_(operator: RealmOperator, client_id: str | None, output: str) -> None:
    """List the roles of a realm, or of a client."""
    from gateway.domain.ports.users import RoleQuery

    query = RoleQuery(container="" if client_id is None else (await operator.client(client_id)).id)
    found = await operator.roles.list_roles(operator.acting.realm, query, brief=False)
    if output == "json":
        echo_document(found)
        return
    show_rows(
        (item["name"], "composite" if item["composite"] else "", item.get("description", ""))
        for item in found
    )


@role.command(short_help="Show a role.")
@_role
@on_realm
async def show(operator: RealmOperator, name: str) -> None:
    """Show ROLE, or client/ROLE, as JSON."""
    address = await _address(operator, name)
    echo_document(await operator.roles.get_role(operator.acting, address))


@role.command(short_help="Create a role.")
@_role
@on_realm
@set_option(only=(*_OWN, _COMPOSITES))
async def create(operator: RealmOperator, name: str, fields: dict[str, Any]) -> None:
    """Create ROLE, or client/ROLE, with description, attributes and composites."""
    address = await _address(operator, name)
    document = {**fields, "name": address.name, "composite": _COMPOSITES in fields}
    await operator.roles.create_role(operator.acting, address.client, document)
    click.echo(f"role {name}: created")


@role.command(short_help="Change a role.")
@_role
@on_realm
@set_option(only=("name", *_OWN), required=True)
async def update(operator: RealmOperator, name: str, fields: dict[str, Any]) -> None:
    """Change name, description or attributes of ROLE, or of client/ROLE."""
    roles, address = operator.roles, await _address(operator, name)
    before = await roles.get_role(operator.acting, address)
    await roles.replace_role(operator.acting, address, {**before, **fields})
    click.echo(f"role {name}: updated")


@role.command(short_help="Delete a role.")
@_role
@on_realm
@yes_option
async def delete(operator: RealmOperator, name: str, *, yes: bool) -> None:
    """Delete ROLE, or client/ROLE. Users and groups lose it."""
    roles, address = operator.roles, await _address(operator, name)
    await roles.get_role(operator.acting, address)
    confirm_removal(f"the role {name} of {operator.acting.realm.name}", yes=yes)
    await roles.remove_role(operator.acting, address)
    click.echo(f"role {name}: removed")


async def _address(operator: RealmOperator, name: str) -> "RoleAddress":
    from gateway.admin.roles import RoleAddress

    client_id, slash, own = name.rpartition("/")
    if not slash:
        return RoleAddress(name)
    return RoleAddress(own, (await operator.client(client_id)).id)


add_object_commands(role, "role")
