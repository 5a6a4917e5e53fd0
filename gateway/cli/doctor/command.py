"""The command: changes nothing, and needs no running gateway except for `--url`.

Exit codes: 0 all in order, 1 something is wrong, 2 settings that cannot be used.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.doctor.findings import Examination, Outcome
from gateway.cli.doctor.report import json_report, text_lines

if TYPE_CHECKING:
    from gateway.settings import Settings

_CONFIGURATION = click.Path(exists=True, path_type=Path)


@click.command()
@click.option(
    "--nginx",
    "--nginx-configuration",
    "configuration",
    type=_CONFIGURATION,
    help="nginx's main file, the folder of `realmgate nginx render`, or the output of `nginx -T`.",
)
@click.option(
    "--output",
    type=click.Choice(("text", "json")),
    default="text",
    show_default=True,
    help="Form of the report.",
)
@click.pass_context
def doctor(ctx: click.Context, configuration: Path | None, output: str) -> None:
    """Check settings, files, programs, stores and nginx, and report every problem."""
    from gateway.settings import load_settings

    found = []
    for examination in _examinations(load_settings(), configuration):
        found.append(examination)
        if output == "text":
            _show(text_lines(examination))
    if output == "json":
        click.echo(json_report(found))
    wrong = any(examination.outcome is Outcome.WRONG for examination in found)
    ctx.exit(1 if wrong else 0)


def _examinations(settings: "Settings", configuration: Path | None) -> Iterator[Examination]:
    from gateway.cli.doctor.installation import examine_installation
    from gateway.cli.doctor.nginx_examinations import (
        examine_nginx,
        read_proxy,
        without_configuration,
    )

    yield Examination("settings", Outcome.OK, "The settings are valid.")
    yield from examine_installation(settings)
    if configuration is None:
        yield without_configuration(settings)
        return
    proxy = read_proxy(configuration, settings)
    if isinstance(proxy, Examination):
        yield proxy
    else:
        yield from examine_nginx(proxy)


def _show(lines: Iterable[str]) -> None:
    for line in lines:
        click.echo(line)
