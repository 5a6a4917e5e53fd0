"""Event listeners and their table. Keycloak: EventListenerProvider, 10.6 listeners.

A listener receives each event while the request is answered, or queues a result of it: then the
event goes through the journal, and its row is one of the transaction that stores the event.

- `email` sends users a mail about each change of their accounts, to their verified address. An
  attack causes few mails, and none delays a mail that a user asked for or that reports a change of
  the account. One change that is two events in Keycloak is one mail here.
- `file` appends each event to a file, as one line of JSON, for a SIEM. Every worker writes whole
  lines with one system call. A file that was renamed or removed is re-created with the next event.
- `jboss-logging` logs each event, a failure as a warning, with the fields of Keycloak's texts.
"""

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import orjson
from structlog.typing import FilteringBoundLogger

from gateway.domain.deliveries import WebhookDelivery
from gateway.domain.errors import InvalidInput, StoreUnavailable
from gateway.domain.events import Detail, EventType, LoggedEvent, UserEvent
from gateway.domain.mail import (
    EVENT_MAILS,
    MAILED_BY_DEFAULT,
    Mail,
    MailKind,
    MailLimit,
    QueuedMail,
    limit_of,
    mail_time,
    user_mail,
)
from gateway.domain.ports.storage import Stores
from gateway.domain.realm import Realm
from gateway.domain.users import User
from gateway.representations.events import render_user_event


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerOptions:
    """Services for listeners; `mailed_events` are names of events.

    `events_file` is the file that the listener `file` appends to.
    """

    log: FilteringBoundLogger
    mailed_events: frozenset[str] = MAILED_BY_DEFAULT
    events_file: Path | None = None


class Listener(Protocol):
    """Receives events while a request is answered. The dispatch logs any exception of it."""

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        """Return whether it wants events of that name, now."""

    def on_event(self, realm: Realm, event: UserEvent) -> None:
        """Receive an event; must not block."""


@runtime_checkable
class QueueingListener(Protocol):
    """Queues mails or other results of events; the dispatch logs its exceptions."""

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        """Return whether it wants events of that name."""

    async def queue(self, stores: Stores, events: Sequence[UserEvent]) -> None:
        """Add rows to the transaction that stores the events; the same event again adds none."""


EMAIL: Final = "email"
_TWINS: Final = {
    (EventType.UPDATE_CREDENTIAL, "password"): EventType.UPDATE_PASSWORD,
    (EventType.UPDATE_CREDENTIAL, "otp"): EventType.UPDATE_TOTP,
    (EventType.REMOVE_CREDENTIAL, "otp"): EventType.REMOVE_TOTP,
}
"""The event that is recorded with a change of a credential of that type."""
_WITH_TYPE: Final = frozenset({MailKind.EVENT_UPDATE_CREDENTIAL, MailKind.EVENT_REMOVE_CREDENTIAL})


class EmailListener:
    """Adds a row to the queue of mails."""

    def __init__(self, options: ListenerOptions) -> None:
        self._names = options.mailed_events

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        del failed
        return name in self._names and realm.smtp.host is not None

    async def queue(self, stores: Stores, events: Sequence[UserEvent]) -> None:
        realms: dict[str, Realm | None] = {}
        no_more: set[tuple[str, str, MailLimit]] = set()
        for event in events:
            limit = limit_of(EVENT_MAILS[event.name])
            owner = (event.realm_id, event.user_id or "", limit)
            if event.user_id is None or owner in no_more or self._has_twin(event):
                continue
            if event.realm_id not in realms:
                realms[event.realm_id] = await stores.realms.find_by_id(event.realm_id)
            realm = realms[event.realm_id]
            if realm is None or not await _add(stores, realm, event.user_id, event):
                no_more.add(owner)

    def _has_twin(self, event: UserEvent) -> bool:
        """Return whether the same change is an event of another name, which causes the mail."""
        twin = _TWINS.get((event.kind, event.details.get(Detail.CREDENTIAL_TYPE, "")))
        return twin is not None and twin.value in self._names


