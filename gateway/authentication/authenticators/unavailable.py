"""The substitute for an authenticator that does not act: it never succeeds.

So a flow passes it over, and fails where it requires it. Identity providers and Kerberos are never
configured, which Keycloak treats alike.
"""

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import Config, Outcome, Result, SignIn, WithoutForm
from gateway.domain.flows import NEVER_SET_UP, UNAVAILABLE_CREDENTIALS


class Unavailable(WithoutForm):
    """An authenticator by its id."""

    def __init__(self, authenticator: str) -> None:
        self.id = authenticator

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has the credential that it would check.

        True where that is unknown: a flow that asks for what users have set up then fails, rather
        than asking for less.
        """
        kind = UNAVAILABLE_CREDENTIALS.get(self.id)
        if kind is None:
            return self.id not in NEVER_SET_UP
        return bool(account.credentials_of(kind))

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return ATTEMPTED."""
        del sign_in, config
        return Outcome.ATTEMPTED
