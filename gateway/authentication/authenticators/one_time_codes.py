"""Authenticators that ask for a one-time password or a recovery code.

Keycloak: OTPFormAuthenticator, RecoveryAuthnCodesFormAuthenticator (26.7)
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import (
    Authenticator,
    Config,
    Form,
    Result,
    SecretCheck,
    SignInAttempt,
)
from gateway.authentication.one_time_passwords import OTP, OneTimePasswordCheck
from gateway.authentication.recovery_codes import RECOVERY_CODES, RecoveryCodeCheck, RecoveryCodes
from gateway.domain.authentication import Challenge, FormName, MessageKey, OneTimeCodeDevice
from gateway.domain.events import Detail
from gateway.domain.flows import CODE, CODE_FORM, RECOVERY_CODE_FORM
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential


def code_check(
    checks: OneTimePasswordCheck,
    sign_in: SignInAttempt,
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


CODE_FIELD: Final = "otp"
_DEVICE_FIELDS: Final = ("selectedCredentialId", "credentialId")


class OneTimeCodeForm(Authenticator):
    """`auth-otp-form`: a one-time code on a page; a user with several devices may choose.

    Checks the code of the device that the user has chosen, or of the first one.

    Keycloak: OTPFormAuthenticator (26.7)
    """

    id: ClassVar = CODE_FORM
    needs_user: ClassVar[bool] = True

    def __init__(self, checks: OneTimePasswordCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a device; an unknown user counts as one with a device."""
        return account.user is None or bool(account.devices)

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        del config
        return _one_time_code_form(sign_in, None)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the check of the submitted code."""
        del config
        chosen = next((form[name] for name in _DEVICE_FIELDS if form.get(name)), None)
        device = _device(sign_in, chosen)
        if device is not None:
            sign_in.event_details[Detail.SELECTED_CREDENTIAL_ID] = device.id
        again = partial(_one_time_code_form, sign_in, chosen)
        return code_check(self._checks, sign_in, device, form.get(CODE_FIELD), again)


def _device(sign_in: SignInAttempt, chosen: str | None) -> Credential | None:
    devices = () if sign_in.account is None else sign_in.account.devices
    return next((one for one in devices if chosen in (None, one.id)), None)


def _one_time_code_form(
    sign_in: SignInAttempt, chosen: str | None, message: MessageKey | None = None
) -> Challenge:
    held = () if sign_in.account is None else sign_in.account.devices
    selected = _device(sign_in, chosen) or _device(sign_in, None)
    return Challenge(
        FormName.ONE_TIME_CODE,
        {"username": sign_in.attempted_username or ""},
        message,
        is_error=message is not None,
        error_field=None if message is None else CODE_FIELD,
        username_fixed=True,
        devices=tuple(OneTimeCodeDevice(one.id, one.label or "") for one in held)
        if len(held) > 1
        else (),
        selected_device=None if selected is None else selected.id,
    )


class ValidateOneTimePassword(Authenticator):
    """`direct-grant-validate-otp`: the code of the user's first device, in the password grant."""

    id: ClassVar = CODE
    needs_user: ClassVar[bool] = True

    def __init__(self, checks: OneTimePasswordCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a device."""
        return bool(account.devices)

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        """Return the check of the code in the request."""
        del config
        devices = () if sign_in.account is None else sign_in.account.devices
        given = sign_in.context.form.get(CODE_FIELD)
        return code_check(self._checks, sign_in, next(iter(devices), None), given)


_RECOVERY_CODE_FIELD: Final = "recoveryCodeInput"


class RecoveryCodeForm(Authenticator):
    """`auth-recovery-authn-code-form`: the next code of the user's list of recovery codes.

    Asks for the next code by its number, and uses it up.

    Field `recoveryCodeInput`. Keycloak: RecoveryAuthnCodesFormAuthenticator (26.7)
    """

    id: ClassVar = RECOVERY_CODE_FORM
    needs_user: ClassVar[bool] = True

    def __init__(self, checks: RecoveryCodeCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has codes; an unknown user counts as one with codes."""
        return account.user is None or _held_recovery_codes(account) is not None

    async def authenticate(self, sign_in: SignInAttempt, config: Config) -> Result:
        del config
        return _recovery_code_form(sign_in, None)

    async def submit(self, sign_in: SignInAttempt, config: Config, form: Form) -> Result:
        """Return the check of the submitted code; a missing code is a wrong code."""
        del config
        code, held = (
            Secret(form.get(_RECOVERY_CODE_FIELD, "")),
            _held_recovery_codes(sign_in.account),
        )

        async def prove(admitted: bool) -> bool:  # noqa: FBT001 - a callback
            if held is None:
                return False
            entry = sign_in.context.realm
            user = await self._checks.use(entry, held, code, admitted=admitted)
            if user is None or sign_in.account is None:
                return False
            # The stored credentials are others now: they are loaded again where they are needed.
            sign_in.account = replace(sign_in.account, user=user, credentials=None)
            return True

        again = partial(_recovery_code_form, sign_in)
        return SecretCheck(RECOVERY_CODES, prove, again, MessageKey.INVALID_RECOVERY_CODE)


def _held_recovery_codes(account: Account | None) -> Credential | None:
    found = () if account is None else account.credentials_of(RECOVERY_CODES)
    return next(iter(found), None)


def _recovery_code_form(sign_in: SignInAttempt, message: MessageKey | None) -> Challenge:
    held = _held_recovery_codes(sign_in.account)
    number = 1 if held is None else RecoveryCodes.of(held).number
    return Challenge(
        FormName.RECOVERY_CODE,
        {"username": sign_in.attempted_username or "", "number": str(number)},
        message,
        is_error=message is not None,
        error_field=None if message is None else _RECOVERY_CODE_FIELD,
        username_fixed=True,
    )
