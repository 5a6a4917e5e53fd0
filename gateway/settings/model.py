"""Every setting with its type, default and meaning; what one demands of another.

The texts below the fields are those of docs/settings.md.
"""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Final, Literal
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field

from gateway.domain.secrets import Secret
from gateway.http.edge.certificate_lookup import LOOKUPS
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
    Networks,
    Port,
    ProxySecret,
    PublicUrl,
    RedisUrl,
    SecretText,
    TcpAddress,
    one_of,
    whole_number,
)

_DEFAULT_LOOKUP: Final = next(iter(LOOKUPS))
_MOST_KEPT: Final = 100_000_000
_BESIDE_PROXIES: Final = "a secret, where REALMGATE_TRUSTED_PROXIES meets a TCP listener"
_BESIDE_AUTHORITIES: Final = (
    "revocation lists beside REALMGATE_CLIENT_CA_FILE, since the gateway checks revocation itself"
    " (an authority without revocations issues an empty list),"
)


class Settings(BaseModel):
    """Every setting, typed; `REALMGATE_` and the field's name in capitals set it."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", arbitrary_types_allowed=True, hide_input_in_errors=True
    )

    public_url: PublicUrl = "https://localhost:8443"
    """Address of the gateway for clients: the issuer is this plus `/realms/<realm>`."""
    mtls_public_url: PublicUrl | None = None
    """Address for clients with a certificate, if it is another one. Spec: RFC 8705 §5."""
    state_dir: AbsolutePath = Field(default=Path("var"), validate_default=True)
    """Folder for what the gateway creates: database, sockets, secrets."""
    database_url: DatabaseUrl = Field(
        default_factory=lambda known: Secret(
            f"sqlite:///{quote(str(known['state_dir'] / 'realmgate.db'))}"
        )
    )
    """`sqlite:///PATH` or `postgresql://USER:PASSWORD@HOST/NAME`."""
    redis_url: RedisUrl | None = None
    """`redis://`, `rediss://` or `unix://`; without it the gateway starts a private one."""
    listen: Address = Field(
        default_factory=lambda known: f"unix:{known['state_dir']}/run/gateway.sock",
        validate_default=True,
    )
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
    certificate_header: HeaderName = Field(
        default_factory=lambda known: (
            LOOKUPS[known.get("certificate_lookup", _DEFAULT_LOOKUP)].default_header
        )
    )
    """The header that contains the client certificate."""
    client_ca_file: ExistingFile | None = None
    """PEM bundle of the authorities whose client certificates are trusted."""
    client_crl_file: ExistingFile | None = None
    """PEM revocation lists of these authorities; required with the bundle."""
    fetch_networks: Networks = ()
    """Private addresses or networks that URLs of clients may lead to, beside public addresses."""
    fetch_ca_file: ExistingFile | None = None
    """PEM bundle of authorities that servers of clients may use, beside the system's."""
    fetch_http: Flag = False
    """Let URLs of clients begin with http, which nothing protects; for development."""
    encryption_key: EncryptionKeys | None = None
    """Encrypts secrets in the database: 32 bytes in base64, then former keys."""
    encryption_key_file: AbsolutePath = Field(
        default_factory=lambda known: known["state_dir"] / "secrets" / "encryption.key"
    )
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


def disagreements(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield what one setting demands of another: the field, and what is expected of it."""
    over_tcp = isinstance(settings.listen, TcpAddress)
    if over_tcp and settings.trusted_proxies and settings.proxy_secret is None:
        yield "proxy_secret", _BESIDE_PROXIES
    if settings.client_ca_file is not None and settings.client_crl_file is None:
        yield "client_crl_file", _BESIDE_AUTHORITIES
