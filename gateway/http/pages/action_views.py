"""What each page of a required action shows, as in `views.py`. Keycloak: 16.1 required actions."""

from dataclasses import dataclass, field
from enum import StrEnum

from gateway.domain.localization import LocalizedText
from gateway.domain.web_authn import RegistrationRequest
from gateway.http.pages.page_values import ActionPage, ClientPage


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdatePasswordPage(ActionPage):
    """A new password. Form `kc-passwd-update-form`: password-new, -confirm, logout-sessions."""

    restart_url: str = field(repr=False)
    attempted_username: str = field(repr=False)
    wrong_field: str = ""
    """The name of the field that the message is about; empty: none."""
    password_rules: tuple[LocalizedText, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigureOtpPage(ActionPage):
    """A device for one-time codes. Form `kc-totp-settings-form`: totp, totpSecret, userLabel."""

    uri: str = field(repr=False)
    secret: str = field(repr=False)
    shown_secret: str = field(repr=False)
    algorithm: str
    digits: int
    counted: bool = False
    period: int = 30
    """Seconds that a code lasts; of no use where codes are `counted`."""
    counter: int = 0
    label: str = field(default="", repr=False)
    needs_label: bool = False
    wrong_field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryCodesPage(ActionPage):
    """New recovery codes to save. Form `kc-recovery-codes-settings-form`.

    Fields `generatedRecoveryAuthnCodes`, `generatedAt`, `userLabel`, `logout-sessions`.
    """

    codes: tuple[str, ...] = field(repr=False)
    generated_at: int
    """Milliseconds since 1970."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterKeyPage(ActionPage):
    """A new security key or passkey. Form `register`: clientDataJSON, attestationObject, ...

    Further fields: `publicKeyCredentialId`, `transports`, `authenticatorAttachment`,
    `authenticatorLabel`, `error` and `logout-sessions`.
    """

    request: RegistrationRequest = field(repr=False)


class ProfileInputKind(StrEnum):
    """The element of an attribute of the user profile; single lines by their type."""

    TEXT = "text"
    EMAIL = "email"
    TELEPHONE = "tel"
    URL = "url"
    TEXTAREA = "textarea"
    SELECT = "select"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileInput:
    """An attribute of the profile: texts may be `${key}`, errors have the label as `{0}`."""

    name: str
    label: str
    kind: ProfileInputKind = ProfileInputKind.TEXT
    value: str = field(default="", repr=False)
    has_lines: bool = False
    """Several values, one a line."""
    options: tuple[tuple[str, str], ...] = ()
    """Values and their labels."""
    hint: str = ""
    required: bool = False
    read_only: bool = False
    errors: tuple[LocalizedText, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateProfilePage(ActionPage):
    """The user's profile. Form `kc-update-profile-form`: a field for each attribute."""

    fields: tuple[ProfileInput, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyEmailPage(ActionPage):
    """The user opens the link of a mail. Form `kc-verify-email-form`: `continue`, or again."""

    email: str = field(repr=False)
    was_sent: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateEmailPage(ActionPage):
    """Another address. Form `kc-update-email-form`: email, logout-sessions."""

    email: str = field(default="", repr=False)
    wrong_field: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TermsPage(ClientPage):
    """The terms of the realm, text `termsText`. Buttons `accept` and `cancel`."""

    action: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCredentialPage(ActionPage):
    """A credential to delete, or its type without `label`. Buttons `accept`, `cancel-aia`."""

    credential_type: str
    label: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAccountPage(ClientPage):
    """The deletion of the user's account. Buttons `accept` and `cancel-aia`."""

    action: str = field(repr=False)
    may_cancel: bool = False
