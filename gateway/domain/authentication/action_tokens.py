"""Action tokens: the secret of a link in a mail, which lets its user do one thing once.

Keycloak: DefaultActionToken
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

LONGEST_ACTION_TOKEN: Final = 7000
"""Characters: more than a redirect URI of the greatest length makes."""


class ActionTokenKind(StrEnum):
    """What a link is for: the claim `typ`, and the last part of `actionToken...Lifespan.<kind>`."""

    VERIFY_EMAIL = "verify-email"
    EXECUTE_ACTIONS = "execute-actions"
    RESET_CREDENTIALS = "reset-credentials"
    UPDATE_EMAIL = "update-email"


@dataclass(frozen=True, slots=True, kw_only=True)
class ActionToken:
    """A verified token, or one to be signed. `issued_at` and `expires_at` are whole seconds.

    `email` is the address of the user when the link was sent: the link ends where it changes.
    `sign_in` is the tab (`tab_id`) of the sign-in that the link was asked for in.
    """

    kind: ActionTokenKind
    id: str
    user_id: str
    client_id: str
    issued_at: datetime
    expires_at: datetime
    user_added_at: datetime | None = None
    """When the user was added: a later user with the same id has no part in the link."""
    email: str | None = field(default=None, repr=False)
    new_email: str | None = field(default=None, repr=False)
    """The address that takes the place of `email`. UPDATE_EMAIL"""
    password: str | None = field(default=None, repr=False)
    """The mark of the password that the user had. RESET_CREDENTIALS, UPDATE_EMAIL"""
    credentials: str | None = field(default=None, repr=False)
    """The mark of all credentials that the user had. EXECUTE_ACTIONS"""
    sign_in: str | None = None
    actions: tuple[str, ...] = ()
    """Aliases of the required actions that the link begins. EXECUTE_ACTIONS"""
    redirect_uri: str | None = field(default=None, repr=False)
    """Where the page at the end leads to."""
    ends_other_sessions: bool = False
