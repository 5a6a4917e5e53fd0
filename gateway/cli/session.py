"""`realmgate session`: list and end sessions.

Exit codes: 0 done, 1 there was no such session, 2 usage or bad input, 3 a store is unreachable.
"""

# Everything heavy is imported by the command that runs, so that help and usage errors stay quick.
# ruff: noqa: PLC0415

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from gateway.cli.columns import counted, show_rows
from gateway.cli.installation import installed_settings

if TYPE_CHECKING:
    from gateway.admin.sessions import SessionAdministration
    from gateway.domain.sessions import UserSession

Result = TypeVar("Result")

_realm = click.option("--realm", required=True, metavar="NAME", help="Name of the realm.")


@click.group()
def session() -> None:
    """List and end sessions."""


@session.command("list")
@_realm
@click.option("--user", "name", metavar="USER", help="List the sessions of this user.")
@click.option("--client", "client_id", metavar="CLIENT", help="List the sessions with this client.")
@click.option(
    "--first",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Number of sessions to skip.",
)
@click.option(
    "--max",
    "maximum",
    type=click.IntRange(1, 10_000),
    default=100,
    show_default=True,
    help="Limit.",
)
@click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
def list_(
    realm: str, name: str | None, client_id: str | None, *, first: int, maximum: int, output: str
) -> None:
    """List the sessions of a user, or of a client, oldest first."""
    if (name is None) == (client_id is None):
        raise click.UsageError("Give either --user or --client.")

    async def ask(sessions: "SessionAdministration") -> "tuple[UserSession, ...]":
        if client_id is not None:
            return await sessions.of_client(realm, client_id, first, maximum)
        return (await sessions.of_user(realm, name or ""))[first : first + maximum]

    found = [_document(item) for item in run_sessions(ask)]
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


@session.command(context_settings={"ignore_unknown_options": True})
@click.argument("session_id", metavar="[SESSION]", required=False)
@_realm
@click.option("--user", "name", metavar="USER", help="End every session of this user.")
@click.option("--all", "everybody", is_flag=True, help="End every session of the realm.")
def end(session_id: str | None, realm: str, name: str | None, *, everybody: bool) -> None:
    """End one SESSION, every session of a user, or every session of a realm.

    With --user and --all, tokens that were issued before are rejected too.
    """
    if [session_id is not None, name is not None, everybody].count(True) != 1:
        raise click.UsageError("Give one of SESSION, --user and --all.")
    if session_id is not None:
        if not run_sessions(lambda sessions: sessions.end(realm, session_id)):
            raise click.ClickException(f"there is no session {session_id}")
        click.echo(f"session {session_id}: ended")
        return
    if name is not None:
        count = run_sessions(lambda sessions: sessions.log_out(realm, name))
    else:
        count = run_sessions(lambda sessions: sessions.log_out_all(realm))
    click.echo(f"{counted(count, 'session')} ended")


def run_sessions(act: "Callable[[SessionAdministration], Awaitable[Result]]") -> Result:
    """Return what `act` does with the use cases."""
    from gateway.admin.sessions import SessionAdministration
    from gateway.bootstrap import open_services
    from gateway.domain.errors import RealmNotFound

    async def run() -> Result:
        async with open_services(installed_settings()) as services:
            sessions = SessionAdministration(
                database=services.database,
                online=services.online_sessions,
                clock=services.clock,
                invalidation=services.invalidation,
            )
            return await act(sessions)

    try:
        return asyncio.run(run())
    except RealmNotFound as error:
        raise click.BadParameter(str(error), param_hint="--realm") from error


def _document(item: "UserSession") -> dict[str, Any]:
    return {
        "id": item.id,
        "username": item.username,
        "userId": item.user_id,
        "ipAddress": item.ip_address,
        "start": item.started_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "lastAccess": item.refreshed_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "rememberMe": item.remember_me,
        "offline": item.offline,
        "clients": sorted(item.clients),
    }
