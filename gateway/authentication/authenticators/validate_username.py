"""`direct-grant-validate-username`: the user name of the password grant.

A name that no user has goes on to the password as any other one (attacks: D10, D11).
"""

from typing import ClassVar

from gateway.authentication.accounts import Accounts
from gateway.authentication.authenticators.username_fields import USERNAME_FIELD
from gateway.authentication.engine.sign_in import Config, Outcome, Result, SignIn, WithoutForm
from gateway.domain.flows import USERNAME


class ValidateUsername(WithoutForm):
    """Identifies the user."""

    id: ClassVar = USERNAME

    def __init__(self, accounts: Accounts) -> None:
        self._accounts = accounts

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return SUCCEEDED with the account of the name, which may be no user's."""
        del config
        username = sign_in.context.form.get(USERNAME_FIELD, "")
        sign_in.identify(await self._accounts.named(sign_in.realm, username), username)
        return Outcome.SUCCEEDED