async def _add(stores: Stores, realm: Realm, user_id: str, event: UserEvent) -> bool:
    """Add the mail; return whether another one of its sort may follow."""
    user = await stores.users.find_by_id(realm.id, user_id)
    if user is None or not user.email or not user.email_verified:
        return False
    return await stores.mails.add(QueuedMail(_mail(realm, user, user.email, event), user.id))


def _mail(realm: Realm, user: User, address: str, event: UserEvent) -> Mail:
    """Return the mail; it has the id of the event, so that an event causes one."""
    kind = EVENT_MAILS[event.name]
    arguments: tuple[str, ...] = (mail_time(event.time), event.ip_address or "-")
    if kind in _WITH_TYPE:
        arguments = (event.details.get(Detail.CREDENTIAL_TYPE, "-"), *arguments)
    mail = user_mail(realm, user, address, kind, event.time)
    return replace(mail, id=event.id, arguments=arguments)


def event_json(realm_name: str, event: UserEvent) -> bytes:
    """Return the JSON text, without line breaks."""
    return orjson.dumps({**render_user_event(event), "realmName": realm_name})


FILE: Final = "file"
_END: Final = b"\n"
_MODE: Final = 0o640
_LOG_PAUSE: Final = timedelta(minutes=1)
"""Between two log lines about a file that cannot be written."""


class FileListener:
    """Writes to the file of the operator."""

    def __init__(self, path: Path, log: FilteringBoundLogger) -> None:
        self._file = _AppendedFile(path)
        self._log = log
        self._log_again_at = 0.0

    def wants(self, _realm: Realm, _name: str, *, failed: bool) -> bool:
        del failed
        return True

    def on_event(self, realm: Realm, event: UserEvent) -> None:
        try:
            self._file.append(event_json(realm.name, event) + _END)
        except OSError as failure:
            self._log_failure(failure)

    def _log_failure(self, failure: OSError) -> None:
        now = time.monotonic()
        if now >= self._log_again_at:
            self._log_again_at = now + _LOG_PAUSE.total_seconds()
            self._log.error("events not written to the file", reason=str(failure))


def file_listener(options: ListenerOptions) -> FileListener | None:
    """Return the listener, None where the operator names no file."""
    return None if options.events_file is None else FileListener(options.events_file, options.log)


def check_events_file(path: Path) -> None:
    """Raise OSError for a file that events cannot be appended to."""
    os.close(_open(path))


class _AppendedFile:
    """A file that several processes append to."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._identity = (0, 0)
        self._is_torn = False

    def append(self, line: bytes) -> None:
        """Write the line; on a full disk a part of it may stay. Raises OSError."""
        descriptor = self._opened()
        if self._is_torn:
            line = _END + line
        self._is_torn = os.write(descriptor, line) < len(line)
        if self._is_torn:
            raise OSError("the disk has no room for an event")

    def _opened(self) -> int:
        if self._descriptor is not None and self._identity == _identity(self._path):
            return self._descriptor
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        self._descriptor = _open(self._path)
        found = os.fstat(self._descriptor)
        self._identity = (found.st_dev, found.st_ino)
        self._is_torn = False
        return self._descriptor


def _open(path: Path) -> int:
    # Without waiting: a pipe that nothing reads must not stop a worker.
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK
    return os.open(path, flags, _MODE)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return (found.st_dev, found.st_ino)


JBOSS_LOGGING: Final = "jboss-logging"


class JbossLogging:
    """Writes to the gateway's log, successes at the level debug."""

    def __init__(self, options: ListenerOptions) -> None:
        self._log = options.log
        self._takes_failures = options.log.is_enabled_for(logging.WARNING)
        self._takes_successes = options.log.is_enabled_for(logging.DEBUG)

    def wants(self, _realm: Realm, _name: str, *, failed: bool) -> bool:
        return self._takes_failures if failed else self._takes_successes

    def on_event(self, _realm: Realm, event: UserEvent) -> None:
        write = self._log.debug if event.error is None else self._log.warning
        write("event", **{name: value for name, value in _fields(event).items() if value})


