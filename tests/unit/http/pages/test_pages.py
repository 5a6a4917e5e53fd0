"""What pages contain: in every language, for every value, with the names that scripts use.

Keycloak: 12.12, 12.6
"""

import re
from dataclasses import fields, is_dataclass, replace
from html.parser import HTMLParser
from typing import Any

import pytest

from gateway.domain.localization import LocalizedText, parse_messages
from gateway.domain.realm import Localization, Realm, SecurityHeaders
from gateway.http.pages import PageFrame, PageRenderer, ResourceUrls, load_designs
from gateway.http.pages.account_views import AccountView, ApplicationRow, HomePage
from gateway.http.pages.page_values import ClientPage, Message, ShownApplication, View
from gateway.http.pages.renderer import PAGES
from gateway.http.pages.theme_check import SAMPLES
from gateway.http.pages.views import (
    ErrorPage,
    FrontChannelLogoutPage,
    LoggedOutPage,
    LoginPage,
    LogoutFrame,
    OneTimeCodeDevice,
    OneTimeCodePage,
)
from gateway.http.replies import Reply

LOCALES = ("en", "de", "fr", "es", "ja", "ar")
LANGUAGES = Localization(enabled=True, supported_locales=LOCALES)
REALM = Realm("demo", "demo", display_name="Demo", localization=LANGUAGES)
DESIGNS = load_designs(None)
RENDERER = PageRenderer(DESIGNS, ResourceUrls.below("https://gateway.test/auth", DESIGNS.version))
MARKUP = "<script>alert(1)</script>\"'&<img src=x onerror=alert(1)>"


def reply(view: View, realm: Realm = REALM, locale: str = "en", **frame: Any) -> Reply:
    asked = PageFrame(realm=realm, locale=locale, language_url=lambda tag: f"?kc={tag}", **frame)
    return RENDERER.reply(view, asked)


def html(view: View, realm: Realm = REALM, locale: str = "en", **frame: Any) -> str:
    return reply(view, realm, locale, **frame).body.decode()


def policies(view: View, realm: Realm = REALM) -> list[str]:
    """Return the realm's policy and the page's."""
    sent = reply(view, realm).headers
    return [value.decode() for name, value in sent if name == b"content-security-policy"]


