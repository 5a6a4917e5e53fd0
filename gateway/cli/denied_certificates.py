"""`realmgate certs deny`: the certificates that a realm refuses at once, on every gateway.

Exit codes: 0 done, 1 there is no such entry, 2 usage or bad input, 3 a store is unreachable.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.administration import (
    RealmOperator,
    echo_document,
    on_realm,
    output_option,
    page_options,
)
from gateway.cli.output import instant_text, show_table
from gateway.cli.secret_input import read_whole

if TYPE_CHECKING:
    from gateway.admin.resources import ResourceKind
    from gateway.domain.certificates import DeniedCertificate

_LARGEST = 256 * 1024
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@click.group(short_help="Refuse certificates at once, on every gateway.")
def deny() -> None:
    """Refuse certificates at once, by thumbprint or by issuer and serial number.

    The list of the realm master counts in every realm.
    """


@deny.command(short_help="Refuse a certificate.")
@click.argument("certificate", metavar="[FILE|THUMBPRINT]", required=False)
@on_realm
@click.option("--issuer", metavar="NAME", help="Issuer, such as 'CN=Devices,O=Acme'.")
@click.option("--serial", metavar="HEX", help="Serial number of this issuer, in hexadecimal.")
@click.option("--reason", metavar="TEXT", help="Why, for other administrators.")
@click.option(
    "--days", type=click.IntRange(1, 36_500), help="Days until the entry ends. Default: no end."
)
async def add(
    operator: RealmOperator,
    certificate: str | None,
    *,
    issuer: str | None,
    serial: str | None,
    reason: str | None,
    days: int | None,
) -> None:
    """Refuse a certificate: a FILE, - for standard input, the SHA-256 THUMBPRINT, or a serial.

    Every gateway refuses it within one second, whatever the proxy says of it.
    """
    if (certificate is None) == (issuer is None or serial is None):
        raise click.UsageError("Give either FILE|THUMBPRINT, or --issuer and --serial.")
    given: dict[str, Any] = {"issuer": issuer, "serial": serial, "reason": reason}
    if certificate is not None:
        given["thumbprint"] = _thumbprint(certificate)
    if days is not None:
        end = datetime.now(UTC) + timedelta(days=days)
        given["expirationTimestamp"] = (end - _EPOCH) // timedelta(milliseconds=1)
    document = {name: value for name, value in given.items() if value is not None}
    identity = await operator.resources(_kind()).create_value(operator.acting, document)
    click.echo(f"denied certificate {identity}: added")


@deny.command("remove", short_help="Accept a denied certificate again.")
@click.argument("certificate", metavar="ID|FILE|THUMBPRINT")
@on_realm
async def remove_entry(operator: RealmOperator, certificate: str) -> None:
    """Remove an entry by its ID, or by the certificate that it names."""
    from gateway.domain.refusals import NotFound

    try:
        await operator.resources(_kind()).remove_value(operator.acting, _thumbprint(certificate))
    except NotFound as error:
        realm = operator.acting.realm.name
        raise click.ClickException(f"{realm} does not deny {certificate}") from error
    click.echo("denied certificate: removed")


def _thumbprint(text: str) -> str:
    """Return the text if it is a thumbprint, or the thumbprint of the certificate in the file."""
    from gateway.crypto.x509.parse import describe, load_any_certificate
    from gateway.domain.errors import InvalidInput
    from gateway.representations.certificates import Thumbprint

    try:
        return Thumbprint().read(text, "certificate")
    except InvalidInput:
        pass
    try:
        with click.open_file(text, "rb") as opened:
            content = read_whole(opened, _LARGEST, "FILE")
        return describe(load_any_certificate(content)).x5t_s256
    except OSError as error:
        reason = f"{text} is no SHA-256 thumbprint, and no file: {error.strerror or error}"
        raise click.BadParameter(reason, param_hint="CERTIFICATE") from error
    except ValueError as error:
        reason = f"{text} holds no certificate in PEM or DER"
        raise click.BadParameter(reason, param_hint="CERTIFICATE") from error


def _kind() -> "ResourceKind[DeniedCertificate]":
    from gateway.admin.resource_kinds import DENIED_CERTIFICATES

    return DENIED_CERTIFICATES


def _row(entry: Mapping[str, Any], subject: str) -> tuple[str, ...]:
    end = entry.get("expirationTimestamp")
    return (
        entry["id"],
        subject,
        entry.get("issuer", ""),
        entry.get("serial", ""),
        _text(entry["createdTimestamp"]),
        "no end" if end is None else _text(end),
        entry.get("reason", ""),
    )


def _text(milliseconds: int) -> str:
    return instant_text(_EPOCH + timedelta(milliseconds=milliseconds))


@deny.command("list")
@on_realm
@page_options("entries", 10_000)
@output_option
async def list_entries(operator: RealmOperator, *, first: int, maximum: int, output: str) -> None:
    """List the denied certificates of a realm, oldest first.

    The subject is that of a certificate that was seen in the realm.
    """
    from gateway.admin.device_listing import list_subjects

    realm = operator.acting.realm
    found = await operator.resources(_kind()).list_values(realm, first, maximum)
    if output == "json":
        echo_document(found)
        return
    ids = [entry["id"] for entry in found]
    subjects = await list_subjects(operator.services.database, realm, ids)
    heads = ("ID", "SUBJECT", "ISSUER", "SERIAL", "SINCE", "UNTIL", "REASON")
    show_table(heads, (_row(entry, subjects.get(entry["id"], "")) for entry in found))
