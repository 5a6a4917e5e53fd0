"""`reset-password`: the user sets a new password, by the required action UPDATE_PASSWORD.

Keycloak: ResetPassword (26.7)
"""

from typing import ClassVar

from gateway.authentication.engine.sign_in import Config, Outcome, Result, SignIn, WithoutForm
from gateway.domain.flows import RESET_PASSWORD, UPDATE_PASSWORD


class ResetPassword(WithoutForm):
    """Requires the action in this sign-in."""

    id: ClassVar = RESET_PASSWORD
    needs_user: ClassVar[bool] = True

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return SUCCEEDED."""
        del config
        sign_in.require(UPDATE_PASSWORD)
        return Outcome.SUCCEEDED
