"""What a step of a sign-in asks the user for: plain values, which a page or an error shows.

Keycloak: LoginFormsProvider, Messages
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.domain.authentication.web_authn import AssertionRequest, RegistrationRequest
from gateway.domain.user_profile.display import AttributeDisplay
from gateway.domain.user_profile.findings import Violation


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
    """Keycloak's keys of the texts that a sign-in shows."""

    INVALID_USER = "invalidUserMessage"
    """Invalid username or password."""
    INVALID_PASSWORD = "invalidPasswordMessage"  # noqa: S105 - a key of texts
    """Invalid password."""
    INVALID_CODE = "invalidTotpMessage"
    """Invalid authenticator code."""
    INVALID_RECOVERY_CODE = "recovery-codes-error-invalid"
    """Invalid recovery authentication code."""
    MISSING_CODE = "missingTotpMessage"
    """Please specify authenticator code."""
    MISSING_DEVICE_NAME = "missingTotpDeviceNameMessage"
    """Please specify device name."""
    DEVICE_NAME_TAKEN = "totpDeviceNameExistsMessage"
    """Device already exists with the same name."""
    MISSING_PASSWORD = "missingPasswordMessage"  # noqa: S105 - a key of texts
    """Please specify password."""
    PASSWORDS_DIFFER = "notMatchPasswordMessage"
    """Passwords don't match."""
    INVALID_PASSWORD_CONFIRM = "invalidPasswordConfirmMessage"  # noqa: S105 - a key of texts
    """Password confirmation doesn't match."""
    TERMS_REQUIRED = "termsAcceptanceRequired"
    """You must agree to our terms and conditions."""
    TOO_MANY_REGISTRATIONS = "tooManyRegistrationsMessage"
    """Too many accounts were registered from this address."""
    REGISTRATION_NOT_ALLOWED = "registrationNotAllowedMessage"
    """Registration not allowed."""
    RESET_MAIL_SENT = "emailSentMessage"
    """You should receive an email shortly with further instructions."""
    NO_DEVICE_SELECTED = "error-reset-otp-missing-id"
    """Please choose an OTP configuration."""
    RESET_NOT_ALLOWED = "resetCredentialNotAllowedMessage"
    """Reset Credential not allowed."""
    UPDATE_PASSWORD = "updatePasswordMessage"  # noqa: S105 - a key of texts
    """You need to change your password to activate your account."""
    RESET_PASSWORD = "resetPasswordMessage"  # noqa: S105 - a key of texts
    """You need to change your password."""
    CONFIGURE_OTP = "configureTotpMessage"
    """You need to set up Mobile Authenticator to activate your account."""
    VERIFY_EMAIL = "verifyEmailMessage"
    """You need to verify your email address to activate your account."""
    UPDATE_EMAIL = "updateEmailMessage"
    """You need to update your email address to activate your account."""
    EMAIL_PENDING = "emailVerificationPending"
    """A confirmation email was sent to {0}. Open its link, or enter another address."""
    EMAIL_CONFIRMATION_SENT = "emailUpdateConfirmationSent"
    """A confirmation email has been sent to {0}."""
    MAIL_NOT_SENT = "emailSendErrorMessage"
    """Failed to send email, please try again later."""
    MAIL_TOO_SOON = "emailVerifySendCooldown"
    """You must wait {0} seconds before another mail is sent."""
    UPDATE_PROFILE = "updateProfileMessage"
    """You need to update your user profile to activate your account."""
    INVALID_PROFILE = "invalidProfileMessage"
    """Please correct the fields that are marked."""
    MISSING_USERNAME = "missingUsernameMessage"
    """Please specify username."""
    ACCOUNT_UPDATED = "accountUpdatedMessage"
    """Your account has been updated."""
    ACCOUNT_DELETED = "userDeletedSuccessfully"
    """The account was deleted."""
    ACCOUNT_DELETION_FORBIDDEN = "deletingAccountForbidden"
    """You do not have enough permissions to delete your own account, contact admin."""
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
    ACTION_EXPIRED = "expiredActionTokenNoSessionMessage"
    """Action expired."""
    COOKIE_NOT_FOUND = "cookieNotFoundMessage"
    """The sign-in has ended, and the browser has not kept how to begin it again."""
    DIFFERENT_USER = "differentUserAuthenticated"
    """Another user is signed in in this browser."""
    KEY_NOT_REGISTERED = "webauthn-error-registration"
    """The security key could not be registered."""
    KEY_NOT_CREATED = "webauthn-error-register-verification"
    """The browser has not registered a security key."""
    KEY_NOT_USED = "webauthn-error-api-get"
    """The browser has not signed in with a security key."""
    KEY_REJECTED = "webauthn-error-auth-verification"
    """The sign-in with the security key was not accepted."""
    CERTIFICATE_NOT_ACCEPTED = "certificateNotAccepted"
    """The client certificate was not accepted. Sign in another way."""
    CERTIFICATE_CHANGED = "certificateChanged"
    """The client certificate has changed. Please check the account again."""
    KEY_OF_DIFFERENT_USER = "webauthn-error-different-user"
    """The security key belongs to another user."""
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
    devices: tuple[Device, ...] = ()
    """Those of ONE_TIME_CODE, where there are several."""
    selected_device: str | None = None
    other_ways: tuple[tuple[str, str], ...] = ()
    """Executions that the user may take instead ("try another way"): id and authenticator.

    Those of SELECT_AUTHENTICATOR are all, beginning with the one that was left.
    """
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
    """The language of the user, where a required action follows the flow."""
    required_action: str | None = None
    """The alias of the required action that the form belongs to."""
