"""What each page of a sign-in shows: plain values, rendered by `renderer.py`.

Texts are keys of the catalogs in `locales/`, which are Keycloak's message keys, so that the texts
of a realm (`localization`) override them. Names that administrators gave (of clients, scopes and
devices) may be a key in the form `${key}`, as in Keycloak. URLs are absolute or begin with `/`.
No view contains markup: the templates escape every value. Keycloak: 12.12, 12.6
"""

from dataclasses import dataclass, field
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Text:
    """A text by its key; `arguments` take the place of `{0}`, `{1}` ... in it."""

    key: str
    arguments: tuple[str, ...] = ()


class MessageKind(StrEnum):
    """How a message is marked, by an icon and a color."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
    SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class Message:
    """A message above the form; a screen reader reads it as soon as the page is there."""

    text: Text
    kind: MessageKind = MessageKind.ERROR


class UsernameLabel(StrEnum):
    """What the realm accepts as the name of a user: keys of texts."""

    USERNAME = "username"
    """`loginWithEmailAllowed` is off."""
    USERNAME_OR_EMAIL = "usernameOrEmail"
    EMAIL = "email"
    """`registrationEmailAsUsername` is on."""


@dataclass(frozen=True, slots=True)
class ClientDisplay:
    """The application that a user signs in to.

    The URLs are the client attributes logoUri, policyUri and tosUri as they are stored: a link
    that is neither http nor https is not shown, a logo that browsers should not load neither.
    """

    client_id: str
    name: str = ""
    """The name that people read; empty: `client_id` is shown."""
    logo_url: str = ""
    policy_url: str = ""
    terms_url: str = ""
    home_url: str = ""
    """`baseUrl`, resolved: where "back to application" leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginPage:
    """User name and password. Form `kc-form-login`: username, password, rememberMe."""

    action: str
    """The URL that the form is sent to."""
    client: ClientDisplay | None = None
    message: Message | None = None
    username: str = field(default="", repr=False)
    """What the field contains already: a login_hint, or what was typed."""
    username_label: UsernameLabel = UsernameLabel.USERNAME_OR_EMAIL
    offers_remember_me: bool = False
    remember_me: bool = False
    credential_id: str = ""
    reset_password_url: str = ""
    """Empty: no link."""
    registration_url: str = ""
    """Empty: no link."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsernamePage:
    """User name alone. Form `kc-form-login`: username, rememberMe."""

    action: str
    client: ClientDisplay | None = None
    message: Message | None = None
    username: str = field(default="", repr=False)
    username_label: UsernameLabel = UsernameLabel.USERNAME_OR_EMAIL
    offers_remember_me: bool = False
    remember_me: bool = False
    registration_url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordPage:
    """Password of a user who is known: second page of a flow, or signing in again."""

    action: str
    restart_url: str
    """Where "restart login" leads: `login-actions/restart`."""
    attempted_username: str = field(repr=False)
    client: ClientDisplay | None = None
    message: Message | None = None
    reset_password_url: str = ""


@dataclass(frozen=True, slots=True)
class OneTimeCodeDevice:
    """One of the user's authenticators: the id of the credential, and the name it was given."""

    id: str
    label: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimeCodePage:
    """One-time code. Form `kc-otp-login-form`: otp, selectedCredentialId (radio for several)."""

    action: str
    restart_url: str
    attempted_username: str = field(repr=False)
    devices: tuple[OneTimeCodeDevice, ...] = ()
    selected_device: str = ""
    """The id that is chosen already; empty: the first."""
    client: ClientDisplay | None = None
    message: Message | None = None


@dataclass(frozen=True, slots=True)
class ConsentScope:
    """One line of a consent: `text` is the scope's consent.screen.text, `parameter` its `{0}`."""

    text: str
    parameter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentPage:
    """What a client asks for. Buttons `accept` and `cancel`, hidden `code`."""

    action: str
    code: str = field(repr=False)
    client: ClientDisplay
    scopes: tuple[ConsentScope, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogoutConfirmationPage:
    """The question before a logout. Button `kc-logout` named confirmLogout, hidden session_code."""

    action: str
    session_code: str = field(repr=False)
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOutPage:
    """The session has ended and no redirect was asked for."""

    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True)
class LogoutFrame:
    """A client that is logged out by a frame: `url` with `iss` and `sid`."""

    name: str
    url: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontChannelLogoutPage:
    """A frame for each client; then the browser goes to `continue_url`, by script or by a link."""

    frames: tuple[LogoutFrame, ...]
    continue_url: str = field(default="", repr=False)
    """Empty: the page is the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCodePage:
    """The code that a device shows. Field device_user_code."""

    action: str
    user_code: str = field(default="", repr=False)
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDonePage:
    """The device is connected, or not; `message` says more than the default text."""

    succeeded: bool
    message: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadySignedInPage:
    """The user signed in elsewhere meanwhile, in another tab for instance."""

    continue_url: str = ""
    """Empty: no link but that to the client."""
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PageExpiredPage:
    """A step out of order: restart the sign-in, or continue where it stands."""

    restart_url: str
    continue_url: str
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage:
    """A plain sentence, the id of the request for the administrator, a link back."""

    message: Text
    error_id: str = ""
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoPage:
    """A sentence and a link, for what has no page of its own."""

    message: Text
    title: Text | None = None
    """Empty: the message is the title."""
    continue_url: str = ""
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredActionPage:
    """Actions that an administrator requires and that no page performs yet."""

    actions: tuple[str, ...]
    """Aliases, as `UPDATE_PASSWORD`; shown by the text `requiredAction.<alias>`."""
    restart_url: str
    client: ClientDisplay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPostPage:
    """The response for a client, sent by the browser. OAuth 2.0 Form Post Response Mode 2."""

    action: str
    """The client's redirect URI, verified."""
    fields: tuple[tuple[str, str], ...] = field(repr=False)


View = (
    LoginPage
    | UsernamePage
    | PasswordPage
    | OneTimeCodePage
    | ConsentPage
    | LogoutConfirmationPage
    | LoggedOutPage
    | FrontChannelLogoutPage
    | DeviceCodePage
    | DeviceDonePage
    | AlreadySignedInPage
    | PageExpiredPage
    | ErrorPage
    | InfoPage
    | RequiredActionPage
    | FormPostPage
)
