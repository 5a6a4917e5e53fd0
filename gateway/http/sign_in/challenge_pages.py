"""The page of each form that a sign-in asks for: one line of `_PAGES` each.

Keycloak: 16.1 required actions
"""

from collections.abc import Mapping
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Final

from gateway.domain.authentication import Challenge, FormName, ProfileField
from gateway.domain.flows import CODE_FORM, PASSKEY_FORM, PASSWORD_FORM, SECURITY_KEY_FORM, FlowUse
from gateway.domain.localization import LocalizedText
from gateway.domain.realm import LoginSettings, PasswordPolicy
from gateway.domain.user_profile import InputType, Violation
from gateway.http.pages.action_views import (
    ConfigureOtpPage,
    DeleteAccountPage,
    DeleteCredentialPage,
    ProfileInput,
    ProfileInputKind,
    RecoveryCodesPage,
    RegisterKeyPage,
    TermsPage,
    UpdateEmailPage,
    UpdatePasswordPage,
    UpdateProfilePage,
    VerifyEmailPage,
)
from gateway.http.pages.page_values import Message, MessageKind, ShownApplication, View
from gateway.http.pages.views import (
    CertificatePage,
    LoginPage,
    OneTimeCodeDevice,
    OneTimeCodePage,
    PasswordPage,
    RecoveryCodePage,
    RegisteredPage,
    RegisterPage,
    ResetMailSentPage,
    ResetOtpPage,
    ResetPasswordPage,
    SecurityKeyPage,
    SelectAuthenticatorPage,
    SignInWay,
    UsernameLabel,
    UsernamePage,
)
from gateway.password_policies import list_requirements

_INPUT_KINDS: Final[Mapping[InputType, ProfileInputKind]] = {
    InputType.TEXTAREA: ProfileInputKind.TEXTAREA,
    InputType.SELECT: ProfileInputKind.SELECT,
    InputType.EMAIL: ProfileInputKind.EMAIL,
    InputType.TELEPHONE: ProfileInputKind.TELEPHONE,
    InputType.URL: ProfileInputKind.URL,
}


def profile_input(shown: ProfileField) -> ProfileInput:
    """Return the field; names and texts of the profile may be `${key}`."""
    display = shown.display
    return ProfileInput(
        name=shown.name,
        label=display.label or shown.name,
        kind=_input_kind(shown),
        value="\n".join(shown.values),
        has_lines=shown.multivalued,
        options=tuple((option.value, option.label) for option in display.options),
        hint=display.hint,
        required=shown.required,
        read_only=shown.read_only,
        errors=tuple(map(_violation_text, shown.violations)),
    )


def _input_kind(shown: ProfileField) -> ProfileInputKind:
    """Return the element: a read-only field has no choice, and several values need lines."""
    if shown.multivalued:
        return ProfileInputKind.TEXTAREA
    kind = _INPUT_KINDS.get(shown.display.input_type, ProfileInputKind.TEXT)
    is_choice = kind is ProfileInputKind.SELECT
    return ProfileInputKind.TEXT if is_choice and shown.read_only else kind


def _violation_text(violation: Violation) -> LocalizedText:
    """Return the text without its first argument, the attribute, which the page names."""
    return LocalizedText(violation.message, tuple(map(_argument, violation.parameters[1:])))


def _argument(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)


_ON: Final = "on"


@dataclass(frozen=True, slots=True)
class PagePlace:
    """The URL of the form, the link to start over, the client, the rules of the realm."""

    action: str = field(repr=False)
    restart_url: str = field(repr=False)
    client: ShownApplication
    login: LoginSettings
    password_policy: PasswordPolicy
    other_flows: Mapping[FlowUse, str] = field(default_factory=dict, repr=False)
    """The links to registration and to the reset of credentials, where the realm offers them."""


def challenge_view(challenge: Challenge, place: PagePlace) -> View:
    """Return the page of a challenge: each field of the page is the value of its name.

    Raises KeyError for a challenge without a value that the page requires.
    """
    form = challenge.form
    if form is FormName.USERNAME_PASSWORD and challenge.username_fixed:
        form = FormName.PASSWORD
    page, values = _PAGES[form], _page_values(challenge, place)
    return page(
        **{
            each.name: values[each.name]
            for each in fields(page)
            if each.name in values or _is_required(each)
        }
    )


def _is_required(of_page: Field[Any]) -> bool:
    return of_page.default is MISSING and of_page.default_factory is MISSING


