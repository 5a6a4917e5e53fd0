"""Authenticators that ask for nothing: session cookie, session limits, allow, deny.

Keycloak: CookieAuthenticator
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.levels import (
    FLOW_LEVELS_NOTE,
    LEVELS_NOTE,
    LOWEST_LEVEL,
    REAUTHENTICATING,
    earlier_flow_level,
    highest_level,
    parse_levels,
    requested_level,
)
from gateway.authentication.engine.sign_in import (
    BROWSER_SESSION,
    Authenticator,
    AuthenticatorOutcome,
    BrowserSession,
    Config,
    Result,
    SignInAttempt,
    SignInContext,
)
from gateway.authentication.errors import AccessDenied, SessionLimitExceeded
from gateway.domain.authentication import MessageKey
from gateway.domain.client_departures import queue_logout_notices
from gateway.domain.events import EventError
from gateway.domain.flows import (
    ALLOW,
    COOKIE,
    DENY,
    NEVER_SET_UP,
    SESSION_LIMITS,
    UNAVAILABLE_CREDENTIALS,
)
from gateway.domain.ports.sessions import SessionStore
from gateway.domain.ports.storage import Database
from gateway.domain.sessions import UserSession


class CookieAuthenticator(Authenticator):
    """`auth-cookie`: the session of the browser signs its user in.

    It fails where credentials are required again, or a higher level of authentication than the
    session has; then the user of the session is the one who signs in. Keycloak: CookieAuthenticator
    """

    id: ClassVar = COOKIE

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return ATTEMPTED where the session is not enough."""
        del config
        browser = sign_in.context.browser_session
        if browser is None or not browser.user.enabled:
            return AuthenticatorOutcome.ATTEMPTED
        user = browser.user
        sign_in.identify(Account(user, None, user.id), user.username)
        sign_in.note(BROWSER_SESSION, browser.session.id)
        return await self._by_session(sign_in, browser)

    async def _by_session(
        self, sign_in: SignInAttempt, browser: BrowserSession
    ) -> AuthenticatorOutcome:
        notes = browser.session.notes
        for name in (LEVELS_NOTE, FLOW_LEVELS_NOTE):
            sign_in.note(name, notes.get(name))
        if _must_reauthenticate(sign_in.context, browser):
            sign_in.note(REAUTHENTICATING, "true")
            sign_in.information = MessageKey.REAUTHENTICATE
            return AuthenticatorOutcome.ATTEMPTED
        level = highest_level(sign_in.flow, parse_levels(notes.get(LEVELS_NOTE)), sign_in.now)
        level = max(level, earlier_flow_level(sign_in, notes))
        sign_in.level = level if level >= LOWEST_LEVEL else None
        if await requested_level(sign_in, self._accounts) > level:
            sign_in.information = MessageKey.AUTHENTICATE_STRONG
            return AuthenticatorOutcome.ATTEMPTED
        sign_in.join()
        return AuthenticatorOutcome.SUCCEEDED


def _must_reauthenticate(context: SignInContext, browser: BrowserSession) -> bool:
    requested = context.requested
    if requested.reauthenticate:
        return True
    age = context.now - browser.authenticated_at
    return requested.max_age is not None and (not requested.max_age or age > requested.max_age)


_REALM_LIMIT: Final = "userRealmLimit"
_CLIENT_LIMIT: Final = "userClientLimit"
_TERMINATE: Final = "Terminate oldest session"


class UserSessionLimits(Authenticator):
    """`user-session-limits`: how many sessions a user may have, in the realm and of the client.

    Refuses another session, or ends those not refreshed for longest, by `behavior`; their clients
    get notices.

    `userRealmLimit` and `userClientLimit` are limits; 0 or nothing is none. A session of this
    browser that goes on is not another one.

    Two sign-ins at once may both find room, as in Keycloak.
    """

    id: ClassVar = SESSION_LIMITS

    def __init__(self, sessions: SessionStore, database: Database) -> None:
        self._sessions = sessions
        self._database = database

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Raise SessionLimitExceeded where there are as many as allowed and none is to end."""
        found = await self._sessions.of_user(sign_in.realm.id, sign_in.user.id)
        browser = sign_in.context.browser_session
        going_on = None if browser is None else browser.session.id
        others = (session for session in found if session.id != going_on)
        sessions = sorted(others, key=lambda session: session.refreshed_at)
        of_client = [one for one in sessions if sign_in.client.id in one.clients]
        for own, name in ((sessions, _REALM_LIMIT), (of_client, _CLIENT_LIMIT)):
            excess = _excess(len(own), config.get(name))
            if excess:
                await self._make_room(sign_in, config, own[:excess])
                break
        return AuthenticatorOutcome.SUCCEEDED

    async def _make_room(
        self, sign_in: SignInAttempt, config: Config, oldest: Sequence[UserSession]
    ) -> None:
        if config.get("behavior") != _TERMINATE:
            text = config.get("errorMessage")
            raise SessionLimitExceeded(sign_in.user.id, text)
        async with self._database.write() as stores:
            await queue_logout_notices(stores, oldest, sign_in.now)
        for session in oldest:
            await self._sessions.end(sign_in.realm.id, session.id)


def _excess(count: int, limit: str | None) -> int:
    """Return how many sessions must end before another one begins."""
    allowed = int(limit or "0")
    return max(0, count - allowed + 1) if allowed > 0 else 0


class AllowAccess(Authenticator):
    """`allow-access-authenticator`: succeeds always."""

    id: ClassVar = ALLOW

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return SUCCEEDED."""
        del sign_in, config
        return AuthenticatorOutcome.SUCCEEDED


class DenyAccess(Authenticator):
    """`deny-access-authenticator`: fails always.

    Refuses the user; `denyErrorMessage` replaces the text.
    """

    id: ClassVar = DENY

    def is_configured(self, account: Account) -> bool:
        """Return False: it cannot be set up."""
        del account
        return False

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        text = config.get("denyErrorMessage")
        user = sign_in.found_user
        raise AccessDenied(EventError.ACCESS_DENIED, None if user is None else user.id, text)


class Unavailable(Authenticator):
    """An authenticator by its id that never succeeds.

    A flow passes it over, and fails where it requires it. Identity providers and Kerberos are
    never configured, which Keycloak treats alike.
    """

    def __init__(self, name: str) -> None:
        self.id = name  # type: ignore[misc]  # the only class with many ids

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has the credential that it would check.

        True where that is unknown: a flow that asks for what users have set up then fails, rather
        than asking for less.
        """
        kind = UNAVAILABLE_CREDENTIALS.get(self.id)
        if kind is None:
            return self.id not in NEVER_SET_UP
        return bool(account.credentials_of(kind))

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return ATTEMPTED."""
        del sign_in, config
        return AuthenticatorOutcome.ATTEMPTED
