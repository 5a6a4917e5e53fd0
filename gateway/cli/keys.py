"""`realmgate keys`: a realm's signing keys, rotated with overlap or disabled at once.

Exit codes: 0 done, 2 usage or bad input, 3 the database is unreachable.
"""

import json
import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import click

from gateway.cli.administration import (
    LocalOperator,
    RealmOperator,
    administer,
    on_realm,
    output_option,
)
from gateway.cli.output import instant_text, show_rows
from gateway.cli.secret_input import IdCommand
from gateway.domain.keys import SignatureAlgorithm

if TYPE_CHECKING:
    from gateway.admin.key_rotation import KeyChange, KeyState

_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_PUBLISH_FOR = "120s"
_LONGEST = timedelta(days=365)


class DurationType(click.ParamType[timedelta]):
    """A duration as `90`, `90s`, `5m`, `2h` or `1d`, up to a year."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        match = re.fullmatch(r"([0-9]{1,8})([smhd]?)", str(value))
        pause = timedelta(seconds=int(match[1]) * _SECONDS[match[2]]) if match else None
        if pause is None or pause > _LONGEST:
            self.fail(f"{value!r} is not a duration such as 90s, 5m, 2h or 1d", param, ctx)
        return pause


@click.group()
def keys() -> None:
    """List and rotate a realm's signing keys."""


@keys.command("list", short_help="List the keys and their status.")
@click.option("--realm", metavar="NAME", help="List only the keys of this realm.")
@output_option
def list_(realm: str | None, output: str) -> None:
    """List the keys that sign (ACTIVE), only verify (PASSIVE) or do neither (DISABLED)."""

    async def ask(operator: LocalOperator) -> "tuple[KeyState, ...]":
        if realm is not None:
            await operator.on(realm)
        return await operator.keys.list_keys(realm)

    states = administer(ask)
    if output == "json":
        click.echo(json.dumps([_document(state) for state in states], indent=2))
        return
    show_rows(_columns(state) for state in states)


@keys.command(short_help="Replace the signing key with a new one.")
@on_realm
@click.option(
    "--algorithm",
    type=click.Choice([algorithm.value for algorithm in SignatureAlgorithm]),
    help="Algorithm of the key to replace. Default: that of the realm.",
)
@click.option(
    "--publish-for",
    type=DurationType(),
    default=_PUBLISH_FOR,
    show_default=True,
    help="How long the new key is in the JWKS before it signs.",
)
@click.option(
    "--now", is_flag=True, help="Sign with the new key at once, although cached JWKS lack it."
)
async def rotate(
    operator: RealmOperator, algorithm: str | None, publish_for: timedelta, *, now: bool
) -> None:
    """Replace the signing key. Tokens of the old key stay valid until they expire."""
    chosen = SignatureAlgorithm(algorithm) if algorithm else None
    pause = timedelta() if now else publish_for
    _report(await operator.keys.rotate_key(operator.acting, algorithm=chosen, publish_for=pause))


@keys.command(
    cls=IdCommand,
    short_help="Disable a key at once.",
    context_settings={"ignore_unknown_options": True},
)
@click.argument("kid")
@click.option("--realm", metavar="NAME", help="Name of the realm, if the kid is not unique.")
def disable(kid: str, realm: str | None) -> None:
    """Disable the key KID at once. Every token that it signed is rejected."""

    async def work(operator: LocalOperator) -> "KeyChange":
        name = (await operator.keys.find_realm_of_key(kid)).name if realm is None else realm
        return await operator.keys.disable_key(await operator.on(name), kid)

    _report(administer(work))


def _report(change: "KeyChange") -> None:
    for key in change.changed:
        until = f"verifies until {_instant(key.retire_at)}" if key.retire_at else "is rejected"
        shown = "is disabled; its tokens are rejected" if key.status.value == "DISABLED" else until
        click.echo(f"realm {change.realm}: {key.algorithm} key {key.kid} {shown}")
    if change.successor:
        new = change.successor
        begins = f"is published, signs from {_instant(new.active_from)}"
        click.echo(f"realm {change.realm}: new {new.algorithm} key {new.kid} {begins}")
    if not change.announced:
        click.echo(
            "Redis cannot be reached: running gateways read the change from the database in 5 s.",
            err=True,
        )


def _document(state: "KeyState") -> dict[str, str | None]:
    return {
        "realm": state.realm,
        "kid": state.key.kid,
        "algorithm": state.key.algorithm.value,
        "status": state.standing.value,
        "createdAt": _instant(state.key.created_at),
        "signsFrom": _instant(state.key.active_from),
        "retiresAt": _instant(state.key.retire_at) if state.key.retire_at else None,
    }


def _columns(state: "KeyState") -> tuple[str, ...]:
    end = f"until {_instant(state.key.retire_at)}" if state.key.retire_at else ""
    return (
        state.realm,
        state.key.algorithm.value,
        state.standing.value,
        f"from {_instant(state.key.active_from)}",
        end,
        state.key.kid,
    )


def _instant(instant: datetime | None) -> str:
    return instant_text(instant) if instant else ""