class _Elements(HTMLParser):
    """Collects the elements of a page, and fails for markup that a browser would repair."""

    VOID = frozenset({"meta", "link", "img", "input", "source", "path"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self._open: list[str] = []
        self.feed(page)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(attrs) == len(dict(attrs)), tag
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def ids(self) -> list[str]:
        return [attributes["id"] or "" for _, attributes in self.found if "id" in attributes]

    def named(self) -> dict[str, dict[str, str | None]]:
        """Return the attributes of the elements that a form sends, by name."""
        return {a["name"] or "": a for tag, a in self.found if "name" in a and tag != "meta"}


@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("name", SAMPLES)
def test_every_page_renders_in_every_language(name: str, locale: str) -> None:
    page = html(SAMPLES[name], locale=locale)
    elements = _Elements(page)
    assert f'<html lang="{locale}" dir="{"rtl" if locale == "ar" else "ltr"}">' in page
    assert len(elements.ids()) == len(set(elements.ids()))
    assert "kc-page-title" in elements.ids()


def test_every_page_has_a_sample() -> None:
    assert {type(view) for view in SAMPLES.values()} == set(PAGES)


@pytest.mark.parametrize("locale", LOCALES)
def test_no_text_is_missing_in_any_language(locale: str) -> None:
    english, other = (DESIGNS.built_in.catalogs[tag] for tag in ("en", locale))
    assert english.keys() == other.keys()
    for key, text in other.items():
        assert text, key
        places = re.findall(r"\{\d\}", english[key])
        assert set(re.findall(r"\{\d\}", text)) == set(places), key
        assert text.replace("''", "").count("'") == 0, key


def test_every_text_of_a_template_is_in_the_catalogs() -> None:
    environment = DESIGNS.built_in.environment
    assert environment.loader is not None
    sources = [
        environment.loader.get_source(environment, name)[0] for name in environment.list_templates()
    ]
    used = {key for source in sources for key in re.findall(r'\bt\("([^"]+)"', source)}
    assert len(used) > 30
    assert used - DESIGNS.built_in.catalogs["en"].keys() == set()


def _with_markup(value: Any) -> Any:
    """Return the value with markup in every text inside."""
    if is_dataclass(value) and not isinstance(value, type):
        kept = {"key", "kind", "username_label"}
        changed = {
            each.name: _with_markup(getattr(value, each.name))
            for each in fields(value)
            if each.name not in kept
        }
        return replace(value, **changed)
    if isinstance(value, tuple):
        return tuple(_with_markup(item) for item in value)
    return MARKUP if isinstance(value, str) else value


@pytest.mark.parametrize("name", SAMPLES)
def test_markup_in_any_value_is_shown_and_never_obeyed(name: str) -> None:

    realm = replace(REALM, display_name=MARKUP)
    plain, page = html(SAMPLES[name]), html(_with_markup(SAMPLES[name]), realm)
    assert MARKUP not in page
    assert "onerror=alert(1)>" not in page
    scripts = {a["src"] for tag, a in _Elements(page).found if tag == "script"}
    assert scripts <= {a["src"] for tag, a in _Elements(plain).found if tag == "script"}
    assert not [a for _, a in _Elements(page).found if any(name.startswith("on") for name in a)]


def test_markup_in_a_realms_own_texts_is_shown_too() -> None:
    page = html(SAMPLES["login"], texts={"en": {"doLogIn": MARKUP}})
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert MARKUP not in page


def test_the_texts_of_a_realm_come_first_and_english_last() -> None:
    texts = {"de-CH": {"doLogIn": "Aaloge"}, "en": {"rememberMe": "Keep me"}}
    page = html(SAMPLES["login"], locale="de-CH", texts=texts)
    assert "Aaloge" in page
    assert "Angemeldet bleiben" in page
    assert "Passwort" in page


def test_a_language_without_texts_is_shown_and_marked_in_english() -> None:
    page = html(SAMPLES["login"], locale="pl")
    assert '<html lang="en"' in page
    assert "Sign in to your account" in page


def test_the_sign_in_page_has_keycloaks_names_in_its_order() -> None:
    view = LoginPage(
        action="/x",
        username="ann",
        credential_id="cred",
        offers_remember_me=True,
        remember_me=True,
    )
    elements = _Elements(html(view))
    sent = elements.named()
    assert list(sent) == ["username", "password", "rememberMe", "credentialId", "login"]
    assert sent["username"]["value"] == "ann"
    assert sent["username"]["autocomplete"] == "username"
    assert sent["password"]["type"] == "password"
    assert sent["password"]["autocomplete"] == "current-password"
    assert (sent["rememberMe"]["value"], "checked" in sent["rememberMe"]) == ("on", True)
    assert sent["credentialId"]["value"] == "cred"
    assert {"kc-form-login", "kc-login", "kc-page-title"} <= set(elements.ids())


def test_the_password_is_never_filled_in() -> None:
    for name, view in SAMPLES.items():
        for tag, attributes in _Elements(html(view)).found:
            if tag == "input" and attributes.get("type") == "password":
                assert "value" not in attributes, name


def test_remember_me_is_shown_only_where_the_realm_offers_it() -> None:
    assert "rememberMe" not in html(LoginPage(action="/x"))


def test_an_error_is_linked_to_its_fields() -> None:
    elements = _Elements(html(SAMPLES["login-failed"]))
    sent = elements.named()
    assert "input-error-username" in elements.ids()
    for name in ("username", "password"):
        assert sent[name]["aria-invalid"] == "true"
        assert sent[name]["aria-describedby"] == "input-error-username"
    assert "aria-invalid" not in html(SAMPLES["login"])


def test_the_code_page_asks_for_a_device_if_there_are_several() -> None:
    one, several = (_Elements(html(SAMPLES[name])) for name in ("login-otp", "login-otp-devices"))
    assert one.named()["selectedCredentialId"]["type"] == "hidden"
    assert one.named()["selectedCredentialId"]["value"] == "1"
    assert several.named()["selectedCredentialId"]["type"] == "radio"
    code = one.named()["otp"]
    assert (code["inputmode"], code["autocomplete"]) == ("numeric", "one-time-code")
    assert "kc-otp-login-form" in one.ids()


def test_the_chosen_device_is_checked() -> None:
    devices = (OneTimeCodeDevice("1"), OneTimeCodeDevice("2"))
    view = OneTimeCodePage(
        action="/x",
        restart_url="/r",
        attempted_username="ann",
        devices=devices,
        selected_device="2",
    )
    found = _Elements(html(view)).found
    assert [a["value"] for tag, a in found if tag == "input" and "checked" in a] == ["2"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("consent", {"accept", "cancel", "code"}),
        ("login-update-profile", {"username", "email", "firstName", "lastName"}),
        ("logout-confirm", {"session_code", "confirmLogout"}),
        ("device-code", {"device_user_code"}),
        ("form-post", {"code", "state"}),
    ],
)
def test_other_forms_send_what_keycloaks_send(name: str, expected: set[str]) -> None:
    assert set(_Elements(html(SAMPLES[name])).named()) == expected


@pytest.mark.parametrize(
    ("name", "ids"),
    [
        ("logout-confirm", {"kc-logout"}),
        ("consent", {"kc-login", "kc-cancel"}),
        ("page-expired", {"loginRestartLink", "loginContinueLink"}),
        ("error", {"kc-error-message", "traceId", "backToApplication"}),
        ("logged-out", {"kc-info-message", "backToApplication"}),
        ("login-password", {"kc-attempted-username", "reset-login"}),
        ("login", {"kc-locale", "kc-current-locale-link", "kc-policy", "kc-terms"}),
    ],
)
def test_elements_have_the_ids_that_scripts_look_for(name: str, ids: set[str]) -> None:
    assert ids <= set(_Elements(html(SAMPLES[name])).ids())


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("login", "Sign in|Log in"),
        ("login-password", "Sign in|Log in"),
        ("logged-out", "signed out"),
        ("error", "[Ii]nvalid|[Mm]issing|sorry"),
        ("login-failed", r"Invalid username or password\."),
    ],
)
def test_pages_read_as_conformance_suites_expect(name: str, pattern: str) -> None:
    assert re.search(pattern, re.sub(r"<[^>]*>", "", html(SAMPLES[name])))


