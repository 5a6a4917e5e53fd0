"""The state of a sign-in: the session that any gateway can continue, its challenges, action tokens.

A challenge has the values that a page or an error shows. An action token is the secret of a link in
a mail, with which its user does one thing once.
Keycloak: AuthenticationSessionModel, RootAuthenticationSessionModel, ClientSessionCode,
LoginFormsProvider, Messages, DefaultActionToken
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Self

from gateway.domain.realm import TokenLifespans
from gateway.domain.user_profile import AttributeDisplay, Violation
from gateway.domain.web_authn import AssertionRequest, RegistrationRequest

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
    session: str | None = None
    """The id of the online session that it was asked for in, with which the link ends."""
    actions: tuple[str, ...] = ()
    """Aliases of the required actions that the link begins. EXECUTE_ACTIONS"""
    redirect_uri: str | None = field(default=None, repr=False)
    """Where the page at the end leads to."""
    ends_other_sessions: bool = False


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
    UPDATE_PASSWORD = "login-update-password"  # noqa: S105 - the name of a page
    """Fields `password-new`, `password-confirm` and `logout-sessions` (`on`)."""
    CONFIGURE_OTP = "login-config-totp"
    """Fields `totp`, `totpSecret`, `userLabel` and `logout-sessions` (`on`)."""
    UPDATE_PROFILE = "login-update-profile"
    """Fields named as the attributes of `Challenge.profile`; several values in lines."""
    VERIFY_EMAIL = "login-verify-email"
    """No field: another mail; or `continue`. Values `email`, and `sent` once there is a mail."""
    UPDATE_EMAIL = "update-email"
    """Fields `email` and `logout-sessions` (`on`)."""
    RECOVERY_CODE = "login-recovery-authn-code-input"
    """Field `recoveryCodeInput`; the number of the code is the value `number`."""
    CONFIGURE_RECOVERY_CODES = "login-recovery-authn-code-config"
    """Fields `generatedRecoveryAuthnCodes`, `generatedAt`, `userLabel` and `logout-sessions`."""
    REGISTER_KEY = "webauthn-register"
    """Fields `clientDataJSON`, `attestationObject`, `transports`, `authenticatorLabel`, `error`."""
    SECURITY_KEY = "webauthn-authenticate"
    """Fields `credentialId`, `clientDataJSON`, `authenticatorData`, `signature`, `userHandle`,
    `error`."""
    DELETE_ACCOUNT = "delete-account-confirm"
    """A button that confirms."""
    DELETE_CREDENTIAL = "delete-credential"
    """Button `accept`; the values `label` and `type` name the credential."""
    TERMS = "terms"
    """Buttons `accept` and `cancel`."""
    REGISTER = "register"
    """Fields as UPDATE_PROFILE, `password`, `password-confirm` and `termsAccepted` (`on`)."""
    REGISTERED = "register-confirm"
    """No field: the link of the mail goes on."""
    RESET_PASSWORD = "login-reset-password"  # noqa: S105 - the name of a page
    """Field `username`."""
    RESET_MAIL_SENT = "login-reset-sent"
    """No field: the link of the mail goes on."""
    RESET_OTP = "login-reset-otp"
    """Field `selectedCredentialId`: one of `Challenge.devices`, which is removed."""
    CERTIFICATE = "login-x509-info"
    """Buttons `login` and `cancel`; the values `subject` and `username` are shown."""
    SELECT_AUTHENTICATOR = "select-authenticator"
    """Field `authenticationExecution`: the id of one of `Challenge.other_ways`."""


class MessageKey(StrEnum):
    """Keycloak's keys of the texts that a sign-in shows; the catalogs have the texts."""

    INVALID_USER = "invalidUserMessage"
    INVALID_PASSWORD = "invalidPasswordMessage"  # noqa: S105 - a key of texts
    INVALID_CODE = "invalidTotpMessage"
    INVALID_RECOVERY_CODE = "recovery-codes-error-invalid"
    MISSING_CODE = "missingTotpMessage"
    MISSING_DEVICE_NAME = "missingTotpDeviceNameMessage"
    DEVICE_NAME_TAKEN = "totpDeviceNameExistsMessage"
    MISSING_PASSWORD = "missingPasswordMessage"  # noqa: S105 - a key of texts
    PASSWORDS_DIFFER = "notMatchPasswordMessage"
    INVALID_PASSWORD_CONFIRM = "invalidPasswordConfirmMessage"  # noqa: S105 - a key of texts
    TERMS_REQUIRED = "termsAcceptanceRequired"
    TOO_MANY_REGISTRATIONS = "tooManyRegistrationsMessage"
    REGISTRATION_NOT_ALLOWED = "registrationNotAllowedMessage"
    RESET_MAIL_SENT = "emailSentMessage"
    NO_DEVICE_SELECTED = "error-reset-otp-missing-id"
    RESET_NOT_ALLOWED = "resetCredentialNotAllowedMessage"
    UPDATE_PASSWORD = "updatePasswordMessage"  # noqa: S105 - a key of texts
    RESET_PASSWORD = "resetPasswordMessage"  # noqa: S105 - a key of texts
    CONFIGURE_OTP = "configureTotpMessage"
    VERIFY_EMAIL = "verifyEmailMessage"
    UPDATE_EMAIL = "updateEmailMessage"
    EMAIL_PENDING = "emailVerificationPending"
    EMAIL_CONFIRMATION_SENT = "emailUpdateConfirmationSent"
    MAIL_NOT_SENT = "emailSendErrorMessage"
    MAIL_TOO_SOON = "emailVerifySendCooldown"
    UPDATE_PROFILE = "updateProfileMessage"
    INVALID_PROFILE = "invalidProfileMessage"
    MISSING_USERNAME = "missingUsernameMessage"
    ACCOUNT_UPDATED = "accountUpdatedMessage"
    ACCOUNT_DELETED = "userDeletedSuccessfully"
    ACCOUNT_DELETION_FORBIDDEN = "deletingAccountForbidden"
    ACCOUNT_DISABLED = "accountDisabledMessage"
    REAUTHENTICATE = "reauthenticate"
    AUTHENTICATE_STRONG = "authenticateStrong"
    ACCESS_DENIED = "access-denied"
    SESSION_LIMIT_EXCEEDED = "sessionLimitExceeded"
    SETUP_REQUIRED = "credentialSetupRequired"
    LEVEL_NOT_REACHED = "acrNotFulfilled"
    LOGIN_TIMEOUT = "loginTimeout"
    ACTION_EXPIRED = "expiredActionTokenNoSessionMessage"
    COOKIE_NOT_FOUND = "cookieNotFoundMessage"
    DIFFERENT_USER = "differentUserAuthenticated"
    KEY_NOT_REGISTERED = "webauthn-error-registration"
    KEY_NOT_CREATED = "webauthn-error-register-verification"
    KEY_NOT_USED = "webauthn-error-api-get"
    KEY_REJECTED = "webauthn-error-auth-verification"
    CERTIFICATE_NOT_ACCEPTED = "certificateNotAccepted"
    CERTIFICATE_CHANGED = "certificateChanged"
    KEY_OF_DIFFERENT_USER = "webauthn-error-different-user"
    ACTION_UNAVAILABLE = "accountNotSetUp"
    UNEXPECTED_ERROR = "unexpectedErrorHandlingRequestMessage"