def _page_values(challenge: Challenge, place: PagePlace) -> dict[str, Any]:
    """Return the values that pages have fields for, by name of the field."""
    sent, links = challenge.fields, place.other_flows
    devices: tuple[object, ...] = tuple((each.id, each.label) for each in challenge.devices)
    if challenge.form is FormName.ONE_TIME_CODE:
        devices = tuple(OneTimeCodeDevice(each.id, each.label) for each in challenge.devices)
    values: dict[str, Any] = {
        "action": place.action,
        "asks_password": challenge.asks_password,
        "asks_terms": challenge.asks_terms,
        "attempted_username": sent.get("username", ""),
        "client": place.client,
        "devices": devices,
        "email": sent.get("email", ""),
        "fields": tuple(map(profile_input, challenge.profile)),
        "label": sent.get("label", ""),
        "login_url": place.restart_url,
        "may_cancel": challenge.may_cancel,
        "message": _message(challenge),
        "number": sent.get("number", ""),
        "offers_other_ways": bool(challenge.other_ways),
        "offers_remember_me": challenge.remember_me_offered,
        "passkeys": challenge.assertion,
        "registration_url": links.get(FlowUse.REGISTRATION, ""),
        "remember_me": sent.get("rememberMe") == _ON,
        "reset_password_url": links.get(FlowUse.RESET_CREDENTIALS, ""),
        "restart_url": place.restart_url,
        "selected_device": challenge.selected_device or "",
        "username_label": _label(place.login),
        "was_sent": "sent" in sent,
        "ways": tuple(_way(*each) for each in challenge.other_ways),
        "wrong_field": challenge.error_field or "",
    }
    if _asks_new_password(challenge):
        values["password_rules"] = list_requirements(place.password_policy)
    # Without these no page is made that requires them.
    names = (("credential_type", "type"), ("subject", "subject"), ("username", "username"))
    values |= {name: sent[key] for name, key in names if key in sent}
    request = challenge.assertion or challenge.registration
    if request is not None:
        values["request"] = request
    for made in (challenge.enrollment, challenge.recovery_codes):
        if made is not None:
            values |= {each.name: getattr(made, each.name) for each in fields(made)}
    return values


def _asks_new_password(challenge: Challenge) -> bool:
    is_registration = challenge.form is FormName.REGISTER and challenge.asks_password
    return is_registration or challenge.form is FormName.UPDATE_PASSWORD


def _message(challenge: Challenge) -> Message | None:
    # The page of new recovery codes has its own warning instead.
    if challenge.message is None or challenge.form is FormName.CONFIGURE_RECOVERY_CODES:
        return None
    kind = MessageKind.ERROR if challenge.is_error else MessageKind.INFO
    if challenge.form is FormName.DELETE_CREDENTIAL:
        kind = MessageKind.WARNING
    return Message(LocalizedText(challenge.message, challenge.message_arguments), kind)


def _label(login: LoginSettings) -> UsernameLabel:
    if login.registration_email_as_username:
        return UsernameLabel.EMAIL
    if login.login_with_email_allowed:
        return UsernameLabel.USERNAME_OR_EMAIL
    return UsernameLabel.USERNAME


def _way(execution: str, authenticator: str) -> SignInWay:
    name = _NAMES.get(authenticator, authenticator)
    return SignInWay(execution, f"{name}-display-name", f"{name}-help-text")


_NAMES: Final[Mapping[str, str]] = {
    PASSWORD_FORM: "password",
    CODE_FORM: "otp",
    SECURITY_KEY_FORM: "webauthn",
    PASSKEY_FORM: "webauthn-passwordless",
}
"""Authenticator -> prefix of the keys of its texts: Keycloak names some by the credential."""
_PAGES: Final[Mapping[FormName, type[View]]] = {
    FormName.USERNAME_PASSWORD: LoginPage,
    FormName.USERNAME: UsernamePage,
    FormName.PASSWORD: PasswordPage,
    FormName.ONE_TIME_CODE: OneTimeCodePage,
    FormName.UPDATE_PASSWORD: UpdatePasswordPage,
    FormName.CONFIGURE_OTP: ConfigureOtpPage,
    FormName.UPDATE_PROFILE: UpdateProfilePage,
    FormName.REGISTER: RegisterPage,
    FormName.REGISTERED: RegisteredPage,
    FormName.RESET_PASSWORD: ResetPasswordPage,
    FormName.RESET_MAIL_SENT: ResetMailSentPage,
    FormName.RESET_OTP: ResetOtpPage,
    FormName.RECOVERY_CODE: RecoveryCodePage,
    FormName.CONFIGURE_RECOVERY_CODES: RecoveryCodesPage,
    FormName.SECURITY_KEY: SecurityKeyPage,
    FormName.REGISTER_KEY: RegisterKeyPage,
    FormName.TERMS: TermsPage,
    FormName.VERIFY_EMAIL: VerifyEmailPage,
    FormName.UPDATE_EMAIL: UpdateEmailPage,
    FormName.DELETE_CREDENTIAL: DeleteCredentialPage,
    FormName.DELETE_ACCOUNT: DeleteAccountPage,
    FormName.CERTIFICATE: CertificatePage,
    FormName.SELECT_AUTHENTICATOR: SelectAuthenticatorPage,
}
