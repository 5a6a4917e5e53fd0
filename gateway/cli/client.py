"""`realmgate client`: the clients of a realm, over the use cases of the admin API."""

from typing import TYPE_CHECKING

import click

from gateway.cli.administration import (
    Administration,
    administer_realm,
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

_client = click.argument("client_id", metavar="CLIENT")
_PASSED_OVER = ("id", "defaultClientScopes", "optionalClientScopes")


@click.group()
def client() -> None:
    """List, create, change and delete clients."""


@client.command("list")
@realm_option
@click.option("--search", default="", help="Part of the client id.")
@output_option
def list_(realm: str, search: str, output: str) -> None:
    """List the clients of a realm."""
    found = administer_realm(
        realm,
        lambda administration, acting: administration.clients.listing.clients(acting.realm, search),
    )
    if output == "json":
        from gateway.representations.clients import write_client

        echo_document([write_client(one) for one in found])
        return
    show_rows(
        (
            one.client_id,
            "enabled" if one.enabled else "disabled",
            "public" if one.public_client else "bearer-only" if one.bearer_only else "confidential",
            one.id,
        )
        for one in found
    )


@client.command(short_help="Show a client.")
@_client
@realm_option
@click.option("--include-secrets", is_flag=True, help="Show the client secret.")
def show(client_id: str, realm: str, *, include_secrets: bool) -> None:
    """Show CLIENT, given by its client id, as JSON."""
    from gateway.representations.clients import write_client

    found = administer_realm(
        realm, lambda administration, acting: administration.client(acting, client_id)
    )
    echo_document(write_client(found, masked=not include_secrets))


@client.command(short_help="Create a client.")
@_client
@realm_option
@set_option
def create(client_id: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Create CLIENT. Show a generated secret with `client show --include-secrets`."""
    document = {**assigned(assignments, never=("clientId",)), "clientId": client_id}
    made = administer_realm(
        realm,
        lambda administration, acting: administration.clients.administration.add(acting, document),
    )
    click.echo(f"client {client_id}: created, id {made.id}")


@client.command(short_help="Change a client.")
@_client
@realm_option
@set_option
def update(client_id: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Change fields of CLIENT."""
    document = assigned(assignments, never=_PASSED_OVER, required=True)

    async def work(administration: Administration, acting: "Acting") -> None:
        found = await administration.client(acting, client_id)
        await administration.clients.administration.change(acting, found.id, document)

    administer_realm(realm, work)
    click.echo(f"client {client_id}: updated")


@client.command(short_help="Delete a client.")
@_client
@realm_option
@yes_option
def delete(client_id: str, realm: str, *, yes: bool) -> None:
    """Delete CLIENT with its roles, its service account and its sessions."""

    async def work(administration: Administration, acting: "Acting") -> None:
        found = await administration.client(acting, client_id)
        confirm_removal(f"the client {client_id} of {realm}", yes=yes)
        await administration.clients.administration.remove(acting, found.id)

    administer_realm(realm, work)
    click.echo(f"client {client_id}: removed")
