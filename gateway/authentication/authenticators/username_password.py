"""Authenticators that ask for a user name or a password, on pages and in the password grant.

Keycloak: UsernameForm, PasswordForm, UsernamePasswordForm (26.7); attacks: D10, D11
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import ClassVar, Final

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.proofs import note_password
from gateway.authentication.engine.sign_in import (
    Authenticator,
    AuthenticatorOutcome,
    Config,
    Form,
    Result,
    SecretCheck,
    SignInAttempt,
)
from gateway.authentication.errors import NotIdentified
from gateway.authentication.passwords import PasswordCheck
from gateway.authentication.web_authn import Passkeys
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.flows import PASSWORD as PASSWORD_EXECUTION
from gateway.domain.flows import PASSWORD_FORM, USERNAME, USERNAME_FORM, USERNAME_PASSWORD_FORM
from gateway.domain.secrets import Secret
from gateway.domain.users import PASSWORD

USERNAME_FIELD: Final = "username"
REMEMBER_ME_FIELD: Final = "rememberMe"
_ON: Final = "on"


def username_fields(sign_in: SignInAttempt) -> Mapping[str, str]:
    """Return the values of the form: those submitted before, or kept in the browser."""
    requested = sign_in.context.requested
    remembered = requested.remembered_username
    name = sign_in.attempted_username
    if name is None:
        name = requested.login_hint or remembered
    fields = {} if name is None else {USERNAME_FIELD: name}
    remember = sign_in.remember_me
    if sign_in.attempted_username is None and name == remembered and name is not None:
        remember = True
    offered = sign_in.realm.login.remember_me
    return {**fields, REMEMBER_ME_FIELD: _ON} if remember and offered else fields


def note_remember_me(sign_in: SignInAttempt, form: Form) -> None:
    """Note whether the session is to outlive the browser, where the realm offers it."""
    wanted = form.get(REMEMBER_ME_FIELD, "").lower() == _ON
    sign_in.remember_me = wanted and sign_in.realm.login.remember_me


PASSWORD_FIELD: Final = "password"  # noqa: S105 - the name of a field


def password_check(
    checks: PasswordCheck,
    sign_in: SignInAttempt,
    given: str | None,
    again: Callable[[MessageKey], Challenge] | None = None,
    *,
    wrong: MessageKey = MessageKey.INVALID_USER,
    on_failure: Callable[[], None] | None = None,
) -> SecretCheck:
    """Return the check of a password of the account that was identified.

    A missing password counts as a wrong one.
    """
    account, password = sign_in.account, Secret(given or "")
    if account is None:
        raise NotIdentified

    async def prove(admitted: bool) -> bool:  # noqa: FBT001 - a callback
        return await checks.is_right(sign_in.realm, account, password, admitted=admitted)

    def keep() -> None:
        if account.password is not None:
            sign_in.proven_password = (account.password, password)
            note_password(sign_in, account.password)

    return SecretCheck(PASSWORD, prove, again, wrong, on_failure, keep)


class UsernameForm(Authenticator):
    """`auth-username-form`: the user name on a page of its own.

    A name that no user has goes on to the next page as any other one: it reveals nothing (attacks:
    D10). Keycloak: UsernameForm (26.7)
    """

    id: ClassVar = USERNAME_FORM
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts, passkeys: Passkeys) -> None:
        self._accounts = accounts
        self._passkeys = passkeys

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the form; SUCCEEDED where the user is known from the session of the browser."""
        del config
        return self._form(sign_in) if sign_in.account is None else AuthenticatorOutcome.SUCCEEDED

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return SUCCEEDED with the account of the name, which may be no user's.

        A passkey is checked instead of a name where passkeys are offered.
        """
        del config
        if self._passkeys.are_submitted(sign_in, form):
            return await self._passkeys.submit(sign_in, form, partial(self._form, sign_in))
        username = form.get(USERNAME_FIELD, "").strip()
        if not username:
            return self._form(sign_in, MessageKey.MISSING_USERNAME)
        sign_in.identify(await self._accounts.get_named_account(sign_in.realm, username), username)
        note_remember_me(sign_in, form)
        return AuthenticatorOutcome.SUCCEEDED

    def _form(self, sign_in: SignInAttempt, message: MessageKey | None = None) -> Challenge:
        return Challenge(
            FormName.USERNAME,
            username_fields(sign_in),
            message,
            is_error=message is not None,
            error_field=None if message is None else USERNAME_FIELD,
            remember_me_offered=sign_in.realm.login.remember_me,
            assertion=self._passkeys.offer(sign_in),
        )


class PasswordForm(Authenticator):
    """`auth-password-form`: the password on a page of its own, of a user who is named already.

    Checks the password; where it is required, users without one are asked as well.

    A user who has signed in with a passkey is not asked. Keycloak: PasswordForm (26.7)
    """

    id: ClassVar = PASSWORD_FORM
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = True

    def __init__(self, checks: PasswordCheck, passkeys: Passkeys) -> None:
        self._checks = checks
        self._passkeys = passkeys

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a password; an unknown user counts as one with a password."""
        return account.user is None or account.password is not None

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the form; SUCCEEDED where a passkey was used on a page before."""
        del config
        if self._passkeys.have_signed_in(sign_in):
            return AuthenticatorOutcome.SUCCEEDED
        return self._form(sign_in)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the check of the submitted password."""
        del config

        def again(message: MessageKey) -> Challenge:
            return self._form(sign_in, message)

        if self._passkeys.are_submitted(sign_in, form):
            return await self._passkeys.submit(sign_in, form, again)
        given, wrong = form.get(PASSWORD_FIELD), MessageKey.INVALID_PASSWORD
        return password_check(self._checks, sign_in, given, again, wrong=wrong)

    def _form(self, sign_in: SignInAttempt, message: MessageKey | None = None) -> Challenge:
        return Challenge(
            FormName.PASSWORD,
            {USERNAME_FIELD: sign_in.attempted_username or ""},
            message,
            is_error=message is not None,
            error_field=None if message is None else PASSWORD_FIELD,
            username_fixed=True,
            assertion=self._passkeys.offer(sign_in),
        )


