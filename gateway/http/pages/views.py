"""What each page of a sign-in, of recovery and at a protected site shows: plain values.

`renderer.py` renders them. Texts are keys of the catalogs in `locales/`, which are Keycloak's
message keys, so that the texts of a realm (`localization`) override them. Names that administrators
gave (of clients, scopes and devices) may be a key in the form `${key}`, as in Keycloak. URLs are
absolute or begin with `/`. No view contains markup: the templates escape every value.
Keycloak: 12.12 login pages, 12.6 logout
"""

from dataclasses import dataclass, field
from enum import StrEnum

from gateway.domain.localization import LocalizedText
from gateway.domain.web_authn import AssertionRequest
from gateway.http.pages.action_views import (
    ProfileInput,
)
from gateway.http.pages.page_values import (
    ClientPage,
    FlowPage,
    FormPage,
    Message,
    MessagePage,
    ShownApplication,
    View,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPage(FormPage):
    """A new account. Form `kc-register-form`: a field for each attribute, and the password twice.

    Fields `password`, `password-confirm` and `termsAccepted`.
    """

    login_url: str = field(repr=False)
    """Where the link back to the page of the sign-in leads."""
    fields: tuple[ProfileInput, ...]
    asks_password: bool = True
    asks_terms: bool = False
    wrong_field: str = field(default="")
    """The name of the field that the message is about; empty: none, or several."""
    password_rules: tuple[LocalizedText, ...] = ()
    """What the realm requires of the password, shown before the first error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPage(MessagePage):
    """What follows the form where the address is verified: the same for every address."""

    login_url: str = field(repr=False)
    email: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetPasswordPage(FormPage):
    """A user who has forgotten a password. Form `kc-reset-password-form`: username."""

    login_url: str = field(repr=False)
    username: str = field(default="", repr=False)
    username_label: str = "usernameOrEmail"
    """The key of a text: what the realm accepts as the name of a user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetMailSentPage(MessagePage):
    """What the page says once the name was sent: the same for every name."""

    login_url: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetOtpPage(FormPage):
    """Which device is removed. Form `kc-otp-reset-form`: selectedCredentialId (radio)."""

    devices: tuple[tuple[str, str], ...] = field(repr=False)
    """The ids of their credentials, and the names that they were given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEndedPage(ClientPage):
    """A form was sent without a session; after a sign-in in another tab it can be sent again."""

    sign_in_url: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoAccessPage(ClientPage):
    """The caller may not have what was asked for. Form `switch-user`: hidden session_code."""

    site: str
    """The host of the protected site."""
    username: str = field(default="", repr=False)
    """Who is signed in; empty where that is not known."""
    switch_action: str = field(default="", repr=False)
    """Where the form that signs out leads, and from there to the sign-in; empty: no form."""
    session_code: str = field(default="", repr=False)
    error_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignInFailedPage(ClientPage):
    """The browser is not signed in."""

    message: LocalizedText
    retry_url: str = field(default="", repr=False)
    """Where a new sign-in begins; empty: no link."""
    error_id: str = ""


class UsernameLabel(StrEnum):
    """What the realm accepts as the name of a user: keys of texts."""

    USERNAME = "username"
    """`loginWithEmailAllowed` is off."""
    USERNAME_OR_EMAIL = "usernameOrEmail"
    EMAIL = "email"
    """`registrationEmailAsUsername` is on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginPage(FlowPage):
    """User name and password. Form `kc-form-login`: username, password, rememberMe."""

    username: str = field(default="", repr=False)
    """What the field contains already: a login_hint, or what was typed."""
    username_label: UsernameLabel = UsernameLabel.USERNAME_OR_EMAIL
    offers_remember_me: bool = False
    remember_me: bool = False
    credential_id: str = ""
    reset_password_url: str = field(default="", repr=False)
    """Empty: no link."""
    registration_url: str = field(default="", repr=False)
    """Empty: no link."""
    passkeys: AssertionRequest | None = None
    """Passkeys are accepted too, by autofill and a button. Form `webauth`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UsernamePage(FlowPage):
    """User name alone. Form `kc-form-login`: username, rememberMe."""

    username: str = field(default="", repr=False)
    username_label: UsernameLabel = UsernameLabel.USERNAME_OR_EMAIL
    offers_remember_me: bool = False
    remember_me: bool = False
    registration_url: str = field(default="", repr=False)
    passkeys: AssertionRequest | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PasswordPage(FlowPage):
    """Password of a user who is known: second page of a flow, or signing in again."""

    restart_url: str = field(repr=False)
    """Where "restart login" leads: `login-actions/restart`."""
    attempted_username: str = field(repr=False)
    reset_password_url: str = field(default="", repr=False)
    passkeys: AssertionRequest | None = None


@dataclass(frozen=True, slots=True)
class OneTimeCodeDevice:
    """One of the user's authenticators: the id of the credential, and the name it was given."""

    id: str
    label: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTimeCodePage(FlowPage):
    """One-time code. Form `kc-otp-login-form`: otp, selectedCredentialId (radio for several)."""

    restart_url: str = field(repr=False)
    attempted_username: str = field(repr=False)
    devices: tuple[OneTimeCodeDevice, ...] = ()
    selected_device: str = ""
    """The id that is chosen already; empty: the first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SecurityKeyPage(FlowPage):
    """A security key or passkey. Form `webauth`: credentialId, clientDataJSON, signature, ...

    The ids of the user's keys are in the form `authn_select`: authn_use_chk.
    """

    request: AssertionRequest = field(repr=False)
    restart_url: str = field(repr=False)
    attempted_username: str = field(default="", repr=False)
    """Empty: the key says who signs in."""


@dataclass(frozen=True, slots=True)
class SignInWay:
    """One way to go on: the id of its execution, the keys of its name and of its description."""

    execution: str
    name: str
    description: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectAuthenticatorPage(ClientPage):
    """The ways to go on. Form `kc-select-credential-form`: buttons authenticationExecution."""

    action: str = field(repr=False)
    ways: tuple[SignInWay, ...]
    restart_url: str = field(repr=False)
    attempted_username: str = field(default="", repr=False)
    """Empty: no user is named yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryCodePage(FlowPage):
    """The next recovery code. Form `kc-recovery-code-login-form`: recoveryCodeInput."""

    restart_url: str = field(repr=False)
    attempted_username: str = field(repr=False)
    number: str
    """Which code of the user's list is the next, from 1."""


@dataclass(frozen=True, slots=True)
class ConsentScope:
    """One line of a consent: `text` is the scope's consent.screen.text, `parameter` its `{0}`."""

    text: str
    parameter: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsentPage(View):
    """What a client asks for. Buttons `accept` and `cancel`, hidden `code`."""

    action: str = field(repr=False)
    code: str = field(repr=False)
    client: ShownApplication
    scopes: tuple[ConsentScope, ...]
    username: str = field(default="", repr=False)
    """Whose data the client would get."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogoutConfirmationPage(ClientPage):
    """The question before a logout. Button `kc-logout` named confirmLogout, hidden session_code."""

    action: str = field(repr=False)
    cancel_url: str = field(repr=False)
    """Where the link "Cancel" leads."""
    session_code: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedOutPage(ClientPage):
    """The session has ended and no redirect was asked for."""


@dataclass(frozen=True, slots=True)
class LogoutFrame:
    """A client that is logged out by a frame: `url` with `iss` and `sid`."""

    name: str
    url: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontChannelLogoutPage(View):
    """A frame for each client; then the browser goes to `continue_url`, by script or by a link."""

    frames: tuple[LogoutFrame, ...]
    continue_url: str = field(default="", repr=False)
    """Empty: the page is the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceCodePage(View):
    """The code that a device shows. Field device_user_code."""

    action: str = field(repr=False)
    user_code: str = field(default="", repr=False)
    message: Message | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceDonePage(View):
    """The device is connected, or not; `message` says more than the default text."""

    succeeded: bool
    message: LocalizedText | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlreadySignedInPage(ClientPage):
    """The user signed in elsewhere meanwhile, in another tab for instance."""

    continue_url: str = field(default="", repr=False)
    """Empty: no link but that to the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageExpiredPage(ClientPage):
    """A step out of order: restart the sign-in, or continue at its current step."""

    restart_url: str = field(repr=False)
    continue_url: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorPage(ClientPage):
    """A plain sentence, the id of the request for the administrator, a link back."""

    message: LocalizedText
    error_id: str = ""
    may_retry: bool = False
    """The same request may succeed later: a link repeats it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InfoPage(ClientPage):
    """A sentence and a link, for what has no page of its own."""

    message: LocalizedText
    title: LocalizedText | None = None
    """Empty: the message is the title."""
    continue_url: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmLinkPage(ClientPage):
    """What the link of a mail will do, before it does it. Field `key`, one button."""

    action: str = field(repr=False)
    key: str = field(repr=False)
    message: LocalizedText
    actions: tuple[str, ...] = ()
    """Aliases of required actions that the link begins, listed below the message."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredActionPage(ClientPage):
    """Actions that are required of the user and that no page performs."""

    actions: tuple[str, ...]
    """Aliases, as `VERIFY_EMAIL`; shown by the text `requiredAction.<alias>`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificatePage(FormPage):
    """Whom a certificate signs in. Form `kc-x509-login-info`: buttons login and cancel."""

    subject: str
    """The name of the certificate, as Keycloak writes it."""
    username: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FormPostPage(View):
    """The response for a client, sent by the browser. OAuth 2.0 Form Post Response Mode 2."""

    action: str = field(repr=False)
    """The client's redirect URI, verified."""
    fields: tuple[tuple[str, str], ...] = field(repr=False)
