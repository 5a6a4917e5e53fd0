"""`realmgate role`: the roles of a realm and of its clients, over the use cases of the admin API.

A role of a client is named `client/role`, as everywhere in this command.
"""

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
    from gateway.admin.roles import RoleAddress, RoleAdministration

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

    async def ask(administration: Administration) -> list[dict[str, Any]]:
        from gateway.domain.ports.storage.role_catalogue import RoleQuery

        acting = await administration.acting(realm)
        container = ""
        if client_id is not None:
            container = (await administration.client(acting, client_id)).id
        query = RoleQuery(container=container)
        return await _roles(administration).page(acting.realm, query, brief=False)

    found = administer(ask)
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

    async def ask(administration: Administration) -> dict[str, Any]:
        acting = await administration.acting(realm)
        address = await _address(administration, acting, name)
        return await _roles(administration).one(acting, address)

    echo_document(administer(ask))


@role.command(short_help="Create a role.")
@_role
@realm_option
@set_option
def create(name: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Create ROLE, or client/ROLE, with description, attributes and composites."""
    given = assigned(assignments, only=(*_OWN, _COMPOSITES))

    async def work(administration: Administration) -> None:
        acting = await administration.acting(realm)
        address = await _address(administration, acting, name)
        document = {**given, "name": address.name, "composite": _COMPOSITES in given}
        await _roles(administration).create(acting, address.client, document)

    administer(work)
    click.echo(f"role {name}: created")


@role.command(short_help="Change a role.")
@_role
@realm_option
@set_option
def update(name: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Change name, description or attributes of ROLE, or of client/ROLE."""
    given = assigned(assignments, only=("name", *_OWN))
    if not given:
        raise click.UsageError("Give at least one --set FIELD=VALUE.")

    async def work(administration: Administration) -> None:
        acting = await administration.acting(realm)
        address = await _address(administration, acting, name)
        before = await _roles(administration).one(acting, address)
        await _roles(administration).update(acting, address, {**before, **given})

    administer(work)
    click.echo(f"role {name}: updated")


@role.command(short_help="Delete a role.")
@_role
@realm_option
@yes_option
def delete(name: str, realm: str, *, yes: bool) -> None:
    """Delete ROLE, or client/ROLE. Users and groups lose it."""

    async def work(administration: Administration) -> None:
        acting = await administration.acting(realm)
        address = await _address(administration, acting, name)
        await _roles(administration).one(acting, address)
        confirm_removal(f"the role {name} of {realm}", yes=yes)
        await _roles(administration).remove(acting, address)

    administer(work)
    click.echo(f"role {name}: removed")


async def _address(administration: Administration, acting: "Acting", name: str) -> "RoleAddress":
    from gateway.admin.roles import RoleAddress

    client_id, slash, own = name.rpartition("/")
    if not slash:
        return RoleAddress(name)
    return RoleAddress(own, (await administration.client(acting, client_id)).id)


def _roles(administration: Administration) -> "RoleAdministration":
    from gateway.bootstrap.roles import role_use_cases

    return role_use_cases(administration.services, administration.changes).administration
