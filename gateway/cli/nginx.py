"""The shipped nginx configuration, adapted to one machine.

The files of `nginx/realmgate/site/` differ between machines and are written from the options; all
others are copied unchanged. Nothing is searched and replaced in text.
"""

import hashlib
import itertools
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from gateway.domain.errors import FieldError, InvalidInput
from gateway.domain.hosts import public_url
from gateway.domain.secrets import Secret
from gateway.http.certificate_lookup import LONGEST_CHAIN, NginxLookup
from gateway.http.certificate_options import certificate_header_name

if TYPE_CHECKING:
    from gateway.settings import Settings


_PACKAGE = Path(__file__).resolve().parents[1]
_IN_A_WHEEL = _PACKAGE / "nginx_configuration"
SHIPPED = _IN_A_WHEEL if _IN_A_WHEEL.is_dir() else _PACKAGE.parent / "nginx"
SITE = Path("realmgate", "site")
PRIVATE = frozenset({"proxy-secret.conf", "decision-salt.conf"})
# sun_path holds 108 bytes including the closing NUL.
LONGEST_SOCKET_PATH = 107
HTTPS = 443
LOCAL_HOSTS = ("localhost", "127.0.0.1", "[::1]")
# nginx keeps the limit in 16 bits.
MOST_CONNECTIONS = 65535

_ADDRESS = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_UPSTREAM = re.compile(rf"(?:{_ADDRESS.pattern}):[0-9]{{1,5}}")
# Outside these characters nginx would read a variable, an escape or the end of the parameter.
_PATH = re.compile(r"/[^\x00-\x1f\x7f\"'\\$;{}\ud800-\udfff]*")
_SOCKET_PATH = re.compile(r"/[A-Za-z0-9_./@%+,-]*")
_SECRET = re.compile(r"[A-Za-z0-9_.~+/=-]{16,512}")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


class PlainHttp(StrEnum):
    """Behavior of the plain HTTP listener."""

    REDIRECT = "redirect"
    FORWARD = "forward"


_PLAIN_HTTP_FILES = {
    PlainHttp.REDIRECT: "redirect-to-https.conf",
    PlainHttp.FORWARD: "gateway.conf",
}


class RevocationCheck(StrEnum):
    """Who checks revocation lists: nginx before the gateway does, or the gateway alone."""

    NGINX = "nginx"
    GATEWAY = "gateway"


class Http2(StrEnum):
    """Spelling of HTTP/2: the directive needs nginx 1.25.1, which warns of the parameter."""

    PARAMETER = "parameter"
    DIRECTIVE = "directive"


