"""JSON of events and of what admin events record."""

from gateway.representations.events.answers import (
    update_events_config,
    write_admin_event,
    write_events_config,
    write_user_event,
)
from gateway.representations.events.recorded_fields import recorded
