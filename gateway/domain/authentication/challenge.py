"""What a step of a sign-in asks the user for: plain values, which a page or an error shows.

Keycloak: LoginFormsProvider, Messages
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class FormName(StrEnum):
    """The form that is asked for. Keycloak: LoginFormsPages."""

    USERNAME_PASSWORD = "login"  # noqa: S105 - the name of a page
    """Fields `username`, `password` and, where the realm has it, `rememberMe`."""
    USERNAME = "login-username"
    """Fields `username` and, where the realm has it, `rememberMe`."""
    PASSWORD = "login-password"  # noqa: S105 - the name of a page
    """Field `password`; the user name is known."""
    ONE_TIME_CODE = "login-otp"
    """Fields `otp` and, where the user has several devices, `selectedCredentialId`."""
    REQUIRED_ACTION = "required-action"
    """The page of `Challenge.required_action`."""


class MessageKey(StrEnum):
    """Keycloak's keys of the texts that a sign-in shows."""

    INVALID_USER = "invalidUserMessage"
    """Invalid username or password."""
    INVALID_PASSWORD = "invalidPasswordMessage"  # noqa: S105 - a key of texts
    """Invalid password."""
    INVALID_CODE = "invalidTotpMessage"
    """Invalid authenticator code."""
    MISSING_USERNAME = "missingUsernameMessage"
    """Please specify username."""
    ACCOUNT_DISABLED = "accountDisabledMessage"
    """Account is disabled, contact your administrator."""
    REAUTHENTICATE = "reauthenticate"
    """Please re-authenticate to continue."""
    AUTHENTICATE_STRONG = "authenticateStrong"
    """Strong authentication required to continue."""
    ACCESS_DENIED = "access-denied"
    """Access denied."""
    SESSION_LIMIT_EXCEEDED = "sessionLimitExceeded"
    """There are too many sessions."""
    SETUP_REQUIRED = "credentialSetupRequired"
    """Cannot log in, credential setup required."""
    LEVEL_NOT_REACHED = "acrNotFulfilled"
    """Authentication requirements not fulfilled."""
    LOGIN_TIMEOUT = "loginTimeout"
    """Your login attempt timed out. Login will start from the beginning."""
    COOKIE_NOT_FOUND = "cookieNotFoundMessage"
    """The sign-in has ended, and the browser has not kept how to begin it again."""
    DIFFERENT_USER = "differentUserAuthenticated"
    """Another user is signed in in this browser."""
    ACTION_UNAVAILABLE = "accountNotSetUp"
    """The account is not fully set up: an administrator has to complete it."""
    UNEXPECTED_ERROR = "unexpectedErrorHandlingRequestMessage"
    """Unexpected error when handling authentication request to identity provider."""


@dataclass(frozen=True, slots=True)
class Device:
    """A device for one-time codes that the user may choose; `id` is that of its credential."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class Challenge:
    """A form that the user fills in.

    `fields` are values to begin with: `username`, `rememberMe` (`on`). `message` is an error where
    `is_error`, otherwise an information. `error_field` is the field that the error is about.
    """

    form: FormName
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    message: MessageKey | None = None
    is_error: bool = False
    error_field: str | None = None
    username_fixed: bool = False
    """The user is known: the name is shown and not asked for, with a link to start over."""
    remember_me_offered: bool = False
    devices: tuple[Device, ...] = ()
    """Those of ONE_TIME_CODE, where there are several."""
    selected_device: str | None = None
    other_ways: tuple[tuple[str, str], ...] = ()
    """Executions that the user may take instead ("try another way"): id and authenticator."""
    required_action: str | None = None
