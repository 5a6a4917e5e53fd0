"""`reset-otp`: the user sets up another device for one-time codes.

`action_on_otp_reset_flag` says what becomes of those that the user has: nothing, one that the user
selects is removed, or all are. Keycloak: ResetOTP (26.7)
"""

from collections.abc import Sequence
from typing import ClassVar, Final

from gateway.authentication.account_updates import AccountUpdates
from gateway.authentication.accounts import Account
from gateway.authentication.engine.account_changes import AccountChange
from gateway.authentication.engine.sign_in import Config, Form, Outcome, Result, SignIn
from gateway.authentication.one_time_password import OTP
from gateway.domain.authentication import Challenge, Device, FormName, MessageKey
from gateway.domain.events import Detail, EventType
from gateway.domain.flows import CONFIGURE_TOTP, RESET_OTP
from gateway.domain.users import Credential

_FLAG: Final = "action_on_otp_reset_flag"
_ONE: Final = "Remove one"
_ALL: Final = "Remove all"
_FIELD: Final = "selectedCredentialId"
_KINDS: Final = (EventType.REMOVE_TOTP, EventType.REMOVE_CREDENTIAL)
"""Keycloak 26 records both."""


class ResetOtp:
    """Removes devices, and requires the action CONFIGURE_TOTP in this sign-in."""

    id: ClassVar = RESET_OTP
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = True

    def __init__(self, updates: AccountUpdates) -> None:
        self._updates = updates

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a device."""
        return bool(account.devices)

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return SUCCEEDED, or the devices to select one from."""
        devices = () if sign_in.account is None else sign_in.account.devices
        flag = config.get(_FLAG)
        if flag == _ONE and devices:
            return _form(devices)
        if flag == _ALL:
            await self._remove(sign_in, devices)
        return _succeeded(sign_in)

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return SUCCEEDED where a device of the user was selected."""
        if config.get(_FLAG) != _ONE:  # the flow was changed meanwhile
            return await self.authenticate(sign_in, config)
        devices = () if sign_in.account is None else sign_in.account.devices
        chosen = tuple(one for one in devices if one.id == form.get(_FIELD))
        if devices and not chosen:
            return _form(devices, MessageKey.NO_DEVICE_SELECTED)
        await self._remove(sign_in, chosen)
        return _succeeded(sign_in)

    async def _remove(self, sign_in: SignIn, devices: Sequence[Credential]) -> None:
        user = sign_in.user
        async with self._updates.begin(user.realm_id, user.id) as update:
            for device in devices:
                await update.stores.users.remove_credential(user.realm_id, device)
        for device in devices:
            details = {Detail.CREDENTIAL_TYPE: OTP, Detail.CREDENTIAL_ID: device.id}
            for kind in _KINDS:
                sign_in.record(AccountChange(kind, details))


def _succeeded(sign_in: SignIn) -> Outcome:
    sign_in.require(CONFIGURE_TOTP)
    return Outcome.SUCCEEDED


def _form(devices: Sequence[Credential], message: MessageKey | None = None) -> Challenge:
    return Challenge(
        FormName.RESET_OTP,
        {},
        message,
        is_error=message is not None,
        devices=tuple(Device(one.id, one.label or "") for one in devices),
    )
