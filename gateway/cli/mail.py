"""`realmgate mail`: list mails that wait or were given up, and test the mail server of a realm.

Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 a store is unreachable.
"""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import RealmOperator, on_realm, output_option, page_options
from gateway.cli.output import show_rows

if TYPE_CHECKING:
    from gateway.domain.mail import MailStatus


@click.group()
def mail() -> None:
    """List mails that wait or were given up, and test a mail server."""


@mail.command("list")
@on_realm
@page_options("mails", 10_000)
@output_option
async def list_(operator: RealmOperator, *, first: int, maximum: int, output: str) -> None:
    """List the mails of a realm that wait or were given up, oldest first."""
    found = [_document(each) for each in await operator.mails.list(operator.acting, first, maximum)]
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    show_rows(
        (
            item["id"],
            item["state"],
            item["kind"],
            f"created {item['created']}",
            f"attempts {item['attempts']}",
            item["reason"] or "",
        )
        for item in found
    )


@mail.command()
@click.argument("name", metavar="USER")
@on_realm
async def test(operator: RealmOperator, name: str) -> None:
    """Send a test mail to USER, by a running gateway."""
    sent = await operator.mails.test(operator.acting, await operator.user(name))
    click.echo(f"mail {sent}: queued")


def _document(item: "MailStatus") -> dict[str, Any]:
    return {
        "id": item.id,
        "state": "waiting" if item.failed_at is None else "given up",
        "kind": item.kind,
        "userId": item.user_id,
        "created": _text(item.created_at),
        "attempts": item.attempts,
        "due": _text(item.due_at),
        "failed": _text(item.failed_at),
        "reason": item.reason,
    }


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.strftime("%Y-%m-%dT%H:%M:%SZ")
