"""What people see of a refused request: the sign-in, or a page; programs get headers alone."""

import re
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from urllib.parse import urljoin

import pytest

from tests.support.protected_sites import HOST, Protected
from tests.support.sign_in_browser import query_of
from tests.support.site_browser import HOME, SESSION_COOKIE, SiteBrowser
from tests.support.wire import PASSWORD

ADMIN = f"https://{HOST}/admin"
_PROGRAMS: tuple[dict[str, str], ...] = (
    {"Accept": "*/*"},
    {"Accept": "text/html", "Sec-Fetch-Mode": "cors"},
    {"Accept": "text/html", "Sec-Fetch-Mode": "no-cors"},
    {"Accept": "text/html", "X-Requested-With": "XMLHttpRequest"},
)


@pytest.fixture
def browser(protected: Protected) -> SiteBrowser:
    """Return a browser that has never been here."""
    return SiteBrowser(protected)


def test_a_form_without_a_session_gets_a_page_and_no_silent_loss(
    browser: SiteBrowser, protected: Protected
) -> None:
    browser.sign_in()
    value = browser.cookies[HOST].pop(SESSION_COOKIE)
    protected.service.forget()
    page = browser.send(f"{HOME}save", {"text": "much work"}, Referer=f"{HOME}edit?page=1")
    assert (page.status, page.id) == (401, "site-session-ended")
    assert "Nothing was sent" in page.text
    assert protected.service.received == []
    sign_in = urljoin(browser.url, page.link("sign-in"))
    assert query_of(sign_in)["rd"] == f"{HOME}edit?page=1"
    assert page.link("sign-in-new-tab") == page.link("sign-in")
    assert browser.visit(sign_in).status == 200
    assert browser.cookie() not in {None, value}
    assert browser.send(f"{HOME}save", {"text": "much work"}).status == 200
    assert protected.service.last.body == b"text=much+work"


@pytest.mark.parametrize(
    "referer", ["https://evil.example/", "https://app.example.test.evil.example/", "//evil", ""]
)
def test_a_form_of_an_unknown_page_leads_back_to_its_own_url(
    browser: SiteBrowser, referer: str
) -> None:
    page = browser.send(f"{HOME}save?to=1", {"a": "b"}, Referer=referer)
    assert query_of(page.link("sign-in"))["rd"] == f"{HOME}save?to=1"


def test_a_page_without_access_names_the_user_and_lets_switch(
    browser: SiteBrowser, protected: Protected
) -> None:
    page = browser.sign_in("bob", ADMIN)
    assert (page.status, page.id) == (403, "site-no-access")
    assert "You are signed in as bob." in page.text
    assert f"You are not allowed to open this page of {HOST}." in page.text
    assert f"To get access, contact the administrator of {HOST}." in page.text
    page = browser.submit(page)
    assert page.id == "login"
    page = browser.submit(page, username="ada", password=PASSWORD)
    assert (page.status, browser.url) == (200, ADMIN)
    assert protected.service.last.all("Remote-User") == ["ada"]


def test_a_caller_with_a_token_is_not_offered_a_session(
    browser: SiteBrowser, protected: Protected
) -> None:
    token = protected.token("bob")["access_token"]
    page = browser.open(ADMIN, Authorization=f"Bearer {token}")
    assert (page.status, page.id) == (403, "site-no-access")
    assert "<form" not in page.html


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "DELETE"])
def test_a_program_gets_a_challenge_without_a_body(protected: Protected, method: str) -> None:
    token = protected.token("bob")["access_token"]
    for headers in _PROGRAMS:
        found = protected.ask("/home/", method=method, headers=headers)
        assert (found.status_code, found.content) == (401, b""), headers
        assert found.headers["www-authenticate"] == 'Bearer realm="staff"', headers
        assert found.headers["x-realmgate-reason"] == "no_credential"
        assert {"location", "set-cookie"}.isdisjoint(found.headers)
        found = protected.ask("/admin", method=method, headers=headers, token=token)
        assert (found.status_code, found.content) == (403, b""), headers
        assert 'error="insufficient_scope"' in found.headers["www-authenticate"]


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_navigation_without_a_session_begins_a_sign_in(browser: SiteBrowser, method: str) -> None:
    page = browser.ask(method, f"{HOME}?a=1&b=%2F", headers={})
    assert query_of(page.location)["rd"] == f"{HOME}?a=1&b=%2F"


def test_without_fetch_metadata_a_browser_is_known_by_accept(
    browser: SiteBrowser,
) -> None:
    browser.headers = {"Accept": "text/html,application/xhtml+xml"}
    assert "/.realmgate/sign-in?rd=" in browser.open(HOME).location


def test_a_site_without_a_client_asks_nobody_to_sign_in(browser: SiteBrowser) -> None:
    page = browser.open("https://devices.example.test/")
    assert (page.status, page.id) == (401, "site-no-access")
    assert "sign-in" not in page.html


def test_a_page_of_a_site_has_its_own_style_and_its_own_policy(
    browser: SiteBrowser, protected: Protected
) -> None:
    page = browser.send(f"{HOME}save", {})
    sheet = page.html.partition('rel="stylesheet" href="')[2].partition('"')[0]
    assert sheet.startswith("/.realmgate/resources/")
    found = protected.ask(sheet)
    assert found.headers["content-type"].startswith("text/css")
    headers = page.response.headers
    assert "style-src 'self'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "SAMEORIGIN"
    assert headers["cache-control"].startswith("no-store")
    assert "strict-transport-security" not in headers


