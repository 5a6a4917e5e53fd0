"""Signing a browser out at a site: the session of the realm ends, and with it every site's.

The form that signs out carries a code that is sealed for the session cookie of the browser: no
other page can send it. attacks: D14; Spec: OpenID Connect Back-Channel Logout §2.5
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from gateway.domain.errors import SecretUnreadable
from gateway.domain.events import EventType
from gateway.domain.forward_auth import SiteSession
from gateway.domain.ports.secrets_at_rest import SecretsAtRest
from gateway.domain.ports.site_sessions import SiteSessions
from gateway.domain.sessions import if_lasting
from gateway.forward_auth.browser.visit import SiteVisit
from gateway.protocol.logout.front_channel import ClientFrame, logout_frames
from gateway.protocol.sessions import Sessions

_TIME_TO_ANSWER: Final = timedelta(minutes=30)
_LONGEST_CODE: Final = 1024


class SignOutCodes:
    """Makes and checks the codes of forms. `values` are those of the session cookie."""

    def __init__(self, secrets: SecretsAtRest) -> None:
        self._secrets = secrets

    def issue(self, values: Sequence[str], now: datetime) -> str:
        """Return a code that holds for half an hour."""
        until = int((now + _TIME_TO_ANSWER).timestamp())
        return self._secrets.seal(json.dumps(until), _context(values))

    def holds(self, code: str, values: Sequence[str], now: datetime) -> bool:
        """Tell whether the code was issued for this browser, and lately."""
        if not values or len(code) > _LONGEST_CODE:
            return False
        try:
            until = json.loads(self._secrets.unseal(code, _context(values)))
        except SecretUnreadable:
            return False
        return bool(now.timestamp() < until)


class SiteSignOut:
    """Ends sessions of sites. Methods raise StoreUnavailable."""

    def __init__(self, sites: SiteSessions, sessions: Sessions) -> None:
        self._sites = sites
        self._sessions = sessions

    async def is_signed_in(self, visit: SiteVisit, values: Sequence[str]) -> bool:
        """Tell whether one of the cookie's values names a session that has not ended."""
        for value in values:
            found = await self._sites.find(visit.request.realm.realm.id, value)
            if found is not None and await self._lasts(visit, found):
                return True
        return False

    async def end(self, visit: SiteVisit, values: Sequence[str]) -> tuple[ClientFrame, ...]:
        """End the sessions, and the user sessions that they belong to, with notices for clients.

        Return the frames of clients that log out in the browser.
        """
        realm = visit.request.realm.realm
        visit.request.event.begin(EventType.LOGOUT)
        visit.request.event.client_id = visit.site.client
        frames: list[ClientFrame] = []
        for value in values:
            found = await self._sites.find(realm.id, value)
            if found is not None:
                frames += await self._end(visit, found)
                await self._sites.end(realm.id, value)
        if visit.request.event.session_id is None:
            visit.request.event.withdraw()
        return tuple(frames)

    async def _lasts(self, visit: SiteVisit, found: SiteSession) -> bool:
        realm, now = visit.request.realm.realm, visit.request.now
        session = await self._sessions.find_stored(realm.id, found.session_id, offline=False)
        return if_lasting(realm, session, now) is not None

    async def _end(self, visit: SiteVisit, found: SiteSession) -> tuple[ClientFrame, ...]:
        request = visit.request
        realm, now = request.realm.realm, request.now
        session = await self._sessions.find_stored(realm.id, found.session_id, offline=False)
        if session is None:
            return ()
        clients = await self._sessions.log_out_of_browser(session, now)
        request.event.user_id, request.event.session_id = session.user_id, session.id
        return logout_frames(session, clients, request.issuer)


def _context(values: Sequence[str]) -> str:
    digest = hashlib.sha256("\n".join(values).encode()).hexdigest()
    return f"site-sign-out:{digest}"
