"""Browsers sign in at a protected site, through nginx, and return to what they wanted."""

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import urljoin

import pytest
import redis

from gateway.forward_auth import browser as site_pages
from gateway.forward_auth.browser import REFUSED_PATH
from gateway.storage.redis.private_server import PrivateRedis
from tests.support.open_redirects import REFUSED
from tests.support.protected_sites import HOST, PROXY_SECRET, Protected
from tests.support.sign_in_browser import PUBLIC_URL, query_of, with_query
from tests.support.site_browser import HOME, SESSION_COOKIE, SiteBrowser
from tests.support.wire import PASSWORD

SIGN_IN = f"https://{HOST}/.realmgate/sign-in"
CALLBACK = f"https://{HOST}/.realmgate/callback"


@pytest.fixture
def browser(protected: Protected) -> SiteBrowser:
    """Return a browser that has never been here."""
    return SiteBrowser(protected)


def _at_callback(browser: SiteBrowser, url: str = HOME, username: str = "ada") -> str:
    """Sign in at the realm and return the URL that the browser is sent back to."""
    page = browser.visit(url)
    sent = browser.send(page.form.action, {**page.form.fields, **_user(username)})
    assert sent.location.startswith(CALLBACK), sent.location
    return sent.location


def _user(username: str) -> dict[str, str]:
    return {"username": username, "password": PASSWORD}


def test_a_browser_signs_in_returns_to_what_it_wanted_and_passes(
    browser: SiteBrowser, protected: Protected
) -> None:
    page = browser.sign_in(url=f"{HOME}a%20page?with=a%26query&and=%23")
    assert page.status == 200
    assert protected.service.last.target == "/home/a%20page?with=a%26query&and=%23"
    assert protected.service.last.all("Remote-User") == ["ada"]
    assert browser.url == f"{HOME}a%20page?with=a%26query&and=%23"
    assert browser.pending() == {}


def test_the_request_to_the_realm_has_state_nonce_and_pkce(browser: SiteBrowser) -> None:
    first, second = (query_of(browser.open(SIGN_IN).location) for _ in range(2))
    assert first["client_id"] == "portal"
    assert first["redirect_uri"] == CALLBACK
    assert first["response_type"] == "code"
    assert first["code_challenge_method"] == "S256"
    assert "openid" in first["scope"].split()
    for name in ("state", "nonce", "code_challenge"):
        assert len(first[name]) == 43
        assert first[name] != second[name]


def test_a_signed_in_browser_is_signed_in_at_once(browser: SiteBrowser) -> None:
    browser.sign_in()
    browser.cookies[HOST].pop(SESSION_COOKIE)
    assert browser.visit(f"{HOME}again").status == 200
    assert browser.url == f"{HOME}again"


def test_the_session_cookie_is_for_this_host_and_not_for_scripts(browser: SiteBrowser) -> None:
    page = browser.open(_at_callback(browser))
    header = page.set_cookies[SESSION_COOKIE]
    assert re.fullmatch(
        rf"{SESSION_COOKIE}=[\w-]{{43}}; Path=/; Secure; HttpOnly; SameSite=Lax", header
    )
    assert page.response.headers["cache-control"].startswith("no-store")


def test_every_sign_in_has_a_new_session_and_ends_the_one_before(browser: SiteBrowser) -> None:
    browser.cookies[HOST] = {SESSION_COOKIE: "chosen-by-another"}
    browser.sign_in()
    first = browser.cookie()
    assert first != "chosen-by-another"
    browser.visit(f"{SIGN_IN}?rd={HOME}")
    second = browser.cookie()
    assert second is not None
    assert second != first
    assert browser.is_signed_in()
    browser.cookies[HOST][SESSION_COOKIE] = str(first)
    assert browser.is_refused_within_a_second()


def test_several_tabs_sign_in_at_once(browser: SiteBrowser, protected: Protected) -> None:
    pages = {number: browser.visit(f"{HOME}{number}") for number in range(3)}
    assert len(browser.pending()) == 3
    page = browser.submit(pages[1], **_user("ada"))
    assert page.status == 200
    assert protected.service.last.target == "/home/1"
    for number in (2, 0):
        assert browser.visit(f"{HOME}{number}").status == 200


