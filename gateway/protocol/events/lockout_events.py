"""The event of a lock-out that a failed sign-in has begun. Keycloak: 4.2."""

from datetime import UTC

from gateway.authentication.errors import Lockout, SignInRefused
from gateway.domain.events import Detail, EventType
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
    until = lockout.until.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")
    return EventType.USER_DISABLED_BY_TEMPORARY_LOCKOUT, {**details, Detail.NOT_BEFORE: until}
