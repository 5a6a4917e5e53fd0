"""Sessions: begun at a sign-in, joined by further clients, refreshed, and ended.

A session past its idle or maximum lifespan is over, even if a store still has it.
Spec: 2.1 (session settings); Keycloak: 3 (sessions)
"""

import base64
import secrets
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final

from gateway.authentication.errors import SignInRefused
from gateway.authentication.profile_updates import EmailUpdates
from gateway.domain.authorization_codes import IssuedCode
from gateway.domain.client_departures import queue_logout_notices
from gateway.domain.clients import Client
from gateway.domain.ports.sessions import OnlineSessionStore, SessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.realm import Realm
from gateway.domain.sessions import (
    ClientSession,
    ExpectedPart,
    UserSession,
    has_lasting_part,
    if_lasting,
    session_ends_at,
)
from gateway.domain.users import User

_SECOND: Final = 1_000_000
"""In microseconds."""


@dataclass(frozen=True, slots=True)
class Participation:
    """How a client takes part in a session: what its request asked for, and the sign-in gave."""

    scope: str
    acr: str | None = None
    authenticated_at: datetime | None = None
    claims: str = ""
    """The parameter `claims` of its request, empty without one."""


@dataclass(frozen=True, slots=True)
class NewSession:
    """The user session that a sign-in begins."""

    user: User
    address: str
    remember_me: bool = False
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Joined:
    """A session with one client's part and the authorization code stored with it, if any."""

    session: UserSession
    client_session: ClientSession
    code: IssuedCode | None = None


CodeIssue = Callable[[UserSession, ClientSession], IssuedCode | None]
"""Returns the authorization code for a client's part in a session, or None."""


def no_code(_session: UserSession, _part: ClientSession) -> None:
    """Issue no code."""


