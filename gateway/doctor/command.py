"""The command: changes nothing, and needs no running gateway except for `--url`.

Exit codes: 0 all in order, 1 something is wrong, 2 settings or files that cannot be used.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from gateway.cli.secret_input import read_secret
from gateway.doctor.findings import Examination, ExaminationOutcome, json_report, text_lines

if TYPE_CHECKING:
    from gateway.doctor.attacks import AttackTarget
    from gateway.doctor.nginx_scopes import Proxy
    from gateway.domain.secrets import Secret
    from gateway.settings import Settings


_EXISTING = click.Path(exists=True, path_type=Path, allow_dash=True)
_STANDARD_INPUT = Path("-")
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def _attack_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in reversed(
        (
            click.option(
                "--url",
                "urls",
                metavar="URL",
                multiple=True,
                help="Attack the running proxy there. Repeatable.",
            ),
            click.option(
                "--address", metavar="HOST", help="Connect there instead of to the host of the URL."
            ),
            click.option(
                "--ca",
                "authorities",
                type=_FILE,
                help="Authorities of the proxy's own certificate, if the system does not trust it.",
            ),
            click.option(
                "--certificate",
                type=_FILE,
                help="A client certificate that the URL accepts, with its key.",
            ),
            click.option("--expired", type=_FILE, help="An expired one, with its key."),
            click.option("--revoked", type=_FILE, help="A revoked one, with its key."),
            click.option(
                "--token",
                type=click.File(encoding="utf-8"),
                help="File with a token that the URL accepts, bound to the certificate; - for"
                " standard input.",
            ),
        )
    ):
        command = option(command)
    return command


@click.command()
@click.option(
    "--nginx",
    "--nginx-configuration",
    "configuration",
    metavar="CONF",
    type=_EXISTING,
    help="nginx's main file, the folder of `realmgate nginx render`, or an output of `nginx -T`; -"
    " for that on standard input. Without it the installed nginx is asked (`nginx -T`).",
)
@_attack_options
@click.option(
    "--output",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.pass_context
def doctor(
    ctx: click.Context,
    /,
    configuration: Path | None,
    output: str,
    token: IO[str] | None,
    **attacked: Any,
) -> None:
    """Check the installation and its nginx, attack the running proxy, and report every problem."""
    from gateway.domain.secrets import Secret
    from gateway.settings import load_settings

    if configuration == _STANDARD_INPUT and token and token.fileno() == sys.stdin.fileno():
        raise click.UsageError("--nginx and --token cannot both read standard input.")
    secret = None if token is None else Secret(read_secret(token, "Token", "--token").strip())
    settings = load_settings()
    targets = _targets(settings, secret, **attacked)
    found = []
    for examination in _examinations(settings, configuration, targets):
        found.append(examination)
        if output == "text":
            for line in text_lines(examination):
                click.echo(line)
    if output == "json":
        click.echo(json_report(found))
    wrong = any(examination.outcome is ExaminationOutcome.WRONG for examination in found)
    ctx.exit(1 if wrong else 0)


def _examinations(
    settings: "Settings", configuration: Path | None, targets: "list[AttackTarget]"
) -> Iterator[Examination]:
    from gateway.doctor.attacks import examine_edge
    from gateway.doctor.installation import (
        current_sites,
        examine_installation,
        trusts_certificates,
    )
    from gateway.doctor.nginx_examinations import examine_nginx, nginx_in_front
    from gateway.doctor.nginx_scopes import Proxy
    from gateway.doctor.processes import examine_gateway
    from gateway.doctor.sites import examine_sites

    yield Examination("settings", ExaminationOutcome.OK, "The settings are valid.")
    yield from examine_installation(settings)
    yield from examine_sites(settings)
    yield from examine_gateway(settings)
    proxy: Proxy | None = None
    read = _read_nginx(settings, configuration)
    if isinstance(read, Examination):
        yield read
    else:
        sites, main = current_sites(settings), read.main_file
        gateway = replace(read.gateway, trusts_certificates=trusts_certificates(settings))
        proxy = Proxy(read.configuration, gateway, sites, main_file=main)
        others = () if main is None else nginx_in_front(settings)
        yield from examine_nginx(proxy, others)
    sites = current_sites(settings) if targets else None
    for target in targets:
        yield from examine_edge(replace(target, proxy=proxy, sites=sites))


def _read_nginx(settings: "Settings", configuration: Path | None) -> "Proxy | Examination":
    """Return the configuration of nginx: of a file, of standard input, or of the program."""
    from gateway.doctor.nginx_examinations import (
        read_installed_proxy,
        read_proxy,
        source_at,
        source_of_dump,
    )
    from gateway.doctor.nginx_syntax import LARGEST

    if configuration is None:
        return read_installed_proxy(settings)
    if configuration != _STANDARD_INPUT:
        return read_proxy(source_at(configuration), settings)
    content = sys.stdin.buffer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise click.BadParameter(f"more than {LARGEST} bytes", param_hint="--nginx")
    text = content.decode(errors="replace")
    return read_proxy(source_of_dump(text, "standard input"), settings)


def _targets(
    settings: "Settings",
    token: "Secret | None",
    *,
    urls: tuple[str, ...],
    address: str | None,
    authorities: Path | None,
    certificate: Path | None,
    expired: Path | None,
    revoked: Path | None,
) -> "list[AttackTarget]":
    """Return the targets; raises click.BadParameter for files that cannot be used."""
    from urllib.parse import urlsplit

    from gateway.doctor.attacks import AttackTarget as Target
    from gateway.doctor.edge import AttackedEdge as Edge
    from gateway.doctor.edge import read_certificate
    from gateway.doctor.nginx_examinations import gateway_facts
    from gateway.domain.clock import SystemClock

    for url in urls:
        if urlsplit(url).scheme not in {"http", "https"} or not urlsplit(url).hostname:
            raise click.BadParameter(f"{url!r} is no http or https URL", param_hint="--url")
    try:
        good = certificate and read_certificate("of the operator", certificate)
        bad = tuple(
            read_certificate(kind, path)
            for kind, path in (
                ("that has expired", expired),
                ("that is revoked", revoked),
            )
            if path is not None
        )
    except ValueError as failure:
        raise click.BadParameter(str(failure), param_hint="--certificate") from failure
    return [
        Target(
            edge=Edge(url, authorities, address),
            gateway=gateway_facts(settings),
            now=SystemClock().now(),
            certificate=good or None,
            bad_certificates=bad,
            token=token,
        )
        for url in urls
    ]
