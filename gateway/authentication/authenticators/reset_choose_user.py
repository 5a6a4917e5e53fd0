"""`reset-credentials-choose-user`: the user that has forgotten a password.

A name that no user has goes on as any other one, and so does that of a disabled account (attacks:
D10). A user who is signed in is not asked. Keycloak: ResetCredentialChooseUser (26.7)
"""

from typing import ClassVar

from gateway.authentication.accounts import Account, Accounts, unknown_account
from gateway.authentication.authenticators.reset_links import is_proven_by_link
from gateway.authentication.authenticators.username_fields import (
    USERNAME_FIELD,
    submitted_username,
)
from gateway.authentication.engine.account_changes import AccountChange
from gateway.authentication.engine.sign_in import Config, Form, Outcome, Result, SignIn
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.events import Detail, EventError, EventType
from gateway.domain.flows import RESET_CHOOSE_USER


class ResetChooseUser:
    """Identifies the user."""

    id: ClassVar = RESET_CHOOSE_USER
    needs_user: ClassVar[bool] = False
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    def is_configured(self, account: Account) -> bool:
        """Return True: every user has a name."""
        del account
        return True

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form; SUCCEEDED where the user is known."""
        del config
        if is_proven_by_link(sign_in):
            return Outcome.SUCCEEDED
        browser = sign_in.context.browser_session
        if browser is None:
            return _form(sign_in)
        user = browser.user
        sign_in.identify(Account(user, None, user.id), user.username)
        return Outcome.SUCCEEDED

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return SUCCEEDED with the account of the name, which may be no user's."""
        del config
        username = submitted_username(form)
        if not username:
            _record(sign_in, EventError.USERNAME_MISSING)
            return _form(sign_in, MessageKey.MISSING_USERNAME)
        account = await self._accounts.named(sign_in.realm, username)
        user = account.user
        if user is None or not account.may_sign_in or not user.enabled:
            disabled = user is not None
            error = EventError.USER_DISABLED if disabled else EventError.USER_NOT_FOUND
            _record(sign_in, error, username)
            account = unknown_account(username)
        sign_in.identify(account, username)
        return Outcome.SUCCEEDED


def _form(sign_in: SignIn, message: MessageKey | None = None) -> Challenge:
    requested = sign_in.context.requested
    name = sign_in.attempted_username or requested.login_hint or ""
    return Challenge(
        FormName.RESET_PASSWORD,
        {USERNAME_FIELD: name},
        message,
        is_error=message is not None,
        error_field=None if message is None else USERNAME_FIELD,
    )


def _record(sign_in: SignIn, error: str, username: str = "") -> None:
    details = {Detail.USERNAME: username} if username else {}
    sign_in.record(AccountChange(EventType.RESET_PASSWORD, details, error))
