"""`direct-grant-validate-otp`: the code of the user's first device, in the password grant."""

from typing import ClassVar

from gateway.authentication.accounts import Account
from gateway.authentication.authenticators.codes import code_check
from gateway.authentication.authenticators.one_time_code_form import CODE_FIELD
from gateway.authentication.engine.sign_in import Config, Result, SignIn, WithoutForm
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.domain.flows import CODE


class ValidateOneTimePassword(WithoutForm):
    """Requires the code of the user's first device."""

    id: ClassVar = CODE
    needs_user: ClassVar[bool] = True

    def __init__(self, checks: OneTimePasswordCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a device."""
        return bool(account.devices)

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the check of what was sent."""
        del config
        devices = () if sign_in.account is None else sign_in.account.devices
        given = sign_in.context.form.get(CODE_FIELD)
        return code_check(self._checks, sign_in, next(iter(devices), None), given)
