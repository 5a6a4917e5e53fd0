"""Session cookies of protected sites: browsers that have signed in at the site."""

from datetime import timedelta
from typing import Final

from gateway.authentication.validity import (
    Cause,
    IssuedCredential,
    NoLongerValid,
    SessionName,
    own_generation,
)
from gateway.domain.forward_auth import (
    AcceptedCredential,
    AssertedIdentity,
    Reason,
    Site,
    SiteSession,
    cookie_name,
    cookie_scope,
)
from gateway.domain.ports.lookups import ClientEntry, RealmEntry, UserEntry
from gateway.domain.ports.sessions import SiteSessions
from gateway.domain.sessions import UserSession
from gateway.forward_auth.callers import (
    CredentialRefused,
    Evidence,
    LiveAccounts,
    current_rights,
    user_identity,
)
from gateway.protocol.sessions import Sessions

REFRESH_INTERVAL: Final = timedelta(minutes=1)


class SessionCookies:
    """Identifies users, and moves their session's idle timeout once in `REFRESH_INTERVAL`."""

    def __init__(self, accounts: LiveAccounts, sites: SiteSessions, sessions: Sessions) -> None:
        self._accounts = accounts
        self._sites = sites
        self._sessions = sessions

    async def identify(self, site: Site, evidence: Evidence) -> AssertedIdentity:
        """Return the identity; raises CredentialRefused or StoreUnavailable."""
        values = [value for name, value in evidence.session_cookies if name == cookie_name(site)]
        if len(values) != 1:
            raise _invalid("the request has more than one session cookie")
        realm = await self._accounts.realm(site.realms[0])
        if realm is None:
            raise _invalid("its realm does not exist")
        self._accounts.require_open(realm.realm, evidence)
        found = await self._sites.find_session(realm.realm.id, values[0])
        if found is None or found.site != cookie_scope(site):
            raise _invalid("it is unknown or has ended")
        if found.client != site.client:
            raise _invalid("it is one of another client than the site's")
        return await self._identity(realm, found, evidence)

    async def _identity(
        self, realm: RealmEntry, found: SiteSession, evidence: Evidence
    ) -> AssertedIdentity:
        client = await self._accounts.directory.client(realm.realm.id, found.client)
        user, session = await self._current(realm, client, found)
        if client is None:
            raise _invalid(Cause.CLIENT_UNUSABLE)
        session = await self._refreshed(realm, client, session)
        return user_identity(
            AcceptedCredential.SESSION,
            realm,
            client,
            user,
            current_rights(realm, client, user, session.clients[client.client.id].scope.split()),
            session_id=session.id,
            certificate=await self._accounts.certificate(evidence, realm.realm),
        )

    async def _current(
        self, realm: RealmEntry, client: ClientEntry | None, found: SiteSession
    ) -> tuple[UserEntry, UserSession]:
        """Return the user and the user session of a session that is still valid."""
        issued = IssuedCredential(
            issued_at=found.created_at.timestamp(),
            client=client,
            session=SessionName(found.session_id),
            user_id=found.user_id,
            generations=own_generation(
                None if client is None else client.client.id, found.generation
            ),
        )
        try:
            current = await self._accounts.validity.require(
                realm, issued, self._accounts.clock.now()
            )
        except NoLongerValid as refusal:
            raise _invalid(str(refusal)) from refusal
        if current.session is None:
            raise _invalid(Cause.SESSION_OVER)
        return current.user, current.session

    async def _refreshed(
        self, realm: RealmEntry, client: ClientEntry, session: UserSession
    ) -> UserSession:
        """Return the user session, its idle timeout moved where that was long ago."""
        now = self._accounts.clock.now()
        if now - session.clients[client.client.id].refreshed_at < REFRESH_INTERVAL:
            return session
        joined = await self._sessions.refresh(realm.realm, session, client.client, now)
        if joined is None:
            raise _invalid(Cause.SESSION_OVER)
        return joined.session


def _invalid(explanation: str) -> CredentialRefused:
    return CredentialRefused(Reason.INVALID_SESSION, f"the session is refused: {explanation}")