@dataclass(frozen=True, slots=True)
class NginxSite:
    """The settings of one machine; the defaults are those of the shipped files."""

    upstreams: tuple[str, ...]
    certificates: Path
    https_port: int = 8443
    mtls_port: int = 8444
    self_signed_port: int = 8445
    http_port: int = 8080
    public_urls: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    plain_http: PlainHttp = PlainHttp.REDIRECT
    connections_per_address: int = 512
    client_certificates: bool = True
    """Whether callers are asked for certificates; without, ca.crt and ca.crl are not needed."""
    revocation: RevocationCheck = RevocationCheck.NGINX
    http2: Http2 = Http2.PARAMETER
    certificate_header: str = NginxLookup.default_header
    chain_prefix: str = ""
    proxy_secret: str = field(default="", repr=False)
    user: str = ""

    def files(self) -> dict[str, str]:
        """Return the texts of the files of `realmgate/site/` by name."""
        return {
            "listen-https.conf": self._listen_tls(self.https_port),
            "listen-mtls.conf": self._listen_tls(self.mtls_port),
            "listen-self-signed.conf": self._listen_tls(self.self_signed_port),
            "listen-http.conf": self._listen(self.http_port, ""),
            "public-address.conf": self._public_address(),
            "hosts.conf": self._hosts(),
            "connection-limit.conf": (
                f"limit_conn realmgate_addresses {self.connections_per_address};\n"
            ),
            "plain-http.conf": f"include realmgate/{_PLAIN_HTTP_FILES[self.plain_http]};\n",
            "upstream.conf": "".join(map(_upstream, self.upstreams)),
            "server-certificate.conf": self._certificate("ssl_certificate", "server.crt")
            + self._certificate("ssl_certificate_key", "server.key"),
            **self._client_certificates(),
            "certificate-header.conf": self._certificate_header(),
            "removed-certificate-headers.conf": self._removed_certificate_headers(),
            "proxy-secret.conf": (
                f'proxy_set_header X-Realmgate-Proxy-Secret "{self.proxy_secret}";\n'
            ),
            "decision-salt.conf": (
                f'map "" $realmgate_decision_salt {{ default "{self._decision_salt()}"; }}\n'
            ),
            "user.conf": f"user {self.user};\n" if self.user else "",
        }

    def errors(self) -> tuple[FieldError, ...]:
        """Return the values that nginx would refuse or misread."""
        ports = (self.https_port, self.mtls_port, self.self_signed_port, self.http_port)
        return (
            *_unless(
                bool(_PATH.fullmatch(str(self.certificates))),
                "certificates",
                str(self.certificates),
                "an absolute path without quotes, $, ;, braces or control characters",
            ),
            *_unless(len(set(ports)) == len(ports), "ports", ports, "four different ports"),
            *_unless(
                0 < self.connections_per_address <= MOST_CONNECTIONS,
                "connections-per-address",
                self.connections_per_address,
                f"1 to {MOST_CONNECTIONS}",
            ),
            *chain.from_iterable(
                _check_errors("public-url", public_url, url) for url in self.public_urls
            ),
            *_unless(bool(self.upstreams), "upstream", "none", "at least one gateway"),
            *(error for upstream in self.upstreams for error in _upstream_errors(upstream)),
            *(
                error
                for address in self.addresses
                for error in _unless(
                    bool(_ADDRESS.fullmatch(address)), "address", address, "an address or [IPv6]"
                )
            ),
            *chain.from_iterable(
                _check_errors("certificate-header", certificate_header_name, name)
                for name in (self.certificate_header, *filter(None, (self.chain_prefix,)))
            ),
            *_unless(
                not self.proxy_secret or bool(_SECRET.fullmatch(self.proxy_secret)),
                "proxy-secret-file",
                f"{len(self.proxy_secret)} characters",
                "16 to 512 of A-Z a-z 0-9 _.~+/=-",
            ),
            *_unless(
                not self.user or bool(_USER.fullmatch(self.user)),
                "user",
                self.user,
                "the name of a system user",
            ),
        )

    def _authorities(self) -> list[str]:
        port = "" if self.https_port == HTTPS else f":{self.https_port}"
        return [urlsplit(url).netloc for url in self.public_urls] or [f"localhost{port}"]

    def _public_address(self) -> str:
        authority = self._authorities()[0]
        return (
            f'map "" $realmgate_public_address {{ default "{authority}"; }}\n'
            f'map "" $realmgate_public_host {{ default "{_host(authority)}"; }}\n'
        )

    def _hosts(self) -> str:
        names = dict.fromkeys((*LOCAL_HOSTS, *map(_host, self._authorities())))
        return f'"~^({"|".join(map(_pattern, names))})$" "";\n'

    def _listen_tls(self, port: int) -> str:
        if self.http2 is Http2.DIRECTIVE:
            return self._listen(port, " ssl") + "http2 on;\n"
        return self._listen(port, " ssl http2")

    def _listen(self, port: int, options: str) -> str:
        sockets = [f"{address}:{port}" for address in self.addresses] or [f"{port}"]
        return "".join(f"listen {socket}{options};\n" for socket in sockets)

    def _decision_salt(self) -> str:
        """Return text for the keys of cached decisions that callers cannot know.

        nginx finds cached responses by MD5, for which two colliding requests could else be made.
        """
        if not self.proxy_secret:
            return ""
        return hashlib.sha256(b"cached decisions\0" + self.proxy_secret.encode()).hexdigest()

    def _client_certificates(self) -> dict[str, str]:
        """Return the files about client certificates; an empty file is valid for nginx."""
        if not self.client_certificates:
            none = "# No client certificates: people alone sign in.\n"
            return {
                "certificate-servers.conf": none,
                "client-authorities.conf": none,
                "client-authorities-unlisted.conf": none,
                "client-certificate-optional.conf": "ssl_verify_client off;\n",
            }
        trust = self._certificate("ssl_client_certificate", "ca.crt")
        return {
            "certificate-servers.conf": "include realmgate/certificate-servers.conf;\n",
            "client-authorities.conf": trust + self._revocation_lists(),
            "client-authorities-unlisted.conf": self._certificate(
                "ssl_trusted_certificate", "ca.crt"
            ),
            "client-certificate-optional.conf": (
                "ssl_verify_client optional;\nssl_verify_depth 3;\n"
            ),
        }

    def _revocation_lists(self) -> str:
        if self.revocation is RevocationCheck.GATEWAY:
            return "# No ssl_crl: the gateway alone checks revocation lists.\n"
        return self._certificate("ssl_crl", "ca.crl")

    def _certificate_header(self) -> str:
        """Send the certificate in its header, and drop each other spelling of that name.

        The standard name is dropped too where another one is configured. nginx has no variable for
        the chain: headers that the gateway would read it from are dropped in every spelling.
        """
        name = self.certificate_header
        dropped = [*_spellings(name)[1:]]
        if name != NginxLookup.default_header:
            dropped += _spellings(NginxLookup.default_header)
        if self.chain_prefix:
            indexes = range(LONGEST_CHAIN)
            dropped += [each for n in indexes for each in _spellings(f"{self.chain_prefix}-{n}")]
        lines = [f"proxy_set_header {name} {NginxLookup.variable};\n"]
        return "".join([*lines, *(f'proxy_set_header {other} "";\n' for other in dropped)])

    def _removed_certificate_headers(self) -> str:
        """Drop the same names before a protected service.

        The question to the gateway lacks other spellings, so it cannot refuse them.
        """
        first, *lines = self._certificate_header().splitlines(keepends=True)
        return "".join([first.replace(NginxLookup.variable, '""'), *lines])

    def _certificate(self, directive: str, name: str) -> str:
        return f'{directive} "{self.certificates / name}";\n'


