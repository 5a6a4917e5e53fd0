"""`auth-username-form`: the user name on a page of its own.

A name that no user has goes on to the next page as any other one: it reveals nothing (attacks:
D10). Keycloak: UsernameForm (26.7)
"""

from functools import partial
from typing import ClassVar

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.authenticators.username_fields import (
    USERNAME_FIELD,
    note_remember_me,
    submitted_username,
    username_fields,
)
from gateway.authentication.engine.sign_in import Config, Form, Outcome, Result, SignIn
from gateway.authentication.web_authn import Passkeys
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.flows import USERNAME_FORM


class UsernameForm:
    """Identifies the user."""

    id: ClassVar = USERNAME_FORM
    needs_user: ClassVar[bool] = False
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts, passkeys: Passkeys) -> None:
        self._accounts = accounts
        self._passkeys = passkeys

    def is_configured(self, account: Account) -> bool:
        """Return True: every user has a name."""
        del account
        return True

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form; SUCCEEDED where the user is known from the session of the browser."""
        del config
        return self._form(sign_in) if sign_in.account is None else Outcome.SUCCEEDED

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return SUCCEEDED with the account of the name, which may be no user's.

        A passkey is checked instead of a name where passkeys are offered.
        """
        del config
        if self._passkeys.are_submitted(sign_in, form):
            return await self._passkeys.submit(sign_in, form, partial(self._form, sign_in))
        username = submitted_username(form)
        if not username:
            return self._form(sign_in, MessageKey.MISSING_USERNAME)
        sign_in.identify(await self._accounts.named(sign_in.realm, username), username)
        note_remember_me(sign_in, form)
        return Outcome.SUCCEEDED

    def _form(self, sign_in: SignIn, message: MessageKey | None = None) -> Challenge:
        return Challenge(
            FormName.USERNAME,
            username_fields(sign_in),
            message,
            is_error=message is not None,
            error_field=None if message is None else USERNAME_FIELD,
            remember_me_offered=sign_in.realm.login.remember_me,
            assertion=self._passkeys.offer(sign_in),
        )
