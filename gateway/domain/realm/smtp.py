"""The realm's way to send e-mail. Keycloak: smtpServer, a map of strings."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from gateway.domain.secrets import Secret


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
