"""Recorded events and their configuration, for administrators."""

from gateway.admin.events.configuration import EventConfiguration, require_known_listeners
from gateway.admin.events.stored_events import EventLogs, EventUseCases, remove_expired_events
