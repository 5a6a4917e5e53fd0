"""Every setting with its type, default and meaning; requirements between them.

The texts below the fields are those of docs/settings.md.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from datetime import timedelta
from typing import Annotated, Any, Final, Literal, get_args, get_origin, get_type_hints
from urllib.parse import quote

from gateway.http.certificate_lookup import LONGEST_CHAIN, LOOKUPS
from gateway.settings.values import (
    AbsolutePath,
    Address,
    DatabaseUrl,
    Duration,
    EncryptionKeys,
    ExistingFile,
    ExistingFiles,
    ExistingFolder,
    Flag,
    HeaderName,
    HeaderNames,
    MailedEvents,
    Networks,
    Port,
    ProxySecret,
    PublicUrl,
    Reader,
    RedisUrl,
    SecretText,
    TcpAddress,
    VerdictHeaderName,
    WebUrls,
    one_of,
    whole_number,
)

_DEFAULT_LOOKUP: Final = next(iter(LOOKUPS))
_MOST_KEPT: Final = 100_000_000
_LOOKUP_OPTIONS: Final = frozenset(
    field
    for lookup in LOOKUPS.values()
    for field in (*lookup.options.values(), *lookup.own_options)
)
_HEADER_OPTIONS: Final = (
    *("certificate_header", "certificate_chain_header", "certificate_chain_prefix"),
    "certificate_verdict_header",
)
_BESIDE_PROXIES: Final = "a secret, where REALMGATE_TRUSTED_PROXIES meets a TCP listener"
_BESIDE_AUTHORITIES: Final = (
    "revocation lists beside REALMGATE_CLIENT_CA_FILE, since the gateway checks revocation itself"
    " (an authority without revocations issues an empty list),"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Every setting, typed; `REALMGATE_` and the field's name in capitals set it.

    The fields without a default have one in `_DERIVED`.
    """

    public_url: PublicUrl = "https://localhost:8443"
    """Address of the gateway for clients: the issuer is this plus `/realms/<realm>`."""
    mtls_public_url: PublicUrl | None = None
    """Address for clients with a certificate, if different. Spec: RFC 8705 §5."""
    state_dir: AbsolutePath
    """Folder for what the gateway creates: database, sockets, secrets."""
    database_url: DatabaseUrl
    """`sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST/NAME`."""
    redis_url: RedisUrl | None = None
    """`redis://`, `rediss://` or `unix://`; without it the gateway starts a private one."""
    listen: Address
    """Address of the gateway for the proxy: `unix:PATH` or `HOST:PORT`."""
    workers: Annotated[int, whole_number(1, 64)] = 1
    """Number of worker processes."""
    shutdown_grace: Duration = timedelta(seconds=10)
    """Time for running requests to finish after SIGTERM."""
    management_host: str = "127.0.0.1"
    """Address of health and metrics; no proxy may forward to it."""
    management_port: Port = 9000
    """Port of health and metrics."""
    trusted_proxies: Networks = ()
    """Trusted proxies on a TCP listener, as addresses or networks."""
    proxy_secret: ProxySecret | None = None
    """The secret that the proxy sends in X-Realmgate-Proxy-Secret."""
    certificate_lookup: Annotated[str, one_of(*LOOKUPS)] = _DEFAULT_LOOKUP
    """How the proxy sends the client certificate."""
    certificate_header: HeaderName
    """The header that contains the client certificate."""
    certificate_chain_header: HeaderName | None = None
    """The header that contains the chain of the client certificate in one value."""
    certificate_chain_prefix: HeaderName | None = None
    """Prefix of headers that contain the chain: `<prefix>_0`, `<prefix>_1` and so on."""
    certificate_chain_length: Annotated[int, whole_number(0, LONGEST_CHAIN)] = 1
    """The most certificates of a chain besides the client's; a longer one is refused."""
    certificate_url_encoded: Flag | None = None
    """Whether the header of the certificate is URL-encoded."""
    certificate_verdict_header: VerdictHeaderName | None = None
    """The header that contains the proxy's own verdict about the certificate."""
    trust_proxy_verification: Flag = False
    """Accept only certificates that the proxy verified: by its verdict, or, without a header for
    one, all that it forwards."""
    client_ca_file: ExistingFile | None = None
    """PEM bundle of the authorities whose client certificates are trusted."""
    client_crl_file: ExistingFile | None = None
    """PEM revocation lists of these authorities; these or URLs are required with the bundle."""
    client_crl_urls: WebUrls = ()
    """URLs of revocation lists of these authorities, by http or https, in DER or PEM."""
    server_certificate_file: ExistingFile | None = None
    """PEM certificate of the proxy, only to report when it expires."""
    guard_file: ExistingFile | None = None
    """TOML file with sites that forward authentication protects, beside those of realms."""
    guard_passed_headers: HeaderNames = ()
    """Identity headers of other products that requests to protected sites may have."""
    fetch_networks: Networks = ()
    """Private addresses or networks that URLs of clients may lead to, beside public addresses."""
    fetch_ca_file: ExistingFile | None = None
    """PEM bundle of authorities that servers of clients may use, beside the system's."""
    fetch_http: Flag = False
    """Let URLs of clients begin with http, which nothing protects; for development."""
    mail_networks: Networks = ()
    """Private addresses or networks of mail servers of realms, beside public addresses."""
    mail_ca_file: ExistingFile | None = None
    """PEM bundle of authorities that mail servers may use, beside the system's."""
    email_include_events: MailedEvents = ()
    """Events that the listener `email` sends mails about, instead of Keycloak's."""
    email_exclude_events: MailedEvents = ()
    """Events that the listener `email` sends no mails about."""
    events_file: AbsolutePath | None = None
    """File that the listener `file` appends events to, a line of JSON each."""
    encryption_key: EncryptionKeys | None = None
    """Encrypts secrets in the database: 32 bytes in base64, then former keys."""
    encryption_key_file: AbsolutePath
    """File with these keys; the first start creates it if it is missing."""
    admin: str = "admin"
    """User name of the administrator that a start creates in `master`."""
    admin_password: SecretText | None = None
    """Initial password of the administrator; without it none is created."""
    import_realm: ExistingFiles = ()
    """Realm files to import before serving, separated by commas."""
    themes: ExistingFolder | None = None
    """Folder that contains a folder for each theme of the sign-in pages."""
    cache_realms: Annotated[int, whole_number(1, _MOST_KEPT)] = 1_000
    """Realms that one worker caches."""
    cache_clients: Annotated[int, whole_number(1, _MOST_KEPT)] = 10_000
    """Clients that one worker caches."""
    cache_age: Duration = timedelta(seconds=60)
    """Age after which a cached realm or client is compared with the database."""
    log_level: Annotated[
        Literal["debug", "info", "warning", "error"], one_of("debug", "info", "warning", "error")
    ] = "info"
    """The lowest level that is logged."""
    tracing: Flag = False
    """Record OpenTelemetry spans; needs the extra `tracing`, configured by OTEL_ names."""

    given: frozenset[str] = field(default=frozenset(), compare=False)
    """Names of the settings that were given; the others have their default."""


