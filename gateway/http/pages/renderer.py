"""Turns the view of a page into a response: title, texts, links, policy, HTML.

`PAGES` is the one table of pages: a new page is a view, a template and a line.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Final

from gateway.domain.realm import Appearance, Realm, appearance_of
from gateway.domain.texts import ENGLISH, Catalog, Texts, fallbacks, is_right_to_left, texts_for
from gateway.http.pages.account_page_kinds import ACCOUNT_PAGES
from gateway.http.pages.action_views import (
    ConfigureOtpPage,
    DeleteAccountPage,
    DeleteCredentialPage,
    RecoveryCodesPage,
    RegisterKeyPage,
    TermsPage,
    UpdateEmailPage,
    UpdatePasswordPage,
    UpdateProfilePage,
    VerifyEmailPage,
)
from gateway.http.pages.colors import parse_color
from gateway.http.pages.content_security_policy import PageSources, origin_of, policy_headers
from gateway.http.pages.dates import date_time
from gateway.http.pages.designs import THEME_STYLE_SHEET, Design, Designs
from gateway.http.pages.links import safe_image, safe_link, safe_target
from gateway.http.pages.page_kind import PageKind
from gateway.http.pages.page_kind import fixed_title as _fixed
from gateway.http.pages.page_values import ClientDisplay
from gateway.http.pages.qr_codes import QrCode, qr_code
from gateway.http.pages.registration_views import (
    RegisteredPage,
    RegisterPage,
    ResetMailSentPage,
    ResetOtpPage,
    ResetPasswordPage,
)
from gateway.http.pages.resources import ResourceUrls
from gateway.http.pages.sites.page_kinds import SITE_PAGES
from gateway.http.pages.views import (
    AlreadySignedInPage,
    CertificatePage,
    ConfirmLinkPage,
    ConsentPage,
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
    OneTimeCodePage,
    PageExpiredPage,
    PasswordPage,
    RecoveryCodePage,
    RequiredActionPage,
    SecurityKeyPage,
    SelectAuthenticatorPage,
    UsernamePage,
    View,
)
from gateway.http.replies import Headers, Reply

_NOT_KEPT: Final[Headers] = ((b"cache-control", b"no-store, must-revalidate, max-age=0"),)
_HTML: Final = (b"content-type", b"text/html;charset=utf-8")


def _title_of_consent(view: ConsentPage, texts: Texts) -> str:
    return texts("oauthGrantTitle", _client_name(view.client, texts))


def _title_of_device(view: DeviceDonePage, texts: Texts) -> str:
    outcome = "Complete" if view.succeeded else "Failed"
    return texts(f"oauth2DeviceVerification{outcome}Header")


def _title_of_info(view: InfoPage, texts: Texts) -> str:
    return texts.of(view.title or view.message)


def _title_of_deletion(view: DeleteCredentialPage, texts: Texts) -> str:
    return texts("deleteCredentialTitle", _credential_name(view, texts))


_SIGN_IN: Final = partial(PageKind, signs_in=True, sends_form=True)
PAGES: Final[Mapping[type, PageKind]] = {
    LoginPage: _SIGN_IN("login", _fixed("loginAccountTitle")),
    UsernamePage: _SIGN_IN("login-username", _fixed("loginAccountTitle")),
    PasswordPage: _SIGN_IN("login-password", _fixed("loginAccountTitle")),
    OneTimeCodePage: _SIGN_IN("login-otp", _fixed("loginOtpTitle")),
    UpdatePasswordPage: _SIGN_IN("login-update-password", _fixed("updatePasswordTitle")),
    ConfigureOtpPage: _SIGN_IN("login-config-totp", _fixed("loginTotpTitle")),
    UpdateProfilePage: _SIGN_IN("login-update-profile", _fixed("loginProfileTitle")),
    RegisterPage: _SIGN_IN("register", _fixed("registerTitle")),
    RegisteredPage: PageKind("register-confirm", _fixed("emailVerifyTitle"), signs_in=True),
    ResetPasswordPage: _SIGN_IN("login-reset-password", _fixed("emailForgotTitle")),
    ResetMailSentPage: PageKind("login-reset-sent", _fixed("emailForgotTitle"), signs_in=True),
    ResetOtpPage: _SIGN_IN("login-reset-otp", _fixed("resetOtpTitle")),
    CertificatePage: _SIGN_IN("login-x509-info", _fixed("doLogIn")),
    RecoveryCodePage: _SIGN_IN(
        "login-recovery-authn-code-input", _fixed("auth-recovery-code-header")
    ),
    RecoveryCodesPage: _SIGN_IN(
        "login-recovery-authn-code-config", _fixed("recovery-code-config-header")
    ),
    SecurityKeyPage: _SIGN_IN(
        "webauthn-authenticate", _fixed("webauthn-login-title"), runs_script=True
    ),
    RegisterKeyPage: _SIGN_IN(
        "webauthn-register", _fixed("webauthn-registration-title"), runs_script=True
    ),
    TermsPage: _SIGN_IN("terms", _fixed("termsTitle")),
    UpdateEmailPage: _SIGN_IN("update-email", _fixed("updateEmailTitle")),
    VerifyEmailPage: _SIGN_IN("login-verify-email", _fixed("emailVerifyTitle")),
    SelectAuthenticatorPage: _SIGN_IN("select-authenticator", _fixed("loginChooseAuthenticator")),
    DeleteCredentialPage: _SIGN_IN("delete-credential", _title_of_deletion),
    DeleteAccountPage: _SIGN_IN("delete-account-confirm", _fixed("deleteAccountConfirm")),
    ConsentPage: PageKind("consent", _title_of_consent, sends_form=True),
    LogoutConfirmationPage: PageKind(
        "logout-confirm", _fixed("logoutConfirmTitle"), sends_form=True
    ),
    LoggedOutPage: PageKind("logged-out", _fixed("successLogout")),
    FrontChannelLogoutPage: PageKind(
        "frontchannel-logout", _fixed("frontchannel-logout.title"), runs_script=True
    ),
    DeviceCodePage: PageKind(
        "device-code", _fixed("oauth2DeviceVerificationTitle"), sends_form=True
    ),
    DeviceDonePage: PageKind("device-done", _title_of_device),
    AlreadySignedInPage: PageKind("already-signed-in", _fixed("alreadyLoggedIn")),
    PageExpiredPage: PageKind("page-expired", _fixed("pageExpiredTitle")),
    ErrorPage: PageKind("error", _fixed("errorTitle")),
    InfoPage: PageKind("info", _title_of_info),
    ConfirmLinkPage: PageKind("confirm-link", _fixed("confirmLinkTitle"), sends_form=True),
    RequiredActionPage: PageKind("required-action", _fixed("requiredActionTitle")),
    FormPostPage: PageKind("form-post", _fixed("formPostTitle"), sends_form=True, runs_script=True),
    **ACCOUNT_PAGES,
    **SITE_PAGES,
}

LanguageUrl = Callable[[str], str]
"""Returns the URL that shows the same page in another locale."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFrame:
    """For whom a page is: the realm, the locale that `select_locale` found, the theme.

    `texts` are the realm's own, by locale, of the locales that `fallbacks` returns. `theme` is the
    client's `login_theme`, else the realm's `loginTheme`; the built-in design where there is none
    of that name. Without `language_url` no other language is offered.
    """

    realm: Realm
    locale: str = ENGLISH
    texts: Mapping[str, Catalog] = field(default_factory=dict, repr=False)
    theme: str = ""
    language_url: LanguageUrl | None = None


