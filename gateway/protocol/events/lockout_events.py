"""The events of lock-outs that failed sign-ins and failed requests of devices have begun.

Keycloak: 4.2
"""

from datetime import UTC, datetime

from gateway.authentication.errors import Lockout, SignInRefused
from gateway.domain.events import Detail, EventType
from gateway.domain.ports.sign_in.device_locks import DeviceLock
from gateway.protocol.requests import EventDraft


def note_refusal(event: EventDraft, refusal: SignInRefused) -> None:
    """Note the user of a refusal, and the lock-out as a further event."""
    event.user_id = refusal.user_id
    if refusal.lockout is not None:
        event.further.append(_locked_out(refusal.lockout))


def _locked_out(lockout: Lockout) -> tuple[EventType, dict[str, str]]:
    details = {
        Detail.REASON: "brute_force_attack detected",
        Detail.NUM_FAILURES: str(lockout.failures),
    }
    if lockout.until is None:
        return EventType.USER_DISABLED_BY_PERMANENT_LOCKOUT, details
    until = _written(lockout.until)
    return EventType.USER_DISABLED_BY_TEMPORARY_LOCKOUT, {**details, Detail.NOT_BEFORE: until}


def device_lock_event(lock: DeviceLock, failures: int) -> tuple[EventType, dict[str, str]]:
    """Return the event of a device that its refused token requests have locked."""
    return EventType.USER_DISABLED_BY_TEMPORARY_LOCKOUT, {
        Detail.REASON: "too many refused token requests of a device",
        Detail.DEVICE: lock.device,
        Detail.NUM_FAILURES: str(failures),
        Detail.NOT_BEFORE: _written(lock.until),
    }


def _written(instant: datetime) -> str:
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