@pytest.mark.parametrize("name", SAMPLES)
def test_no_page_allows_inline_code(name: str) -> None:
    page, own = html(SAMPLES[name]), policies(SAMPLES[name])[1]
    assert "unsafe" not in own
    assert own.startswith("default-src 'none'; style-src 'self';")
    for tag, attributes in _Elements(page).found:
        assert tag != "style"
        assert "style" not in attributes
        assert not [key for key in attributes if key.startswith("on")]
        assert tag != "script" or attributes["src"]


def test_only_pages_that_use_a_script_may_run_one() -> None:
    """Scripts are files of this origin: no page allows code in itself or from elsewhere."""
    for name, view in SAMPLES.items():
        sources = re.findall(r"script-src ([^;]*)", policies(view)[1])
        has_script = "<script" in html(view)
        assert sources == (["'self'"] if has_script else []), name
    assert "<script" not in html(SAMPLES["consent"])


@pytest.mark.parametrize("locale", LOCALES)
def test_every_password_field_has_a_button_that_shows_it(locale: str) -> None:
    """The button is hidden where its script does not run."""
    fields_found = 0
    for name, view in SAMPLES.items():
        found = _Elements(html(view, locale=locale)).found
        passwords = [a["id"] for _, a in found if a.get("type") == "password"]
        buttons = [a for tag, a in found if tag == "button" and a.get("class") == "reveal"]
        assert [button["aria-controls"] for button in buttons] == passwords, name
        assert all("hidden" in button and button["aria-label"] for button in buttons), name
        assert all(button["type"] == "button" for button in buttons), name
        scripts = [a["src"] for tag, a in found if tag == "script"]
        assert not passwords or any((src or "").endswith("/form-help.js") for src in scripts), name
        fields_found += len(passwords)
    assert fields_found > 5


def test_rules_of_passwords_are_shown_and_linked_to_the_field() -> None:
    page = html(SAMPLES["login-update-password"])
    assert '<li dir="auto">Characters: at least 12</li>' in page
    fields_found = _Elements(page).named()
    assert fields_found["password-new"]["aria-describedby"] == "password-rules"
    refused = _Elements(html(SAMPLES["login-update-password-refused"])).named()
    described = refused["password-new"]["aria-describedby"]
    assert described == "input-error-password-new password-rules"
    without = replace(SAMPLES["login-update-password"], password_rules=())  # type: ignore[call-arg]
    assert "password-rules" not in html(without)


