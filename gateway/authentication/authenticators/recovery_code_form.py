"""`auth-recovery-authn-code-form`: the next code of the user's list of recovery codes.

Field `recoveryCodeInput`. Keycloak: RecoveryAuthnCodesFormAuthenticator (26.7)
"""

from dataclasses import replace
from functools import partial
from typing import ClassVar, Final

from gateway.authentication.accounts import Account
from gateway.authentication.engine.sign_in import Config, Form, Result, SecretCheck, SignIn
from gateway.authentication.recovery_codes import RECOVERY_CODES, RecoveryCodeCheck, RecoveryCodes
from gateway.domain.authentication import Challenge, FormName, MessageKey
from gateway.domain.flows import RECOVERY_CODE_FORM
from gateway.domain.secrets import Secret
from gateway.domain.users import Credential

_FIELD: Final = "recoveryCodeInput"


class RecoveryCodeForm:
    """Asks for the next code by its number, and uses it up."""

    id: ClassVar = RECOVERY_CODE_FORM
    needs_user: ClassVar[bool] = True
    asks_everyone: ClassVar[bool] = False

    def __init__(self, checks: RecoveryCodeCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has codes; one that does not exist is taken to have some."""
        return account.user is None or _held(account) is not None

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the form."""
        del config
        return _form(sign_in, None)

    async def submit(self, sign_in: SignIn, config: Config, form: Form) -> Result:
        """Return the check of what was submitted; a missing code is a wrong one."""
        del config
        code, held = Secret(form.get(_FIELD, "")), _held(sign_in.account)

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

        again = partial(_form, sign_in)
        return SecretCheck(RECOVERY_CODES, prove, again, MessageKey.INVALID_RECOVERY_CODE)


def _held(account: Account | None) -> Credential | None:
    found = () if account is None else account.credentials_of(RECOVERY_CODES)
    return next(iter(found), None)


def _form(sign_in: SignIn, message: MessageKey | None) -> Challenge:
    held = _held(sign_in.account)
    number = 1 if held is None else RecoveryCodes.of(held).number
    return Challenge(
        FormName.RECOVERY_CODE,
        {"username": sign_in.attempted_username or "", "number": str(number)},
        message,
        is_error=message is not None,
        error_field=None if message is None else _FIELD,
        username_fixed=True,
    )
