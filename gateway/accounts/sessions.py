"""The user's own sessions, listed by device and ended, and the certificates of past sign-ins."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gateway.accounts.access import AccountCaller, AccountRole
from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventPage, EventType, UserEvent, UserEventQuery
from gateway.domain.flows import CERTIFICATE, CERTIFICATE_FORM
from gateway.domain.ports.events import EventLog
from gateway.domain.ports.lookups import Directory
from gateway.domain.ports.sessions import OnlineSessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.sessions import (
    DEVICE_NOTE,
    BrowserDevice,
    UserSession,
    if_lasting,
    noted_device,
    session_ends_at,
    session_maximum_ends_at,
)
from gateway.protocol.sessions import Sessions


@dataclass(frozen=True, slots=True)
class OwnSession:
    """A live session with its clients by public name; `is_current` is the caller's."""

    session: UserSession
    clients: tuple[Client, ...]
    device: BrowserDevice
    ends_at: datetime
    is_current: bool


@dataclass(frozen=True, slots=True)
class OwnDevice:
    """The sessions on one system, the one used last first."""

    device: BrowserDevice
    sessions: tuple[OwnSession, ...]

    @property
    def used_at(self) -> datetime:
        return max(one.session.refreshed_at for one in self.sessions)

    @property
    def is_current(self) -> bool:
        return any(one.is_current for one in self.sessions)


