"""`realmgate certs expiring`: what expires soon, and where to renew it.

Exit codes: 0 nothing is due, 1 something is, 2 usage or bad input, 3 a store is unreachable.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import click

from gateway.cli.administration import LocalOperator, administer, echo_document, output_option
from gateway.cli.output import counted, show_table

if TYPE_CHECKING:
    from gateway.domain.expiry import Expiration

_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_WINDOW = re.compile("([0-9]{1,5})([hdw])")


class _Window(click.ParamType[timedelta]):
    name = "TIME"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> timedelta:
        from gateway.domain.expiry import LONGEST_WINDOW

        found = _WINDOW.fullmatch(value)
        window = timedelta.max if found is None else int(found[1]) * _UNITS[found[2]]
        if window > LONGEST_WINDOW:
            self.fail(f"{value!r}: use hours, days or weeks, such as 12h, 30d or 8w", param, ctx)
        return window


@click.command(short_help="List what expires: certificates, revocation lists, keys.")
@click.option(
    "--within",
    type=_Window(),
    default="30d",
    show_default=True,
    help="Time ahead: hours, days or weeks, such as 12h, 30d or 8w.",
)
@click.option("--realm", metavar="NAME", help="Name of the realm. Default: all, and the settings.")
@click.option("--all", "everything", is_flag=True, help="List all that is known, due or not.")
@output_option
@click.pass_context
def expiring(
    ctx: click.Context, within: timedelta, realm: str | None, *, everything: bool, output: str
) -> None:
    """List what expires soon, the first to expire first.

    Certificates of clients and users that were presented, registered certificates, authorities,
    revocation lists, keys of realms and the certificate of the proxy. What lives for less than
    three times the time ahead is due in the last third of its life.

    Exit status: 0 nothing is due, 1 something is.
    """

    async def list_expirations(operator: LocalOperator) -> "tuple[Expiration, ...]":
        if realm is not None:
            await operator.on(realm)
        return await operator.expiry.list_expirations(realm, None if everything else within)

    now = datetime.now(UTC)
    found = administer(list_expirations)
    _show(found, now, output)
    if not found and output == "text":
        click.echo("nothing is known" if everything else f"nothing within {_days(within)}")
    if any(each.is_due(now, within) for each in found):
        ctx.exit(1)


def _show(found: "tuple[Expiration, ...]", now: datetime, output: str) -> None:
    if output == "json":
        from gateway.representations.certificates import render_expiration

        echo_document([render_expiration(each) for each in found])
        return
    from gateway.representations.certificates import owner_text, renewal_text

    heads = ("EXPIRES", "IN", "REALM", "KIND", "SUBJECT", "OWNER", "RENEW")
    rows = (
        (
            f"{each.expires_at:%Y-%m-%d %H:%M}Z",
            _left(each.expires_at - now),
            each.realm or "-",
            each.kind.value,
            each.subject,
            owner_text(each),
            renewal_text(each),
        )
        for each in found
    )
    show_table(heads, rows)


def _days(within: timedelta) -> str:
    """Return the time as it was given: whole days, or hours."""
    days = within // _UNITS["d"]
    if days * _UNITS["d"] == within:
        return counted(days, "day")
    return counted(within // _UNITS["h"], "hour")


def _left(left: timedelta) -> str:
    """Return the remaining time in whole days, or in hours on the last day."""
    if left < timedelta():
        return "expired"
    if left < _UNITS["d"]:
        return counted(left // _UNITS["h"], "hour")
    return counted(left // _UNITS["d"], "day")
