"""Why a sign-in was refused. What the user may read of it is the endpoint's business.

SignInRefused
├── InvalidUserCredentials    one public text for unknown, wrong and locked
├── AccountDisabled           told only to who gave the right password
└── AccountNotSetUp           told only to who gave the right password

Keycloak: 1.5, 4.2
"""

from gateway.domain.errors import RealmgateError


class SignInRefused(RealmgateError):
    """The user does not sign in; `event_error` is what the event LOGIN_ERROR tells operators."""

    def __init__(self, event_error: str) -> None:
        """Refuse for a reason that is not the user's to read."""
        super().__init__(event_error)
        self.event_error = event_error


class InvalidUserCredentials(SignInRefused):
    """A guesser learns nothing more.

    `event_error`: user_not_found, invalid_user_credentials, user_temporarily_disabled,
    user_disabled or invalid_user.
    """


class AccountDisabled(SignInRefused):
    """The password was right; an administrator has disabled the account."""

    def __init__(self) -> None:
        """Refuse as Keycloak's event does."""
        super().__init__("user_disabled")


class AccountNotSetUp(SignInRefused):
    """The password was right; something must be done on a page before the sign-in succeeds."""

    def __init__(self) -> None:
        """Refuse as Keycloak's event does."""
        super().__init__("resolve_required_actions")
