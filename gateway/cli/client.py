"""`realmgate client`: the clients of a realm, over the use cases of the admin API."""

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
from gateway.cli.secret_input import read_secret

if TYPE_CHECKING:
    from gateway.domain.clients import Client

_client = click.argument("client_id", metavar="CLIENT")
_set_secret = click.option("--set-secret", is_flag=True, help="Prompt for the client secret.")
_secret_file = click.option(
    "--secret-file",
    type=click.File("r", encoding="utf-8"),
    help="Read the client secret from this file, - for standard input, without its last line end.",
)
_IGNORED = ("id", "defaultClientScopes", "optionalClientScopes")


@click.group()
def client() -> None:
    """List, create, change and delete clients."""


@client.command("list")
@on_realm
@click.option("--search", default="", help="Part of the client id.")
@output_option
async def list_(operator: RealmOperator, search: str, output: str) -> None:
    """List the clients of a realm."""
    from gateway.representations.clients import render_client

    found = await operator.clients.listing.clients(operator.acting.realm, search)
    if output == "json":
        echo_document([render_client(one) for one in found])
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
@on_realm
@click.option("--include-secrets", is_flag=True, help="Show the client secret.")
async def show(operator: RealmOperator, client_id: str, *, include_secrets: bool) -> None:
    """Show CLIENT, given by its client id, as JSON."""
    from gateway.representations.clients import render_client

    echo_document(render_client(await operator.client(client_id), masked=not include_secrets))


@client.command(short_help="Create a client.")
@_client
@on_realm
@_set_secret
@_secret_file
@set_option(never=("clientId",))
async def create(
    operator: RealmOperator,
    client_id: str,
    fields: dict[str, Any],
    secret_file: Any,
    *,
    set_secret: bool,
) -> None:
    """Create CLIENT. Show a generated secret with `client show --include-secrets`."""
    document = {**fields, **_secret(secret_file, prompted=set_secret), "clientId": client_id}
    made = await operator.clients.administration.create_client(operator.acting, document)
    click.echo(f"client {client_id}: created, id {made.id}")


@client.command(short_help="Change a client.")
@_client
@on_realm
@_set_secret
@_secret_file
@click.option(
    "--approve-reach",
    is_flag=True,
    help="Let its tokens carry all administrative roles of its users: examine the client first.",
)
@set_option(never=_IGNORED)
async def update(
    operator: RealmOperator,
    client_id: str,
    fields: dict[str, Any],
    secret_file: Any,
    *,
    set_secret: bool,
    approve_reach: bool,
) -> None:
    """Change fields of CLIENT.

    Where another administrator limited the administrative roles in its tokens, the limit stays
    without --approve-reach.
    """
    from gateway.representations.clients import changes_reach, given_field

    fields = {**fields, **_secret(secret_file, prompted=set_secret)}
    if not fields and not approve_reach:
        raise click.UsageError(
            "Give at least one --set FIELD=VALUE, --set-secret, --secret-file or --approve-reach."
        )
    before = await operator.client(client_id)
    if fields:
        await operator.clients.administration.update_client(
            operator.acting, before.id, fields, approves_reach=before.reach.everything
        )
    if approve_reach:
        await operator.clients.administration.decide_reach(operator.acting, before.id)
    click.echo(f"client {client_id}: updated")
    after = await operator.client(given_field(fields, "clientId") or client_id)
    if approve_reach or not after.reach.everything or changes_reach(before, after):
        click.echo(f"client {client_id}: {_describe_reach(after)}")


@client.command(short_help="Delete a client.")
@_client
@on_realm
@yes_option
async def delete(operator: RealmOperator, client_id: str, *, yes: bool) -> None:
    """Delete CLIENT with its roles, its service account and its sessions."""
    found = await operator.client(client_id)
    confirm_removal(f"the client {client_id} of {operator.acting.realm.name}", yes=yes)
    await operator.clients.administration.delete_client(operator.acting, found.id)
    click.echo(f"client {client_id}: removed")


def _describe_reach(client: "Client") -> str:
    """Return which administrative roles of users tokens of the client carry from now on."""
    if client.reach.everything:
        return "its tokens may carry all administrative roles of its users"
    roles = sorted(client.reach.roles)
    carried = f"the administrative roles {', '.join(roles)}" if roles else "no administrative role"
    return f"its tokens may carry {carried} of its users; --approve-reach permits all"


def _secret(file: Any, *, prompted: bool) -> dict[str, str]:
    """Return the field with the secret that is prompted for or in the file, if any."""
    if file is None and not prompted:
        return {}
    return {"secret": read_secret(file, "Client secret", "--secret-file")}


add_object_commands(client, "client")
