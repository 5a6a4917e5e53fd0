"""`allow-access-authenticator`: succeeds always."""

from typing import ClassVar

from gateway.authentication.direct_grant.sign_in import Config, SignIn
from gateway.domain.flows import ALLOW


class AllowAccess:
    """Allows every user."""

    id: ClassVar = ALLOW

    def is_configured(self, sign_in: SignIn) -> bool:
        """Return True: there is nothing to set up."""
        del sign_in
        return True

    async def authenticate(self, sign_in: SignIn, config: Config) -> None:
        """Return."""