def test_sign_ins_that_wait_are_few_and_the_oldest_is_dropped(browser: SiteBrowser) -> None:
    for number in range(12):
        url = browser.open(f"{SIGN_IN}?rd={HOME}{number}").location
        assert len(browser.pending()) <= 6
        newest = query_of(url)["state"][:8]
        assert any(name.endswith(newest) for name in browser.pending())
    for _ in range(4):
        browser.open(f"{SIGN_IN}?rd={HOME}{'x' * 1900}")
        size = sum(len(name) + len(value) for name, value in browser.pending().items())
        assert size <= 6000


def test_nothing_is_stored_before_a_user_has_signed_in(
    browser: SiteBrowser, protected: Protected
) -> None:
    with redis.Redis.from_url(PrivateRedis(protected.gateway.state_dir).url.reveal()) as store:
        before = store.dbsize()
        for _ in range(5):
            browser.open(SIGN_IN)
        assert store.dbsize() == before


def _changed_state(url: str) -> str:
    state = query_of(url)["state"]
    return with_query(url, state=f"{state[:-1]}{'A' if state[-1] != 'A' else 'B'}")


@pytest.mark.parametrize(
    "change",
    [
        _changed_state,
        lambda url: with_query(url, state=None),
        lambda url: with_query(url, state=""),
        lambda url: with_query(url, iss=None),
        lambda url: with_query(url, iss=f"{PUBLIC_URL}/realms/devices"),
        lambda url: with_query(url, iss="https://evil.example/realms/staff"),
        lambda url: with_query(url, code=None),
        lambda url: with_query(url, code="not-a-code"),
        lambda url: with_query(url, error="access_denied"),
        lambda url: f"{url}&code=another",
        lambda url: f"{url}&state=another",
        lambda url: f"{url}&iss={PUBLIC_URL}",
    ],
)
def test_a_response_that_was_changed_signs_nobody_in(
    browser: SiteBrowser, change: Callable[[str], str]
) -> None:
    page = browser.open(change(_at_callback(browser)))
    assert (page.status, page.id) == (400, "site-sign-in-failed")
    assert browser.cookie() is None
    assert "location" not in page.response.headers


def test_a_response_is_for_the_browser_that_began(
    browser: SiteBrowser, protected: Protected
) -> None:
    url, other = _at_callback(browser), SiteBrowser(protected)
    assert (other.open(url).status, other.cookie()) == (400, None)
    other.open(SIGN_IN)
    assert (other.open(url).status, other.cookie()) == (400, None)
    assert browser.open(url).location == HOME


def test_a_code_of_another_sign_in_is_refused(browser: SiteBrowser, protected: Protected) -> None:
    """The code is bound to its own verifier and nonce: RFC 9700 §4.5."""
    other = SiteBrowser(protected)
    stolen = query_of(_at_callback(other, username="bob"))["code"]
    url = with_query(_at_callback(browser), code=stolen)
    assert browser.open(url).status == 400
    assert browser.cookie() is None


@pytest.mark.parametrize("name", ["nonce", "code_challenge", "state"])
def test_a_request_that_was_changed_on_its_way_signs_nobody_in(
    browser: SiteBrowser, name: str
) -> None:
    page = browser.visit(with_query(browser.open(SIGN_IN).location, **{name: "x" * 43}))
    page = browser.submit(page, **_user("ada"))
    assert (page.status, page.id) == (400, "site-sign-in-failed")
    assert browser.cookie() is None


def test_a_code_is_redeemed_once(browser: SiteBrowser) -> None:
    url = _at_callback(browser)
    pending = browser.pending()
    assert browser.open(url).location == HOME
    browser.cookies[HOST] |= pending
    assert browser.open(url).status == 400


def test_a_failed_sign_in_leads_to_a_new_one(browser: SiteBrowser) -> None:
    page = browser.open(with_query(_at_callback(browser, f"{HOME}wanted"), error="access_denied"))
    assert "cancelled or refused" in page.text
    retry = urljoin(browser.url, page.link("try-again"))
    assert query_of(retry)["rd"] == f"{HOME}wanted"
    assert browser.visit(retry).status == 200


