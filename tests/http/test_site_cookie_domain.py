"""Hosts of one domain that share a session cookie."""

import re

import pytest

from tests.support.protected_sites import WIKI_HOSTS, Protected
from tests.support.sign_in_browser import query_of
from tests.support.site_browser import HOME, SiteBrowser
from tests.support.wire import PASSWORD

ONE, TWO = (f"https://{host}/" for host in WIKI_HOSTS)
COOKIE = "__Secure-realmgate-session"


@pytest.fixture
def browser(protected: Protected) -> SiteBrowser:
    """Return a browser that has never been here."""
    return SiteBrowser(protected)


def test_who_signs_in_at_one_host_is_signed_in_at_the_other(
    browser: SiteBrowser, protected: Protected
) -> None:
    assert browser.sign_in(url=ONE).status == 200
    assert browser.url == ONE
    assert set(browser.cookies[".wiki.test"]) == {COOKIE}
    assert browser.open(TWO).status == 200
    assert protected.service.last.all("Remote-User") == ["ada"]


def test_the_cookie_is_for_the_domain_and_not_for_scripts(browser: SiteBrowser) -> None:
    page = browser.visit(ONE)
    sent = browser.send(
        page.form.action, {**page.form.fields, "username": "ada", "password": PASSWORD}
    )
    header = browser.open(sent.location).set_cookies[COOKIE]
    attributes = "Domain=wiki.test; Path=/; Secure; HttpOnly; SameSite=Lax"
    assert re.fullmatch(rf"{COOKIE}=[\w-]{{43}}; {attributes}", header)


def test_a_session_of_the_domain_is_none_of_another_site(browser: SiteBrowser) -> None:
    browser.sign_in(url=ONE)
    value = browser.cookies[".wiki.test"][COOKIE]
    browser.cookies["app.example.test"] = {"__Host-realmgate-session": value}
    assert browser.open(HOME).status == 302


def test_a_sign_out_at_one_host_is_one_at_the_other(browser: SiteBrowser) -> None:
    browser.sign_in(url=ONE)
    page = browser.submit(browser.visit(f"{TWO}.realmgate/sign-out"))
    assert page.id == "logged-out"
    assert browser.cookies[".wiki.test"] == {}
    assert browser.visit(ONE).id == "login"


def test_the_optional_scopes_that_rules_require_are_asked_for(
    browser: SiteBrowser, protected: Protected
) -> None:
    asked = query_of(browser.open(f"{ONE}.realmgate/sign-in").location)
    assert asked["scope"] == "openid address phone"
    assert browser.sign_in(url=f"{ONE}numbers").status == 200
    assert protected.service.last.target == "/numbers"