@dataclass(frozen=True, slots=True)
class OneTimeCodeDevice:
    """A device for one-time codes that the user may choose; `id` is that of its credential."""

    id: str
    label: str


@dataclass(frozen=True, slots=True)
class OtpEnrollment:
    """A new device for one-time codes, as its user sets it up.

    `secret` is the text that the credential stores, `shown_secret` the same in Base32 for
    applications that take no `uri`. `needs_label` where the user has another device.
    """

    secret: str = field(repr=False)
    shown_secret: str = field(repr=False)
    uri: str = field(repr=False)
    counted: bool
    algorithm: str
    digits: int
    period: int
    counter: int
    needs_label: bool


@dataclass(frozen=True, slots=True)
class ProfileField:
    """An attribute of the user profile as the user may see it, and what is wrong with it."""

    name: str
    display: AttributeDisplay
    values: tuple[str, ...] = field(repr=False)
    violations: tuple[Violation, ...] = field(repr=False)
    required: bool
    read_only: bool
    multivalued: bool


@dataclass(frozen=True, slots=True)
class RecoveryCodeList:
    """New recovery codes, which the user sees once; `generated_at` in milliseconds since 1970."""

    codes: tuple[str, ...] = field(repr=False)
    generated_at: int


@dataclass(frozen=True, slots=True)
class Challenge:
    """A form that the user fills in.

    `fields` are values to begin with: `username`, `rememberMe` (`on`). `message` is the key of a
    text, an error where `is_error`, otherwise an information. `error_field` is the field that the
    error is about.
    """

    form: FormName
    fields: Mapping[str, str] = field(default_factory=dict, repr=False)
    message: str | None = None
    message_arguments: tuple[str, ...] = ()
    is_error: bool = False
    error_field: str | None = None
    username_fixed: bool = False
    """The user is known: the name is shown and not asked for, with a link to start over."""
    remember_me_offered: bool = False
    devices: tuple[OneTimeCodeDevice, ...] = ()
    """Those of ONE_TIME_CODE, where there are several."""
    selected_device: str | None = None
    other_ways: tuple[tuple[str, str], ...] = ()
    """Executions for "try another way": id and authenticator; SELECT_AUTHENTICATOR has all."""
    enrollment: OtpEnrollment | None = None
    """That of CONFIGURE_OTP."""
    profile: tuple[ProfileField, ...] = ()
    """That of UPDATE_PROFILE and REGISTER."""
    asks_password: bool = False
    """Whether REGISTER has the fields of a password."""
    asks_terms: bool = False
    """Whether REGISTER asks to accept the terms."""
    recovery_codes: RecoveryCodeList | None = None
    """Those of CONFIGURE_RECOVERY_CODES."""
    registration: RegistrationRequest | None = None
    """That of REGISTER_KEY."""
    assertion: AssertionRequest | None = None
    """That of SECURITY_KEY; on forms for a name or a password, passkeys are accepted too."""
    may_cancel: bool = False
    """Whether the user may go back: the client asked for the action, and no one requires it."""
    locale: str = ""
    """The language of the user, once a credential or the browser's session has proven who it is."""
    required_action: str | None = None
    """The alias of the required action that the form belongs to."""


