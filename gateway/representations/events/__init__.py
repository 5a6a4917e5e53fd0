"""JSON of events and of what admin events record."""

from gateway.representations.events.answers import (
    render_admin_event,
    render_events_config,
    render_user_event,
    update_events_config,
)
from gateway.representations.events.recorded_fields import recorded
