"""One view of each page, and more where a page has variants: what themes are checked with.

The tests and the pictures of docs/sign-in-pages.md use them too.
"""

from collections.abc import Mapping
from typing import Final

from gateway.http.pages.views import (
    AlreadySignedInPage,
    ClientDisplay,
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
    Message,
    MessageKind,
    OneTimeCodeDevice,
    OneTimeCodePage,
    PageExpiredPage,
    PasswordPage,
    RequiredActionPage,
    Text,
    UsernamePage,
    View,
)

_CLIENT: Final = ClientDisplay(
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

SAMPLES: Final[Mapping[str, View]] = {
    "login": LoginPage(
        action=_ACTION, client=_CLIENT, offers_remember_me=True, reset_password_url=_RESTART
    ),
    "login-failed": LoginPage(
        action=_ACTION,
        client=_CLIENT,
        username=_USER,
        message=Message(Text("invalidUserMessage")),
        offers_remember_me=True,
        remember_me=True,
        registration_url=_RESTART,
    ),
    "login-username": UsernamePage(action=_ACTION, client=_CLIENT, offers_remember_me=True),
    "login-password": PasswordPage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        message=Message(Text("reauthenticate"), MessageKind.INFO),
    ),
    "login-otp": OneTimeCodePage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        devices=(OneTimeCodeDevice("1", "iPhone"),),
    ),
    "login-otp-devices": OneTimeCodePage(
        action=_ACTION,
        client=_CLIENT,
        restart_url=_RESTART,
        attempted_username=_USER,
        devices=(OneTimeCodeDevice("1", "iPhone"), OneTimeCodeDevice("2")),
        message=Message(Text("invalidTotpMessage")),
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
        message=Message(Text("oauth2DeviceInvalidUserCodeMessage")),
    ),
    "device-done": DeviceDonePage(succeeded=True),
    "device-failed": DeviceDonePage(
        succeeded=False, message=Text("oauth2DeviceConsentDeniedMessage")
    ),
    "already-signed-in": AlreadySignedInPage(client=_CLIENT, continue_url=_RESTART),
    "page-expired": PageExpiredPage(restart_url=_RESTART, continue_url=_ACTION, client=_CLIENT),
    "error": ErrorPage(
        message=Text("invalidParameterMessage", ("redirect_uri",)),
        error_id="7f3c1e5a9b2d4c60",
        client=_CLIENT,
    ),
    "info": InfoPage(title=Text("pageExpiredTitle"), message=Text("loginTimeout"), client=_CLIENT),
    "required-action": RequiredActionPage(
        actions=("UPDATE_PASSWORD", "CONFIGURE_TOTP", "own-action"), restart_url=_RESTART
    ),
    "form-post": FormPostPage(
        action="https://portal.example.com/callback", fields=(("code", "c"), ("state", "s"))
    ),
}
