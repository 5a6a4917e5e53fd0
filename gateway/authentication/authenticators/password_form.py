"""`auth-password-form`: the password on a page of its own, of a user who is named already.

A user who has signed in with a passkey is not asked. Keycloak: PasswordForm (26.7)
"""

from typing import ClassVar

from gateway.authentication.accounts import Account
from gateway.authentication.authenticators.passwords import PASSWORD_FIELD, password_check
from gateway.authentication.authenticators.username_fields import USERNAME_FIELD
from gateway.authentication.engine.sign_in import Config, Form, Outcome, Result, SignIn
from gateway.authentication.password_check import PasswordCheck
from gateway.authentication.web_authn import Passkeys
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.flows import PASSWORD_FORM


class PasswordForm:
    """Checks the password; where it is required, users without one are asked as well."""

    id: ClassVar = PASSWORD_FORM
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = True

    def __init__(self, checks: PasswordCheck, passkeys: Passkeys) -> None:
        self._checks = checks
        self._passkeys = passkeys

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a password; one that does not exist is taken to have one."""
        return account.user is None or account.password is not None

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form; SUCCEEDED where a passkey was used on a page before."""
        del config
        if self._passkeys.have_signed_in(sign_in):
            return Outcome.SUCCEEDED
        return self._form(sign_in)

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return the check of what was submitted."""
        del config

        def again(message: MessageKey) -> Challenge:
            return self._form(sign_in, message)

        if self._passkeys.are_submitted(sign_in, form):
            return await self._passkeys.submit(sign_in, form, again)
        given, wrong = form.get(PASSWORD_FIELD), MessageKey.INVALID_PASSWORD
        return password_check(self._checks, sign_in, given, again, wrong=wrong)

    def _form(self, sign_in: SignIn, message: MessageKey | None = None) -> Challenge:
        return Challenge(
            FormName.PASSWORD,
            {USERNAME_FIELD: sign_in.attempted_username or ""},
            message,
            is_error=message is not None,
            error_field=None if message is None else PASSWORD_FIELD,
            username_fixed=True,
            assertion=self._passkeys.offer(sign_in),
        )
