"""`realmgate mail` and `realmgate webhook`: waiting and failed deliveries, tests of mail servers.

Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 a store is unreachable.
"""

from typing import Any

import click

from gateway.cli.administration import (
    RealmOperator,
    echo_document,
    on_realm,
    output_option,
    page_options,
)
from gateway.cli.output import delivery_document, show_rows


@click.group()
def mail() -> None:
    """List mails that wait or were given up, and test a mail server."""


@mail.command("list")
@on_realm
@page_options("mails", 10_000)
@output_option
async def list_mails(operator: RealmOperator, *, first: int, maximum: int, output: str) -> None:
    """List the mails of a realm that wait or were given up, oldest first."""
    waiting = await operator.deliveries.list_mails(operator.acting, first, maximum)
    found = [delivery_document(each, kind=each.kind, userId=each.user_id or "") for each in waiting]
    _show(found, output, "id", "state", "kind")


@mail.command()
@click.argument("name", metavar="USER")
@on_realm
async def test(operator: RealmOperator, name: str) -> None:
    """Send a test mail to USER, by a running gateway."""
    sent = await operator.deliveries.queue_test_mail(operator.acting, await operator.user(name))
    click.echo(f"mail {sent}: queued")


@click.group()
def webhook() -> None:
    """List events that wait for the webhook of a realm or were given up, and send them again."""


@webhook.command("list")
@on_realm
@page_options("events", 10_000)
@output_option
async def list_deliveries(
    operator: RealmOperator, *, first: int, maximum: int, output: str
) -> None:
    """List the events of a realm that wait or were given up, oldest first."""
    waiting = await operator.deliveries.list_deliveries(operator.acting, first, maximum)
    found = [delivery_document(each) for each in waiting]
    _show(found, output, "id", "state")


@webhook.command()
@on_realm
async def retry(operator: RealmOperator) -> None:
    """Send the events that were given up again, by a running gateway."""
    click.echo(f"{await operator.deliveries.retry_deliveries(operator.acting)} events queued")


def _show(found: list[dict[str, Any]], output: str, *names: str) -> None:
    if output == "json":
        echo_document(found)
        return
    show_rows(
        (
            *(item[name] for name in names),
            f"created {item['created']}",
            f"attempts {item['attempts']}",
            item["reason"] or "",
        )
        for item in found
    )
