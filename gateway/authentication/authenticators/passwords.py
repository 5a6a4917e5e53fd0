"""The check of a password that was submitted, as authenticators return it."""

from collections.abc import Callable
from typing import Final

from gateway.authentication.engine.proven_password import note_password
from gateway.authentication.engine.sign_in import SecretCheck, SignIn
from gateway.authentication.errors import NotIdentified
from gateway.authentication.password_check import PasswordCheck
from gateway.domain.authentication import Challenge, MessageKey
from gateway.domain.secrets import Secret
from gateway.representations.users import PASSWORD

PASSWORD_FIELD: Final = "password"  # noqa: S105 - the name of a field


def password_check(
    checks: PasswordCheck,
    sign_in: SignIn,
    given: str | None,
    again: Callable[[MessageKey], Challenge] | None = None,
    *,
    wrong: MessageKey = MessageKey.INVALID_USER,
    on_failure: Callable[[], None] | None = None,
) -> SecretCheck:
    """Return the check of a password of the account that was identified.

    A missing password counts as a wrong one.
    """
    account, password = sign_in.account, Secret(given or "")
    if account is None:
        raise NotIdentified

    async def prove(admitted: bool) -> bool:  # noqa: FBT001 - a callback
        return await checks.is_right(sign_in.realm, account, password, admitted=admitted)

    def keep() -> None:
        if account.password is not None:
            sign_in.proven_password = (account.password, password)
            note_password(sign_in, account.password)

    return SecretCheck(PASSWORD, prove, again, wrong, on_failure, keep)
