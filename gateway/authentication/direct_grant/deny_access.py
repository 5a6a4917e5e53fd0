"""`deny-access-authenticator`: fails always."""

from typing import ClassVar, Final

from gateway.authentication.direct_grant.sign_in import Config, SignIn
from gateway.authentication.errors import AccessDenied
from gateway.domain.events import EventError
from gateway.domain.flows import DENY

_MESSAGE: Final = "Access denied"


class DenyAccess:
    """Refuses the user; `denyErrorMessage` replaces the text."""

    id: ClassVar = DENY

    def is_configured(self, sign_in: SignIn) -> bool:
        """Return False: it cannot be set up."""
        del sign_in
        return False

    async def authenticate(self, sign_in: SignIn, config: Config) -> None:
        """Raise AccessDenied."""
        text = config.get("denyErrorMessage") or _MESSAGE
        raise AccessDenied(EventError.ACCESS_DENIED, sign_in.user.id, text)