def test_a_user_may_read_the_page_in_another_language(browser: SiteBrowser) -> None:
    page = browser.send(f"{HOME}save", {}, **{"Accept-Language": "de"})
    assert "Ihre Sitzung ist beendet" in page.text or "Nothing was sent" in page.text


@pytest.mark.parametrize("dialect", ["traefik", "caddy"])
def test_a_proxy_that_returns_answers_gets_the_same_pages(
    protected: Protected, dialect: str
) -> None:
    headers = {
        "X-Realmgate-Proxy-Secret": "known-to-the-proxy-and-the-gateway-alone",
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "192.0.2.1",
        "X-Forwarded-Host": HOST,
        "X-Realmgate-Server": HOST,
        "X-Forwarded-Uri": "/home/save",
        "Sec-Fetch-Mode": "navigate",
        "Accept": "text/html",
    }
    with protected.gateway.client(**headers) as http:
        url = f"/.realmgate/guard/{dialect}"
        sent = http.get(url, headers={"X-Forwarded-Method": "POST"})
        assert sent.status_code == 401
        assert "Nothing was sent" in sent.text
        assert sent.headers["x-frame-options"] == "SAMEORIGIN"
        asked = http.get(url, headers={"X-Forwarded-Method": "GET"}, follow_redirects=False)
        assert asked.status_code == 302
        assert query_of(asked.headers["location"])["rd"] == f"{HOME}save"
        program = {"X-Forwarded-Method": "POST", "Sec-Fetch-Mode": "cors"}
        assert http.get(url, headers=program).content == b""


_NAVIGATION = {"Accept": "text/html", "Sec-Fetch-Mode": "navigate"}
_WITHOUT_SITE: tuple[tuple[str, dict[str, str], str, str], ...] = (
    ("/", {"Host": f"{HOST}:8443"}, "unknown_host", f"has the host {HOST}:8443."),
    ("/public/", {"Host": f"{HOST.upper()}:1"}, "unknown_host", f"has the host {HOST}:1."),
    ("/home//x", {}, "ambiguous_request", "could read its address or its headers differently"),
    ("/home/%2e%2e/x", {}, "ambiguous_request", "could read its address"),
    ("/home/", {"X-HTTP-Method-Override": "DELETE"}, "ambiguous_request", "could read its"),
)
"""Path, headers, reason, and words of the page."""


@pytest.mark.parametrize(("path", "headers", "reason", "words"), _WITHOUT_SITE)
def test_a_refusal_without_a_site_is_a_page_that_says_why(
    protected: Protected, path: str, headers: dict[str, str], reason: str, words: str
) -> None:
    for method in ("GET", "POST"):
        found = protected.ask(path, method=method, headers=_NAVIGATION | headers)
        assert found.status_code == 403
        assert found.headers["x-realmgate-reason"] == reason
        assert found.headers["content-type"] == "text/html; charset=utf-8"
        assert words in found.text
        assert re.search("<code>[0-9a-f]{32}</code>", found.text)
        assert not re.search(r"<script|<link|\son\w+=|\sstyle=|https?://|url\(", found.text)
        (style,) = re.findall(r"<style>(.*)</style>", found.text, re.DOTALL)
        digest = b64encode(sha256(style.encode()).digest()).decode()
        (policy,) = found.headers.get_list("content-security-policy")
        assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'; base-uri ")


@pytest.mark.parametrize(("path", "headers", "reason", "words"), _WITHOUT_SITE)
def test_a_program_without_a_site_reads_the_reason_as_json(
    protected: Protected, path: str, headers: dict[str, str], reason: str, words: str
) -> None:
    found = protected.ask(path, headers={"Accept": "*/*"} | headers)
    assert (found.status_code, found.headers["x-realmgate-reason"]) == (403, reason)
    document = found.json()
    assert set(document) == {"error", "error_description", "request_id"}
    assert words in document["error_description"]


def test_a_page_without_a_site_looks_like_those_of_nginx(protected: Protected) -> None:
    template = Path("nginx/realmgate/error-page.conf").read_text()
    style = template.partition("$realmgate_error_style '\n")[2].partition("\n';")[0]
    (mark,) = re.findall('<header class="brand">.*</header>', template)
    page = protected.ask("/home//x", headers=_NAVIGATION).text
    assert f"<style>{style}\n</style>" in page
    assert mark in page


def test_no_refusal_is_an_empty_page_for_a_browser(protected: Protected) -> None:
    """Whatever refuses a navigation, its user reads why or gets to the sign-in."""
    token = protected.token("bob")["access_token"]
    paths = ("/home/", "/admin/", "/nowhere", "/reports/x", "/teams/x", "/jobs/x", "/bound/x")
    for path in (*paths, "/aimed/x", "/mail/x", "/home//", "/home/;x", "/home/%5c"):
        for host in (HOST, "devices.example.test", f"{HOST}:8443"):
            for sent in (None, token, "no-token"):
                headers = _NAVIGATION | {"Host": host}
                if sent is not None:
                    headers["Authorization"] = f"Bearer {sent}"
                found = protected.ask(path, headers=headers)
                if found.status_code in {401, 403}:
                    assert found.content, (path, host, found.headers)
