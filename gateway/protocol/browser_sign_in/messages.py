"""The text of the page for each reason why a sign-in ended. Keycloak: 12.12."""

from typing import Final

from gateway.authentication.errors import (
    AccessDenied,
    AccountDisabled,
    AccountNotSetUp,
    SessionLimitExceeded,
    SignInRefused,
)
from gateway.domain.authentication import MessageKey

_MESSAGES: Final[tuple[tuple[type[SignInRefused], MessageKey], ...]] = (
    (AccountDisabled, MessageKey.ACCOUNT_DISABLED),
    (AccountNotSetUp, MessageKey.ACTION_UNAVAILABLE),
    (AccessDenied, MessageKey.ACCESS_DENIED),
    (SessionLimitExceeded, MessageKey.SESSION_LIMIT_EXCEEDED),
)


def message_of(refusal: SignInRefused) -> MessageKey:
    """Return the key of the text; an unknown user and a wrong secret have the same."""
    for kind, message in _MESSAGES:
        if isinstance(refusal, kind):
            return message
    return MessageKey.INVALID_USER
