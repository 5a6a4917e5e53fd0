"""Builds the administrative use cases of events."""

from gateway.admin.events import EventConfiguration, EventLogs, EventUseCases
from gateway.bootstrap.services import Services
from gateway.listeners import LISTENERS


def event_use_cases(services: Services) -> EventUseCases:
    """Return every use case of events."""
    return EventUseCases(
        logs=EventLogs(services.database, services.events, services.clock),
        configuration=EventConfiguration(services.changes, LISTENERS),
    )
