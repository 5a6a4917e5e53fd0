"""`auth-username-password-form`: user name and password on one page.

Where the user is known, from the session of the browser, the page asks for the password alone.
Keycloak: UsernamePasswordForm (26.7)
"""

from functools import partial
from typing import ClassVar

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.authenticators.passwords import PASSWORD_FIELD, password_check
from gateway.authentication.authenticators.username_fields import (
    USERNAME_FIELD,
    note_remember_me,
    submitted_username,
    username_fields,
)
from gateway.authentication.engine.sign_in import Config, Form, Result, SignIn
from gateway.authentication.password_check import PasswordCheck
from gateway.authentication.web_authn import Passkeys
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.flows import USERNAME_PASSWORD_FORM


class UsernamePasswordForm:
    """Identifies the user and checks the password."""

    id: ClassVar = USERNAME_PASSWORD_FORM
    needs_user: ClassVar[bool] = False
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts, checks: PasswordCheck, passkeys: Passkeys) -> None:
        self._accounts = accounts
        self._checks = checks
        self._passkeys = passkeys

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a password."""
        return account.password is not None

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form."""
        del config
        if sign_in.account is not None:
            sign_in.account = await self._accounts.with_credentials(sign_in.account)
        return self._form(sign_in)

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return the check of what was submitted."""
        del config
        password = form.get(PASSWORD_FIELD)
        again = partial(self._form, sign_in)
        if self._passkeys.are_submitted(sign_in, form):
            return await self._passkeys.submit(sign_in, form, again)
        if sign_in.account is not None:
            wrong = MessageKey.INVALID_PASSWORD
            return password_check(self._checks, sign_in, password, again, wrong=wrong)
        username = submitted_username(form)
        sign_in.identify(await self._accounts.named(sign_in.realm, username), username)
        note_remember_me(sign_in, form)
        forget = sign_in.forget_user
        return password_check(self._checks, sign_in, password, again, on_failure=forget)

    def _form(self, sign_in: SignIn, message: MessageKey | None = None) -> Challenge:
        known = sign_in.account is not None
        return Challenge(
            FormName.USERNAME_PASSWORD,
            username_fields(sign_in),
            message,
            is_error=message is not None,
            error_field=None if message is None else PASSWORD_FIELD if known else USERNAME_FIELD,
            username_fixed=known,
            remember_me_offered=sign_in.realm.login.remember_me and not known,
            assertion=self._passkeys.offer(sign_in),
        )
