"""The page for each form that a sign-in asks for: one line of `_VIEWS` each.

Keycloak: 16.1 required actions
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from gateway.domain.authentication import Challenge, FormName, ProfileField
from gateway.domain.flows import CODE_FORM, PASSKEY_FORM, PASSWORD_FORM, SECURITY_KEY_FORM, FlowUse
from gateway.domain.localization import LocalizedText
from gateway.domain.realm import LoginSettings
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
    """Return the element: what is read only is not chosen, and several values need lines."""
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
    other_flows: Mapping[FlowUse, str] = field(default_factory=dict, repr=False)
    """The links to registration and to the reset of credentials, where the realm offers them."""


def challenge_view(challenge: Challenge, place: PagePlace) -> View:
    """Return the page of a challenge."""
    return _VIEWS[challenge.form](challenge, place)


def _message(challenge: Challenge) -> Message | None:
    if challenge.message is None:
        return None
    kind = MessageKind.ERROR if challenge.is_error else MessageKind.INFO
    return Message(LocalizedText(challenge.message, challenge.message_arguments), kind)


def _label(login: LoginSettings) -> UsernameLabel:
    if login.registration_email_as_username:
        return UsernameLabel.EMAIL
    if login.login_with_email_allowed:
        return UsernameLabel.USERNAME_OR_EMAIL
    return UsernameLabel.USERNAME


def _login(challenge: Challenge, place: PagePlace) -> View:
    if challenge.username_fixed:
        return _password(challenge, place)
    return LoginPage(
        action=place.action,
        client=place.client,
        message=_message(challenge),
        username=challenge.fields.get("username", ""),
        username_label=_label(place.login),
        offers_remember_me=challenge.remember_me_offered,
        remember_me=challenge.fields.get("rememberMe") == _ON,
        reset_password_url=place.other_flows.get(FlowUse.RESET_CREDENTIALS, ""),
        registration_url=place.other_flows.get(FlowUse.REGISTRATION, ""),
        offers_other_ways=bool(challenge.other_ways),
        passkeys=challenge.assertion,
    )


def _username(challenge: Challenge, place: PagePlace) -> View:
    return UsernamePage(
        action=place.action,
        client=place.client,
        message=_message(challenge),
        username=challenge.fields.get("username", ""),
        username_label=_label(place.login),
        offers_remember_me=challenge.remember_me_offered,
        remember_me=challenge.fields.get("rememberMe") == _ON,
        registration_url=place.other_flows.get(FlowUse.REGISTRATION, ""),
        offers_other_ways=bool(challenge.other_ways),
        passkeys=challenge.assertion,
    )


def _password(challenge: Challenge, place: PagePlace) -> View:
    return PasswordPage(
        action=place.action,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        client=place.client,
        message=_message(challenge),
        reset_password_url=place.other_flows.get(FlowUse.RESET_CREDENTIALS, ""),
        offers_other_ways=bool(challenge.other_ways),
        passkeys=challenge.assertion,
    )


def _code(challenge: Challenge, place: PagePlace) -> View:
    return OneTimeCodePage(
        action=place.action,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        devices=tuple(OneTimeCodeDevice(each.id, each.label) for each in challenge.devices),
        selected_device=challenge.selected_device or "",
        client=place.client,
        message=_message(challenge),
        offers_other_ways=bool(challenge.other_ways),
    )


def _new_password(challenge: Challenge, place: PagePlace) -> View:
    return UpdatePasswordPage(
        action=place.action,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        client=place.client,
        message=_message(challenge),
        wrong_field=challenge.error_field or "",
        may_cancel=challenge.may_cancel,
    )


def _new_device(challenge: Challenge, place: PagePlace) -> View:
    device = challenge.enrollment
    if device is None:
        raise ValueError("a form for a new device has the device")
    return ConfigureOtpPage(
        action=place.action,
        uri=device.uri,
        secret=device.secret,
        shown_secret=device.shown_secret,
        algorithm=device.algorithm,
        digits=device.digits,
        counted=device.counted,
        period=device.period,
        counter=device.counter,
        label=challenge.fields.get("userLabel", ""),
        needs_label=device.needs_label,
        client=place.client,
        message=_message(challenge),
        wrong_field=challenge.error_field or "",
        may_cancel=challenge.may_cancel,
    )


def _profile(challenge: Challenge, place: PagePlace) -> View:
    return UpdateProfilePage(
        action=place.action,
        fields=tuple(map(profile_input, challenge.profile)),
        client=place.client,
        message=_message(challenge),
        may_cancel=challenge.may_cancel,
    )


def _register(challenge: Challenge, place: PagePlace) -> View:
    return RegisterPage(
        action=place.action,
        login_url=place.restart_url,
        fields=tuple(map(profile_input, challenge.profile)),
        asks_password=challenge.asks_password,
        asks_terms=challenge.asks_terms,
        client=place.client,
        message=_message(challenge),
        wrong_field=challenge.error_field or "",
    )


def _registered(challenge: Challenge, place: PagePlace) -> View:
    return RegisteredPage(
        login_url=place.restart_url,
        email=challenge.fields.get("email", ""),
        client=place.client,
        message=_message(challenge),
    )


def _forgotten_password(challenge: Challenge, place: PagePlace) -> View:
    return ResetPasswordPage(
        action=place.action,
        login_url=place.restart_url,
        username=challenge.fields.get("username", ""),
        username_label=_label(place.login),
        client=place.client,
        message=_message(challenge),
    )


def _reset_mail_sent(challenge: Challenge, place: PagePlace) -> View:
    return ResetMailSentPage(
        login_url=place.restart_url, client=place.client, message=_message(challenge)
    )


def _reset_device(challenge: Challenge, place: PagePlace) -> View:
    return ResetOtpPage(
        action=place.action,
        devices=tuple((each.id, each.label) for each in challenge.devices),
        client=place.client,
        message=_message(challenge),
    )


def _recovery_code(challenge: Challenge, place: PagePlace) -> View:
    return RecoveryCodePage(
        action=place.action,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        number=challenge.fields.get("number", ""),
        client=place.client,
        message=_message(challenge),
        offers_other_ways=bool(challenge.other_ways),
    )


def _new_recovery_codes(challenge: Challenge, place: PagePlace) -> View:
    made = challenge.recovery_codes
    if made is None:
        raise ValueError("a form for new recovery codes has the codes")
    return RecoveryCodesPage(
        action=place.action,
        codes=made.codes,
        generated_at=made.generated_at,
        client=place.client,
        may_cancel=challenge.may_cancel,
    )


def _security_key(challenge: Challenge, place: PagePlace) -> View:
    if challenge.assertion is None:
        raise ValueError("a form for a key has what the key is asked for")
    return SecurityKeyPage(
        action=place.action,
        request=challenge.assertion,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        client=place.client,
        message=_message(challenge),
        offers_other_ways=bool(challenge.other_ways),
    )


def _new_key(challenge: Challenge, place: PagePlace) -> View:
    if challenge.registration is None:
        raise ValueError("a form for a new key has what the key is to be")
    return RegisterKeyPage(
        action=place.action,
        request=challenge.registration,
        client=place.client,
        message=_message(challenge),
        may_cancel=challenge.may_cancel,
    )


def _verify_email(challenge: Challenge, place: PagePlace) -> View:
    return VerifyEmailPage(
        action=place.action,
        email=challenge.fields.get("email", ""),
        was_sent="sent" in challenge.fields,
        client=place.client,
        message=_message(challenge),
        may_cancel=challenge.may_cancel,
    )


def _update_email(challenge: Challenge, place: PagePlace) -> View:
    return UpdateEmailPage(
        action=place.action,
        email=challenge.fields.get("email", ""),
        client=place.client,
        message=_message(challenge),
        wrong_field=challenge.error_field or "",
        may_cancel=challenge.may_cancel,
    )


def _terms(challenge: Challenge, place: PagePlace) -> View:
    del challenge
    return TermsPage(action=place.action, client=place.client)


def _delete_credential(challenge: Challenge, place: PagePlace) -> View:
    warning = challenge.message
    return DeleteCredentialPage(
        action=place.action,
        credential_type=challenge.fields["type"],
        label=challenge.fields["label"],
        client=place.client,
        message=None if warning is None else Message(LocalizedText(warning), MessageKind.WARNING),
        may_cancel=challenge.may_cancel,
    )


def _delete_account(challenge: Challenge, place: PagePlace) -> View:
    return DeleteAccountPage(
        action=place.action, client=place.client, may_cancel=challenge.may_cancel
    )


def _certificate(challenge: Challenge, place: PagePlace) -> View:
    return CertificatePage(
        action=place.action,
        subject=challenge.fields["subject"],
        username=challenge.fields["username"],
        client=place.client,
        message=_message(challenge),
    )


def _selection(challenge: Challenge, place: PagePlace) -> View:
    return SelectAuthenticatorPage(
        action=place.action,
        restart_url=place.restart_url,
        attempted_username=challenge.fields.get("username", ""),
        ways=tuple(_way(*each) for each in challenge.other_ways),
        client=place.client,
    )


def _way(execution: str, authenticator: str) -> SignInWay:
    name = _NAMES.get(authenticator, authenticator)
    return SignInWay(execution, f"{name}-display-name", f"{name}-help-text")


_NAMES: Final[Mapping[str, str]] = {
    PASSWORD_FORM: "password",
    CODE_FORM: "otp",
    SECURITY_KEY_FORM: "webauthn",
    PASSKEY_FORM: "webauthn-passwordless",
}
"""Authenticator -> what the keys of its texts begin with: Keycloak names some by the credential."""
_VIEWS: Final[Mapping[FormName, Callable[[Challenge, PagePlace], View]]] = {
    FormName.USERNAME_PASSWORD: _login,
    FormName.USERNAME: _username,
    FormName.PASSWORD: _password,
    FormName.ONE_TIME_CODE: _code,
    FormName.UPDATE_PASSWORD: _new_password,
    FormName.CONFIGURE_OTP: _new_device,
    FormName.UPDATE_PROFILE: _profile,
    FormName.REGISTER: _register,
    FormName.REGISTERED: _registered,
    FormName.RESET_PASSWORD: _forgotten_password,
    FormName.RESET_MAIL_SENT: _reset_mail_sent,
    FormName.RESET_OTP: _reset_device,
    FormName.RECOVERY_CODE: _recovery_code,
    FormName.CONFIGURE_RECOVERY_CODES: _new_recovery_codes,
    FormName.SECURITY_KEY: _security_key,
    FormName.REGISTER_KEY: _new_key,
    FormName.TERMS: _terms,
    FormName.VERIFY_EMAIL: _verify_email,
    FormName.UPDATE_EMAIL: _update_email,
    FormName.DELETE_CREDENTIAL: _delete_credential,
    FormName.DELETE_ACCOUNT: _delete_account,
    FormName.CERTIFICATE: _certificate,
    FormName.SELECT_AUTHENTICATOR: _selection,
}
