"""What an operator may set, and the only place that reads the environment and `.env`.

Precedence: command-line flags, then the environment, then `.env` in the working directory, then
the defaults here. Within one of these, a `REALMGATE_` name wins over Keycloak's spelling of it
(`KC_BOOTSTRAP_ADMIN_*`, `KC_SPI_X509CERT_LOOKUP_*`). Any setting ending in SECRET, KEY, PASSWORD
or URL may be given as `NAME_FILE`, the path of a file that holds the value. An empty value counts
as not given. Every mistake is reported at once, under the name that carries it.
"""

import difflib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    FilePath,
    ValidationError,
    model_validator,
)

from gateway.domain.errors import InvalidInput
from gateway.domain.public_urls import public_url
from gateway.domain.secrets import Secret

PREFIX = "REALMGATE_"
CERTIFICATE_LOOKUPS = ("nginx",)
SCRIPT_NAMES = frozenset(
    PREFIX + name
    for name in (
        *("URL", "MTLS_URL", "SELF_SIGNED_URL", "MANAGEMENT_URL", "CA", "CLIENT_CERT"),
        *("CLIENT_KEY", "CLIENT_ID", "REALM"),
        *("HTTPS_PORT", "MTLS_PORT", "SELF_SIGNED_PORT", "HTTP_PORT"),
    )
)
"""Names of `var/run.env` and of the scripts: tolerated here, read there."""

_LOOKUP_SPELLINGS = "KC_SPI_X509CERT_LOOKUP"
_ALIASES = {
    "KC_BOOTSTRAP_ADMIN_USERNAME": "admin",
    "KC_BOOTSTRAP_ADMIN_PASSWORD": "admin_password",
    f"{_LOOKUP_SPELLINGS}_PROVIDER": "certificate_lookup",
    f"{_LOOKUP_SPELLINGS}__PROVIDER": "certificate_lookup",
    f"{_LOOKUP_SPELLINGS}_NGINX_SSL_CLIENT_CERT": "certificate_header",
    f"{_LOOKUP_SPELLINGS}__NGINX__SSL_CLIENT_CERT": "certificate_header",
}
_FLAGS = {
    "certificate_lookup": "--spi-x509cert-lookup-provider",
    "certificate_header": "--spi-x509cert-lookup-nginx-ssl-client-cert",
}
_FROM_FILE = ("_secret", "_key", "_password", "_url")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
_UNIX_PATH_LIMIT = 107
_SHORTEST_PROXY_SECRET = 16
_LISTS_MISSING = (
    "expected beside REALMGATE_CLIENT_CA_FILE: the gateway checks revocation itself (an authority"
    " without revocations issues an empty list)"
)