LOCALE: Final = "locale"
"""The note with the language that the user chose on a page of the sign-in."""
_ID_BYTES: Final = 18
_TAB_BYTES: Final = 8
_CODE_BYTES: Final = 32


class ExecutionStatus(StrEnum):
    """What became of an execution so far. Keycloak: CommonClientSessionModel."""

    CHALLENGED = "C"
    """It waits for the user."""
    SUCCESS = "S"
    FAILED = "F"
    ATTEMPTED = "A"
    """It neither succeeded nor failed: another alternative is next."""
    SETUP_REQUIRED = "R"
    """The user sets it up after the sign-in, by a required action."""


class Stage(StrEnum):
    """How far a sign-in is."""

    FLOW = "flow"
    """Executions of the flow are next."""
    AUTHENTICATED = "authenticated"
    """The flow succeeded; required actions and consent are next, then the response."""


@dataclass(frozen=True, slots=True)
class AuthenticationSession:
    """One tab of one browser that signs in to one client.

    `id` (24 characters) is the browser's, and becomes the id of the user session; `tab_id` (11
    characters) tells its tabs apart. `session_code` (43 characters) is a secret of the page that
    was shown last, and changes with every step; `version` grows with every step.
    """

    id: str
    tab_id: str
    realm_id: str
    client: str
    """The client's internal id."""
    started_at: datetime
    flow: str
    """The id of the flow."""
    flow_version: str = ""
    """As `SignInFlow.version` was when the flow began; empty where it is not known."""
    request: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The verified parameters of the client's request; the engine does not read them."""
    stage: Stage = Stage.FLOW
    execution: str | None = None
    """The id of the execution that waits for the user."""
    statuses: Mapping[str, ExecutionStatus] = field(default_factory=dict)
    """By id of the execution."""
    user_id: str | None = None
    """The user that was identified; None before, and for a name that no user has."""
    attempted_username: str | None = field(default=None, repr=False)
    """What was submitted as user name."""
    remember_me: bool = False
    level: int | None = None
    """The level of authentication that was reached; None where the flow has no levels."""
    used: frozenset[str] = frozenset()
    """The kinds of credentials that were used: `password`, `otp`, `cert`."""
    required_action: str | None = None
    """The required action that waits for the user."""
    notes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """What authenticators remember."""
    session_code: str = field(default="", repr=False)
    version: int = 0

    @property
    def waits_for(self) -> str | None:
        """What the shown form belongs to: an execution, or the alias of a required action."""
        return self.execution if self.required_action is None else self.required_action

    def with_note(self, name: str, text: str | None) -> Self:
        """Return the session with a note; None removes it."""
        others = {other: kept for other, kept in self.notes.items() if other != name}
        return replace(self, notes=others if text is None else {**others, name: text})

    def next_step(self, **changes: Any) -> Self:
        """Return the session with changed fields, a new code and the next version."""
        code = secrets.token_urlsafe(_CODE_BYTES)
        return replace(self, session_code=code, version=self.version + 1, **changes)

    def is_current(self, session_code: str | None) -> bool:
        """Tell whether a code belongs to the page that was shown last."""
        given = (session_code or "").encode("utf-8", "surrogatepass")
        return bool(self.session_code) and secrets.compare_digest(self.session_code.encode(), given)


