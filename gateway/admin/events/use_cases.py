"""The administrative use cases of events, as callers are given them."""

from dataclasses import dataclass

from gateway.admin.events.configuration import EventConfiguration
from gateway.admin.events.log import EventLogs


@dataclass(frozen=True, slots=True)
class EventUseCases:
    """Every use case of events."""

    logs: EventLogs
    configuration: EventConfiguration
