"""`realmgate role`: the roles of a realm and of its clients, over the use cases of the admin API.

A role of a client is named `client/role`, as everywhere in this command.
"""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from gateway.admin.roles import RoleAddress

_role = click.argument("name", metavar="ROLE")
_OWN = ("description", "attributes")
_COMPOSITES = "composites"


@click.group()
def role() -> None:
    """List, create, change and delete roles."""


@role.command("list")
@realm_option
@click.option("--client", "client_id", metavar="CLIENT", help="List the roles of this client.")
@output_option
def list_(realm: str, client_id: str | None, output: str) -> None:
    """List the roles of a realm, or of a client."""

    async def ask(operator: RealmOperator) -> list[dict[str, Any]]:
        from gateway.domain.ports.storage.role_catalogue import RoleQuery

        client = None if client_id is None else await operator.client(client_id)
        query = RoleQuery(container="" if client is None else client.id)
        return await operator.roles.administration.page(operator.acting.realm, query, brief=False)

    found = administer_realm(realm, ask)
    if output == "json":
        echo_document(found)
        return
    show_rows(
        (item["name"], "composite" if item["composite"] else "", item.get("description", ""))
        for item in found
    )


@role.command(short_help="Show a role.")
@_role
@realm_option
def show(name: str, realm: str) -> None:
    """Show ROLE, or client/ROLE, as JSON."""

    async def ask(operator: RealmOperator) -> dict[str, Any]:
        address = await _address(operator, name)
        return await operator.roles.administration.one(operator.acting, address)

    echo_document(administer_realm(realm, ask))


@role.command(short_help="Create a role.")
@_role
@realm_option
@set_option
def create(name: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Create ROLE, or client/ROLE, with description, attributes and composites."""
    given = assigned(assignments, only=(*_OWN, _COMPOSITES))

    async def work(operator: RealmOperator) -> None:
        address = await _address(operator, name)
        document = {**given, "name": address.name, "composite": _COMPOSITES in given}
        await operator.roles.administration.create(operator.acting, address.client, document)

    administer_realm(realm, work)
    click.echo(f"role {name}: created")


@role.command(short_help="Change a role.")
@_role
@realm_option
@set_option
def update(name: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Change name, description or attributes of ROLE, or of client/ROLE."""
    given = assigned(assignments, only=("name", *_OWN), required=True)

    async def work(operator: RealmOperator) -> None:
        address = await _address(operator, name)
        before = await operator.roles.administration.one(operator.acting, address)
        await operator.roles.administration.update(operator.acting, address, {**before, **given})

    administer_realm(realm, work)
    click.echo(f"role {name}: updated")


@role.command(short_help="Delete a role.")
@_role
@realm_option
@yes_option
def delete(name: str, realm: str, *, yes: bool) -> None:
    """Delete ROLE, or client/ROLE. Users and groups lose it."""

    async def work(operator: RealmOperator) -> None:
        address = await _address(operator, name)
        await operator.roles.administration.one(operator.acting, address)
        confirm_removal(f"the role {name} of {realm}", yes=yes)
        await operator.roles.administration.remove(operator.acting, address)

    administer_realm(realm, work)
    click.echo(f"role {name}: removed")


async def _address(operator: RealmOperator, name: str) -> "RoleAddress":
    from gateway.admin.roles import RoleAddress

    client_id, slash, own = name.rpartition("/")
    if not slash:
        return RoleAddress(name)
    return RoleAddress(own, (await operator.client(client_id)).id)
