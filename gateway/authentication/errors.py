"""Refusals of a sign-in; the endpoint decides which part of them the user may read.

SignInRefused
├── InvalidUserCredentials    one public text for unknown, wrong and locked
├── AccountDisabled           only after the right password
├── AccountNotSetUp           only after the right password
├── ActionDeclined            only after the right password
├── ActionForbidden           only after the right password
├── AccessDenied              only after the right password
├── SessionLimitExceeded      only after the right password
├── LevelNotReached           only after the right password
├── SignInStopped             before any credentials, or in spite of them
├── NotIdentified             before any password: a step needs a user that no step has named
└── CertificateRejected       instead of a password

Keycloak: 1.5 password grant, 4.2 what counts
"""

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from gateway.domain.authentication import MessageKey
from gateway.domain.errors import RealmgateError
from gateway.domain.events import EventError


@dataclass(frozen=True, slots=True)
class Lockout:
    """A lock-out that a failure has begun; permanent where `until` is None."""

    failures: int
    until: datetime | None


class SignInRefused(RealmgateError):
    """The user does not sign in; `event_error` is the error of the event LOGIN_ERROR.

    `user_id` is the user of that event; `lockout` the lock-out that this failure began.
    `message` is the text that a page shows.
    """

    message: ClassVar[MessageKey] = MessageKey.INVALID_USER
    arguments: tuple[str, ...] = ()
    """What takes the places in the text."""

    def __init__(
        self, event_error: str, user_id: str | None = None, lockout: Lockout | None = None
    ) -> None:
        super().__init__(event_error)
        self.event_error = event_error
        self.user_id = user_id
        self.lockout = lockout

    @property
    def shown(self) -> str:
        """The text of the page: its key, or the text that the flow sets instead."""
        return self.message


class TooManyCredentials(RealmgateError):
    """The user has as many credentials as one may have."""


class InvalidUserCredentials(SignInRefused):
    """The public text is the same for all of them.

    `event_error`: user_not_found, invalid_user_credentials, user_temporarily_disabled,
    user_disabled or invalid_user.
    """


class AccountDisabled(SignInRefused):
    """The password was right; an administrator has disabled the account."""

    message: ClassVar[MessageKey] = MessageKey.ACCOUNT_DISABLED

    def __init__(self, user_id: str) -> None:
        super().__init__(EventError.USER_DISABLED, user_id)


class ActionDeclined(SignInRefused):
    """The user declined the required action `action`; `text` is for the client."""

    def __init__(self, user_id: str, action: str, text: str) -> None:
        super().__init__(EventError.REJECTED_BY_USER, user_id)
        self.action = action
        self.text = text


class ActionForbidden(SignInRefused):
    """The user lacks the right to perform the required action that is next.

    The event is one of the account changes of the sign-in.
    """

    message: ClassVar[MessageKey] = MessageKey.ACCOUNT_DELETION_FORBIDDEN


class AccountNotSetUp(SignInRefused):
    """The password was right; something must be done on a page before the sign-in succeeds.

    `action` is the required action, where it is one.
    """

    message: ClassVar[MessageKey] = MessageKey.ACTION_UNAVAILABLE

    def __init__(self, action: str | None = None) -> None:
        super().__init__(EventError.RESOLVE_REQUIRED_ACTIONS)
        self.action = action


class AccessDenied(SignInRefused):
    """The password was right; a later step of the flow refuses.

    `text` is for the client, and `own_text` the one that the flow sets.
    """

    message: ClassVar[MessageKey] = MessageKey.ACCESS_DENIED

    def __init__(self, event_error: str, user_id: str | None, own_text: str | None) -> None:
        super().__init__(event_error, user_id)
        self.own_text = own_text
        self.text = own_text or "Access denied"

    @property
    def shown(self) -> str:
        return self.own_text or self.message


class SessionLimitExceeded(SignInRefused):
    """The user has as many sessions as the flow allows.

    `text` is for the client, and `own_text` the one that the flow sets.
    """

    message: ClassVar[MessageKey] = MessageKey.SESSION_LIMIT_EXCEEDED

    def __init__(self, user_id: str, own_text: str | None) -> None:
        super().__init__(EventError.GENERIC_AUTHENTICATION_ERROR, user_id)
        self.own_text = own_text
        self.text = own_text or "There are too many sessions"

    @property
    def shown(self) -> str:
        return self.own_text or self.message


class CertificateRejected(SignInRefused):
    """No certificate identifies a user. `text` is for the client."""

    message: ClassVar[MessageKey] = MessageKey.CERTIFICATE_NOT_ACCEPTED

    def __init__(self, text: str) -> None:
        super().__init__(EventError.INVALID_USER_CREDENTIALS)
        self.text = text


class LevelNotReached(SignInRefused):
    """The flow ended below the level of authentication that the client requires."""

    message: ClassVar[MessageKey] = MessageKey.LEVEL_NOT_REACHED

    def __init__(self, user_id: str) -> None:
        super().__init__(EventError.GENERIC_AUTHENTICATION_ERROR, user_id)


class NotIdentified(SignInRefused):
    """A step of the flow needs a user, and no step before it has named one."""

    def __init__(self) -> None:
        super().__init__(EventError.USER_NOT_FOUND)


class SignInStopped(SignInRefused):
    """The sign-in cannot begin or go on in this browser, whatever its user proves.

    `text` is the key of a text, or a text.
    """

    def __init__(self, event_error: str, text: str, arguments: tuple[str, ...] = ()) -> None:
        super().__init__(event_error)
        self.text = text
        self.arguments = arguments

    @property
    def shown(self) -> str:
        return self.text