def _unless(accepted: bool, path: str, given: object, allowed: str) -> tuple[FieldError, ...]:  # noqa: FBT001 - the first word of the sentence
    return () if accepted else (FieldError(path, repr(given), allowed),)


def _check_errors(path: str, check: Callable[[str], object], given: str) -> tuple[FieldError, ...]:
    try:
        check(given)
    except ValueError as error:
        return (FieldError(path, repr(given), str(error)),)
    return ()


def _spellings(name: str) -> list[str]:
    """Return the name with each choice of `-` and `_` between its words, the name itself first."""
    first, *words = name.split("-")
    return [
        first + "".join(map("".join, zip(separators, words, strict=True)))
        for separators in itertools.product("-_", repeat=len(words))
    ]


def _upstream(address: str) -> str:
    """Return a gateway, and how long nginx does not use it after failures.

    A refused connection to a socket costs nothing, so a socket is always tried: during a rolling
    restart nginx would otherwise stop using both gateways. A host that does not answer costs two
    seconds a request.
    """
    failures = "max_fails=0" if address.startswith("unix:") else "max_fails=3 fail_timeout=3s"
    return f"server {address} {failures};\n"


def _host(authority: str) -> str:
    """Return the host as nginx compares it: lower case, without port and final dot."""
    return re.sub(r":[0-9]+\Z", "", authority).lower().removesuffix(".")


def _pattern(host: str) -> str:
    """Return a pattern for this host alone, without the backslashes that nginx would read."""
    return re.sub(r"[\[\].]", r"[\g<0>]", host)


def _upstream_errors(upstream: str) -> tuple[FieldError, ...]:
    kind, _, path = upstream.partition(":")
    if kind == "unix":
        return _unless(
            bool(_SOCKET_PATH.fullmatch(path)) and len(path) <= LONGEST_SOCKET_PATH,
            "upstream",
            upstream,
            f"unix: and an absolute path of at most {LONGEST_SOCKET_PATH} plain characters",
        )
    return _unless(
        bool(_UPSTREAM.fullmatch(upstream)), "upstream", upstream, "unix:/PATH or HOST:PORT"
    )


def render_nginx(site: NginxSite, output: Path, source: Path = SHIPPED) -> Path:
    """Write a complete configuration into `output` and return its main file.

    Every file is replaced in one step, so that a running nginx may be reloaded at any time.
    Raises InvalidInput before anything is written.
    """
    if errors := site.errors():
        raise InvalidInput(errors)
    files = {path.relative_to(source): path.read_bytes() for path in sorted(source.rglob("*.conf"))}
    main = Path("realmgate.conf")
    if main not in files:
        raise InvalidInput((FieldError("source", str(source), f"a folder with {main}"),))
    files |= {SITE / name: text.encode() for name, text in site.files().items()}
    for name, content in files.items():
        _write_file(output / name, content, private=name.name in PRIVATE)
    return output / main