@dataclass(frozen=True, slots=True)
class ShownClient:
    """What a page shows of a client: only links that are safe."""

    name: str
    logo: str
    policy: str
    terms: str
    home: str


@dataclass(frozen=True, slots=True)
class ShownLanguage:
    """One language to choose from."""

    locale: str
    name: str
    url: str
    direction: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownPage:
    """What the templates know as `page`."""

    id: str
    title: str
    window_title: str
    realm_name: str
    lang: str
    direction: str
    locale: str
    language_name: str
    languages: tuple[ShownLanguage, ...]
    client: ShownClient | None
    logo: str
    dark_logo: str
    light_only: bool
    style_sheets: tuple[str, ...]
    resource: Callable[[str], str]
    action_name: Callable[[str], str]
    continue_url: str
    frames: tuple[LogoutFrame, ...]
    selected_device: str
    qr_code: QrCode | None
    credential_name: str
    date_time: Callable[[datetime], str]
    safe_link: Callable[[str], str] = safe_link


class PageRenderer:
    """Renders pages from what was loaded at the start."""

    def __init__(self, designs: Designs, urls: ResourceUrls) -> None:
        self._designs = designs
        self._urls = urls

    def reply(self, view: View, frame: PageFrame, status: int = HTTPStatus.OK) -> Reply:
        """Return the page as a response that no cache keeps."""
        design = self._design(frame)
        kind = PAGES[type(view)]
        realm = frame.realm
        texts = self.texts(frame)
        look = appearance_of(realm.attributes)
        page = self._page(view, frame, texts, look, design)
        template = design.environment.get_template(f"{kind.name}.html")
        body = template.render(view=view, page=page, t=texts).encode()
        sources = _sources(kind, page, view)
        headers = (
            _HTML,
            *_NOT_KEPT,
            (b"content-language", page.lang.encode("ascii", "replace")),
            *policy_headers(realm.security_headers, sources),
        )
        return Reply(status, headers, body)

    def texts(self, frame: PageFrame) -> Texts:
        """Return the texts of a page."""
        catalogs = self._design(frame).catalogs
        return texts_for(frame.locale, frame.texts, catalogs, self._designs.built_in.catalogs)

    def _design(self, frame: PageFrame) -> Design:
        return self._designs.themes.get(frame.theme, self._designs.built_in)

    def _page(
        self,
        view: View,
        frame: PageFrame,
        texts: Texts,
        look: Appearance,
        design: Design,
    ) -> ShownPage:
        kind, realm = PAGES[type(view)], frame.realm
        name = realm.display_name or realm.name
        title = kind.title(view, texts)
        lang = frame.locale if self._has_texts(frame, design) else ENGLISH
        client = getattr(view, "client", None)
        return ShownPage(
            id=f"{kind.id_prefix}{kind.name}",
            title=title,
            window_title=texts("loginTitle", name) if kind.signs_in else f"{title} - {name}",
            realm_name=name,
            lang=lang,
            direction=_direction(lang),
            locale=frame.locale,
            language_name=self._language_name(frame.locale),
            languages=self._languages(frame),
            client=None if client is None else _shown_client(client, texts),
            logo=look.logo,
            dark_logo=look.dark_logo,
            light_only=look.light_only,
            style_sheets=self._style_sheets(kind, look, frame.theme),
            resource=self._urls.built_in,
            action_name=partial(_action_name, texts),
            continue_url=safe_target(getattr(view, "continue_url", "")),
            frames=_shown_frames(getattr(view, "frames", ()), texts),
            selected_device=_selected_device(view),
            qr_code=qr_code(view.uri) if isinstance(view, ConfigureOtpPage) else None,
            date_time=partial(date_time, frame.locale),
            credential_name=_credential_name(view, texts),
        )

    def _has_texts(self, frame: PageFrame, design: Design) -> bool:
        layers = (frame.texts, design.catalogs, self._designs.built_in.catalogs)
        wanted = [tag for tag in fallbacks(frame.locale) if tag != ENGLISH]
        return any(tag in layer for tag in wanted for layer in layers)

    def _style_sheets(self, kind: PageKind, look: Appearance, theme: str) -> tuple[str, ...]:
        found = [self._urls.style_sheet, *map(self._urls.built_in, kind.style_sheets)]
        accent = parse_color(look.accent_color)
        if accent is not None:
            found.append(self._urls.accent(accent))
        design = self._designs.themes.get(theme)
        if design is not None and THEME_STYLE_SHEET in design.static:
            found.append(self._urls.of_theme(theme, THEME_STYLE_SHEET))
        return tuple(found)

    def _languages(self, frame: PageFrame) -> tuple[ShownLanguage, ...]:
        settings, url = frame.realm.localization, frame.language_url
        if url is None or not settings.enabled or len(settings.supported_locales) < 2:  # noqa: PLR2004 - a choice
            return ()
        found = [
            ShownLanguage(locale, self._language_name(locale), url(locale), _direction(locale))
            for locale in settings.supported_locales
        ]
        return tuple(sorted(found, key=lambda language: language.name))

    def _language_name(self, locale: str) -> str:
        names = self._designs.language_names
        return next((names[tag] for tag in fallbacks(locale)[:-1] if tag in names), "") or (
            names[ENGLISH] if locale == ENGLISH else locale
        )


