"""`realmgate webhook`: list the events that wait for webhooks, and send them again.

Exit codes: 0 done, 1 failed, 2 usage or bad input, 3 a store is unreachable.
"""

import json
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import RealmOperator, on_realm, output_option, page_options
from gateway.cli.output import show_rows

if TYPE_CHECKING:
    from gateway.domain.deliveries.webhooks import WebhookStatus


@click.group()
def webhook() -> None:
    """List events that wait for the webhook of a realm or were given up, and send them again."""


@webhook.command("list")
@on_realm
@page_options("events", 10_000)
@output_option
async def list_(operator: RealmOperator, *, first: int, maximum: int, output: str) -> None:
    """List the events of a realm that wait or were given up, oldest first."""
    waiting = await operator.webhooks.list(operator.acting, first, maximum)
    found = [_document(each) for each in waiting]
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    show_rows(
        (
            item["id"],
            item["state"],
            f"created {item['created']}",
            f"attempts {item['attempts']}",
            item["reason"] or "",
        )
        for item in found
    )


@webhook.command()
@on_realm
async def retry(operator: RealmOperator) -> None:
    """Send the events that were given up again, by a running gateway."""
    click.echo(f"{await operator.webhooks.retry(operator.acting)} events queued")


def _document(item: "WebhookStatus") -> dict[str, Any]:
    return {
        "id": item.id,
        "state": "waiting" if item.failed_at is None else "given up",
        "created": _text(item.created_at),
        "attempts": item.attempts,
        "due": _text(item.due_at),
        "failed": _text(item.failed_at),
        "reason": item.reason,
    }


def _text(instant: datetime | None) -> str | None:
    return None if instant is None else instant.strftime("%Y-%m-%dT%H:%M:%SZ")
