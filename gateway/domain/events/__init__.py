"""Events: their types, details, errors and queries."""

from gateway.domain.events.names import Detail, EventError
from gateway.domain.events.queries import (
    LARGEST_PAGE,
    STANDARD_PAGE,
    AdminEventQuery,
    EventPage,
    Period,
    UserEventQuery,
)
from gateway.domain.events.records import (
    AdminEvent,
    AuthDetails,
    LoggedEvent,
    OperationType,
    ResourceType,
    UserEvent,
)
from gateway.domain.events.types import ALL_NAMES, KIND_OF, SAVED_BY_DEFAULT, EventType, name_of
