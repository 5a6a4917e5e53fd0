"""Turns the view of a page into a response: title, texts, links, policy, HTML.

`PAGES` is the one table of pages: a new page is a view, a template and a line.

Dates are written as people of a locale write them, in UTC: the gateway does not know the time zone.
Babel is loaded with the first page that shows a date: it takes 1 MB, and 4 MB with a locale. QR
codes are the path of an inline SVG: a page loads nothing to show one. segno is loaded with the
first code: it takes 0.5 MB, and most workers show none. Spec: ISO/IEC 18004
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from gateway.domain.localization import (
    ENGLISH,
    Catalog,
    Texts,
    fallbacks,
    is_right_to_left,
    texts_for,
)
from gateway.domain.realm import Appearance, Realm
from gateway.http.pages.account_views import (
    ApplicationsPage,
    CertificatesPage,
    DeviceActivityPage,
    GroupsPage,
    HomePage,
    PersonalInfoPage,
    SigningInPage,
)
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
from gateway.http.pages.content_security_policy import (
    PageSources,
    allowed_logos,
    origin_of,
    policy_headers,
    safe_image,
    safe_link,
    safe_target,
)
from gateway.http.pages.designs import THEME_STYLE_SHEET, Design, Designs, parse_color
from gateway.http.pages.page_values import ShownApplication, View
from gateway.http.pages.resources import ResourceUrls
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
    NoAccessPage,
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
    SessionEndedPage,
    SignInFailedPage,
    UsernamePage,
)
from gateway.http.replies import Headers, Reply

if TYPE_CHECKING:
    from babel import Locale


Title = Callable[[Any, Texts], str]
"""Returns the title of a view."""


@dataclass(frozen=True, slots=True)
class PageKind:
    """How a page is rendered: template `name`, and `data-page-id` after `id_prefix`."""

    name: str
    title: Title
    signs_in: bool = False
    """The title of the window says where the user signs in."""
    sends_form: bool = False
    runs_script: bool = False
    scripts: tuple[str, ...] = ()
    """Scripts that the frame of the page loads; the page is complete without them."""
    leads_to_account: bool = False
    """A page at which a sign-in or logout ends: it links to the account console."""
    id_prefix: str = "login-"
    style_sheets: tuple[str, ...] = ()
    """Built-in style sheets in addition to the one of every page."""


def fixed_title(key: str) -> Title:
    """Return the title that is the text of a key."""
    return lambda _view, texts: texts(key)


_ACCOUNT: Final = partial(
    PageKind,
    sends_form=True,
    id_prefix="",
    style_sheets=("account.css",),
    scripts=("local-times.js",),
)
ACCOUNT_PAGES: Final[Mapping[type, PageKind]] = {
    HomePage: _ACCOUNT("account-home", fixed_title("accountHome")),
    PersonalInfoPage: _ACCOUNT("account-personal-info", fixed_title("accountPersonalInfo")),
    SigningInPage: _ACCOUNT("account-signing-in", fixed_title("accountSigningIn")),
    DeviceActivityPage: _ACCOUNT("account-devices", fixed_title("accountDevices")),
    ApplicationsPage: _ACCOUNT("account-applications", fixed_title("accountApplications")),
    GroupsPage: _ACCOUNT("account-groups", fixed_title("accountGroups")),
    CertificatesPage: _ACCOUNT("account-certificates", fixed_title("accountCertificates")),
}


_END: Final = partial(PageKind, leads_to_account=True)
SITE_PAGES: Final[Mapping[type, PageKind]] = {
    SessionEndedPage: PageKind("site-session-ended", fixed_title("siteSessionEndedTitle")),
    NoAccessPage: PageKind(
        "site-no-access", lambda view, texts: texts("siteNoAccessTitle", view.site), sends_form=True
    ),
    SignInFailedPage: _END("site-sign-in-failed", fixed_title("siteSignInFailedTitle")),
}


def date_time(locale: str, moment: datetime) -> str:
    """Return the date and the time to the minute, such as `Nov 23, 2026, 6:51 AM UTC`."""
    from babel.dates import format_skeleton, format_time, get_datetime_format  # noqa: PLC0415 - see above

    known, at = _known_locale(locale), moment.astimezone(UTC)
    date = format_skeleton("yMMMd", at, locale=known)
    time = f"{format_time(at, 'short', locale=known)} UTC"
    pattern = str(get_datetime_format("medium", known))
    return pattern.replace("{1}", date).replace("{0}", time)


def _known_locale(locale: str) -> "Locale":
    from babel import Locale, UnknownLocaleError  # noqa: PLC0415 - see above

    for tag in fallbacks(locale):
        try:
            return Locale.parse(tag, sep="-")
        except (UnknownLocaleError, ValueError):
            continue
    return Locale.parse(ENGLISH)


_QR_BORDER: Final = 4
"""Modules of white around the code, as the standard wants it."""


@dataclass(frozen=True, slots=True)
class QrCode:
    """A square of `size` modules, border included; `path` fills the dark ones."""

    size: int
    path: str = field(repr=False)


def qr_code(text: str) -> QrCode | None:
    """Return the code of a text; None for one that no code holds, of more than 2,331 bytes."""
    import segno  # noqa: PLC0415 - see above

    try:
        made = segno.make_qr(text, error="m")
    except segno.DataOverflowError:
        return None
    rows = list(made.matrix_iter(border=_QR_BORDER))
    lines = (_dark_runs(bytes(row), y) for y, row in enumerate(rows))
    return QrCode(len(rows), "".join(lines))


def _dark_runs(row: bytes, y: int) -> str:
    parts, x = [], 0
    for is_dark, modules in groupby(row, bool):
        length = len(list(modules))
        if is_dark:
            parts.append(f"M{x} {y}h{length}v1h-{length}z")
        x += length
    return "".join(parts)


_MAIL_ADDRESS: Final = re.compile(r"[^\s@<>\"'()]+@[^\s@<>\"'()]+")
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
_HELPED: Final = partial(_SIGN_IN, scripts=("form-help.js",))
"""Forms with a password or a key: buttons show or copy it."""
PAGES: Final[Mapping[type, PageKind]] = {
    LoginPage: _HELPED("login", fixed_title("loginAccountTitle")),
    UsernamePage: _SIGN_IN("login-username", fixed_title("loginAccountTitle")),
    PasswordPage: _HELPED("login-password", fixed_title("loginAccountTitle")),
    OneTimeCodePage: _SIGN_IN("login-otp", fixed_title("loginOtpTitle")),
    UpdatePasswordPage: _HELPED("login-update-password", fixed_title("updatePasswordTitle")),
    ConfigureOtpPage: _HELPED("login-config-totp", fixed_title("loginTotpTitle")),
    UpdateProfilePage: _SIGN_IN("login-update-profile", fixed_title("loginProfileTitle")),
    RegisterPage: _HELPED("register", fixed_title("registerTitle")),
    RegisteredPage: PageKind("register-confirm", fixed_title("emailVerifyTitle"), signs_in=True),
    ResetPasswordPage: _SIGN_IN("login-reset-password", fixed_title("emailForgotTitle")),
    ResetMailSentPage: PageKind("login-reset-sent", fixed_title("emailForgotTitle"), signs_in=True),
    ResetOtpPage: _SIGN_IN("login-reset-otp", fixed_title("resetOtpTitle")),
    CertificatePage: _SIGN_IN("login-x509-info", fixed_title("doLogIn")),
    RecoveryCodePage: _SIGN_IN(
        "login-recovery-authn-code-input", fixed_title("auth-recovery-code-header")
    ),
    RecoveryCodesPage: _SIGN_IN(
        "login-recovery-authn-code-config", fixed_title("recovery-code-config-header")
    ),
    SecurityKeyPage: _SIGN_IN(
        "webauthn-authenticate", fixed_title("webauthn-login-title"), runs_script=True
    ),
    RegisterKeyPage: _SIGN_IN(
        "webauthn-register", fixed_title("webauthn-registration-title"), runs_script=True
    ),
    TermsPage: _SIGN_IN("terms", fixed_title("termsTitle")),
    UpdateEmailPage: _SIGN_IN("update-email", fixed_title("updateEmailTitle")),
    VerifyEmailPage: _SIGN_IN("login-verify-email", fixed_title("emailVerifyTitle")),
    SelectAuthenticatorPage: _SIGN_IN(
        "select-authenticator", fixed_title("loginChooseAuthenticator")
    ),
    DeleteCredentialPage: _SIGN_IN("delete-credential", _title_of_deletion),
    DeleteAccountPage: _SIGN_IN("delete-account-confirm", fixed_title("deleteAccountConfirm")),
    ConsentPage: PageKind("consent", _title_of_consent, sends_form=True),
    LogoutConfirmationPage: PageKind(
        "logout-confirm", fixed_title("logoutConfirmTitle"), sends_form=True
    ),
    LoggedOutPage: _END("logged-out", fixed_title("successLogout")),
    FrontChannelLogoutPage: _END(
        "frontchannel-logout", fixed_title("frontchannel-logout.title"), runs_script=True
    ),
    DeviceCodePage: PageKind(
        "device-code", fixed_title("oauth2DeviceVerificationTitle"), sends_form=True
    ),
    DeviceDonePage: _END("device-done", _title_of_device),
    AlreadySignedInPage: _END("already-signed-in", fixed_title("alreadyLoggedIn")),
    PageExpiredPage: PageKind("page-expired", fixed_title("pageExpiredTitle")),
    ErrorPage: _END("error", fixed_title("errorTitle")),
    InfoPage: _END("info", _title_of_info),
    ConfirmLinkPage: PageKind("confirm-link", fixed_title("confirmLinkTitle"), sends_form=True),
    RequiredActionPage: _END("required-action", fixed_title("requiredActionTitle")),
    FormPostPage: PageKind(
        "form-post", fixed_title("formPostTitle"), sends_form=True, runs_script=True
    ),
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
    account_url: str = ""
    """The account console, for pages that link to it; empty: no link."""


@dataclass(frozen=True, slots=True)
class ShownContact:
    """Whom users ask for help; `url` is empty for a text that is no address."""

    text: str
    url: str


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
    contact: ShownContact | None
    account_url: str
    style_sheets: tuple[str, ...]
    scripts: tuple[str, ...]
    resource: Callable[[str], str]
    action_name: Callable[[str], str]
    continue_url: str
    frames: tuple[LogoutFrame, ...]
    selected_device: str
    qr_code: QrCode | None
    credential_name: str
    date_time: Callable[[datetime], str]
    application_logos: tuple[str, ...] = ()
    """The logos of `view.applications` that the page loads."""
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
        look = realm.appearance
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
        catalogs = self._design(frame).catalogs
        return texts_for(frame.locale, frame.texts, catalogs, self._designs.built_in.catalogs)

    def _design(self, frame: PageFrame) -> Design:
        return self._designs.themes.get(frame.theme, self._designs.built_in)

    def _page(
        self, view: View, frame: PageFrame, texts: Texts, look: Appearance, design: Design
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
            contact=shown_contact(look.contact),
            account_url=frame.account_url,
            style_sheets=self._style_sheets(kind, look, frame.theme),
            scripts=tuple(map(self._urls.built_in, kind.scripts)),
            resource=self._urls.built_in,
            action_name=partial(_action_name, texts),
            continue_url=safe_target(getattr(view, "continue_url", "")),
            frames=_shown_frames(getattr(view, "frames", ()), texts),
            selected_device=_selected_device(view),
            qr_code=qr_code(view.uri) if isinstance(view, ConfigureOtpPage) else None,
            date_time=partial(date_time, frame.locale),
            credential_name=_credential_name(view, texts),
            application_logos=allowed_logos(
                each.logo_url for each in getattr(view, "applications", ())
            ),
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


def _client_name(client: ShownApplication, texts: Texts) -> str:
    return texts.named(client.name) or client.client_id


def _shown_client(client: ShownApplication, texts: Texts) -> ShownClient:
    return ShownClient(
        name=_client_name(client, texts),
        logo=safe_image(client.logo_url),
        policy=safe_link(client.policy_url),
        terms=safe_link(client.terms_url),
        home=safe_link(client.home_url),
    )


def shown_contact(contact: str) -> ShownContact | None:
    """Return a contact as pages show it, None for an empty text."""
    if not contact:
        return None
    if _MAIL_ADDRESS.fullmatch(contact):
        return ShownContact(contact, f"mailto:{quote(contact, safe='@')}")
    is_url = contact.startswith("https://") and safe_link(contact)
    return ShownContact(contact, contact if is_url else "")


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
    images += page.application_logos
    return PageSources(
        runs_script=kind.runs_script
        or bool(kind.scripts)
        or getattr(view, "passkeys", None) is not None,
        sends_form=kind.sends_form,
        images=tuple(origin for url in images if (origin := origin_of(url))),
        frames=tuple(origin for frame in page.frames if (origin := origin_of(frame.url))),
    )
