"""`allow-access-authenticator`: succeeds always."""

from typing import ClassVar

from gateway.authentication.engine.sign_in import Config, Outcome, Result, SignIn, WithoutForm
from gateway.domain.flows import ALLOW


class AllowAccess(WithoutForm):
    """Allows every user."""

    id: ClassVar = ALLOW

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return SUCCEEDED."""
        del sign_in, config
        return Outcome.SUCCEEDED
