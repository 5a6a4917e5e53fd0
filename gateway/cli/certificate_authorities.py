"""`realmgate certs authority`: the certificate authorities that a realm or a client trusts.

Exit codes: 0 done; 1 there is no such authority, or it is there already; 2 usage or bad input;
3 a store is unreachable.
"""

import shlex
from collections.abc import Mapping
from typing import Any, TextIO

import click

from gateway.cli.administration import (
    RealmOperator,
    confirm_removal,
    echo_document,
    on_realm,
    output_option,
    yes_option,
)
from gateway.cli.output import show_rows
from gateway.cli.secret_input import read_whole

_ANCHOR = "anchor"
_END = "-----END CERTIFICATE-----"
_LARGEST = 4 * 1024 * 1024
_FINGERPRINT = 64
"""Hexadecimal digits of a SHA-256."""
_client = click.option(
    "--client", "client_id", metavar="CLIENT_ID", help="Authorities of this client alone."
)
_authority = click.argument("sha256", metavar="SHA256")


@click.group("authority", short_help="Register authorities of a realm or client.")
def authority() -> None:
    """List, register and remove the certificate authorities that a realm or a client trusts."""


@authority.command(short_help="Register the authorities of a file.")
@click.argument("file", metavar="FILE", type=click.File("r", encoding="ascii", errors="replace"))
@_client
@click.option(
    "--kind",
    type=click.Choice(["anchor", "intermediate"]),
    help="Without it, self-signed certificates are anchors and others intermediates.",
)
@on_realm
async def add(
    operator: RealmOperator, file: TextIO, client_id: str | None, kind: str | None
) -> None:
    """Register every certificate of FILE, which is PEM; - reads standard input."""
    content = read_whole(file, _LARGEST, "FILE")
    client = await _owner(operator, client_id)
    authorities = operator.authorities(client)
    blocks = [f"{block}{_END}" for block in content.split(_END)[:-1]]
    if not blocks:
        raise click.BadParameter("it holds no certificate in PEM", param_hint="FILE")
    listed = await authorities.list_values(operator.acting.realm, owner=client)
    had_anchors = any(each["kind"] == _ANCHOR for each in listed)
    for block in blocks:
        document = {"certificate": block} | ({} if kind is None else {"kind": kind})
        sha256 = await authorities.create_value(operator.acting, document, client)
        added = await authorities.get_value(operator.acting.realm, sha256, client)
        click.echo(f"{added['kind']} {sha256}: registered, {added['subject']}")
        if added["kind"] == _ANCHOR and not had_anchors:
            had_anchors = True
            _note_first_anchor(operator, client_id)
        if client_id is None and any(_is_namesake(added, each) for each in listed):
            _note_shared_name(str(added["subject"]))
        listed.append(added)


def _is_namesake(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Tell whether another authority has the name."""
    has_name: bool = one["subject"] == other["subject"]
    return has_name and one["keySha256"] != other["keySha256"]


def _note_shared_name(subject: str) -> None:
    text = (
        f"Another authority of the realm is named {subject}. Clients with that x509.casubjectdn are"
        " refused from now on. Give each of them its own anchor: add the authority with --client."
    )
    click.echo(f"Note: {text}", err=True)


def _note_first_anchor(operator: RealmOperator, client_id: str | None) -> None:
    """Say which anchors stop to count: certificates in use may be refused from now on."""
    realm = operator.acting.realm
    if client_id is not None:
        text = f"For the client {client_id} only its own anchors count from now on."
    elif realm.certificates.trust.gateway_authorities is None:
        text = (
            f"In the realm {realm.name} the anchors of REALMGATE_CLIENT_CA_FILE do not count any"
            f" more. To keep them: realmgate realm update {shlex.quote(realm.name)} --set"
            """ 'attributes={"realmgate.certificates.gatewayAuthorities": "true"}'"""
        )
    else:
        return
    click.echo(f"Note: {text}", err=True)


@authority.command("list")
@_client
@output_option
@on_realm
async def list_(operator: RealmOperator, client_id: str | None, output: str) -> None:
    """List the registered authorities with the end of their validity."""
    client = await _owner(operator, client_id)
    found = await operator.authorities(client).list_values(operator.acting.realm, owner=client)
    if output == "json":
        echo_document(found)
        return
    show_rows((each["sha256"], each["kind"], each["notAfter"], each["subject"]) for each in found)


@authority.command(short_help="Show a registered authority.")
@_authority
@_client
@on_realm
async def show(operator: RealmOperator, sha256: str, client_id: str | None) -> None:
    """Show the authority SHA256 with its certificate, as JSON. SHA256 may be its beginning."""
    client = await _owner(operator, client_id)
    name = await _whole_name(operator, client, sha256)
    echo_document(await operator.authorities(client).get_value(operator.acting.realm, name, client))


@authority.command("remove", short_help="Remove a registered authority.")
@_authority
@_client
@on_realm
@yes_option
async def remove_authority(
    operator: RealmOperator, sha256: str, client_id: str | None, *, yes: bool
) -> None:
    """Remove the authority SHA256: its certificates are not trusted then."""
    client = await _owner(operator, client_id)
    name = await _whole_name(operator, client, sha256)
    confirm_removal(f"the authority {name} of {client_id or operator.acting.realm.name}", yes=yes)
    await operator.authorities(client).remove_value(operator.acting, name, client)
    click.echo(f"authority {name}: removed")


async def _owner(operator: RealmOperator, client_id: str | None) -> str | None:
    return None if client_id is None else (await operator.client(client_id)).id


async def _whole_name(operator: RealmOperator, client: str | None, beginning: str) -> str:
    """Return the name of the one authority that begins so."""
    if len(beginning) == _FINGERPRINT:
        return beginning.lower()
    found = await operator.authorities(client).list_values(operator.acting.realm, owner=client)
    names = [each["sha256"] for each in found if each["sha256"].startswith(beginning.lower())]
    if len(names) != 1:
        raise click.ClickException(f"{len(names)} authorities begin with {beginning}")
    return str(names[0])
