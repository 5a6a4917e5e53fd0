"""Logout of a browser: at once with an ID token as a hint, else after the user has confirmed it.

Spec: OpenID Connect RP-Initiated Logout §2; Keycloak: 12.6
"""

from dataclasses import dataclass

from gateway.domain.clients import Client
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.ports.directory import Directory
from gateway.domain.sessions import UserSession
from gateway.protocol.authorization import PageError, PageMessage
from gateway.protocol.claims.subject_identifiers import is_subject
from gateway.protocol.logout.front_channel import ClientFrame, logout_frames
from gateway.protocol.logout.logout_request import LogoutRequest, check_logout_request
from gateway.protocol.parameters import Parameters
from gateway.protocol.requests import ProtocolRequest
from gateway.protocol.sessions import Sessions
from gateway.protocol.sign_in_results.identity_cookie import Identity


@dataclass(frozen=True, slots=True)
class AskToLogOut:
    """The user has to confirm the logout; nothing has ended."""

    asked: LogoutRequest
    identity: Identity


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """Nobody is signed in any more: `target` is where the browser goes, empty for a page.

    `has_ended` where a session of this browser or of the hint is over now.
    """

    client: Client | None
    target: str
    frames: tuple[ClientFrame, ...] = ()
    has_ended: bool = False


LogoutOutcome = AskToLogOut | LoggedOut


class BrowserLogout:
    """Ends the sessions of browsers."""

    def __init__(self, directory: Directory, sessions: Sessions) -> None:
        self._directory = directory
        self._sessions = sessions

    async def begin(self, request: ProtocolRequest, identity: Identity | None) -> LogoutOutcome:
        """Answer a request of a client or of the user; raises PageError and StoreUnavailable."""
        request.event.begin(EventType.LOGOUT)
        asked = await check_logout_request(request, request.parameters, self._directory)
        if identity is not None and not _may_end(asked, identity.session):
            request.event.withdraw()
            return AskToLogOut(asked, identity)
        if identity is not None:
            return await self._end(request, asked, identity.session)
        session = await self._hinted(request, asked)
        if session is not None:
            return await self._end(request, asked, session)
        if asked.hint is None:
            request.event.withdraw()
        else:
            request.event.session_id = asked.hinted_session
            request.event.fail(EventError.SESSION_EXPIRED)
        return LoggedOut(asked.client, asked.target, has_ended=asked.hint is not None)

    async def confirm(
        self, request: ProtocolRequest, identity: Identity | None, stored: Parameters | None
    ) -> LoggedOut:
        """End the session after the user confirmed it.

        `stored` is what `LogoutRequest.stored` returned for this session, None where the form is
        no such one. Raises PageError and StoreUnavailable.
        """
        request.event.begin(EventType.LOGOUT)
        if stored is None or identity is None:
            raise PageError(PageMessage.failedLogout, event_error=EventError.SESSION_EXPIRED)
        asked = await check_logout_request(request, stored, self._directory)
        return await self._end(request, asked, identity.session)

    async def _hinted(self, request: ProtocolRequest, asked: LogoutRequest) -> UserSession | None:
        """Return the session of the hint: the browser may have lost its cookies."""
        session_id = asked.hinted_session
        if session_id is None or asked.client is None or asked.hint is None:
            return None
        realm_id = request.realm.realm.id
        session = await self._sessions.find_stored(realm_id, session_id, offline=False)
        if session is None:
            return None
        return session if _may_end(asked, session) else None

    async def _end(
        self, request: ProtocolRequest, asked: LogoutRequest, session: UserSession
    ) -> LoggedOut:
        clients = await self._sessions.log_out_of_browser(session, request.now)
        event = request.event
        event.user_id, event.session_id = session.user_id, session.id
        if asked.redirect_uri:
            event.details[Detail.REDIRECT_URI] = asked.redirect_uri
        frames = logout_frames(session, clients, request.issuer)
        return LoggedOut(asked.client, asked.target, frames, has_ended=True)


def _may_end(asked: LogoutRequest, session: UserSession) -> bool:
    """Tell whether the hint is an ID token of the user of this session, and of no other session.

    A token without `sid`, such as that of a service account, names a user alone. One of a disabled
    client proves nothing.
    """
    if asked.hint is None or asked.client is None or not asked.client.enabled:
        return False
    if not is_subject(asked.hint.get("sub"), asked.client, session.user_id):
        return False
    return "sid" not in asked.hint or asked.hinted_session == session.id