class AccountSessions:
    """Lists and ends sessions. All raise Forbidden and StoreUnavailable.

    Ending one session leaves its offline session, as in Keycloak; ending all ends offline sessions
    too. Both end the link to a new address. Keycloak: 17.3 account sessions.
    """

    def __init__(
        self, directory: Directory, online: OnlineSessionStore, sessions: Sessions
    ) -> None:
        self._directory = directory
        self._online = online
        self._sessions = sessions

    async def list_sessions(self, caller: AccountCaller) -> tuple[OwnSession, ...]:
        """Return the live sessions, oldest first."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)
        found = await self.live(caller)
        clients = await clients_with_ids(self._directory, caller.realm.id, clients_in(found))
        return tuple(_own_session(caller, session, clients) for session in found)

    async def devices(self, caller: AccountCaller) -> tuple[OwnDevice, ...]:
        """Return the live sessions by system, the one used last first."""
        by_system: dict[tuple[str, str], list[OwnSession]] = {}
        for one in await self.list_sessions(caller):
            by_system.setdefault((one.device.system, one.device.system_version), []).append(one)
        devices = (_own_device(sessions) for sessions in by_system.values())
        return tuple(sorted(devices, key=lambda device: device.used_at, reverse=True))

    async def end(self, caller: AccountCaller, session_id: str) -> bool:
        """End one session of the user, and return whether the user has it."""
        caller.require(AccountRole.MANAGE_ACCOUNT)
        found = await self._online.find_session(caller.realm.id, session_id)
        if found is None or found.user_id != caller.user_id:
            return False
        await self._sessions.log_out_of_browser(found, caller.request.now)
        await self._sessions.cancel_email_update(caller.realm.id, caller.user_id)
        _note_ended(caller, (found.id,))
        return True

    async def end_all(self, caller: AccountCaller, *, current: bool) -> int:
        """End all sessions and return their number; `current` includes the caller's own."""
        caller.require(AccountRole.MANAGE_ACCOUNT)
        keep = None if current else caller.session
        realm, user, now = caller.realm, caller.user_id, caller.request.now
        ended = await self._sessions.log_out_others(realm, user, keep=keep, now=now)
        _note_ended(caller, ended)
        return len(ended)

    async def has_others(self, caller: AccountCaller) -> bool:
        """Return whether there is a session, online or offline, beside the current one."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)
        realm_id, user_id = caller.realm.id, caller.user_id
        return bool(await self._sessions.list_others(realm_id, user_id, keep=caller.session))

    async def live(self, caller: AccountCaller) -> tuple[UserSession, ...]:
        """Return the online sessions that last."""
        stored = await self._online.of_user(caller.realm.id, caller.user_id)
        now = caller.request.now
        return tuple(one for one in stored if if_lasting(caller.realm, one, now) is not None)


def _note_ended(caller: AccountCaller, ended: Sequence[str]) -> None:
    event = caller.request.event
    for session_id in ended:
        if event.kind is None:
            event.kind = EventType.LOGOUT
            event.session_id = session_id
        else:
            event.other_sessions += (session_id,)


def clients_in(sessions: Iterable[UserSession]) -> set[str]:
    """Return the internal ids of the clients that take part."""
    return {client for session in sessions for client in session.clients}


async def clients_with_ids(
    directory: Directory, realm_id: str, ids: Iterable[str]
) -> dict[str, Client]:
    """Return the clients that exist, by internal id."""
    found = [await directory.client_with_id(realm_id, client) for client in ids]
    return {one.client.id: one.client for one in found if one is not None}


def _own_session(
    caller: AccountCaller, session: UserSession, clients: dict[str, Client]
) -> OwnSession:
    limits = caller.realm.session_limits
    taking_part = [clients[client] for client in session.clients if client in clients]
    return OwnSession(
        session=session,
        clients=tuple(sorted(taking_part, key=lambda client: client.client_id)),
        device=noted_device(session.notes.get(DEVICE_NOTE)),
        ends_at=session_maximum_ends_at(limits, session) or session_ends_at(limits, session),
        is_current=caller.is_current(session),
    )


def _own_device(sessions: Sequence[OwnSession]) -> OwnDevice:
    ordered = sorted(sessions, key=lambda one: one.session.refreshed_at, reverse=True)
    return OwnDevice(ordered[0].device, tuple(ordered))


_CERTIFICATE_DETAILS: Final = frozenset({CERTIFICATE, CERTIFICATE_FORM})
_MOST_EVENTS: Final = 1000
"""The latest sign-ins that are looked through."""


@dataclass(frozen=True, slots=True)
class SignInCertificate:
    """A certificate by serial number and names, and when and from where it was used."""

    serial: str
    subject: str
    issuer: str
    first_seen: datetime
    last_seen: datetime
    last_address: str
    sign_ins: int


class AccountCertificates:
    """Lists certificates of stored sign-ins; raises Forbidden and StoreUnavailable."""

    def __init__(self, database: Database, log: EventLog) -> None:
        self._database = database
        self._log = log

    @staticmethod
    def are_used(caller: AccountCaller) -> bool:
        """Return whether a flow of the realm signs users in by a certificate."""
        steps = caller.entry.sign_in.every_step()
        return any(step.authenticator in _CERTIFICATE_DETAILS for step in steps)

    async def list_certificates(self, caller: AccountCaller) -> tuple[SignInCertificate, ...]:
        """Return the certificates of the latest sign-ins, the one used last first."""
        caller.require(AccountRole.MANAGE_ACCOUNT, AccountRole.VIEW_PROFILE)
        await self._log.settle()
        query = UserEventQuery(names=(EventType.LOGIN,), user_id=caller.user_id)
        async with self._database.read() as stores:
            page = EventPage(maximum=_MOST_EVENTS)
            found = await stores.user_events.page(caller.realm.id, query, page)
        by_names: dict[tuple[str, ...], list[UserEvent]] = {}
        for event in found:
            if Detail.X509_SUBJECT in event.details:
                by_names.setdefault(_certificate_names(event), []).append(event)
        return tuple(_certificate_seen(names, events) for names, events in by_names.items())


def _certificate_names(event: UserEvent) -> tuple[str, str, str]:
    details = event.details
    return (
        details.get(Detail.X509_SERIAL, ""),
        details[Detail.X509_SUBJECT],
        details.get(Detail.X509_ISSUER, ""),
    )


def _certificate_seen(names: tuple[str, ...], events: Sequence[UserEvent]) -> SignInCertificate:
    serial, subject, issuer = names
    return SignInCertificate(
        serial,
        subject,
        issuer,
        first_seen=events[-1].time,
        last_seen=events[0].time,
        last_address=events[0].ip_address or "",
        sign_ins=len(events),
    )
