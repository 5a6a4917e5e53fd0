"""`realmgate session`: list and end sessions.

Exit codes: 0 done, 1 there was no such session, 2 usage or bad input, 3 a store is unreachable.
"""

import json
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import RealmOperator, on_realm, output_option, page_options
from gateway.cli.object_commands import add_object_commands
from gateway.cli.output import counted, instant_text, show_rows
from gateway.cli.secret_input import IdCommand

if TYPE_CHECKING:
    from gateway.domain.sessions import UserSession


@click.group()
def session() -> None:
    """List and end sessions."""


@session.command("list")
@on_realm
@click.option("--user", "name", metavar="USER", help="List the sessions of this user.")
@click.option("--client", "client_id", metavar="CLIENT", help="List the sessions with this client.")
@page_options("sessions", 10_000)
@output_option
async def list_(
    operator: RealmOperator,
    name: str | None,
    client_id: str | None,
    *,
    first: int,
    maximum: int,
    output: str,
) -> None:
    """List the sessions of a user, or of a client, oldest first."""
    if (name is None) == (client_id is None):
        raise click.UsageError("Give either --user or --client.")
    from gateway.admin.access import find_client_by_name

    realm, sessions = operator.acting.realm, operator.sessions
    if name is not None:
        user = await operator.user(name)
        items = (await sessions.list_sessions_of_user(realm, user.id))[first : first + maximum]
    else:
        async with operator.services.database.read() as stores:
            client = await find_client_by_name(stores, realm, client_id or "")
        items = await sessions.list_sessions_of_client_by_kind(realm, client.id, first, maximum)
    found = [_document(item) for item in items]
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    show_rows(
        (
            item["id"],
            "offline" if item["offline"] else "online",
            item["username"],
            item["ipAddress"],
            f"since {item['start']}",
            f"used {item['lastAccess']}",
        )
        for item in found
    )


@session.command(
    cls=IdCommand, short_help="End sessions.", context_settings={"ignore_unknown_options": True}
)
@click.argument("session_id", metavar="[SESSION]", required=False)
@on_realm
@click.option("--user", "name", metavar="USER", help="End every session of this user.")
@click.option("--all", "everybody", is_flag=True, help="End every session of the realm.")
async def end(
    operator: RealmOperator, session_id: str | None, name: str | None, *, everybody: bool
) -> None:
    """End one SESSION, every session of a user, or every session of a realm.

    With --user and --all, tokens that were issued before are rejected too.
    """
    if [session_id is not None, name is not None, everybody].count(True) != 1:
        raise click.UsageError("Give one of SESSION, --user and --all.")
    from gateway.domain.refusals import NotFound

    acting, sessions = operator.acting, operator.sessions
    if session_id is not None:
        try:
            await sessions.end_session_of_either_kind(acting, session_id)
        except NotFound as error:
            raise click.ClickException(f"there is no session {session_id}") from error
        click.echo(f"session {session_id}: ended")
        return
    if name is None:
        count = await sessions.end_sessions_of_realm(acting)
    else:
        count = await sessions.end_sessions_of_user(acting, (await operator.user(name)).id)
    click.echo(f"{counted(count, 'session')} ended")


def _document(item: "UserSession") -> dict[str, Any]:
    return {
        "id": item.id,
        "username": item.username,
        "userId": item.user_id,
        "ipAddress": item.ip_address,
        "start": instant_text(item.started_at),
        "lastAccess": instant_text(item.refreshed_at),
        "rememberMe": item.remember_me,
        "offline": item.offline,
        "clients": sorted(item.clients),
    }


add_object_commands(session, "session")
