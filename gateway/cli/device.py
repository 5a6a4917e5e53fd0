"""`realmgate certs device`: lock and unlock devices of a client with a certificate template.

Exit codes: 0 done, 1 there is no such lock, 2 usage or bad input, 3 a store is unreachable.
"""

import json

import click

from gateway.cli.administration import RealmOperator, on_realm, output_option
from gateway.cli.output import show_rows

client_option = click.option(
    "--client", "client_id", required=True, metavar="CLIENT", help="Client that the devices are of."
)


@click.group(short_help="List, lock and unlock devices of a client.")
def device() -> None:
    """List, lock and unlock devices of a client with a certificate template."""


@device.command("list")
@on_realm
@client_option
@output_option
async def list_(operator: RealmOperator, client_id: str, *, output: str) -> None:
    """List the locked devices of a client.

    The lock that ends first comes first.
    """
    client = await operator.client(client_id)
    found = await operator.clients.devices.list_locks(operator.acting, client.id)
    if output == "json":
        click.echo(json.dumps(found, indent=2))
        return
    show_rows((item["device"], item["cause"], f"until {item['until']}") for item in found)


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
