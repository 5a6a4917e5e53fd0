"""`auth-cookie`: the session of the browser signs its user in.

It does not where credentials are required again, or a higher level of authentication than the
session has; then the user of the session is the one who signs in. Keycloak: CookieAuthenticator
"""

from typing import ClassVar

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.context import BrowserSession, SignInContext
from gateway.authentication.engine.flow_levels import FLOW_LEVELS_NOTE, earlier_flow_level
from gateway.authentication.engine.levels import (
    LEVELS_NOTE,
    LOWEST_LEVEL,
    REAUTHENTICATING,
    highest_level,
    parse_levels,
)
from gateway.authentication.engine.requested_levels import requested_level
from gateway.authentication.engine.sign_in import (
    BROWSER_SESSION,
    Config,
    Outcome,
    Result,
    SignIn,
    WithoutForm,
)
from gateway.domain.authentication import MessageKey
from gateway.domain.flows import COOKIE


class Cookie(WithoutForm):
    """Signs in the user of the browser's session."""

    id: ClassVar = COOKIE

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return ATTEMPTED where the session is not enough."""
        del config
        browser = sign_in.context.browser_session
        if browser is None or not browser.user.enabled:
            return Outcome.ATTEMPTED
        user = browser.user
        sign_in.identify(Account(user, None, user.id), user.username)
        sign_in.note(BROWSER_SESSION, browser.session.id)
        return await self._by_session(sign_in, browser)

    async def _by_session(self, sign_in: SignIn, browser: BrowserSession) -> Outcome:
        notes = browser.session.notes
        for name in (LEVELS_NOTE, FLOW_LEVELS_NOTE):
            sign_in.note(name, notes.get(name))
        if _must_reauthenticate(sign_in.context, browser):
            sign_in.note(REAUTHENTICATING, "true")
            sign_in.information = MessageKey.REAUTHENTICATE
            return Outcome.ATTEMPTED
        level = highest_level(sign_in.flow, parse_levels(notes.get(LEVELS_NOTE)), sign_in.now)
        level = max(level, earlier_flow_level(sign_in, notes))
        sign_in.level = level if level >= LOWEST_LEVEL else None
        if await requested_level(sign_in, self._accounts) > level:
            sign_in.information = MessageKey.AUTHENTICATE_STRONG
            return Outcome.ATTEMPTED
        sign_in.join()
        return Outcome.SUCCEEDED


def _must_reauthenticate(context: SignInContext, browser: BrowserSession) -> bool:
    requested = context.requested
    if requested.reauthenticate:
        return True
    age = context.now - browser.authenticated_at
    return requested.max_age is not None and (not requested.max_age or age > requested.max_age)
