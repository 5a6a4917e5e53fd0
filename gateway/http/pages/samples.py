"""One view of each page, and more where a page has variants: what themes are checked with.

The tests and the pictures of docs/sign-in-pages.md use them too.
"""

from collections.abc import Mapping
from typing import Final

from gateway.domain.localization import LocalizedText
from gateway.domain.web_authn import AssertionRequest, KeyChoice, RegistrationRequest
from gateway.http.pages.account_samples import ACCOUNT_SAMPLES, SITE_SAMPLES
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
from gateway.http.pages.page_values import Message, MessageKind, ShownApplication
from gateway.http.pages.views import (
    AlreadySignedInPage,
    CertificatePage,
    ConfirmLinkPage,
    ConsentPage,
    ConsentScope,
    DeviceCodePage,
    DeviceDonePage,
    ErrorPage,
    FormPostPage,
    FrontChannelLogoutPage,
    InfoPage,
    LoggedOutPage,
    LoginPage,
    LogoutConfirmationPage,
    LogoutFrame,
    OneTimeCodeDevice,
    OneTimeCodePage,
    PageExpiredPage,
    PasswordPage,
    RecoveryCodePage,
    RegisteredPage,
    RegisterPage,
    RequiredActionPage,
    ResetMailSentPage,
    ResetOtpPage,
    ResetPasswordPage,
    SecurityKeyPage,
    SelectAuthenticatorPage,
    SignInWay,
    UsernamePage,
    View,
)

_CLIENT: Final = ShownApplication(
    client_id="northwind-portal",
    name="Northwind Portal",
    logo_url=(
        "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9"
        "IjAgMCAyNCAyNCI+PHJlY3Qgd2lkdGg9IjI0IiBoZWlnaHQ9IjI0IiByeD0iNiIgZmlsbD0iIzBmNzY2ZSIvPjxwYXRo"
        "IGQ9Ik03IDE3VjdsMTAgMTBWNyIgZmlsbD0ibm9uZSIgc3Ryb2tlPSIjZmZmIiBzdHJva2Utd2lkdGg9IjIuNCIvPjwv"
        "c3ZnPg=="
    ),
    policy_url="https://www.example.com/privacy",
    terms_url="https://www.example.com/terms",
    home_url="https://portal.example.com/",
)
_ACTION: Final = "/realms/demo/login-actions/authenticate?session_code=c&execution=e&tab_id=t"
_RESTART: Final = "/realms/demo/login-actions/restart?tab_id=t"
_USER: Final = "maria.schmidt@example.com"
_PASSKEYS: Final = AssertionRequest(challenge="Y2hhbGxlbmdl", rp_id="login.example.com")

