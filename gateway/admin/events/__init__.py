"""Recorded events and their configuration, for administrators."""

from dataclasses import dataclass

from gateway.admin.events.configuration import EventConfiguration, require_known_listeners
from gateway.admin.events.stored_events import EventLogs, remove_expired_events


@dataclass(frozen=True, slots=True)
class EventUseCases:
    """Every use case of events."""

    logs: EventLogs
    configuration: EventConfiguration
