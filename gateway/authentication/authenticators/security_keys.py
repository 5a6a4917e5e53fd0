"""Authenticators that ask for a security key or a passkey.

Keycloak: WebAuthnAuthenticator, WebAuthnPasswordlessAuthenticator (26.7)
"""

from functools import partial
from typing import ClassVar

from gateway.authentication.accounts import Account, Accounts
from gateway.authentication.engine.sign_in import (
    Authenticator,
    AuthenticatorOutcome,
    Config,
    Form,
    Result,
    SignInAttempt,
)
from gateway.authentication.web_authn import PASSKEYS, SECURITY_KEYS, KeyCheck, KeyCredentials
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.flows import PASSKEY_FORM, SECURITY_KEY_FORM


def key_page(
    checks: KeyCheck,
    keys: KeyCredentials,
    sign_in: SignInAttempt,
    message: MessageKey | None = None,
) -> Challenge:
    """Return the form, with a new challenge."""
    return Challenge(
        FormName.SECURITY_KEY,
        {"username": sign_in.attempted_username or ""},
        message,
        is_error=message is not None,
        username_fixed=sign_in.account is not None,
        assertion=checks.request(sign_in, keys),
    )


class SecurityKeyForm(Authenticator):
    """`webauthn-authenticator`: a security key as a second factor.

    Keycloak: WebAuthnAuthenticator (26.7)
    """

    id: ClassVar = SECURITY_KEY_FORM
    needs_user: ClassVar[bool] = True

    def __init__(self, checks: KeyCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a security key."""
        return bool(account.credentials_of(SECURITY_KEYS.type))

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        del config
        return key_page(self._checks, SECURITY_KEYS, sign_in)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the check of the presented key."""
        del config
        again = partial(key_page, self._checks, SECURITY_KEYS, sign_in)
        return await self._checks.submit(sign_in, SECURITY_KEYS, form, again)


class PasskeyForm(Authenticator):
    """`webauthn-authenticator-passwordless`: a passkey, which may name its user.

    Asks for a passkey: one of the user's, or any where no step has named a user.

    A user who is only named is asked whether there are passkeys or not: the page reveals nothing.

    Keycloak: WebAuthnPasswordlessAuthenticator (26.7)
    """

    id: ClassVar = PASSKEY_FORM

    def __init__(self, accounts: Accounts, checks: KeyCheck) -> None:
        self._accounts = accounts
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a passkey."""
        return bool(account.credentials_of(PASSKEYS.type))

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the form; SUCCEEDED where a passkey was used on a page before."""
        del config
        if PASSKEYS.type in sign_in.used:
            return AuthenticatorOutcome.SUCCEEDED
        if sign_in.account is not None:
            sign_in.account = await self._accounts.load_credentials(sign_in.account)
            if not sign_in.is_only_named and not self.is_configured(sign_in.account):
                return AuthenticatorOutcome.NOT_SET_UP
        return key_page(self._checks, PASSKEYS, sign_in)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the check of the presented key."""
        del config
        again = partial(key_page, self._checks, PASSKEYS, sign_in)
        return await self._checks.submit(sign_in, PASSKEYS, form, again)