def test_the_code_of_a_new_device_is_asked_for_at_once() -> None:
    page = html(SAMPLES["login-config-totp"])
    found = _Elements(page).found
    [focused] = [a["id"] for _, a in found if "autofocus" in a]
    assert focused == "totp"
    [link] = [a for _, a in found if a.get("id") == "kc-totp-open-application"]
    assert (link["href"] or "").startswith("otpauth://totp/Northwind:maria.schmidt?secret=")
    [copy] = [a for _, a in found if "data-copies" in a]
    assert copy["data-copies"] == "ORSXG5BAON2WK4TUNFXGC3DMNFTWQ5A"


def test_the_policy_of_the_realm_is_sent_unchanged_with_pages() -> None:
    headers = SecurityHeaders((("contentSecurityPolicy", "frame-ancestors 'none'"),))
    realm = replace(REALM, security_headers=headers)
    assert policies(SAMPLES["login"], realm)[0] == "frame-ancestors 'none'"


def test_the_frames_of_a_logout_are_allowed_by_both_policies() -> None:
    realm, page = policies(SAMPLES["frontchannel-logout"])
    allowed = "frame-src 'self' https://portal.example.com https://mail.example.com"
    assert allowed in realm
    assert "frame-ancestors 'self'" in realm
    assert "frame-src https://portal.example.com https://mail.example.com" in page


def test_a_frame_can_add_nothing_to_the_policy() -> None:
    frames = (
        LogoutFrame("a", "https://a.test;script-src * /x"),
        LogoutFrame("b", "javascript:alert(1)"),
        LogoutFrame("c", "https://c.test:8443/out"),
    )
    view = FrontChannelLogoutPage(frames=frames)
    assert policies(view)[1].endswith("frame-src https://c.test:8443; form-action 'none'")
    assert html(view).count("<iframe") == 1


def test_links_of_a_client_are_shown_only_where_they_are_links() -> None:
    bad = ShownApplication(
        "app",
        logo_url="http://app.test/logo.png",
        policy_url="javascript:alert(1)",
        terms_url="data:text/html,x",
        home_url="//evil.test",
    )
    page = html(LoggedOutPage(client=bad)) + html(LoginPage(action="/x", client=bad))
    assert "javascript:" not in page
    assert "data:text" not in page
    assert "evil.test" not in page
    assert "http://app.test" not in page


def test_a_logo_of_another_origin_is_allowed_by_its_pages_policy() -> None:
    view = LoginPage(action="/x", client=ShownApplication("a", logo_url="https://a.test:444/l.png"))
    assert "img-src 'self' data: https://a.test:444;" in policies(view)[1]


def test_logos_of_many_hosts_leave_the_header_small() -> None:
    """A proxy reads all headers into one buffer: a logo without a place in it is an icon."""
    sample = SAMPLES["account-home"]
    assert isinstance(sample, HomePage)
    for length, count in ((253, 60), (25, 450), (60, 3_000), (12, 1)):
        hosts = [f"{number:05}.".ljust(length - 5, "a") + ".test" for number in range(count)]
        rows = tuple(
            ApplicationRow(client_id=host, logo_url=f"https://{host}/{path}")
            for host in hosts
            for path in ("a.png", "b.png")
        )
        view = replace(sample, applications=(*rows, replace(rows[0], logo_url="/own.png")))
        policy = policies(view)[1]
        shown = html(view)
        assert len(policy) < 4_500, (length, count)
        loaded = re.findall(r'src="https://([^"/]+)/', shown)
        assert set(loaded) == set(re.findall(r"https://([^ ;]+)", policy)), (length, count)
        assert len(loaded) == 2 * min(count, len(set(loaded)))
        assert set(loaded) == set(hosts[: len(set(loaded))])
        assert len(set(loaded)) == count or len(policy) > 3_800
        assert 'src="/own.png"' in shown


def test_names_may_be_keys_of_texts() -> None:
    view = LoginPage(action="/x", client=ShownApplication("account", name="${client_account}"))
    assert "weiter zu Konto" in html(view, locale="de")


def test_pages_are_not_kept_and_say_their_language() -> None:
    headers = dict(reply(SAMPLES["login"], locale="ja").headers)
    assert headers[b"cache-control"] == b"no-store, must-revalidate, max-age=0"
    assert headers[b"content-language"] == b"ja"
    assert headers[b"content-type"] == b"text/html;charset=utf-8"


def test_other_languages_are_offered_only_where_the_realm_does() -> None:
    assert "kc-locale" in html(SAMPLES["login"])
    plain = replace(REALM, localization=Localization(enabled=True, supported_locales=("en",)))
    assert "kc-locale" not in html(SAMPLES["login"], plain)
    off = replace(REALM, localization=replace(LANGUAGES, enabled=False))
    assert "kc-locale" not in html(SAMPLES["login"], off)


