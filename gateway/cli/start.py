"""`realmgate start`: the gateway with its workers, until it is told to end.

Flags win over the environment, which wins over `.env`. The options of the certificate lookup bear
the specification's names, in both spellings of Keycloak.
"""

import gc

import click


@click.command()
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Where the proxy reaches the gateway: unix:PATH or HOST:PORT.",
)
@click.option("--workers", metavar="N", help="Number of worker processes.")
@click.option("--server", metavar="NAME", help="hypercorn, or uvicorn (extra `fast`).")
@click.option(
    "--import-realm",
    metavar="FILE",
    multiple=True,
    help="Import a realm before serving, unless it exists. Repeatable.",
)
@click.option(
    "--spi-x509cert-lookup-provider",
    "--spi-x509cert-lookup--provider",
    "certificate_lookup",
    metavar="NAME",
    help="How the proxy sends the client certificate: nginx.",
)
@click.option(
    "--spi-x509cert-lookup-nginx-ssl-client-cert",
    "--spi-x509cert-lookup--nginx--ssl-client-cert",
    "certificate_header",
    metavar="HEADER",
    help="The header that contains the client certificate.",
)
@click.pass_context
def start(ctx: click.Context, /, **options: object) -> None:
    """Run the gateway until SIGTERM. SIGHUP replaces its workers one by one."""
    # What is imported now stays: looking through it for garbage costs a fifth of the start.
    gc.disable()
    from gateway.cli.failures import report  # noqa: PLC0415 - help and usage errors stay quick
    from gateway.settings import load_settings  # noqa: PLC0415
    from gateway.supervisor.gateway import run_gateway  # noqa: PLC0415

    ctx.exit(run_gateway(load_settings(options), report))
