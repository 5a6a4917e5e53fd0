"""The realm's way to send e-mail. Keycloak: smtpServer, a map of strings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gateway.domain.secrets import Secret

_DEFAULT_PORT = 25


@dataclass(frozen=True, slots=True)
class Smtp:
    """A mail server; no `host` means that the realm sends nothing.

    `settings` holds the map as given, without the secrets, so that it is returned unchanged.
    The secrets stand apart so that they can be sealed and masked: the password, and
    `token_secret`, by which a token is got that takes the password's place.
    """

    settings: Mapping[str, str] = field(default_factory=dict)
    password: Secret | None = None
    token_secret: Secret | None = None

    def with_secrets(self, password: Secret | None, token_secret: Secret | None) -> "Smtp":
        return replace(self, password=password, token_secret=token_secret)

    @property
    def host(self) -> str | None:
        return self.settings.get("host") or None

    @property
    def token_url(self) -> str | None:
        """`authTokenUrl`: where `token_secret` is sent to."""
        return self.settings.get("authTokenUrl") or None

    @property
    def port(self) -> int:
        return int(self.settings.get("port") or _DEFAULT_PORT)

    @property
    def sender(self) -> str | None:
        """`from`: the address that messages come from."""
        return self.settings.get("from") or None

    @property
    def implicit_tls(self) -> bool:
        """`ssl`: TLS from the first byte."""
        return self.settings.get("ssl") == "true"

    @property
    def start_tls(self) -> bool:
        """`starttls`: TLS before anything is sent. Spec: RFC 3207."""
        return self.settings.get("starttls") == "true"

    @property
    def user(self) -> str | None:
        """Who signs in to the server, where `auth` is on."""
        return self.settings.get("user") if self.settings.get("auth") == "true" else None