def new_browser_id() -> str:
    """Return an id for the sign-ins of a browser: 144 random bits."""
    return secrets.token_urlsafe(_ID_BYTES)


def new_authentication_session(
    *,
    realm_id: str,
    client: str,
    flow: str,
    flow_version: str = "",
    started_at: datetime,
    request: Mapping[str, str] | None = None,
    session_id: str | None = None,
    notes: Mapping[str, str] | None = None,
) -> AuthenticationSession:
    """Return the sign-in of a new tab, without a code; `session_id` is that of other tabs."""
    return AuthenticationSession(
        id=session_id or new_browser_id(),
        tab_id=secrets.token_urlsafe(_TAB_BYTES),
        realm_id=realm_id,
        client=client,
        started_at=started_at,
        flow=flow,
        flow_version=flow_version,
        request=request or {},
        notes=notes or {},
    )


def session_of_one_request(
    *, realm_id: str, client: str, flow: str, started_at: datetime
) -> AuthenticationSession:
    """Return a sign-in that is finished at once, without pages; it is never stored."""
    return AuthenticationSession(
        id="", tab_id="", realm_id=realm_id, client=client, flow=flow, started_at=started_at
    )


def expires_at(
    lifespans: TokenLifespans, session: AuthenticationSession, now: datetime
) -> datetime:
    """Return when the sign-in ends unless its next step comes before.

    `accessCodeLifespanLogin` counts from its begin; `accessCodeLifespanUserAction` counts from
    the page of a required action, which does not live longer by being opened again and again: a
    recent sign-in, which changing a password requires, would never become an old one.
    Keycloak: token settings
    """
    latest = session.started_at + lifespans.access_code_login
    if session.required_action is None:
        return latest
    return min(now, latest) + lifespans.access_code_user_action
