"""The check of a one-time password that was submitted, as authenticators return it."""

from collections.abc import Callable

from gateway.authentication.engine.sign_in import SecretCheck, SignIn
from gateway.authentication.one_time_password import OTP, OneTimePasswordCheck
from gateway.domain.authentication import Challenge, MessageKey
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential


def code_check(
    checks: OneTimePasswordCheck,
    sign_in: SignIn,
    device: Credential | None,
    given: str | None,
    again: Callable[[MessageKey], Challenge] | None = None,
) -> SecretCheck:
    """Return the check of a code; without a device none is right, and a missing one is wrong."""

    async def prove(admitted: bool) -> bool:  # noqa: FBT001 - a callback
        if device is None:
            return False
        code = Secret(given or "")
        return await checks.is_right(sign_in.realm, device, code, sign_in.now, admitted=admitted)

    return SecretCheck(OTP, prove, again, MessageKey.INVALID_CODE)