SAMPLES: Final[Mapping[str, View]] = {
    "login": LoginPage(
        action=_ACTION, client=_CLIENT, offers_remember_me=True, reset_password_url=_RESTART
    ),
    "login-failed": LoginPage(
        action=_ACTION,
        client=_CLIENT,
        username=_USER,
        message=Message(LocalizedText("invalidUserMessage")),
        offers_remember_me=True,
        remember_me=True,
        registration_url=_RESTART,
    ),
    "login-username": UsernamePage(action=_ACTION, client=_CLIENT, offers_remember_me=True),
    "login-passkeys": LoginPage(
        action=_ACTION, client=_CLIENT, reset_password_url=_RESTART, passkeys=_PASSKEYS
    ),
    "webauthn-authenticate": SecurityKeyPage(
        action=_ACTION,
        client=_CLIENT,
        request=AssertionRequest(
            challenge="Y2hhbGxlbmdl",
            rp_id="login.example.com",
            keys=(KeyChoice("aWQ", "YubiKey", ("usb",)), KeyChoice("aWQy")),
            lists_keys=True,
        ),
        restart_url=_RESTART,
        attempted_username=_USER,
        offers_other_ways=True,
    ),
    "webauthn-authenticate-passkey": SecurityKeyPage(
        action=_ACTION,
        client=_CLIENT,
        request=_PASSKEYS,
        restart_url=_RESTART,
        message=Message(LocalizedText("webauthn-error-auth-verification")),
    ),
    "webauthn-register": RegisterKeyPage(
        action=_ACTION,
        client=_CLIENT,
        request=RegistrationRequest(
            challenge="Y2hhbGxlbmdl",
            rp_id="login.example.com",
            rp_name="Northwind",
            user_id="dXNlcg",
            username=_USER,
            algorithms=(-7, -257),
        ),
        may_cancel=True,
    ),
    "login-password": PasswordPage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        message=Message(LocalizedText("reauthenticate"), MessageKind.INFO),
    ),
    "login-otp": OneTimeCodePage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        devices=(OneTimeCodeDevice("1", "iPhone"),),
        offers_other_ways=True,
    ),
    "login-otp-devices": OneTimeCodePage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        devices=(OneTimeCodeDevice("1", "iPhone"), OneTimeCodeDevice("2")),
        message=Message(LocalizedText("invalidTotpMessage")),
    ),
    "login-update-password": UpdatePasswordPage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        message=Message(LocalizedText("updatePasswordMessage"), MessageKind.INFO),
    ),
    "login-update-password-refused": UpdatePasswordPage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        message=Message(LocalizedText("invalidPasswordMinLengthMessage", ("12",))),
        wrong_field="password-new",
    ),
    "login-config-totp": ConfigureOtpPage(
        action=_ACTION,
        client=_CLIENT,
        uri="otpauth://totp/Northwind:maria.schmidt?secret=ORSXG5BAON2WK4TUNFXGC3DMNFTWQ5A"
        "&digits=6&algorithm=SHA1&issuer=Northwind&period=30",
        secret="text-of-the-secret",  # noqa: S106 - a sample
        shown_secret="ORSX G5BA ON2W K4TU NFXG C3DM NFTW Q5A",  # noqa: S106 - a sample
        algorithm="SHA1",
        digits=6,
        message=Message(LocalizedText("configureTotpMessage"), MessageKind.INFO),
    ),
    "login-config-totp-counted": ConfigureOtpPage(
        action=_ACTION,
        uri="otpauth://hotp/Northwind:maria.schmidt?secret=ORSXG5BAON2WK4TUNFXGC3DMNFTWQ5A"
        "&digits=8&algorithm=SHA256&issuer=Northwind&counter=0",
        secret="text-of-the-secret",  # noqa: S106 - a sample
        shown_secret="ORSX G5BA ON2W K4TU NFXG C3DM NFTW Q5A",  # noqa: S106 - a sample
        algorithm="SHA256",
        digits=8,
        counted=True,
        may_cancel=True,
        label="Phone",
        needs_label=True,
        message=Message(LocalizedText("invalidTotpMessage")),
        wrong_field="totp",
    ),
    "login-update-profile": UpdateProfilePage(
        action=_ACTION,
        client=_CLIENT,
        fields=(
            ProfileInput(name="username", label="${username}", value="maria", read_only=True),
            ProfileInput(name="email", label="${email}", value=_USER, required=True),
            ProfileInput(name="firstName", label="${firstName}", value="Maria", required=True),
            ProfileInput(name="lastName", label="${lastName}", required=True),
        ),
        message=Message(LocalizedText("updateProfileMessage"), MessageKind.INFO),
    ),
    "login-update-profile-refused": UpdateProfilePage(
        action=_ACTION,
        client=_CLIENT,
        fields=(
            ProfileInput(
                name="email",
                label="${email}",
                value="maria",
                required=True,
                errors=(LocalizedText("error-invalid-email", ("maria",)),),
            ),
            ProfileInput(
                name="department",
                label="Department",
                kind=ProfileInputKind.SELECT,
                options=(("sales", "Sales"), ("support", "Support")),
                required=True,
                errors=(LocalizedText("error-user-attribute-required"),),
            ),
            ProfileInput(
                name="languages",
                label="Languages",
                kind=ProfileInputKind.TEXTAREA,
                value="de\nen",
                has_lines=True,
                options=(("de", "de"), ("en", "en"), ("fr", "fr")),
                hint="Customers see them.",
            ),
            ProfileInput(name="phone", label="Phone", kind=ProfileInputKind.TELEPHONE),
        ),
        message=Message(LocalizedText("invalidProfileMessage")),
        may_cancel=True,
    ),
    "register": RegisterPage(
        action=_ACTION,
        login_url=_RESTART,
        client=_CLIENT,
        fields=(
            ProfileInput(name="username", label="${username}", required=True),
            ProfileInput(name="email", label="${email}", required=True),
            ProfileInput(name="firstName", label="${firstName}", required=True),
            ProfileInput(name="lastName", label="${lastName}", required=True),
        ),
    ),
    "register-refused": RegisterPage(
        action=_ACTION,
        login_url=_RESTART,
        client=_CLIENT,
        fields=(
            ProfileInput(
                name="email",
                label="${email}",
                value=_USER,
                required=True,
                errors=(LocalizedText("emailExistsMessage"),),
            ),
            ProfileInput(name="lastName", label="${lastName}", value="Schmidt"),
        ),
        asks_terms=True,
        message=Message(LocalizedText("invalidProfileMessage")),
    ),
    "register-confirm": RegisteredPage(
        login_url=_RESTART,
        client=_CLIENT,
        email=_USER,
        message=Message(LocalizedText("verifyEmailMessage"), MessageKind.INFO),
    ),
    "login-reset-password": ResetPasswordPage(
        action=_ACTION, login_url=_RESTART, client=_CLIENT, username=_USER
    ),
    "login-reset-sent": ResetMailSentPage(
        login_url=_RESTART,
        client=_CLIENT,
        message=Message(LocalizedText("emailSentMessage"), MessageKind.INFO),
    ),
    "login-reset-otp": ResetOtpPage(
        action=_ACTION,
        client=_CLIENT,
        devices=(("1", "iPhone"), ("2", "")),
        message=Message(LocalizedText("error-reset-otp-missing-id")),
    ),
    "login-x509-info": CertificatePage(
        action=_ACTION, client=_CLIENT, subject="CN=Anna Müller, O=Example", username=_USER
    ),
    "login-recovery-authn-code-input": RecoveryCodePage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        number="3",
        message=Message(LocalizedText("recovery-codes-error-invalid")),
        offers_other_ways=True,
    ),
    "login-recovery-authn-code-config": RecoveryCodesPage(
        action=_ACTION,
        client=_CLIENT,
        codes=tuple(f"{place:X>4}SAMPLE{place:Y>2}" for place in range(1, 13)),
        generated_at=1_700_000_000_000,
        may_cancel=True,
    ),
    "login-verify-email": VerifyEmailPage(
        action=_ACTION,
        email=_USER,
        client=_CLIENT,
        message=Message(LocalizedText("verifyEmailMessage"), MessageKind.INFO),
    ),
    "update-email": UpdateEmailPage(
        action=_ACTION,
        email=_USER,
        client=_CLIENT,
        message=Message(LocalizedText("emailVerificationPending", (_USER,)), MessageKind.INFO),
        may_cancel=True,
    ),
    "terms": TermsPage(action=_ACTION, client=_CLIENT),
    "delete-credential": DeleteCredentialPage(
        action=_ACTION,
        client=_CLIENT,
        credential_type="otp",
        label="iPhone",
        message=Message(
            LocalizedText("deleteCredentialLastSecondFactorMessage"), MessageKind.WARNING
        ),
        may_cancel=True,
    ),
    "delete-credential-last": DeleteCredentialPage(
        action=_ACTION,
        credential_type="recovery-authn-codes",
        message=Message(LocalizedText("deleteCredentialLastMessage"), MessageKind.WARNING),
    ),
    "delete-account-confirm": DeleteAccountPage(action=_ACTION, client=_CLIENT, may_cancel=True),
    "select-authenticator": SelectAuthenticatorPage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        ways=tuple(
            SignInWay(name, f"{name}-display-name", f"{name}-help-text")
            for name in ("otp", "password")
        ),
    ),
    "consent": ConsentPage(
        action=_ACTION,
        code="code",
        client=_CLIENT,
        scopes=(
            ConsentScope("${profileScopeConsentText}"),
            ConsentScope("${emailScopeConsentText}"),
            ConsentScope("${offlineAccessScopeConsentText}"),
        ),
    ),
    "logout-confirm": LogoutConfirmationPage(action=_ACTION, session_code="code", client=_CLIENT),
    "logged-out": LoggedOutPage(client=_CLIENT),
    "frontchannel-logout": FrontChannelLogoutPage(
        frames=(
            LogoutFrame("Northwind Portal", "https://portal.example.com/logout?sid=1"),
            LogoutFrame("${client_account-console}", "https://mail.example.com/logout?sid=1"),
        ),
        continue_url="https://portal.example.com/",
    ),
    "device-code": DeviceCodePage(
        action=_ACTION,
        user_code="WDJB-MJHT",
        message=Message(LocalizedText("oauth2DeviceInvalidUserCodeMessage")),
    ),
    "device-done": DeviceDonePage(succeeded=True),
    "device-failed": DeviceDonePage(
        succeeded=False, message=LocalizedText("oauth2DeviceConsentDeniedMessage")
    ),
    "already-signed-in": AlreadySignedInPage(client=_CLIENT, continue_url=_RESTART),
    "page-expired": PageExpiredPage(restart_url=_RESTART, continue_url=_ACTION, client=_CLIENT),
    "error": ErrorPage(
        message=LocalizedText("invalidParameterMessage", ("redirect_uri",)),
        error_id="7f3c1e5a9b2d4c60",
        client=_CLIENT,
    ),
    "info": InfoPage(
        title=LocalizedText("pageExpiredTitle"),
        message=LocalizedText("loginTimeout"),
        client=_CLIENT,
    ),
    "confirm-link": ConfirmLinkPage(
        action=_ACTION,
        key="key",
        message=LocalizedText("confirmExecutionOfActions"),
        actions=("UPDATE_PASSWORD", "CONFIGURE_TOTP"),
        client=_CLIENT,
    ),
    "required-action": RequiredActionPage(actions=("VERIFY_EMAIL", "own-action"), client=_CLIENT),
    "form-post": FormPostPage(
        action="https://portal.example.com/callback", fields=(("code", "c"), ("state", "s"))
    ),
    **ACCOUNT_SAMPLES,
    **SITE_SAMPLES,
}
