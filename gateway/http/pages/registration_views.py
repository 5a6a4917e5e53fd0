"""What the pages of registration and of recovery show, as in `views.py`. Keycloak: 12.12."""

from dataclasses import dataclass, field

from gateway.http.pages.action_views import ProfileInput
from gateway.http.pages.page_values import ClientDisplay, Message


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPage:
    """A new account. Form `kc-register-form`: a field for each attribute, and the password twice.

    Fields `password`, `password-confirm` and `termsAccepted`.
    """

    action: str = field(repr=False)
    login_url: str = field(repr=False)
    """Where the link back to the page of the sign-in leads."""
    fields: tuple[ProfileInput, ...]
    asks_password: bool = True
    asks_terms: bool = False
    client: ClientDisplay | None = None
    message: Message | None = None
    wrong_field: str = field(default="")
    """The name of the field that the message is about; empty: none, or several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPage:
    """What follows the form where the address is verified: the same for every address."""

    login_url: str = field(repr=False)
    email: str = field(repr=False)
    client: ClientDisplay | None = None
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetPasswordPage:
    """A user who has forgotten a password. Form `kc-reset-password-form`: username."""

    action: str = field(repr=False)
    login_url: str = field(repr=False)
    username: str = field(default="", repr=False)
    username_label: str = "usernameOrEmail"
    """The key of a text: what the realm accepts as the name of a user."""
    client: ClientDisplay | None = None
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetMailSentPage:
    """What the page says once the name was sent: the same for every name."""

    login_url: str = field(repr=False)
    client: ClientDisplay | None = None
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOtpPage:
    """Which device is removed. Form `kc-otp-reset-form`: selectedCredentialId (radio)."""

    action: str = field(repr=False)
    devices: tuple[tuple[str, str], ...] = field(repr=False)
    """The ids of their credentials, and the names that they were given."""
    client: ClientDisplay | None = None
    message: Message | None = None
