"""Signing out at a protected site: the session of the realm ends, by the user's own form alone."""

from urllib.parse import urljoin

import pytest

from tests.support.protected_sites import HOST, Protected
from tests.support.sign_in_browser import Page
from tests.support.site_browser import HOME, SESSION_COOKIE, SiteBrowser

SIGN_OUT = f"https://{HOST}/.realmgate/sign-out"


@pytest.fixture
def browser(protected: Protected) -> SiteBrowser:
    """Return a browser that is signed in."""
    browser = SiteBrowser(protected)
    assert browser.sign_in().status == 200
    return browser


def test_a_link_asks_and_the_form_ends_the_realm_session_too(browser: SiteBrowser) -> None:
    page = browser.visit(SIGN_OUT)
    assert page.id == "logout-confirm"
    assert browser.is_signed_in()
    value = browser.cookie()
    page = browser.submit(page)
    assert page.id == "logged-out"
    assert browser.cookie() is None
    browser.cookies[HOST] = {SESSION_COOKIE: str(value)}
    assert browser.is_refused_within_a_second()
    assert browser.visit(HOME).id == "login"


def test_the_browser_goes_where_the_site_wants_afterwards(browser: SiteBrowser) -> None:
    url = f"https://{HOST}/public/bye?a=1"
    page = browser.visit(f"{SIGN_OUT}?rd=/public/bye?a=1")
    page = browser.submit(page)
    assert (page.status, browser.url) == (200, url)
    assert browser.open(f"{SIGN_OUT}?rd={url}").response.headers["location"] == url


@pytest.mark.parametrize(
    "wanted",
    [
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "/a/../b",
        "/.realmgate/sign-in",
    ],
)
def test_the_browser_goes_nowhere_else(browser: SiteBrowser, wanted: str) -> None:
    page = browser.open(f"{SIGN_OUT}?rd={wanted}")
    assert page.status == 400
    assert browser.is_signed_in()


def _forged(browser: SiteBrowser, page: Page, **headers: str) -> None:
    fields = {**page.form.fields, "confirmLogout": "on"}
    sent = browser.ask("POST", urljoin(browser.url, SIGN_OUT), headers=headers, data=fields)
    assert sent.status == 403
    assert browser.is_signed_in()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "https://other.example.test"},
        {"Origin": f"http://{HOST}"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_form_of_another_origin_ends_nothing(
    browser: SiteBrowser, headers: dict[str, str]
) -> None:
    _forged(browser, browser.visit(SIGN_OUT), **headers)


def test_a_form_without_the_code_of_this_browser_asks_again(
    browser: SiteBrowser, protected: Protected
) -> None:
    other = SiteBrowser(protected)
    other.sign_in("bob")
    of_other = other.visit(SIGN_OUT).form.fields["session_code"]
    for code in ("", "x", "v1.00000000.AAAA", of_other, of_other + "A"):
        page = browser.send(SIGN_OUT, {"session_code": code, "confirmLogout": "on"})
        assert page.id == "logout-confirm"
        assert browser.is_signed_in()


def test_without_a_session_the_browser_is_shown_as_signed_out(protected: Protected) -> None:
    browser = SiteBrowser(protected)
    assert browser.open(SIGN_OUT).id == "logged-out"
    browser.cookies[HOST] = {SESSION_COOKIE: "unknown"}
    assert browser.open(SIGN_OUT).id == "logged-out"
    assert browser.cookie() is None


def test_a_logout_at_the_realm_ends_the_session_of_the_site(
    browser: SiteBrowser, protected: Protected
) -> None:
    administration = protected.administration
    headers = {"Authorization": f"Bearer {administration.token()}"}
    users, http = "/admin/realms/staff/users", administration.http
    (user,) = http.get(f"{users}?username=ada&exact=true", headers=headers).json()
    assert http.post(f"{users}/{user['id']}/logout", headers=headers).is_success
    assert browser.is_refused_within_a_second()
    assert browser.visit(HOME).id == "login"
