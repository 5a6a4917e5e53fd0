"""How long a client's parts of sessions last. Keycloak: client attributes, advanced settings."""

from dataclasses import dataclass
from datetime import timedelta

_INHERITED = timedelta()


@dataclass(frozen=True, slots=True)
class ClientSessionLimits:
    """The client's own limits; zero inherits the realm's."""

    idle: timedelta = _INHERITED
    """`client.session.idle.timeout`: counted from the last refresh."""
    max_lifespan: timedelta = _INHERITED
    """`client.session.max.lifespan`: counted from the client's start."""
    offline_idle: timedelta = _INHERITED
    """`client.offline.session.idle.timeout`: the same of an offline session."""
    offline_max_lifespan: timedelta = _INHERITED
    """`client.offline.session.max.lifespan`: the same of an offline session."""
