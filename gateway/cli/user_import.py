"""`realmgate user import`: any number of users, read as a stream.

Exit codes: 0 all of them are there now, 1 some were refused, 2 usage or a refusal that ended it.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gateway.cli.administration import LocalOperator, administer, output_option, realm_option
from gateway.cli.output import counted

if TYPE_CHECKING:
    from gateway.admin.realm_files import StreamedUsers
    from gateway.domain.errors import InvalidInput


@click.command("import", short_help="Import users from a file, any number of them.")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False, readable=True))
@realm_option
@click.option("--continue", "go_on", is_flag=True, help="Continue after users that are refused.")
@output_option
def import_(file: Path, realm: str, output: str, *, go_on: bool) -> None:
    """Import the users of FILE: JSON lines, a list, or a realm's export.

    Users are stored a few hundred at a time. Existing users are not changed, so an import that was
    stopped can be repeated. Hashed passwords are stored as they are.
    """
    with click.progressbar(
        length=max(1, file.stat().st_size),
        label="Importing",
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
    ) as bar:
        done = administer(
            lambda operator: _import(
                operator,
                file,
                realm,
                _print_refusal if go_on else None,
                lambda state: bar.update(max(0, state.read - bar.pos)),
            )
        )
    if output == "json":
        counts = {"added": done.added, "known": done.known, "refused": done.refused}
        click.echo(json.dumps({"realm": realm, **counts}))
    else:
        click.echo(f"realm {realm}: {counted(done.added, 'user')} added, {done.known} known before")
    if done.refused:
        raise click.ClickException(f"{counted(done.refused, 'user')} refused")


def _print_refusal(refusal: "InvalidInput") -> None:
    for error in refusal.errors:
        click.echo(f"refused: {error}", err=True)


async def _import(
    operator: LocalOperator,
    file: Path,
    realm: str,
    refuse: "Callable[[InvalidInput], None] | None",
    progress: "Callable[[StreamedUsers], None]",
) -> "StreamedUsers":
    from gateway.bootstrap.realm_files import user_stream
    from gateway.representations.json_input import stream_objects

    users = user_stream(operator.services)
    await operator.on(realm)
    with file.open(encoding="utf-8-sig", newline="") as text:
        objects = stream_objects(text, "users", str(file))
        return await users.run(realm, objects, refuse=refuse, progress=progress)
