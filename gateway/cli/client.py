"""`realmgate client`: the clients of a realm, over the use cases of the admin API."""

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
        lambda operator: operator.clients.listing.clients(operator.acting.realm, search),
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

    found = administer_realm(realm, lambda operator: operator.client(client_id))
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
        lambda operator: operator.clients.administration.add(operator.acting, document),
    )
    click.echo(f"client {client_id}: created, id {made.id}")


@client.command(short_help="Change a client.")
@_client
@realm_option
@set_option
def update(client_id: str, realm: str, assignments: tuple[str, ...]) -> None:
    """Change fields of CLIENT."""
    document = assigned(assignments, never=_PASSED_OVER, required=True)

    async def work(operator: RealmOperator) -> None:
        found = await operator.client(client_id)
        await operator.clients.administration.change(operator.acting, found.id, document)

    administer_realm(realm, work)
    click.echo(f"client {client_id}: updated")


@client.command(short_help="Delete a client.")
@_client
@realm_option
@yes_option
def delete(client_id: str, realm: str, *, yes: bool) -> None:
    """Delete CLIENT with its roles, its service account and its sessions."""

    async def work(operator: RealmOperator) -> None:
        found = await operator.client(client_id)
        confirm_removal(f"the client {client_id} of {realm}", yes=yes)
        await operator.clients.administration.remove(operator.acting, found.id)

    administer_realm(realm, work)
    click.echo(f"client {client_id}: removed")
