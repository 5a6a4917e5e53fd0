"""Impersonation: an administrator begins a session of a user in the own browser.

The session notes who began it, and every token of the session has the claim `act`, so services can
tell the administrator from the user. It proves no credentials: a request for a recent sign-in asks
for those of the user.
Spec: RFC 8693 §4.1 (act); Keycloak: POST users/{id}/impersonation (26.7), 7.2 users
"""

from dataclasses import dataclass
from typing import Final

from gateway.domain.callers import Caller
from gateway.domain.events import Detail, EventType
from gateway.domain.ports.storage import Database
from gateway.domain.refusals import Forbidden, InvalidRequest, NotFound
from gateway.domain.sessions import (
    IMPERSONATOR_ID,
    IMPERSONATOR_ISSUER,
    IMPERSONATOR_NAME,
    UserSession,
    device_notes,
)
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import NewSession, Sessions

_DISABLED: Final = "User is disabled"
_SERVICE_ACCOUNT: Final = "Service accounts cannot be impersonated"


@dataclass(frozen=True, slots=True)
class Impersonator:
    """The administrator, and the issuer of the realm that the administrator belongs to."""

    caller: Caller
    issuer: str


@dataclass(frozen=True, slots=True)
class BegunImpersonation:
    """The new session; `same_realm`: it replaces the administrator's, which has ended."""

    session: UserSession
    same_realm: bool


class Impersonation:
    """Begins sessions of users for administrators whose rights have been checked."""

    def __init__(self, sessions: Sessions, database: Database) -> None:
        self._sessions = sessions
        self._database = database

    async def begin(
        self, request: ProtocolRequest, impersonator: Impersonator, user_id: str
    ) -> BegunImpersonation:
        """Begin the session; the event of `request` becomes IMPERSONATE.

        Raises NotFound, InvalidRequest for a disabled user and for a service account, Forbidden for
        a caller who is impersonated, and StoreUnavailable.
        """
        realm, caller = request.realm.realm, impersonator.caller
        own = caller.session
        if own is not None and IMPERSONATOR_ID in own.notes:
            raise Forbidden("an impersonated user impersonates nobody")
        async with self._database.read() as stores:
            user = await stores.users.find_by_id(realm.id, user_id)
        if user is None:
            raise NotFound("User not found")
        if not user.enabled:
            raise InvalidRequest(_DISABLED)
        if user.service_account_client is not None:
            raise InvalidRequest(_SERVICE_ACCOUNT)
        notes = {
            **device_notes(request.user_agent),
            IMPERSONATOR_ID: caller.user.id,
            IMPERSONATOR_NAME: caller.user.username,
        }
        if impersonator.issuer != request.issuer:
            notes[IMPERSONATOR_ISSUER] = impersonator.issuer
        new = NewSession(user=user, address=request.remote_address, notes=notes)
        session = await self._sessions.begin_without_client(realm, new, request.now)
        same_realm = own is not None and caller.realm.id == realm.id
        if own is not None and same_realm and not own.offline:
            # The browser has one session of a realm: its cookies are those of the new one.
            await self._sessions.log_out_of_browser(own, request.now)
        event = request.event
        event.kind = EventType.IMPERSONATE
        event.user_id, event.session_id = user.id, session.id
        event.details |= {
            Detail.IMPERSONATOR: caller.user.username,
            Detail.IMPERSONATOR_REALM: caller.realm.name,
        }
        return BegunImpersonation(session, same_realm)
