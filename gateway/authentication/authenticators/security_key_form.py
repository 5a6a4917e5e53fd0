"""`webauthn-authenticator`: a security key as a second factor.

Keycloak: WebAuthnAuthenticator (26.7)
"""

from functools import partial
from typing import ClassVar

from gateway.authentication.accounts import Account
from gateway.authentication.authenticators.key_pages import key_page
from gateway.authentication.engine.sign_in import Config, Form, Result, SignIn
from gateway.authentication.web_authn import SECURITY_KEYS, KeyCheck
from gateway.domain.flows import SECURITY_KEY_FORM


class SecurityKeyForm:
    """Asks for one of the user's security keys."""

    id: ClassVar = SECURITY_KEY_FORM
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = False

    def __init__(self, checks: KeyCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a security key."""
        return bool(account.credentials_of(SECURITY_KEYS.type))

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form."""
        del config
        return key_page(self._checks, SECURITY_KEYS, sign_in)

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return the check of what was submitted."""
        del config
        again = partial(key_page, self._checks, SECURITY_KEYS, sign_in)
        return await self._checks.submit(sign_in, SECURITY_KEYS, form, again)