SETTING_NAMES: Final = tuple(each.name for each in fields(Settings) if each.name != "given")
_DERIVED: Final[Mapping[str, Callable[[Mapping[str, Any]], object]]] = {
    "state_dir": lambda _: "var",
    "database_url": lambda known: f"sqlite:///{quote(str(known['state_dir'] / 'realmgate.db'))}",
    "listen": lambda known: f"unix:{known['state_dir']}/run/gateway.sock",
    "certificate_header": lambda known: (
        LOOKUPS[known.get("certificate_lookup", _DEFAULT_LOOKUP)].default_header
    ),
    "encryption_key_file": lambda known: known["state_dir"] / "secrets" / "encryption.key",
}
"""Defaults that are read as if they were given, from what is known of the other settings."""


class WrongSettings(ValueError):
    """Settings whose values cannot be used."""

    def __init__(self, allowed: Mapping[str, str]) -> None:
        super().__init__(", ".join(f"{name}: {text}" for name, text in allowed.items()))
        self.allowed = allowed


def read_settings(**values: object) -> Settings:
    """Read every value by the readers of its setting; None counts as not given.

    Raises WrongSettings, with all of those that were given or else of the defaults.
    """
    given = {name: value for name, value in values.items() if value is not None}
    known = _read_values(given)
    for name, default in _DERIVED.items():
        if name not in known:
            known |= _read_values({name: default(known)})
    return Settings(**known, given=frozenset(given))


def _read_values(values: Mapping[str, object]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    wrong: dict[str, str] = {}
    for name, value in values.items():
        try:
            known[name] = _value(name, value)
        except ValueError as refusal:
            wrong[name] = str(refusal)
    if wrong:
        raise WrongSettings(wrong)
    return known


def _value(name: str, value: object) -> object:
    for read in _READERS.get(name, ()):
        value = read(value)
    return value


def _readers(hint: Any) -> tuple[Reader, ...]:
    """Return the types in an annotation, also in an optional one."""
    if get_origin(hint) is Annotated:
        named: tuple[Reader, ...] = hint.__metadata__
        return named
    return tuple(reader for part in get_args(hint) for reader in _readers(part))


_READERS: Final = {
    name: _readers(hint) for name, hint in get_type_hints(Settings, include_extras=True).items()
}


def disagreements(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield requirements between settings: the field, and the expected value."""
    over_tcp = isinstance(settings.listen, TcpAddress)
    if over_tcp and settings.trusted_proxies and settings.proxy_secret is None:
        yield "proxy_secret", _BESIDE_PROXIES
    if settings.client_ca_file is not None and not (
        settings.client_crl_file or settings.client_crl_urls
    ):
        yield "client_crl_file", _BESIDE_AUTHORITIES
    yield from _lookup_disagreements(settings)


def _lookup_disagreements(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield options that the lookup does not have, and headers with one name for two things."""
    lookup = LOOKUPS[settings.certificate_lookup]
    own = {*lookup.options.values(), *lookup.own_options}
    for name in SETTING_NAMES:
        if name in settings.given & _LOOKUP_OPTIONS - own:
            yield name, f"no value with the lookup {lookup.name}, which has no such option,"
    taken: dict[str, str] = {}
    for name in _HEADER_OPTIONS:
        header = getattr(settings, name)
        if taken.setdefault(header, name) != name and header is not None:
            yield name, f"another name than that of REALMGATE_{taken[header].upper()}"
