"""`realmgate certs`: the development PKI, the facts of any certificate, and locks of devices.

Exit codes: 0 done, 1 files cannot be written, 2 bad input, with nothing changed.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from pathlib import Path

import click
from cryptography import x509

from gateway.cli.administration import output_option
from gateway.cli.certificate_authorities import authority
from gateway.cli.certificate_explanation import explain
from gateway.cli.denied_certificates import deny
from gateway.cli.device import device
from gateway.cli.expiring import expiring
from gateway.crypto.x509 import development_pki
from gateway.crypto.x509.development_pki import (
    ClientOrder,
    certificate_name,
    create_pki,
    issue_client,
    renew_server,
)
from gateway.crypto.x509.issuing import KeyAlgorithm, PkiRefused
from gateway.crypto.x509.parse import describe, load_any_certificate
from gateway.domain.clock import SystemClock

DEFAULT_DIRECTORY = Path("certs")
LONGEST_LIFETIME_DAYS = 1825

LABELS = {
    "subject": "Subject",
    "subject_alternative_names": "SAN",
    "issuer": "Issuer",
    "serial": "Serial",
    "not_before": "Not before",
    "not_after": "Not after",
    "key": "Key",
    "sha256": "SHA-256",
    "x5t_s256": "x5t#S256",
}

directory_option = click.option(
    "--directory",
    type=click.Path(file_okay=False, path_type=Path),
    default=DEFAULT_DIRECTORY,
    show_default=True,
    help="Folder of the PKI.",
)


class _BadInput(click.ClickException):
    exit_code = 2


@click.group()
def certs() -> None:
    """Trust and deny client certificates, lock devices; issue, show and revoke certificates."""


certs.add_command(authority)
certs.add_command(deny)
certs.add_command(device)
certs.add_command(expiring)
certs.add_command(explain)


@certs.command(short_help="Create a PKI: authorities, certificates, revocation lists.")
@directory_option
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="DNS_OR_IP",
    help="Another name of the server, in addition to localhost, 127.0.0.1 and ::1. Repeatable.",
)
@click.option(
    "--algorithm",
    type=click.Choice(["ecdsa", "rsa"]),
    default="ecdsa",
    show_default=True,
    help="Keys of server and clients: ECDSA on P-256, or RSA with 2048 bits."
    " Those of the authorities are RSA with 3072 bits.",
)
@click.option("--force", is_flag=True, help="Replace an existing PKI.")
def init(directory: Path, names: tuple[str, ...], algorithm: str, *, force: bool) -> None:
    """Create authorities, server, device and user certificates, and revocation lists.

    Certificates that `certs client` issued before stay in the folder, but a new PKI does not accept
    them.
    """
    with _exit_codes():
        files = create_pki(
            directory, now=_now(), names=names, algorithm=KeyAlgorithm(algorithm), force=force
        )
    click.echo(f"Made {len(files)} files in {directory}: {' '.join(files)}")


@certs.command()
@click.argument("name")
@directory_option
@click.option(
    "--dns", multiple=True, help="Add a DNS name to the subject alternative names. Repeatable."
)
@click.option("--uri", multiple=True, help="Add a URI, such as a SPIFFE ID. Repeatable.")
@click.option(
    "--days",
    type=click.IntRange(1, LONGEST_LIFETIME_DAYS),
    default=397,
    show_default=True,
    help="Days until the certificate expires.",
)
@click.option("--force", is_flag=True, help="Replace an existing certificate of this name.")
def client(
    name: str,
    directory: Path,
    dns: tuple[str, ...],
    uri: tuple[str, ...],
    days: int,
    *,
    force: bool,
) -> None:
    """Issue a client certificate for the device NAME, with a new key."""
    with _exit_codes():
        order = ClientOrder(name, dns=dns, uris=uri, lifetime=timedelta(days=days))
        files = issue_client(directory, name, order, now=_now(), force=force)
    click.echo(f"Made {' '.join(str(directory / file) for file in files)}")


@certs.command(short_help="Renew the server certificate, with further names.")
@directory_option
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="DNS_OR_IP",
    help="Another name of the server, besides those of its present certificate. Repeatable.",
)
@click.option(
    "--if-expiring-within",
    "days",
    type=click.IntRange(min=0),
    help="Do nothing unless the certificate lacks a name or expires within this number of days.",
)
def server(directory: Path, names: tuple[str, ...], days: int | None) -> None:
    """Issue the server certificate again, with a new key and the names that it has.

    `nginx -s reload` puts it into use.
    """
    due = None if days is None else timedelta(days=days)
    with _exit_codes():
        expiry = renew_server(directory, now=_now(), names=names, if_expiring_within=due)
    if expiry is None:
        click.echo("Server certificate left alone")
    else:
        click.echo(f"Server certificate issued, it expires {expiry:%Y-%m-%d %H:%M} UTC")


@certs.command(short_help="Revoke a certificate of the PKI.")
@click.argument("certificate", metavar="NAME|FILE")
@directory_option
def revoke(certificate: str, directory: Path) -> None:
    """Revoke a certificate, given by its name in the PKI or as a file."""
    named = directory / certificate_name(certificate)
    path = named if named.is_file() else Path(certificate)
    with _exit_codes():
        changed = development_pki.revoke_certificate(
            directory, _load_certificate(str(path)), now=_now()
        )
    click.echo(f"{certificate} {'is revoked now' if changed else 'was revoked before'}")


@certs.command()
@directory_option
@click.option(
    "--if-expiring-within",
    "days",
    type=click.IntRange(min=0),
    help="Do nothing unless a list expires within this number of days.",
)
def crl(directory: Path, days: int | None) -> None:
    """Renew the revocation lists.

    nginx refuses every certificate of an authority whose list has expired.
    """
    now = _now()
    with _exit_codes():
        expiry = development_pki.revocation_lists_expire(directory)
        due = days is None or expiry <= now + timedelta(days=days)
        if due:
            expiry = development_pki.renew_revocation_lists(directory, now=now)
    click.echo(f"Revocation lists {'issued, they' if due else 'left alone, they'} expire {expiry}")


@certs.command(short_help="Show a certificate.")
@click.argument("file", metavar="FILE|-")
@output_option
def show(file: str, output: str) -> None:
    """Show the first certificate of FILE: PEM, URL-escaped PEM as nginx sends it, or DER."""
    with _exit_codes():
        facts = asdict(describe(_load_certificate(file)))
    if output == "json":
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False, default=datetime.isoformat))
        return
    for label, value in facts.items():
        lines = value if isinstance(value, tuple) else (value,)
        for line in lines:
            click.echo(f"{LABELS[label]:<12} {line}")


def _now() -> datetime:
    return SystemClock().now()


def _load_certificate(file: str) -> x509.Certificate:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return load_any_certificate(data)
    except OSError as error:
        raise PkiRefused(f"{file} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise PkiRefused(f"{file} holds no certificate in PEM or DER") from error


@contextmanager
def _exit_codes() -> Iterator[None]:
    """Turn a refusal into one line and its exit code."""
    try:
        yield
    except PkiRefused as refusal:
        raise _BadInput(str(refusal)) from refusal
    except OSError as error:
        raise click.ClickException(f"{error.filename}: {error.strerror}") from error