def test_the_site_is_that_of_the_host(browser: SiteBrowser) -> None:
    assert browser.open(f"{PUBLIC_URL}/.realmgate/sign-in").status == 404
    assert browser.open("https://devices.example.test/.realmgate/sign-in").status == 400


REPORTED: Final = {
    "X-Realmgate-Proxy-Secret": PROXY_SECRET,
    "X-Forwarded-Host": HOST,
    "X-Realmgate-Server": f"{HOST}:443",
}
"""What every proxy sends."""


def test_every_page_of_a_site_needs_what_the_proxy_reports(protected: Protected) -> None:
    """attacks: B4."""
    pages = {path for name, path in vars(site_pages).items() if name.endswith("_PATH")} - {
        REFUSED_PATH
    }
    assert len(pages) >= 3
    for path in pages:
        for method in ("GET", "HEAD", "POST"):
            with protected.gateway.client(**REPORTED) as http:
                assert http.request(method, path).status_code != 404, (method, path)
            for missing in REPORTED:
                sent = {name: value for name, value in REPORTED.items() if name != missing}
                with protected.gateway.client(**sent) as http:
                    found = http.request(method, path)
                assert found.status_code == 404, (method, path, missing)
                assert {"location", "set-cookie"}.isdisjoint(found.headers)


def test_the_site_is_that_of_the_proxys_server(protected: Protected) -> None:
    """attacks: B4."""
    headers = {"X-Realmgate-Proxy-Secret": PROXY_SECRET, "X-Forwarded-Host": HOST}
    with protected.gateway.client(**headers) as http:
        for server, status in (
            *((f"{HOST}:443", 302), (HOST, 302), (f"{HOST}:8443", 302), (None, 404), ("", 404)),
            *(("devices.example.test:443", 404), ("*.example.test:443", 404), (":443", 404)),
            *(("~^app:443", 404), ("_:443", 404), ("elsewhere.example.test:443", 404)),
        ):
            reported = {} if server is None else {"X-Realmgate-Server": server}
            found = http.get("/.realmgate/sign-in", headers=reported)
            assert found.status_code == status, server


def test_no_url_of_the_corpus_of_open_redirects_is_redirected_to(protected: Protected) -> None:
    """attacks: C3."""
    with protected.gateway.client(**REPORTED) as http:
        for path in ("sign-in", "sign-out"):
            for wanted in REFUSED:
                found = http.get(f"/.realmgate/{path}", params={"rd": wanted})
                assert found.status_code == 400, (path, wanted)
                assert {"location", "set-cookie"}.isdisjoint(found.headers), (path, wanted)


def test_guesses_of_a_stranger_sign_no_user_out_of_a_site(
    browser: SiteBrowser, protected: Protected
) -> None:
    """A temporary lock-out refuses new sign-ins alone: single sign-on goes on, too."""
    assert browser.sign_in("changed-11").status == 200
    for _ in range(2):
        page = SiteBrowser(protected)
        page.submit(page.visit(), username="changed-11", password="wrong")
    refused = SiteBrowser(protected)
    assert refused.submit(refused.visit(), username="changed-11", password=PASSWORD).id == "login"
    assert not browser.is_refused_within_a_second()
    browser.cookies[HOST].clear()
    assert browser.visit(HOME).status == 200


def test_nobody_signs_in_without_tls(protected: Protected) -> None:
    with protected.gateway.client(**REPORTED, **{"X-Forwarded-Proto": "http"}) as http:
        found = http.get("/.realmgate/sign-in")
    assert found.status_code == 400
    assert "HTTPS" in found.text
    assert "set-cookie" not in found.headers


@pytest.mark.parametrize("query", ["rd=https://evil.example/", "rd=//evil.example", "rd=/a&rd=/b"])
def test_a_sign_in_leads_to_no_other_site(browser: SiteBrowser, query: str) -> None:
    page = browser.open(f"{SIGN_IN}?{query}")
    assert (page.status, page.id) == (400, "error")
    assert {"location", "set-cookie"}.isdisjoint(page.response.headers)


def test_another_peer_than_the_proxy_gets_nothing(protected: Protected) -> None:
    with protected.gateway.client(**{"X-Forwarded-Host": HOST}) as http:
        for path in ("sign-in", "callback", "sign-out", "refused"):
            assert http.get(f"/.realmgate/{path}").status_code == 404, path
