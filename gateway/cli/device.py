"""`realmgate certs device`: the devices that were seen, and their locks.

Exit codes: 0 done, 1 there is no such lock, 2 usage or bad input, 3 a store is unreachable.
"""

import json
from collections.abc import Mapping
from typing import Any

import click

from gateway.cli.administration import (
    RealmOperator,
    echo_document,
    on_realm,
    output_option,
    page_options,
)
from gateway.cli.output import show_rows, show_table

client_option = click.option(
    "--client", "client_id", required=True, metavar="CLIENT", help="Client that the devices are of."
)


@click.group(short_help="List, lock and unlock devices of a client.")
def device() -> None:
    """List, lock and unlock devices of a client with a certificate template."""


_STATES = ("good", "revoked", "denied", "locked", "expired")


@device.command("list", short_help="List devices: the locked ones of a client, or all.")
@on_realm
@click.option("--client", "client_id", metavar="CLIENT", help="Client that the devices are of.")
@click.option("--all", "everything", is_flag=True, help="List every device that was seen.")
@click.option("--state", type=click.Choice(_STATES), help="With --all: those in this state.")
@click.option("--search", metavar="TEXT", help="With --all: part of a name or number.")
@page_options("devices", 10_000)
@output_option
async def list_(
    operator: RealmOperator,
    client_id: str | None,
    *,
    everything: bool,
    state: str | None,
    search: str | None,
    first: int,
    maximum: int,
    output: str,
) -> None:
    """List the locked devices of a client, or with --all every device that was seen.

    A device is a client certificate that was presented and trusted. The list has its name under the
    template of its client, subject, SPIFFE ID, serial number and thumbprint, the days on which it
    was seen first and last, the hour of its last token, its end and its state: good, revoked,
    denied, locked or expired. The device that was seen last comes first; without --all the lock
    that ends first.
    """
    if everything:
        if client_id is not None:
            await operator.client(client_id)
        from gateway.admin.device_listing import DeviceQuery, DeviceState, render_device

        wanted = None if state is None else DeviceState(state)
        query = DeviceQuery(client_id, search or "", wanted)
        realm = operator.acting.realm
        listed = await operator.devices.list_devices(realm, query, first, maximum)
        _show_devices([render_device(each) for each in listed], output)
        return
    if client_id is None or state is not None or search is not None:
        raise click.UsageError("Give --client, or --all to list every device.")
    client = await operator.client(client_id)
    found = await operator.clients.devices.list_locks(operator.acting, client.id)
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    show_rows((item["device"], item["cause"], f"until {item['until']}") for item in found)


def _show_devices(documents: list[dict[str, Any]], output: str) -> None:
    if output == "json":
        echo_document(documents)
        return
    show_table(_HEADS, map(_row, documents))
    if not documents:
        click.echo("no device was seen, or none is like this")


_HEADS = (
    *("DEVICE", "STATE", "CLIENT", "SUBJECT", "SPIFFE ID", "SERIAL", "FIRST SEEN", "LAST SEEN"),
    *("LAST TOKEN", "EXPIRES", "THUMBPRINT"),
)


def _row(document: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        document.get("device", ""),
        document["state"],
        document.get("client", document.get("user", "")),
        document["subject"],
        document.get("spiffeId", ""),
        document.get("serial", ""),
        _day(document.get("firstSeen")),
        document["lastSeen"],
        _hour(document.get("lastToken")),
        _day(document["notAfter"]),
        document["thumbprint"],
    )


def _day(instant: str | None) -> str:
    return "" if instant is None else instant[:10]


def _hour(instant: str | None) -> str:
    return "" if instant is None else f"{instant[:13].replace('T', ' ')}h"


@device.command()
@click.argument("name", metavar="DEVICE")
@on_realm
@client_option
@click.option(
    "--seconds", type=click.IntRange(1), help="How long the lock lasts; 30 days by default."
)
async def lock(operator: RealmOperator, name: str, client_id: str, *, seconds: int | None) -> None:
    """Lock DEVICE at every gateway at once.

    DEVICE is the whole name in its certificate that fits the template of the client.
    """
    client = await operator.client(client_id)
    document = {"device": name} if seconds is None else {"device": name, "seconds": seconds}
    made = await operator.clients.devices.lock_device(operator.acting, client.id, document)
    click.echo(f"device {name}: locked until {made['until']}")


@device.command()
@click.argument("name", metavar="DEVICE")
@on_realm
@client_option
async def unlock(operator: RealmOperator, name: str, client_id: str) -> None:
    """Unlock DEVICE and clear its counted failures."""
    from gateway.domain.refusals import NotFound

    client = await operator.client(client_id)
    try:
        await operator.clients.devices.unlock_device(operator.acting, client.id, name)
    except NotFound as error:
        raise click.ClickException(f"device {name} is not locked") from error
    click.echo(f"device {name}: unlocked")