class Sessions:
    """Online sessions in Redis, offline ones in SQL."""

    def __init__(
        self, online: OnlineSessionStore, database: Database, emails: EmailUpdates
    ) -> None:
        self._online = online
        self._database = database
        self._emails = emails

    @asynccontextmanager
    async def store(self, *, offline: bool) -> AsyncIterator[SessionStore]:
        if not offline:
            yield self._online
            return
        async with self._database.write() as stores:
            yield stores.offline_sessions

    async def begin(
        self,
        realm: Realm,
        client: Client,
        new: NewSession,
        participation: Participation,
        now: datetime,
        *,
        offline: bool = False,
        issue: CodeIssue = no_code,
    ) -> Joined:
        """Begin a session under a new id, against session fixation; `issue` is for online ones."""
        part = _new_part(client, participation, now)
        session = UserSession(
            id=_new_id(),
            realm_id=realm.id,
            user_id=new.user.id,
            username=new.user.username,
            ip_address=new.address,
            started_at=now,
            refreshed_at=now,
            remember_me=new.remember_me,
            offline=offline,
            clients={client.id: part},
            notes=new.notes,
        )
        end = session_ends_at(realm.session_limits, session)
        if offline:
            if issue is not no_code:
                raise ValueError("an offline session begins without an authorization code")
            async with self._database.write() as stores:
                await stores.offline_sessions.add(session, end)
            return Joined(session, part)
        code = issue(session, part)
        await self._online.add(session, end, code)
        return Joined(session, part, code)

    async def begin_without_client(
        self, realm: Realm, new: NewSession, now: datetime
    ) -> UserSession:
        """Begin an online session in which no client takes part yet."""
        session = UserSession(
            id=_new_id(),
            realm_id=realm.id,
            user_id=new.user.id,
            username=new.user.username,
            ip_address=new.address,
            started_at=now,
            refreshed_at=now,
            notes=new.notes,
        )
        await self._online.add(session, session_ends_at(realm.session_limits, session))
        return session

    async def join(
        self,
        realm: Realm,
        session: UserSession,
        client: Client,
        participation: Participation,
        now: datetime,
        *,
        issue: CodeIssue = no_code,
        renews: bool = False,
    ) -> Joined | None:
        """Let a client take part in a session: single sign-on. None where it has ended.

        `renews` stores the address, notes and "remember me" in `session` too: those of a new
        sign-in.
        """
        current: UserSession | None = session
        while current is not None:
            known = replace(session, clients=current.clients) if renews else current
            moved, part, expected = _moved(realm, known, client, participation, now)
            end = session_ends_at(realm.session_limits, moved)
            code = issue(moved, part)
            joining = (
                self._online.renew(moved, part, end, code, expected=expected)
                if renews
                else self._online.join(realm.id, moved.id, part, end, code, expected=expected)
            )
            if await joining:
                return Joined(moved, part, code)
            current = await self._online.find_session(realm.id, session.id)
        return None

    async def join_offline(
        self,
        realm: Realm,
        session: UserSession,
        client: Client,
        participation: Participation,
        now: datetime,
    ) -> Joined:
        """Let a client take part in the offline session of the same id, begun if missing."""
        async with self._database.write() as stores:
            store = stores.offline_sessions
            found = await store.find_session(realm.id, session.id)
            while found is not None and if_lasting(realm, found, now) is not None:
                moved, part, expected = _moved(realm, found, client, participation, now)
                end = session_ends_at(realm.session_limits, moved)
                if await store.join(realm.id, found.id, part, end, expected=expected):
                    return Joined(moved, part)
                found = await store.find_session(realm.id, session.id)
            if found is not None:
                await store.end(realm.id, found.id)
            part = _new_part(client, participation, _new_start(now))
            begun = replace(
                session,
                started_at=now,
                refreshed_at=now,
                offline=True,
                clients={client.id: part},
            )
            await store.add(begun, session_ends_at(realm.session_limits, begun))
        return Joined(begun, part)

    async def find_stored(
        self, realm_id: str, session_id: str, *, offline: bool
    ) -> UserSession | None:
        """Return a stored session, valid or not, for a caller that ends it."""
        if not offline:
            return await self._online.find_session(realm_id, session_id)
        async with self._database.read() as stores:
            return await stores.offline_sessions.find_session(realm_id, session_id)

    async def refresh(
        self, realm: Realm, session: UserSession, client: Client, now: datetime
    ) -> Joined | None:
        """Move the idle timeouts of the session and of the client's part; None when one ended."""
        part = replace(session.clients[client.id], refreshed_at=now)
        moved = replace(session, refreshed_at=now, clients={**session.clients, client.id: part})
        end = session_ends_at(realm.session_limits, moved)
        expected = ExpectedPart.of(part)
        async with self.store(offline=session.offline) as store:
            lasts = await store.refresh(realm.id, session.id, part, end, expected=expected)
        return Joined(moved, part) if lasts else None

    async def leave_session(self, session: UserSession, client: Client) -> None:
        """Take the client out of the session: its tokens are at an end."""
        async with self.store(offline=session.offline) as store:
            await store.leave(session.realm_id, session.id, client.id)

    async def revoke_part(self, session: UserSession, client: Client) -> None:
        """Take the client out of the session, and out of the online one of an offline session's id.

        Keycloak: 12.5 revocation (26.7.5)
        """
        await self.leave_session(session, client)
        if session.offline:
            await self._online.leave(session.realm_id, session.id, client.id)

    async def detach_part(self, session: UserSession, client: Client) -> None:
        """End the client's tokens; an online session lasts without the client, as in Keycloak."""
        if session.offline:
            await self.leave_session(session, client)
        else:
            await self._online.detach(session.realm_id, session.id, client.id)

    async def detach_client(self, realm_id: str, session_id: str, client: str) -> None:
        """End the client's tokens, online and offline; the online session lasts without it."""
        await self._online.detach(realm_id, session_id, client)
        async with self._database.read() as stores:
            offline = await stores.offline_sessions.find_session(realm_id, session_id)
        if offline is not None and client in offline.clients:
            async with self._database.write() as stores:
                await stores.offline_sessions.leave(realm_id, session_id, client)

    async def log_out(self, realm_id: str, session_id: str, now: datetime) -> bool:
        """End the session, online and offline, after storing notices; return whether it existed."""
        online = await self._online.find_session(realm_id, session_id)
        async with self._database.write() as stores:
            offline = await stores.offline_sessions.find_session(realm_id, session_id)
            ending = tuple(session for session in (online, offline) if session is not None)
            await queue_logout_notices(stores, ending, now)
            await stores.offline_sessions.end(realm_id, session_id)
            await stores.refresh_tokens.end_of_session(realm_id, session_id)
        await self._online.end(realm_id, session_id)
        return bool(ending)

    async def log_out_of_browser(self, session: UserSession, now: datetime) -> tuple[Client, ...]:
        """End an online session and return its clients; the offline one of its id lasts."""
        async with self._database.write() as stores:
            clients = await queue_logout_notices(stores, (session,), now)
            if await stores.offline_sessions.find_session(session.realm_id, session.id) is None:
                await stores.refresh_tokens.end_of_session(session.realm_id, session.id)
        await self._online.end(session.realm_id, session.id)
        return clients

    async def log_out_others(
        self, realm: Realm, user_id: str, *, keep: UserSession | None, now: datetime
    ) -> tuple[str, ...]:
        """End the user's sessions but `keep`; return their ids. Keycloak: 16.1 required actions."""
        ending = await self.list_others(realm.id, user_id, keep=keep)
        for session_id in ending:
            await self.log_out(realm.id, session_id, now)
        await self.cancel_email_update(realm.id, user_id)
        return ending

    async def cancel_email_update(self, realm_id: str, user_id: str) -> None:
        """End the link to a new address, which a thief in an ended session may have asked for."""
        with suppress(SignInRefused):  # removed or disabled, which ends the link
            await self._emails.cancel(realm_id, user_id)

    async def list_others(
        self, realm_id: str, user_id: str, *, keep: UserSession | None
    ) -> tuple[str, ...]:
        """Return the ids of the user's stored sessions, online and offline, but that of `keep`."""
        async with self._database.read() as stores:
            offline = await stores.offline_sessions.of_user(realm_id, user_id)
        online = await self._online.of_user(realm_id, user_id)
        ids = dict.fromkeys(session.id for session in (*online, *offline))
        return tuple(one for one in ids if keep is None or one != keep.id)