def _write_file(path: Path, content: bytes, *, private: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o644)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    draft.replace(path)


_OPTIONS: Final = Path("realmgate", "render-options.json")
"""The options of the last render, without secrets: another render has them as its defaults."""


def _recorded_options(context: click.Context, _: click.Parameter, output: Path) -> Path:
    """Take the options of the render that wrote the folder, unless a complete command is given."""
    if context.meta.get(_IS_COMPLETE):
        return output
    try:
        recorded = json.loads((output / _OPTIONS).read_bytes())
    except FileNotFoundError:
        return output
    except (OSError, ValueError) as failure:
        raise click.BadParameter(f"{_OPTIONS} cannot be read: {failure}") from failure
    if not isinstance(recorded, dict):
        raise click.BadParameter(f"{_OPTIONS} is not a JSON object")
    context.default_map = recorded
    return output


def _record_options(context: click.Context, output: Path) -> None:
    """Write the options that were given, now or in an earlier render."""
    given: dict[str, Any] = {}
    for name, value in context.params.items():
        source = context.get_parameter_source(name)
        if name in _NOT_RECORDED or source not in _GIVEN:
            continue
        if name == "proxy_secret_file":
            if value.name == "<stdin>":
                continue
            given[name] = str(Path(value.name).absolute())
        elif isinstance(value, Path):
            given[name] = str(value.absolute())
        else:
            given[name] = value
    text = json.dumps(given, indent=2, sort_keys=True)
    _write_file(output / _OPTIONS, f"{text}\n".encode(), private=False)


_NOT_RECORDED: Final = frozenset({"output", "source"})
_REQUIRED: Final = frozenset({"--upstream", "--certificates"})
_IS_COMPLETE: Final = "gateway.cli.nginx.is_complete"
_GIVEN: Final = frozenset({ParameterSource.COMMANDLINE, ParameterSource.DEFAULT_MAP})
_Command = TypeVar("_Command", bound=Callable[..., Any])
_FOLDER = click.Path(file_okay=False, path_type=Path)


def _port_option(name: str, default: int, text: str) -> Callable[[_Command], _Command]:
    kind = click.IntRange(1, 65535)
    return click.option(f"--{name}-port", type=kind, default=default, show_default=True, help=text)


@click.group()
def nginx() -> None:
    """Write nginx's configuration for this machine."""


class _RenderCommand(click.Command):
    """Notes whether the options are all given: then none of an earlier render counts."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        context.meta[_IS_COMPLETE] = {each.partition("=")[0] for each in args} >= _REQUIRED
        return super().parse_args(context, args)


@nginx.command(cls=_RenderCommand, short_help="Write a complete nginx configuration.")
@click.option(
    "--output",
    type=_FOLDER,
    required=True,
    is_eager=True,
    callback=_recorded_options,
    help="Folder to write to. Without --upstream and --certificates the options of the earlier"
    " render into it count.",
)
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
    help="Folder with server.crt, server.key, ca.crt and ca.crl; the last two are for client"
    " certificates.",
)
@click.option(
    "--without-client-certificates",
    "client_certificates",
    flag_value=False,
    type=bool,
    default=True,
    help="Ask for no client certificate, where people alone sign in: no ca.crt, no ca.crl, and no"
    " servers on the ports of certificates.",
)
@_port_option("https", 8443, "Port with optional client certificate.")
@_port_option("mtls", 8444, "Port with required client certificate.")
@_port_option("self-signed", 8445, "Port for any certificate.")
@_port_option("http", 8080, "Port for plain HTTP.")
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
    "--http2",
    type=click.Choice([kind.value for kind in Http2], case_sensitive=False),
    callback=lambda _, __, kind: Http2(kind),
    default=Http2.PARAMETER.value,
    show_default=True,
    help="How HTTP/2 is switched on: by a parameter of listen, for every nginx from 1.22 on, or by"
    " the directive http2, which nginx from 1.25.1 on reads without a warning.",
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

    PREFIX needs the folders run/ and logs/. Rendering again replaces the files, with the same
    options where none are given.
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
        main = render_nginx(site, output.absolute(), source)
        _record_options(click.get_current_context(), output)
    except OSError as failure:
        raise click.ClickException(f"{failure.filename}: {failure.strerror}") from failure
    click.echo(main)


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
