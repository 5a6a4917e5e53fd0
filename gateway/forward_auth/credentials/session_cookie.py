"""Session cookies: browsers that have signed in at the site.

A session of a site lasts with the user session of the realm, and moves that session's idle timeout
as a refresh does, at most once in `REFRESH_INTERVAL`.
"""

from datetime import timedelta
from typing import Final

from gateway.domain.forward_auth import Credential, Identity, Reason, Site, SiteSession
from gateway.domain.forward_auth.site_session import cookie_name, cookie_scope
from gateway.domain.ports.directory import ClientEntry, RealmEntry, UserEntry
from gateway.domain.ports.site_sessions import SiteSessions
from gateway.domain.sessions import UserSession
from gateway.forward_auth.credentials.rights import current_rights
from gateway.forward_auth.credentials.user_identity import user_identity
from gateway.forward_auth.evidence import Evidence
from gateway.forward_auth.live_accounts import LiveAccounts
from gateway.forward_auth.refusal import CredentialRefused
from gateway.protocol.sessions import Sessions, is_part_over

REFRESH_INTERVAL: Final = timedelta(minutes=1)


class SessionCookies:
    """Identifies the user of a browser."""

    def __init__(self, accounts: LiveAccounts, sites: SiteSessions, sessions: Sessions) -> None:
        self._accounts = accounts
        self._sites = sites
        self._sessions = sessions

    async def identify(self, site: Site, evidence: Evidence) -> Identity:
        """Return the identity; raises CredentialRefused or StoreUnavailable."""
        values = [value for name, value in evidence.session_cookies if name == cookie_name(site)]
        if len(values) != 1:
            raise _invalid("the request has more than one session cookie")
        realm = await self._accounts.realm(site.realms[0])
        if realm is None:
            raise _invalid("its realm does not exist")
        self._accounts.require_open(realm.realm, evidence)
        found = await self._sites.find(realm.realm.id, values[0])
        if found is None or found.site != cookie_scope(site):
            raise _invalid("it is unknown or has ended")
        if found.client != site.client:
            raise _invalid("it is one of another client than the site's")
        return await self._identity(realm, found, evidence)

    async def _identity(
        self, realm: RealmEntry, found: SiteSession, evidence: Evidence
    ) -> Identity:
        directory = self._accounts.directory
        client = await directory.client(realm.realm.id, found.client)
        if client is None or not client.client.enabled:
            raise _invalid("its client is gone or disabled")
        user = await self._user(realm, found)
        not_before = max(realm.realm.not_before, client.client.not_before, user.user.not_before)
        if found.created_at.timestamp() < not_before:
            raise _invalid("it began before the realm's, the client's or the user's notBefore")
        session = await self._session(realm, client, found)
        part = session.clients[client.client.id]
        rights = current_rights(realm, client, user, part.scope.split())
        return user_identity(
            Credential.SESSION,
            realm,
            client,
            user,
            rights,
            session_id=session.id,
            certificate=await self._accounts.certificate(evidence, realm.realm),
        )

    async def _user(self, realm: RealmEntry, found: SiteSession) -> UserEntry:
        user = await self._accounts.directory.user(realm.realm.id, found.user_id)
        if user is None or not user.user.enabled:
            raise _invalid("its user is gone or disabled")
        if await self._accounts.is_locked(realm.realm, user.user):
            raise _invalid("its user is locked out")
        return user

    async def _session(
        self, realm: RealmEntry, client: ClientEntry, found: SiteSession
    ) -> UserSession:
        """Return the user session, its idle timeout moved where that was long ago."""
        now = self._accounts.clock.now()
        session = await self._sessions.find(realm.realm, found.session_id, offline=False, now=now)
        if session is None or session.user_id != found.user_id:
            raise _invalid("the user session is over")
        part = session.clients.get(client.client.id)
        if part is None or is_part_over(realm.realm, session, client.client, now):
            raise _invalid("the user session is over for its client")
        if now - part.refreshed_at < REFRESH_INTERVAL:
            return session
        joined = await self._sessions.refresh(realm.realm, session, client.client, now)
        if joined is None:
            raise _invalid("the user session is over")
        return joined.session


def _invalid(explanation: str) -> CredentialRefused:
    return CredentialRefused(Reason.INVALID_SESSION, f"the session is refused: {explanation}")
