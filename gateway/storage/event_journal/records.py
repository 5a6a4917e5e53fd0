"""One event as one line: a JSON array; its last item is there for listeners that queue alone.

A line without its end was being written when its writer died, or when the disk was full.
"""

from typing import Final

import orjson

from gateway.domain.events import EventType, LoggedEvent, UserEvent
from gateway.storage.sql.column_types import instant_of, microseconds_of

END: Final = b"\n"
LARGEST: Final = 64 * 1024
"""Octets of a line: longer lines are no records."""
_MEMBERS: Final = 10


def write_record(logged: LoggedEvent) -> bytes:
    """Return the line; raises ValueError for text that is not Unicode, or too long."""
    event = logged.event
    members: tuple[object, ...] = (
        event.id,
        event.realm_id,
        microseconds_of(event.time),
        event.kind,
        event.client_id,
        event.user_id,
        event.session_id,
        event.ip_address,
        event.error,
        event.details,
    )
    if logged.listeners or not logged.is_stored:
        members = (*members, (logged.is_stored, *logged.listeners))
    try:
        line = orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE)
    except TypeError as error:
        raise ValueError("an event with text that is not Unicode") from error
    if len(line) > LARGEST:
        raise ValueError("an event that is too long")
    return line


def read_record(line: bytes) -> LoggedEvent | None:
    """Return the event; None for an invalid line."""
    try:
        members = orjson.loads(line)
        event_id, realm_id, microseconds, kind, *names, details = members[:_MEMBERS]
        client_id, user_id, session_id, ip_address, error = names
        is_stored, *listeners = members[_MEMBERS] if len(members) > _MEMBERS else (True,)
        _require_texts(event_id, realm_id, *details.keys(), *details.values(), *listeners)
        _require_texts(*(name for name in names if name is not None))
        if type(microseconds) is not int:
            return None
        event = UserEvent(
            id=event_id,
            realm_id=realm_id,
            time=instant_of(microseconds),
            kind=EventType(kind),
            client_id=client_id,
            user_id=user_id,
            session_id=session_id,
            ip_address=ip_address,
            error=error,
            details=details,
        )
        return LoggedEvent(event, is_stored is True, tuple(listeners))
    except (ValueError, TypeError, AttributeError, ArithmeticError):
        return None


def _require_texts(*members: object) -> None:
    if not all(isinstance(member, str) for member in members):
        raise TypeError("a member that is not text")
