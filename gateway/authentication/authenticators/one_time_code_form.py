"""`auth-otp-form`: a one-time code on a page; a user with several devices may choose.

Keycloak: OTPFormAuthenticator (26.7)
"""

from functools import partial
from typing import ClassVar, Final

from gateway.authentication.accounts import Account
from gateway.authentication.authenticators.codes import code_check
from gateway.authentication.engine.sign_in import Config, Form, Result, SignIn
from gateway.authentication.one_time_password import OneTimePasswordCheck
from gateway.domain.authentication import Challenge, Device, FormName, MessageKey
from gateway.domain.events import Detail
from gateway.domain.flows import CODE_FORM
from gateway.domain.users import Credential

CODE_FIELD: Final = "otp"
_DEVICE_FIELDS: Final = ("selectedCredentialId", "credentialId")


class OneTimeCodeForm:
    """Checks the code of the device that the user has chosen, or of the first one."""

    id: ClassVar = CODE_FORM
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = False

    def __init__(self, checks: OneTimePasswordCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a device; one that does not exist is taken to have one."""
        return account.user is None or bool(account.devices)

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form."""
        del config
        return _form(sign_in, None)

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return the check of what was submitted."""
        del config
        chosen = next((form[name] for name in _DEVICE_FIELDS if form.get(name)), None)
        device = _device(sign_in, chosen)
        if device is not None:
            sign_in.event_details[Detail.SELECTED_CREDENTIAL_ID] = device.id
        again = partial(_form, sign_in, chosen)
        return code_check(self._checks, sign_in, device, form.get(CODE_FIELD), again)


def _device(sign_in: SignIn, chosen: str | None) -> Credential | None:
    devices = () if sign_in.account is None else sign_in.account.devices
    return next((one for one in devices if chosen in (None, one.id)), None)


def _form(sign_in: SignIn, chosen: str | None, message: MessageKey | None = None) -> Challenge:
    held = () if sign_in.account is None else sign_in.account.devices
    selected = _device(sign_in, chosen) or _device(sign_in, None)
    return Challenge(
        FormName.ONE_TIME_CODE,
        {"username": sign_in.attempted_username or ""},
        message,
        is_error=message is not None,
        error_field=None if message is None else CODE_FIELD,
        username_fixed=True,
        devices=tuple(Device(one.id, one.label or "") for one in held) if len(held) > 1 else (),
        selected_device=None if selected is None else selected.id,
    )
