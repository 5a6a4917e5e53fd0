"""Events for tests of storage."""

from dataclasses import replace
from datetime import timedelta

from gateway.domain.events import (
    AdminEvent,
    AuthDetails,
    EventType,
    OperationType,
    ResourceType,
    UserEvent,
)
from tests.support.stored_values import NOW


def user_event(event_id: str, of: str = "demo", **fields: object) -> UserEvent:
    """Return an event that happened so many seconds after NOW as its id is a number, or at NOW."""
    seconds = int(event_id) if event_id.isdecimal() else 0
    event = UserEvent(
        id=event_id,
        realm_id=f"{of}-id",
        time=NOW + timedelta(seconds=seconds),
        kind=EventType.LOGIN,
        client_id="app",
        user_id="john",
        session_id="session",
        ip_address="192.0.2.1",
        details={"username": "jöhn"},
    )
    return replace(event, **fields)  # type: ignore[arg-type] # any field may be set


def admin_event(event_id: str, of: str = "demo", **fields: object) -> AdminEvent:
    """Return an event that happened so many seconds after NOW as its id is a number, or at NOW."""
    seconds = int(event_id) if event_id.isdecimal() else 0
    event = AdminEvent(
        id=event_id,
        realm_id=f"{of}-id",
        time=NOW + timedelta(seconds=seconds),
        operation=OperationType.CREATE,
        resource=ResourceType.USER,
        resource_path=f"users/{event_id}",
        auth=AuthDetails("master-id", "cli-uuid", "admin", "192.0.2.1"),
        representation='{"username":"john"}',
        details={"username": "john"},
    )
    return replace(event, **fields)  # type: ignore[arg-type] # any field may be set
