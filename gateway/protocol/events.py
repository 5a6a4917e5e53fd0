"""User events of requests: composed here alone, with the events of lock-outs."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from secrets import token_hex
from typing import Final

from gateway.authentication.errors import Lockout, SignInRefused
from gateway.certificates import SeenCertificates
from gateway.domain.events import EVENT_NAMES, SAVED_BY_DEFAULT, Detail, EventType, UserEvent
from gateway.domain.limits.caches import cached
from gateway.domain.ports.certificates import DeviceLock
from gateway.domain.ports.events import EventListeners, EventLog
from gateway.domain.ports.observability import Metrics
from gateway.domain.secrets import looks_secret
from gateway.protocol.errors import OAuthError
from gateway.protocol.requests import EventDraft, ProtocolRequest
from gateway.representations.shapes import MASK


def note_refusal(event: EventDraft, refusal: SignInRefused) -> None:
    """Note the user of a refusal, and a lock-out as further event. Keycloak: 4.2 what counts."""
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
    until = _written_instant(lockout.until)
    return EventType.USER_DISABLED_BY_TEMPORARY_LOCKOUT, {**details, Detail.NOT_BEFORE: until}


def device_lock_event(lock: DeviceLock, failures: int) -> tuple[EventType, dict[str, str]]:
    """Return the event of a device that its refused token requests have locked."""
    return EventType.USER_DISABLED_BY_TEMPORARY_LOCKOUT, {
        Detail.REASON: "too many refused token requests of a device",
        Detail.DEVICE: lock.device,
        Detail.NUM_FAILURES: str(failures),
        Detail.NOT_BEFORE: _written_instant(lock.until),
    }


def _written_instant(instant: datetime) -> str:
    return instant.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="seconds")


_LONGEST_NAME: Final = 255
_LONGEST_DETAIL: Final = 1000
_VARIANT: Final = {digit: "89ab"[int(digit, 16) % 4] for digit in "0123456789abcdef"}
_MOMENT: Final = timedelta(microseconds=1)
"""Between an event and those before and after it, so that they are listed in that order."""


_WITH_TOKEN: Final = frozenset(
    {
        EventType.CLIENT_LOGIN,
        EventType.CODE_TO_TOKEN,
        EventType.REFRESH_TOKEN,
        EventType.OAUTH2_DEVICE_CODE_TO_TOKEN,
        EventType.TOKEN_EXCHANGE,
    }
)
"""Events of requests that are answered with a token."""


class EventRecording:
    """Stores events of realms and passes them to listeners.

    Requests that failed for want of a store are not recorded, but their changes of an account are.
    Texts from outside are shortened, and masked if they look secret. Keycloak: 10.1 to 10.3 event
    types to errors
    """

    def __init__(
        self,
        log: EventLog,
        listeners: EventListeners,
        metrics: Metrics,
        seen_certificates: SeenCertificates,
    ) -> None:
        self._log = log
        self._listeners = listeners
        self._metrics = metrics
        self._seen_certificates = seen_certificates

    def answered(self, request: ProtocolRequest) -> None:
        certificate, event, seen = request.certificate, request.event, self._seen_certificates
        # Any caller has certificates without end: one that identifies no device is not kept.
        if certificate is not None and certificate.identifies and event.error is None:
            realm_id, leaf = request.realm.realm.id, certificate.leaf
            if event.kind in _WITH_TOKEN:
                seen.note_token(realm_id, leaf, event.client_id, request.now)
            if seen.waiting:
                seen.note_use(realm_id, leaf, event.client_id, event.user_id)
        if event.kind is not None or event.changes:
            self._record(request, event.error)

    def refused(self, request: ProtocolRequest, refusal: OAuthError) -> None:
        failure, draft = refusal.event, request.event
        if draft.kind is None or failure is None:
            self.interrupted(request)
            return
        draft.refuse(failure)
        self._record(request, draft.error)

    def interrupted(self, request: ProtocolRequest) -> None:
        """Record what a request has changed in the account before it failed, and no more."""
        draft = request.event
        for place, change in enumerate(draft.changes):
            self._send(
                request,
                change.kind,
                change.details,
                error=change.error,
                apart=(place - len(draft.changes)) * _MOMENT,
                of_session=False,
            )

    def _record(self, request: ProtocolRequest, error: str | None) -> None:
        draft = request.event
        if draft.changes:
            self.interrupted(request)
        if draft.kind is not None:
            self._send(request, draft.kind, draft.details, error=error)
            for place, session_id in enumerate(draft.other_sessions, start=1):
                apart = place * _MOMENT
                self._send(request, draft.kind, draft.details, apart=apart, session_id=session_id)
        for place, (kind, details) in enumerate(draft.further, start=1):
            self._send(
                request,
                kind,
                details,
                apart=place * _MOMENT,
                of_client=False,
                of_session=False,
            )

    def _send(
        self,
        request: ProtocolRequest,
        kind: EventType,
        details: Mapping[str, str],
        *,
        error: str | None = None,
        apart: timedelta = timedelta(),
        of_client: bool = True,
        of_session: bool = True,
        session_id: str | None = None,
    ) -> None:
        """Send an event whose time is `apart` from that of the request.

        Lock-outs are not `of_client`, changes before the sign-in succeeded not `of_session`;
        `session_id` replaces the session of the request.
        """
        realm, draft, failed = request.realm.realm, request.event, error is not None
        name = EVENT_NAMES[kind, failed]
        stored = realm.events.enabled and name in _account_names(realm.events.enabled_types)
        listened, queueing = self._listeners.receivers(realm, name, failed=failed)
        if not (stored or listened or queueing):
            return
        event = UserEvent(
            id=_new_id(request.now),
            realm_id=realm.id,
            time=request.now + apart,
            kind=kind,
            client_id=_shortened_name(draft.client_id) if of_client else None,
            user_id=_shortened_name(draft.user_id),
            session_id=_shortened_name(session_id or draft.session_id) if of_session else None,
            ip_address=_shortened_name(request.remote_address),
            error=error,
            details={name: _fitting_text(text, _LONGEST_DETAIL) for name, text in details.items()},
        )
        if (stored or queueing) and not self._log.append(
            event, is_stored=stored, listeners=queueing
        ):
            self._metrics.security_event("user_event_dropped")
        if listened:
            self._listeners.publish(realm, event)


def _new_id(now: datetime) -> str:
    """Return a UUID that begins with the time, so new rows stay together. Spec: RFC 9562 §5.7."""
    text = f"{int(now.timestamp() * 1000):012x}{token_hex(10)}"
    return f"{text[:8]}-{text[8:12]}-7{text[13:16]}-{_VARIANT[text[16]]}{text[17:20]}-{text[20:]}"


@cached(256 * 1024)
def _account_names(enabled: tuple[str, ...]) -> frozenset[str]:
    return frozenset(enabled or SAVED_BY_DEFAULT)


def _shortened_name(text: str | None) -> str | None:
    return None if text is None else _fitting_text(text, _LONGEST_NAME)


def _fitting_text(text: str, longest: int) -> str:
    """Return what may be stored of a text from outside."""
    if looks_secret(text):
        return MASK
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)
