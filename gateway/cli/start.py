"""`realmgate start`: the gateway with its workers.

Flags override the environment, which overrides `.env`. The options of the certificate lookup have
the specification's names, in both spellings of Keycloak.
"""

import gc
from collections.abc import Callable
from typing import Any

import click

from gateway.cli.output import report
from gateway.http.edge.certificate_lookup import LOOKUPS
from gateway.http.edge.certificate_options import FLAGS


def _lookup_flags(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of all lookups, which docs/certificates-behind-proxies.md lists."""
    for flag in reversed(FLAGS):
        shown = flag.lookup is None
        text = f"An option of the lookup {flag.lookup}."
        if shown:
            text = f"How the proxy sends the client certificate: {', '.join(LOOKUPS)}."
        command = click.option(
            *flag.spellings,
            flag.variables[0],
            metavar="NAME",
            help=text,
            hidden=not shown,
        )(command)
    return command


@click.command()
@click.option(
    "--listen",
    metavar="ADDRESS",
    help="Where the proxy reaches the gateway: unix:PATH or HOST:PORT.",
)
@click.option("--workers", metavar="N", help="Number of worker processes.")
@click.option(
    "--import-realm",
    metavar="FILE",
    multiple=True,
    help="Import a realm before serving, unless it exists. Repeatable.",
)
@_lookup_flags
@click.pass_context
def start(ctx: click.Context, /, **options: object) -> None:
    """Run the gateway until SIGTERM. SIGHUP replaces its workers one by one."""
    # Imported modules stay: garbage collection would take a fifth of the start.
    gc.disable()
    from gateway.settings import load_settings
    from gateway.supervisor.gateway import run_gateway

    ctx.exit(run_gateway(load_settings(options), report))