def _direction(locale: str) -> str:
    return "rtl" if is_right_to_left(locale) else "ltr"


def _client_name(client: ClientDisplay, texts: Texts) -> str:
    return texts.named(client.name) or client.client_id


def _shown_client(client: ClientDisplay, texts: Texts) -> ShownClient:
    return ShownClient(
        name=_client_name(client, texts),
        logo=safe_image(client.logo_url),
        policy=safe_link(client.policy_url),
        terms=safe_link(client.terms_url),
        home=safe_link(client.home_url),
    )


def _shown_frames(frames: tuple[LogoutFrame, ...], texts: Texts) -> tuple[LogoutFrame, ...]:
    return tuple(
        LogoutFrame(texts.named(frame.name), frame.url) for frame in frames if origin_of(frame.url)
    )


def _selected_device(view: View) -> str:
    if not isinstance(view, OneTimeCodePage):
        return ""
    ids = [device.id for device in view.devices]
    return view.selected_device if view.selected_device in ids else next(iter(ids), "")


def _action_name(texts: Texts, alias: str) -> str:
    key = f"requiredAction.{alias}"
    return alias if texts.pattern(key) is None else texts(key)


def _credential_name(view: View, texts: Texts) -> str:
    """Return what the user calls the credential, else its type."""
    if not isinstance(view, DeleteCredentialPage):
        return ""
    key = f"{view.credential_type}-display-name"
    known = view.credential_type if texts.pattern(key) is None else texts(key)
    return view.label or known


def _sources(kind: PageKind, page: ShownPage, view: View) -> PageSources:
    images = [page.logo, page.dark_logo, page.client.logo if page.client else ""]
    return PageSources(
        runs_script=kind.runs_script or getattr(view, "passkeys", None) is not None,
        sends_form=kind.sends_form,
        images=tuple(origin for url in images if (origin := origin_of(url))),
        frames=tuple(origin for frame in page.frames if (origin := origin_of(frame.url))),
    )
