"""A part of a form that an authenticator shows: one file each, in `form_actions/`.

The parts take the form one after the other. Each adds to the draft of the new account, or refuses
the form; only what all of them have accepted is stored.
Keycloak: FormAction, FormAuthenticationFlow (26.7)
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Protocol

from gateway.authentication.engine.sign_in import Form, SignIn
from gateway.authentication.new_passwords import PreparedPassword
from gateway.domain.authentication import Challenge, MessageKey
from gateway.domain.errors import RealmgateError
from gateway.domain.events import EventError
from gateway.domain.user_profile import Violation
from gateway.domain.users import User


@dataclass(frozen=True, slots=True)
class NewAccount:
    """What is to be stored; `performed` are required actions that the form has made needless."""

    user: User
    password: PreparedPassword | None = None
    performed: frozenset[str] = frozenset()


class FormRejected(RealmgateError):
    """The form is shown again: `violations` of attributes, or one message about a field.

    `event_error` is the error of the event.
    """

    def __init__(
        self,
        message: str,
        arguments: tuple[str, ...] = (),
        *,
        field: str | None = None,
        violations: Sequence[Violation] = (),
        event_error: str = EventError.INVALID_REGISTRATION,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.arguments = arguments
        self.field = field
        self.violations = tuple(violations)
        self.event_error = event_error

    def on(self, challenge: Challenge) -> Challenge:
        """Return the form with the message."""
        return replace(
            challenge,
            message=self.message,
            message_arguments=self.arguments,
            is_error=True,
            error_field=self.field,
        )


class FormAction(Protocol):
    """One part of a form."""

    id: ClassVar[str]

    def show(
        self, sign_in: SignIn, form: Challenge, sent: Form | None, violations: Sequence[Violation]
    ) -> Challenge:
        """Return the form with the fields of this part; `sent` is what was refused."""
        ...

    async def apply(self, sign_in: SignIn, draft: NewAccount, sent: Form) -> NewAccount:
        """Return the draft with what was sent; raises FormRejected, Overloaded."""
        ...


def profile_rejected(
    violations: Sequence[Violation], event_error: str = EventError.INVALID_REGISTRATION
) -> FormRejected:
    """Return the refusal of attributes, each with its own message."""
    message = MessageKey.INVALID_PROFILE
    return FormRejected(message, violations=violations, event_error=event_error)
