"""`registration-password-action`: the password of the new user, twice.

Fields `password` and `password-confirm`. Keycloak: RegistrationPassword (26.7)
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Final

from gateway.authentication.engine.form_action import FormRejected, NewAccount
from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.new_passwords import PasswordChanges, require_hashable
from gateway.domain.authentication import Challenge, MessageKey
from gateway.domain.flows import REGISTRATION_PASSWORD
from gateway.domain.secrets import Secret
from gateway.domain.user_profile import Violation
from gateway.policies.candidate import PasswordRefused

_PASSWORD: Final = "password"  # noqa: S105 - the name of a field
_CONFIRM: Final = "password-confirm"


class RegistrationPassword:
    """Asks for a password that meets the rules of the realm."""

    id: ClassVar = REGISTRATION_PASSWORD

    def __init__(self, passwords: PasswordChanges) -> None:
        self._passwords = passwords

    def show(
        self, sign_in: SignIn, form: Challenge, sent: Form | None, violations: Sequence[Violation]
    ) -> Challenge:
        del sign_in, sent, violations
        return replace(form, asks_password=True)

    async def apply(self, sign_in: SignIn, draft: NewAccount, sent: Form) -> NewAccount:
        given = sent.get(_PASSWORD, "")
        if not given.strip():
            raise FormRejected(MessageKey.MISSING_PASSWORD, field=_PASSWORD)
        if given != sent.get(_CONFIRM, ""):
            raise FormRejected(MessageKey.INVALID_PASSWORD_CONFIRM, field=_CONFIRM)
        password = Secret(given)
        try:
            require_hashable(password)
            made = await self._passwords.prepare(sign_in.realm, draft.user, (), password)
        except PasswordRefused as refusal:
            raise FormRejected(refusal.key, refusal.arguments, field=_PASSWORD) from refusal
        return replace(draft, password=made)
