"""Why a sign-in was refused. What the user may read of it is the endpoint's business.

SignInRefused
├── InvalidUserCredentials    one public text for unknown, wrong and locked
├── AccountDisabled           told only to who gave the right password
└── AccountNotSetUp           told only to who gave the right password

Keycloak: 1.5, 4.2
"""

from dataclasses import dataclass
from datetime import datetime

from gateway.domain.errors import RealmgateError
from gateway.domain.events import EventError


@dataclass(frozen=True, slots=True)
class Lockout:
    """A lock-out that a failure has begun: until then, or for good."""

    failures: int
    until: datetime | None


class SignInRefused(RealmgateError):
    """The user does not sign in; `event_error` is what the event LOGIN_ERROR tells operators.

    `user_id` is who it would have been, where the event tells it; `lockout` what it has brought.
    """

    def __init__(
        self, event_error: str, user_id: str | None = None, lockout: Lockout | None = None
    ) -> None:
        super().__init__(event_error)
        self.event_error = event_error
        self.user_id = user_id
        self.lockout = lockout


class InvalidUserCredentials(SignInRefused):
    """A guesser learns nothing more.

    `event_error`: user_not_found, invalid_user_credentials, user_temporarily_disabled,
    user_disabled or invalid_user.
    """


class AccountDisabled(SignInRefused):
    """The password was right; an administrator has disabled the account."""

    def __init__(self, user_id: str) -> None:
        super().__init__(EventError.USER_DISABLED, user_id)


class AccountNotSetUp(SignInRefused):
    """The password was right; something must be done on a page before the sign-in succeeds."""

    def __init__(self) -> None:
        super().__init__(EventError.RESOLVE_REQUIRED_ACTIONS)