class UsernamePasswordForm(Authenticator):
    """`auth-username-password-form`: user name and password on one page.

    Where the user is known, from the session of the browser, the page asks for the password alone.
    Keycloak: UsernamePasswordForm (26.7)
    """

    id: ClassVar = USERNAME_PASSWORD_FORM
    asks_everyone: ClassVar[bool] = True

    def __init__(self, accounts: Accounts, checks: PasswordCheck, passkeys: Passkeys) -> None:
        self._accounts = accounts
        self._checks = checks
        self._passkeys = passkeys

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a password."""
        return account.password is not None

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        del config
        if sign_in.account is not None:
            sign_in.account = await self._accounts.load_credentials(sign_in.account)
        return self._form(sign_in)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the check of the submitted password."""
        del config
        password = form.get(PASSWORD_FIELD)
        again = partial(self._form, sign_in)
        if self._passkeys.are_submitted(sign_in, form):
            return await self._passkeys.submit(sign_in, form, again)
        if sign_in.account is not None:
            wrong = MessageKey.INVALID_PASSWORD
            return password_check(self._checks, sign_in, password, again, wrong=wrong)
        username = form.get(USERNAME_FIELD, "").strip()
        sign_in.identify(await self._accounts.get_named_account(sign_in.realm, username), username)
        note_remember_me(sign_in, form)
        forget = sign_in.forget_user
        return password_check(self._checks, sign_in, password, again, on_failure=forget)

    def _form(self, sign_in: SignInAttempt, message: MessageKey | None = None) -> Challenge:
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


class ValidateUsername(Authenticator):
    """`direct-grant-validate-username`: the user name of the password grant.

    A name that no user has goes on to the password as any other one (attacks: D10, D11).
    """

    id: ClassVar = USERNAME

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return SUCCEEDED with the account of the name, which may be no user's."""
        del config
        username = sign_in.context.form.get(USERNAME_FIELD, "")
        sign_in.identify(await self._accounts.get_named_account(sign_in.realm, username), username)
        return AuthenticatorOutcome.SUCCEEDED


class ValidatePassword(Authenticator):
    """`direct-grant-validate-password`: the password of the password grant."""

    id: ClassVar = PASSWORD_EXECUTION

    def __init__(self, checks: PasswordCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a password."""
        return account.password is not None

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the check of the password; raises NotIdentified without a user name."""
        del config
        return password_check(self._checks, sign_in, sign_in.context.form.get(PASSWORD_FIELD))
