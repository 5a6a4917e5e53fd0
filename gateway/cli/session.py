"""`realmgate session`: list and end sessions.

Exit codes: 0 done, 1 there was no such session, 2 usage or bad input, 3 a store is unreachable.
"""

# Everything heavy is imported by the command that runs, so that help and usage errors stay quick.
# ruff: noqa: PLC0415

import json
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import Administration, administer, output_option, realm_option
from gateway.cli.output.columns import counted, show_rows

if TYPE_CHECKING:
    from gateway.admin.access import Acting
    from gateway.admin.sessions import RealmSessions, UserSessions
    from gateway.domain.sessions import UserSession


@click.group()
def session() -> None:
    """List and end sessions."""


@session.command("list")
@realm_option
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
@output_option
def list_(
    realm: str, name: str | None, client_id: str | None, *, first: int, maximum: int, output: str
) -> None:
    """List the sessions of a user, or of a client, oldest first."""
    if (name is None) == (client_id is None):
        raise click.UsageError("Give either --user or --client.")

    async def ask(administration: Administration) -> "tuple[UserSession, ...]":
        acting = await administration.acting(realm)
        if name is not None:
            user = await administration.user(acting, name)
            found = await _of_users(administration).of_both_kinds(acting.realm, user.id)
            return found[first : first + maximum]
        return await _of_client(administration, acting, client_id or "", first, maximum)

    found = [_document(item) for item in administer(ask)]
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
@realm_option
@click.option("--user", "name", metavar="USER", help="End every session of this user.")
@click.option("--all", "everybody", is_flag=True, help="End every session of the realm.")
def end(session_id: str | None, realm: str, name: str | None, *, everybody: bool) -> None:
    """End one SESSION, every session of a user, or every session of a realm.

    With --user and --all, tokens that were issued before are rejected too.
    """
    if [session_id is not None, name is not None, everybody].count(True) != 1:
        raise click.UsageError("Give one of SESSION, --user and --all.")
    if session_id is not None:
        _end_one(realm, session_id)
        click.echo(f"session {session_id}: ended")
        return
    count = _end_all(realm) if name is None else end_sessions_of_user(realm, name)
    click.echo(f"{counted(count, 'session')} ended")


def end_sessions_of_user(realm: str, name: str) -> int:
    """End every session of a user; return how many there were."""

    async def work(administration: Administration) -> int:
        acting = await administration.acting(realm)
        user = await administration.user(acting, name)
        return await _of_users(administration).end_all(acting, user.id)

    return administer(work)


def _end_one(realm: str, session_id: str) -> None:
    from gateway.admin.access import Missing

    async def work(administration: Administration) -> None:
        acting = await administration.acting(realm)
        await _of_realm(administration).end_of_either_kind(acting, session_id)

    try:
        administer(work)
    except Missing as error:
        raise click.ClickException(f"there is no session {session_id}") from error


def _end_all(realm: str) -> int:
    async def work(administration: Administration) -> int:
        return await _of_realm(administration).end_all(await administration.acting(realm))

    return administer(work)


async def _of_client(
    administration: Administration, acting: "Acting", client_id: str, first: int, maximum: int
) -> "tuple[UserSession, ...]":
    from gateway.admin.access import find_client_by_name
    from gateway.admin.sessions import ClientSessions

    services = administration.services
    async with services.database.read() as stores:
        client = await find_client_by_name(stores, acting.realm, client_id)
    sessions = ClientSessions(services.database, services.online_sessions)
    return await sessions.of_both_kinds(acting.realm, client.id, first, maximum)


def _of_users(administration: Administration) -> "UserSessions":
    from gateway.admin.sessions import UserSessions

    services = administration.services
    return UserSessions(services.database, administration.changes, services.online_sessions)


def _of_realm(administration: Administration) -> "RealmSessions":
    from gateway.admin.sessions import RealmSessions

    services = administration.services
    return RealmSessions(services.database, administration.changes, services.online_sessions)


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
