"""`direct-grant-validate-password`: the password of the password grant."""

from typing import ClassVar

from gateway.authentication.accounts import Account
from gateway.authentication.authenticators.passwords import PASSWORD_FIELD, password_check
from gateway.authentication.engine.sign_in import Config, Result, SignIn, WithoutForm
from gateway.authentication.password_check import PasswordCheck
from gateway.domain.flows import PASSWORD


class ValidatePassword(WithoutForm):
    """Checks the password."""

    id: ClassVar = PASSWORD

    def __init__(self, checks: PasswordCheck) -> None:
        self._checks = checks

    def is_configured(self, account: Account) -> bool:
        """Return whether the user has a password."""
        return account.password is not None

    async def authenticate(self, sign_in: SignIn, config: Config) -> Result:
        """Return the check of what was sent; raises NotIdentified without a user name."""
        del config
        return password_check(self._checks, sign_in, sign_in.context.form.get(PASSWORD_FIELD))
