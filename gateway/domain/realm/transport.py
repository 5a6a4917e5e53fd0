"""Which requests must come over TLS. Keycloak: sslRequired."""

from enum import StrEnum


class SslRequired(StrEnum):
    """For which clients the realm demands HTTPS."""

    NONE = "none"
    """Never."""
    EXTERNAL = "external"
    """From every address that is not loopback, link-local or private."""
    ALL = "all"
    """From every address."""