def test_the_realm_is_named_and_may_have_a_logo_and_a_color() -> None:
    assert '<span class="brand-name" dir="auto">Demo</span>' in html(SAMPLES["login"])
    attributes = {
        "realmgate.login.logo": "https://cdn.test/logo.svg",
        "realmgate.login.logoDark": "/dark.svg",
        "realmgate.login.accentColor": "#0F766E",
    }
    page = html(SAMPLES["login"], replace(REALM, attributes=attributes))
    assert 'src="https://cdn.test/logo.svg" alt="Demo"' in page
    assert 'srcset="/dark.svg"' in page
    assert f"/auth/resources/{DESIGNS.version}/accent/0f766e.css" in page


def test_a_realm_may_keep_its_pages_light() -> None:
    page = html(SAMPLES["login"], replace(REALM, attributes={"darkMode": "false"}))
    assert 'class="light"' in page
    assert '<meta name="color-scheme" content="light">' in page
    assert '<meta name="color-scheme" content="light dark">' in html(SAMPLES["login"])


@pytest.mark.parametrize("value", ["red", "#12", "#1234567", "}body{}", "url(x)", "#12345g"])
def test_an_unusable_color_changes_nothing(value: str) -> None:
    realm = replace(REALM, attributes={"realmgate.login.accentColor": value})
    assert "accent" not in html(SAMPLES["login"], realm)


def test_an_error_shows_its_id_and_what_was_wrong() -> None:
    message = LocalizedText("invalidParameterMessage", ("redirect_uri",))
    page = html(ErrorPage(message=message, error_id="id-1"))
    assert "Invalid parameter: redirect_uri" in page
    assert "id-1" in page


@pytest.mark.parametrize("locale", LOCALES)
def test_no_page_is_a_dead_end(locale: str) -> None:
    """Without an application, every page has a button or link, and so do its failures."""
    for name, view in SAMPLES.items():
        alone = replace(view, client=None) if isinstance(view, ClientPage) else view
        main = re.sub(r"(?s)^.*?<main|<footer.*$", "", html(alone, locale=locale, account_url="/a"))
        leads_on = re.search(r'<a id="[^"]+"[^>]* href=|<button[^>]* type="submit"', main)
        assert leads_on or isinstance(view, AccountView), name


def test_an_outage_offers_the_same_request_again() -> None:
    view = ErrorPage(message=LocalizedText("unavailableMessage"), may_retry=True)
    assert '<a id="try-again" class="button primary" href="">Try again</a>' in html(view)
    assert "try-again" not in html(replace(view, may_retry=False))


@pytest.mark.parametrize(
    ("contact", "shown"),
    [
        ("help@example.com", '<a id="kc-contact" href="mailto:help@example.com">'),
        ("https://help.example.com/?a=1", '<a id="kc-contact" href="https://help.example.com/'),
        ("Service desk, room 12", '<strong id="kc-contact"><bdi>Service desk, room 12<'),
        ("javascript:alert@x", 'href="mailto:javascript%3Aalert@x"'),
        ("https://a\\b", '<strong id="kc-contact">'),
        ("two\nlines", "contact the administrator of Demo"),
        ("", "contact the administrator of Demo"),
    ],
)
def test_an_error_says_whom_to_ask(contact: str, shown: str) -> None:
    realm = replace(REALM, attributes={"realmgate.contact": contact})
    page = html(ErrorPage(message=LocalizedText("invalidRequestMessage")), realm)
    assert shown in page


def test_an_unknown_text_is_shown_as_its_key() -> None:
    page = html(LoginPage(action="/x", message=Message(LocalizedText("ownMessage"))))
    assert ">ownMessage<" in page


def test_files_of_messages_are_those_of_keycloak() -> None:
    content = "# c\n! c\na = 1\nb:2\\\n  3\n\\u0041=it''s\\n{0}\nempty\n"
    expected = {"a": "1", "b": "23", "A": "it''s\n{0}", "empty": ""}
    assert parse_messages(content) == {**expected, "a": "1"}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_repr_of_a_page_has_no_session_code(name: str) -> None:
    """The URL of a form and links to other flows carry secrets of the sign-in, such as `state`."""
    assert "session_code" not in repr(SAMPLES[name])
    assert "tab_id" not in repr(SAMPLES[name])