class SettingsError(InvalidInput):
    """Settings that cannot be used: one line per mistake, safe to print."""

    def __init__(self, lines: Iterable[str]) -> None:
        super().__init__(())
        self.lines = tuple(lines)

    def __str__(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A unix socket by path."""

    path: Path

    def __str__(self) -> str:
        return f"unix:{self.path}"


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP listener: IP address or host name, and port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def _duration(value: object) -> object:
    if not isinstance(value, str):
        return value
    number = value.strip().rstrip("dhms")
    unit = value.strip()[len(number) :] or "s"
    try:
        return timedelta(seconds=float(number) * _UNITS[unit])
    except (ValueError, KeyError, OverflowError):
        raise ValueError(
            "a duration such as 10s, 500ms, 5m, 1h or 1d is expected (seconds without a unit)"
        ) from None


def _positive(value: timedelta) -> timedelta:
    if value <= timedelta(0):
        raise ValueError("a duration above zero is expected")
    return value


def _listed(value: object) -> tuple[str, ...]:
    """Split text at commas and white space; a tuple from the command line stays as it is."""
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    return tuple(str(item) for item in value) if isinstance(value, tuple) else ()


def _networks(value: object) -> tuple[IPv4Network | IPv6Network, ...]:
    networks = []
    for item in _listed(value):
        try:
            networks.append(ip_network(item))
        except ValueError:
            raise ValueError(
                f"{item} is not an IP address or a network such as ::1 or 10.0.0.0/8"
            ) from None
    return tuple(networks)


def _files(value: object) -> tuple[Path, ...]:
    paths = tuple(Path(item) for item in _listed(value))
    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise ValueError(f"there is no file {', '.join(missing)}")
    return paths


def _lookup(value: str) -> str:
    if value not in CERTIFICATE_LOOKUPS:
        raise ValueError(f"no such provider, expected: {', '.join(CERTIFICATE_LOOKUPS)}")
    return value


def _long_enough(value: Secret) -> Secret:
    if len(value.reveal()) < _SHORTEST_PROXY_SECRET:
        raise ValueError(f"at least {_SHORTEST_PROXY_SECRET} characters are expected")
    return value


def _secret(value: object) -> object:
    return Secret(value) if isinstance(value, str) else value


def _address(value: object) -> object:
    if not isinstance(value, str):
        return value
    if value.startswith("unix:"):
        path = Path(value.removeprefix("unix:")).absolute()
        if len(os.fsencode(path)) > _UNIX_PATH_LIMIT:
            raise ValueError(
                f"the path of a unix socket may have {_UNIX_PATH_LIMIT} bytes, {path} is longer"
            )
        return UnixAddress(path)
    host, _, port = value.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
        raise ValueError("unix:PATH or HOST:PORT is expected")
    return TcpAddress(host.removeprefix("[").removesuffix("]"), int(port))


def _header_name(value: str) -> str:
    if not value.replace("-", "").isalnum() or not value.isascii():
        raise ValueError("the name of a header is expected: letters, digits and hyphens")
    return value.lower()


Duration = Annotated[timedelta, BeforeValidator(_duration), AfterValidator(_positive)]
SecretText = Annotated[Secret, BeforeValidator(_secret)]
PublicUrl = Annotated[str, AfterValidator(public_url)]
Address = Annotated[UnixAddress | TcpAddress, BeforeValidator(_address)]
Networks = Annotated[tuple[IPv4Network | IPv6Network, ...], BeforeValidator(_networks)]
Files = Annotated[tuple[Path, ...], BeforeValidator(_files)]
Port = Annotated[int, Field(ge=1, lt=1 << 16)]


class Settings(BaseModel):
    """Every setting, typed; `REALMGATE_` and the field's name in capitals set it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True
    )

    public_url: PublicUrl = "https://localhost:8443"
    """Where clients reach the gateway: the issuer is this and `/realms/<realm>`."""
    mtls_public_url: PublicUrl | None = None
    """Where clients that hold a certificate reach it. Spec: RFC 8705 §5."""
    state_dir: Annotated[Path, AfterValidator(Path.absolute)] = Field(
        default=Path("var"), validate_default=True
    )
    """Holds what the gateway makes: database, sockets, secrets."""
    database_url: SecretText = Field(
        default_factory=lambda known: Secret(
            f"sqlite:///{quote(str(known['state_dir'] / 'realmgate.db'))}"
        )
    )
    """`sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST/NAME`."""
    redis_url: SecretText | None = None
    """`redis://`, `rediss://` or `unix://`; a private redis-server is run where none is given."""
    listen: Address = Field(
        default_factory=lambda known: f"unix:{known['state_dir']}/run/gateway.sock",
        validate_default=True,
    )
    """Where the proxy reaches the gateway: `unix:PATH` or `HOST:PORT`."""
    workers: Annotated[int, Field(ge=1, le=64)] = 1
    """Worker processes."""
    server: Literal["hypercorn", "uvicorn"] = "hypercorn"
    """The ASGI server; uvicorn needs the extra `fast`."""
    shutdown_grace: Duration = timedelta(seconds=10)
    """How long running requests may take to finish after SIGTERM."""
    management_host: str = "127.0.0.1"
    """Where health and metrics are served; never give it to a proxy."""
    management_port: Port = 9000
    """Port of health and metrics."""
    trusted_proxies: Networks = ()
    """Addresses of proxies that are believed on a TCP listener, as addresses or networks."""
    proxy_secret: Annotated[SecretText, AfterValidator(_long_enough)] | None = None
    """What the proxy sends in X-Realmgate-Proxy-Secret to prove itself."""
    certificate_lookup: Annotated[str, AfterValidator(_lookup)] = CERTIFICATE_LOOKUPS[0]
    """How the proxy hands over the client certificate."""
    certificate_header: Annotated[str, AfterValidator(_header_name)] = "ssl-client-cert"
    """The header that carries the client certificate."""
    client_ca_file: FilePath | None = None
    """PEM bundle of the authorities whose client certificates are believed."""
    client_crl_file: FilePath | None = None
    """PEM revocation lists of these authorities; required with the bundle."""
    encryption_key: SecretText | None = None
    """Seals secrets in the database: 32 bytes in base64, former ones after it."""
    encryption_key_file: Path = Field(
        default_factory=lambda known: known["state_dir"] / "secrets" / "encryption.key"
    )
    """The file of the same, made at the first start where it is missing."""
    admin: str = "admin"
    """User name of the administrator that is made in the realm `master`."""
    admin_password: SecretText | None = None
    """Password the administrator is made with; without it none is made."""
    import_realm: Files = ()
    """Realm files to import before serving, separated by commas."""
    cache_realms: Annotated[int, Field(ge=1)] = 1_000
    """Realms that one worker keeps in memory."""
    cache_clients: Annotated[int, Field(ge=1)] = 10_000
    """Clients that one worker keeps in memory."""
    cache_age: Duration = timedelta(seconds=60)
    """The oldest a cached realm or client may be when an invalidation message was lost."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """The least severe lines that are written."""
    tracing: bool = False
    """Record OpenTelemetry spans; needs the extra `tracing`, configured by OTEL_ names."""

    @model_validator(mode="after")
    def _agree(self) -> "Settings":
        """Check what one setting demands of another."""
        if self.trusted_proxies and isinstance(self.listen, TcpAddress) and not self.proxy_secret:
            raise ValueError("proxy_secret: required where trusted_proxies meet a TCP listener")
        if self.client_ca_file and not self.client_crl_file:
            raise ValueError(f"client_crl_file: {_LISTS_MISSING}")
        return self


@dataclass(frozen=True, slots=True)
class _Given:
    """A raw value and the name it came under."""

    name: str
    value: Any


def variable(field: str) -> str:
    """Return the environment variable that sets `field`."""
    return PREFIX + field.upper()


def file_variable(field: str) -> str | None:
    """Return the variable that names a file holding the value of `field`, where there is one."""
    taken = f"{field}_file" in Settings.model_fields
    return f"{variable(field)}_FILE" if field.endswith(_FROM_FILE) and not taken else None


def load_settings(
    options: Mapping[str, Any] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    env_file: Path = Path(".env"),
) -> Settings:
    """Read the settings; `options` are command-line flags by field. Raises SettingsError."""
    errors: list[str] = []
    given = _named(_dotenv(env_file), errors)
    given |= _named(os.environ if environment is None else environment, errors)
    given |= {
        field: _Given(_FLAGS.get(field, "--" + field.replace("_", "-")), value)
        for field, value in (options or {}).items()
        if value
    }
    values: dict[str, Any] = {}
    for field, raw in given.items():
        try:
            values[field] = _content(raw, field)
        except (OSError, ValueError) as failure:  # a path with NUL is a ValueError
            reason = failure.strerror if isinstance(failure, OSError) else "not UTF-8 text"
            errors.append(f"{raw.name}: {raw.value} cannot be read: {reason}")
    try:
        settings = Settings(**values)
    except ValidationError as failure:
        errors += _lines(failure, given)
    if errors:
        raise SettingsError(errors)
    return settings


def share_metrics(directory: Path) -> None:
    """Let this process and its children count in files of `directory`.

    prometheus_client asks the environment when it is imported, so this comes before.
    """
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = str(directory)


def _dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    # Imported where it is used: most starts have no such file.
    from dotenv import dotenv_values  # noqa: PLC0415

    try:
        values = dotenv_values(path, interpolate=False)
    except (UnicodeDecodeError, OSError) as failure:
        raise SettingsError((f"{path} cannot be read: {failure}",)) from failure
    return {key: value or "" for key, value in values.items()}


def _named(source: Mapping[str, str], errors: list[str]) -> dict[str, _Given]:
    """Find the fields a source sets; names that mean nothing become errors."""
    known = _known_names()
    found: dict[str, _Given] = {}
    for name in sorted(source, reverse=True):  # REALMGATE_ names after, so that they win over KC_
        if not name.startswith((PREFIX, _LOOKUP_SPELLINGS)) and name not in known:
            continue
        field = known.get(name)
        if field is not None and source[name]:
            found.setdefault(field, _Given(name, source[name]))
            if found[field].name in {name + "_FILE", name.removesuffix("_FILE")} - {name}:
                errors.append(f"{name} and {found[field].name} are both set: one is expected")
        elif field is None and name not in SCRIPT_NAMES:
            errors.append(f"{name} is not a setting" + _suggestion(name, known))
    return found


def _known_names() -> dict[str, str]:
    names = {variable(field): field for field in Settings.model_fields}
    files = {file_variable(field): field for field in Settings.model_fields}
    return names | {name: field for name, field in files.items() if name} | _ALIASES


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""


def _content(given: _Given, field: str) -> Any:
    """Return the value, from the file where the name ends in `_FILE`."""
    if given.name == file_variable(field):
        return Path(given.value).read_text(encoding="utf-8").strip()
    return given.value


def _lines(failure: ValidationError, given: Mapping[str, _Given]) -> Iterator[str]:
    for error in failure.errors(include_input=True, include_url=False):
        if error["type"] == "default_factory_not_called":
            continue
        message = error["msg"].removeprefix("Value error, ")
        if error["loc"]:
            field = str(error["loc"][0])
            shown = "" if _is_secret(field) else f"{given[field].value!r} given: "
        else:
            field, _, message = message.partition(": ")
            shown = ""
        name = given[field].name if field in given else variable(field)
        yield f"{name}: {shown}{message}"


def _is_secret(field: str) -> bool:
    return field.endswith(_FROM_FILE)
