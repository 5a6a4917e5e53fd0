"""`deny-access-authenticator`: fails always."""

from typing import ClassVar

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import Config, Result, SignIn, WithoutForm
from gateway.authentication.errors import AccessDenied
from gateway.domain.events import EventError
from gateway.domain.flows import DENY


class DenyAccess(WithoutForm):
    """Refuses the user; `denyErrorMessage` replaces the text."""

    id: ClassVar = DENY

    def is_configured(self, account: Account) -> bool:
        """Return False: it cannot be set up."""
        del account
        return False

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Raise AccessDenied."""
        text = config.get("denyErrorMessage")
        user = sign_in.found_user
        raise AccessDenied(EventError.ACCESS_DENIED, None if user is None else user.id, text)