def _fields(event: UserEvent) -> dict[str, object]:
    return {
        "type": event.name,
        "realm_id": event.realm_id,
        "client": event.client_id,
        "user": event.user_id,
        "session": event.session_id,
        "remote_address": event.ip_address,
        "error": event.error,
        "details": dict(event.details),
    }


WEBHOOK: Final = "webhook"


class WebhookListener:
    """Adds a row to the queue of events for webhooks."""

    def __init__(self, options: ListenerOptions) -> None:
        self._log = options.log

    def wants(self, realm: Realm, name: str, *, failed: bool) -> bool:
        del failed
        webhook = realm.webhook
        return webhook is not None and name in webhook.events

    async def queue(self, stores: Stores, events: Sequence[UserEvent]) -> None:
        by_realm = attrgetter("realm_id")
        for realm_id, group in groupby(sorted(events, key=by_realm), by_realm):
            name = await stores.realms.find_name(realm_id)
            if name is None:
                continue
            added = [_delivery(name, event) for event in group]
            if not await stores.webhooks.add(realm_id, added):
                self._log.error("webhook events dropped", realm_id=realm_id, number=len(added))


def _delivery(realm_name: str, event: UserEvent) -> WebhookDelivery:
    body = event_json(realm_name, event).decode()
    return WebhookDelivery(event.realm_id, event.id, body, event.time)


LISTENERS: Final[Mapping[str, Callable[[ListenerOptions], Listener | QueueingListener | None]]] = {
    JBOSS_LOGGING: JbossLogging,
    EMAIL: EmailListener,
    WEBHOOK: WebhookListener,
    FILE: file_listener,
}
"""Keycloak's name -> listener, None where a setting that it needs is missing."""


_FAILED: Final = "listener failed"


class Dispatch:
    """EventListeners and EventQueues over the registered listeners.

    A realm may name others, of a later or an earlier version: they are ignored.
    """

    def __init__(
        self, listeners: Mapping[str, Listener | QueueingListener], log: FilteringBoundLogger
    ) -> None:
        self._queueing = {
            name: each for name, each in listeners.items() if isinstance(each, QueueingListener)
        }
        self._immediate = {
            name: each for name, each in listeners.items() if not isinstance(each, QueueingListener)
        }
        self._log = log
        self.names = frozenset(listeners)

    def receivers(self, realm: Realm, name: str, *, failed: bool) -> tuple[bool, tuple[str, ...]]:
        chosen = realm.events.listeners
        listened = any(
            self._immediate[listener].wants(realm, name, failed=failed)
            for listener in chosen
            if listener in self._immediate
        )
        return listened, tuple(
            listener
            for listener in chosen
            if listener in self._queueing
            and self._queueing[listener].wants(realm, name, failed=failed)
        )

    def publish(self, realm: Realm, event: UserEvent) -> None:
        for name in realm.events.listeners:
            listener = self._immediate.get(name)
            try:
                if listener is None:
                    continue
                if listener.wants(realm, event.name, failed=event.error is not None):
                    listener.on_event(realm, event)
            except Exception as failure:  # noqa: BLE001 - no listener may fail a request
                self._log.error(_FAILED, listener=name, exc_info=failure)

    async def queue(self, stores: Stores, logged: Sequence[LoggedEvent]) -> None:
        for name, listener in self._queueing.items():
            events = [each.event for each in logged if name in each.listeners]
            if events:
                try:
                    await listener.queue(stores, events)
                except (StoreUnavailable, InvalidInput):
                    raise  # the journal stores the events later, or each one in its own transaction
                except Exception as failure:  # noqa: BLE001 - no listener may keep events from SQL
                    self._log.error(_FAILED, listener=name, exc_info=failure)
