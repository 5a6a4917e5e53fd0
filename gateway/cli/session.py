"""`realmgate session`: list and end sessions.

Exit codes: 0 done, 1 there was no such session, 2 usage or bad input, 3 a store is unreachable.
"""

import json
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import (
    RealmOperator,
    administer_realm,
    output_option,
    page_options,
    realm_option,
)
from gateway.cli.output import counted, show_rows

if TYPE_CHECKING:
    from gateway.domain.sessions import UserSession


@click.group()
def session() -> None:
    """List and end sessions."""


@session.command("list")
@realm_option
@click.option("--user", "name", metavar="USER", help="List the sessions of this user.")
@click.option("--client", "client_id", metavar="CLIENT", help="List the sessions with this client.")
@page_options("sessions", 10_000)
@output_option
def list_(
    realm: str, name: str | None, client_id: str | None, *, first: int, maximum: int, output: str
) -> None:
    """List the sessions of a user, or of a client, oldest first."""
    if (name is None) == (client_id is None):
        raise click.UsageError("Give either --user or --client.")

    async def ask(operator: RealmOperator) -> "tuple[UserSession, ...]":
        from gateway.admin.access import find_client_by_name

        sessions = operator.sessions
        if name is not None:
            user = await operator.user(name)
            found = await sessions.user.of_both_kinds(operator.acting.realm, user.id)
            return found[first : first + maximum]
        async with operator.services.database.read() as stores:
            client = await find_client_by_name(stores, operator.acting.realm, client_id or "")
        return await sessions.client.of_both_kinds(operator.acting.realm, client.id, first, maximum)

    found = [_document(item) for item in administer_realm(realm, ask)]
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
    if name is not None:
        count = end_sessions_of_user(realm, name)
    else:
        count = administer_realm(
            realm, lambda operator: operator.sessions.realm.end_all(operator.acting)
        )
    click.echo(f"{counted(count, 'session')} ended")


def end_sessions_of_user(realm: str, name: str) -> int:
    """End every session of a user; return how many there were."""

    async def work(operator: RealmOperator) -> int:
        user = await operator.user(name)
        return await operator.sessions.user.end_all(operator.acting, user.id)

    return administer_realm(realm, work)


def _end_one(realm: str, session_id: str) -> None:
    from gateway.admin.access import Missing

    try:
        administer_realm(
            realm,
            lambda operator: operator.sessions.realm.end_of_either_kind(
                operator.acting, session_id
            ),
        )
    except Missing as error:
        raise click.ClickException(f"there is no session {session_id}") from error


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