def _new_part(client: Client, participation: Participation, now: datetime) -> ClientSession:
    return ClientSession(
        client.id,
        started_at=now,
        refreshed_at=now,
        scope=participation.scope,
        acr=participation.acr,
        authenticated_at=participation.authenticated_at,
        claims=participation.claims,
    )


def _moved(
    realm: Realm, session: UserSession, client: Client, participation: Participation, now: datetime
) -> tuple[UserSession, ClientSession, ExpectedPart]:
    """Return the session with the client's new part, the part, and what the store must still have.

    The part keeps its start while the former part lasts.
    """
    before = session.clients.get(client.id)
    lasts = before is not None and has_lasting_part(realm, session, client, now)
    start = before.started_at if before is not None and lasts else _new_start(now)
    part = replace(_new_part(client, participation, now), started_at=start)
    moved = replace(session, refreshed_at=now, clients={**session.clients, client.id: part})
    return moved, part, ExpectedPart.of(before)


def _new_start(now: datetime) -> datetime:
    """Return the second of `now` with random microseconds, a generation that does not repeat."""
    return now.replace(microsecond=secrets.randbelow(_SECOND))


def _new_id() -> str:
    """Return a session id: 144 random bits. Keycloak: session ids, 24 characters."""
    return base64.urlsafe_b64encode(secrets.token_bytes(18)).decode("ascii")
