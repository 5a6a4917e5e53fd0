"""What is recorded. Keycloak: the realm's events configuration, creation defaults."""

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class EventsConfig:
    """Recording of user events and of administrative events."""

    enabled: bool = False
    """`eventsEnabled`: user events are stored."""
    expiration: timedelta = timedelta()
    """`eventsExpiration`: how long stored user events are kept; seconds, 0 is for ever."""
    listeners: tuple[str, ...] = ("jboss-logging",)
    """`eventsListeners`: who is told of every event, stored or not."""
    enabled_types: tuple[str, ...] = ()
    """`enabledEventTypes`: the types to store; none given means all."""
    admin_enabled: bool = False
    """`adminEventsEnabled`: administrative events are stored."""
    admin_details_enabled: bool = False
    """`adminEventsDetailsEnabled`: with the representation that was sent."""
