"""`direct-grant-validate-otp`: the code of the user's first device."""

from typing import ClassVar

from gateway.authentication.direct_grant.sign_in import Config, SignIn
from gateway.authentication.errors import AccountNotSetUp, WrongCode
from gateway.authentication.one_time_password import OTP, OneTimePasswordCheck
from gateway.domain.flows import CODE


class ValidateOneTimePassword:
    """Requires the code of the user's first device."""

    id: ClassVar = CODE

    def __init__(self, codes: OneTimePasswordCheck) -> None:
        self._codes = codes

    def is_configured(self, sign_in: SignIn) -> bool:
        """Return whether the user has a device."""
        return sign_in.device is not None

    async def authenticate(self, sign_in: SignIn, config: Config) -> None:
        """Raise AccountNotSetUp without a device, and WrongCode unless the code is right."""
        del config
        device = sign_in.device
        if device is None:
            raise AccountNotSetUp
        if not await self._codes.is_right(sign_in.realm, device, sign_in.code, sign_in.now):
            raise WrongCode(sign_in.user.id)
        sign_in.used.add(OTP)
