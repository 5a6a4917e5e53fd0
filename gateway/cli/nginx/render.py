"""`realmgate nginx render`: writes nginx's configuration for this machine."""

from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from gateway.cli.nginx.site import (
    MOST_CONNECTIONS,
    SHIPPED,
    NginxSite,
    PlainHttp,
    RevocationCheck,
    render_nginx,
)
from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.secrets import Secret
from gateway.http.edge.certificate_lookup import NginxLookup

if TYPE_CHECKING:
    from gateway.settings import Settings

_PORT = click.IntRange(1, 65535)
_FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def nginx() -> None:
    """Write nginx's configuration for this machine."""


@nginx.command(short_help="Write a complete nginx configuration.")
@click.option("--output", type=_FOLDER, required=True, help="Folder to write to.")
@click.option(
    "--upstream",
    "upstreams",
    multiple=True,
    required=True,
    help="Address of a gateway: unix:/PATH or HOST:PORT. Repeatable.",
)
@click.option(
    "--certificates",
    type=_FOLDER,
    required=True,
    help="Folder with server.crt, server.key, ca.crt and ca.crl.",
)
@click.option(
    "--https-port",
    type=_PORT,
    default=8443,
    show_default=True,
    help="Port with optional client certificate.",
)
@click.option(
    "--mtls-port",
    type=_PORT,
    default=8444,
    show_default=True,
    help="Port with required client certificate.",
)
@click.option(
    "--self-signed-port",
    type=_PORT,
    default=8445,
    show_default=True,
    help="Port for any certificate.",
)
@click.option(
    "--http-port", type=_PORT, default=8080, show_default=True, help="Port for plain HTTP."
)
@click.option(
    "--public-url",
    "public_urls",
    multiple=True,
    help="Public address of the gateway. Other hosts except localhost get 421. Repeatable: plain"
    " HTTP redirects to the first one. [default: https://localhost:HTTPS_PORT]",
)
@click.option(
    "--address",
    "addresses",
    multiple=True,
    help="Address to listen on, IPv6 in brackets. Repeatable. [default: every IPv4]",
)
@click.option(
    "--plain-http",
    type=click.Choice([kind.value for kind in PlainHttp], case_sensitive=False),
    callback=lambda _, __, kind: PlainHttp(kind),
    default=PlainHttp.REDIRECT.value,
    show_default=True,
    help="Behavior of the plain HTTP port.",
)
@click.option(
    "--connections-per-address",
    type=click.IntRange(1, MOST_CONNECTIONS),
    default=512,
    show_default=True,
    help="Maximum of parallel requests per client address.",
)
@click.option(
    "--revocation",
    type=click.Choice([kind.value for kind in RevocationCheck], case_sensitive=False),
    callback=lambda _, __, kind: RevocationCheck(kind),
    default=RevocationCheck.NGINX.value,
    show_default=True,
    help="Who checks revocation lists: nginx at each handshake and then the gateway, or the gateway"
    " alone. nginx hashes whole lists for each handshake: choose gateway for lists of more than"
    " about 10,000 certificates, if nginx protects no service that does not ask the gateway.",
)
@click.option(
    "--proxy-secret-file",
    type=click.File(),
    help="File with the secret that nginx sends to the gateway."
    " [default: REALMGATE_PROXY_SECRET_FILE or REALMGATE_PROXY_SECRET]",
)
@click.option(
    "--certificate-header",
    help="Header that contains the client certificate. [default: REALMGATE_CERTIFICATE_HEADER]",
)
@click.option("--user", default="", help="User of nginx's workers if root starts nginx.")
@click.option(
    "--source",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=SHIPPED,
    show_default=True,
    help="Folder of the shipped configuration.",
)
def render(
    output: Path,
    source: Path,
    certificates: Path,
    proxy_secret_file: IO[str] | None,
    certificate_header: str | None,
    **values: Any,
) -> None:
    """Write a complete nginx configuration, ready for `nginx -p PREFIX -c OUTPUT/realmgate.conf`.

    PREFIX needs the folders run/ and logs/. Rendering again replaces the files.
    """
    settings = _settings()
    try:
        given = proxy_secret_file.read().strip() if proxy_secret_file else None
    except UnicodeDecodeError as failure:
        raise click.BadParameter("it is not text", param_hint="--proxy-secret-file") from failure
    site = NginxSite(
        certificates=certificates.absolute(),
        proxy_secret=(settings.proxy_secret or Secret("")).reveal() if given is None else given,
        certificate_header=(certificate_header or settings.certificate_header).lower(),
        chain_prefix=settings.certificate_chain_prefix or "",
        **values,
    )
    try:
        click.echo(render_nginx(site, output.absolute(), source))
    except OSError as failure:
        raise click.ClickException(f"{failure.filename}: {failure.strerror}") from failure


def _settings() -> "Settings":
    """Return the settings; raises InvalidInput where nginx cannot send what they name."""
    from gateway.settings import load_settings

    settings = load_settings()
    refused: tuple[FieldError, ...] = ()
    if settings.certificate_lookup != NginxLookup.name:
        refused += _refused("certificate_lookup", settings.certificate_lookup, "nginx")
    if settings.certificate_url_encoded is False:
        refused += _refused("certificate_url_encoded", "false", "true")
    if refused:
        raise InvalidInput(refused)
    return settings


def _refused(field: str, given: str, needed: str) -> tuple[FieldError, ...]:
    from gateway.settings import variable

    reason = f"nginx sends URL-encoded PEM, so {needed} is expected and {given} was given"
    return (FieldError(variable(field), given, needed, sentence=reason),)
