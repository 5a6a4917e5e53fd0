"""The fragment of a redirect URI: the place in an application that is routed by its hash.

Every response keeps it, also that to a logout; a response in the fragment follows it.
Keycloak: 12.10 authorization, 12.6 logout; Spec: RFC 6749 §3.1.2
"""

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client

_APPLICATION: Final = "https://app.example.test/"
_PLACES: Final = ("/orders/7?tab=open", "!/a%20b", "")


@pytest.fixture(scope="module")
def routed(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose clients take every page below their address."""
    addresses: dict[str, Any] = {"redirectUris": [f"{_APPLICATION}*"]}
    settings: dict[str, Any] = {
        **RECORDED,
        "clients": [
            web_client("app", **addresses),
            web_client("asks", **addresses, consentRequired=True),
            web_client("implicit", **addresses, implicitFlowEnabled=True),
        ],
        "users": [person("anna")],
    }
    with administered_realm(administration, "routed", {}, **settings) as realm:
        yield SignInRealm(realm)


def _responses(browser: SignInBrowser, **asked: str) -> Iterator[tuple[str, Page]]:
    """Yield what comes to the client, success and every kind of error, by what is in it."""
    yield "error", browser.open(**asked, prompt="none")
    yield "error", browser.open(**asked, code_challenge="short")
    yield "error", browser.open(**asked, scope="unknown")
    yield "code", browser.sign_in(**asked)
    yield "code", browser.open(**asked)
    yield "code", browser.open(**asked, prompt="none")
    yield "error", browser.post(browser.open("asks", **asked).form.action, {"cancel": "No"})


@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("page", ["", "shop?lang=de"])
def test_a_response_in_the_query_keeps_the_fragment(
    routed: SignInRealm, place: str, page: str
) -> None:
    uri = f"{_APPLICATION}{page}#{place}" if place else f"{_APPLICATION}{page}"
    for asked in ({}, {"response_mode": "query"}):
        for kind, response in _responses(routed.browser(), redirect_uri=uri, **asked):
            parts = urlsplit(response.location)
            assert parts.fragment == place
            assert kind in dict(parse_qsl(parts.query)), response.location
            assert parts.query.startswith("lang=de&") is bool(page)


def test_a_signed_response_in_the_query_keeps_the_fragment(routed: SignInRealm) -> None:
    uri = f"{_APPLICATION}#{_PLACES[0]}"
    asked = {"redirect_uri": uri, "response_mode": "query.jwt"}
    for _, response in _responses(routed.browser(), **asked):
        assert urlsplit(response.location).fragment == _PLACES[0]
        assert list(dict(parse_qsl(urlsplit(response.location).query))) == ["response"]


@pytest.mark.parametrize("mode", ["form_post", "form_post.jwt"])
def test_a_response_by_form_keeps_the_fragment(routed: SignInRealm, mode: str) -> None:
    uri = f"{_APPLICATION}#{_PLACES[0]}"
    asked = {"redirect_uri": uri, "response_mode": mode}
    for kind, response in _responses(routed.browser(), **asked):
        fields = response.form.fields
        assert ("response" if mode.endswith("jwt") else kind) in fields
        assert response.form.action == uri


@pytest.mark.parametrize("place", [_PLACES[0], ""])
@pytest.mark.parametrize("mode", ["fragment", "fragment.jwt"])
def test_a_response_in_the_fragment_follows_it(routed: SignInRealm, mode: str, place: str) -> None:
    asked = {"redirect_uri": f"{_APPLICATION}#{place}", "response_mode": mode}
    for kind, response in _responses(routed.browser(), **asked):
        parts = urlsplit(response.location)
        kept = f"{place}&" if place else ""
        assert (parts.query, parts.fragment[: len(kept)]) == ("", kept)
        first = "response" if mode.endswith("jwt") else kind
        assert first in dict(parse_qsl(parts.fragment[len(kept) :])), response.location


@pytest.mark.parametrize("place", _PLACES)
def test_a_logout_keeps_the_fragment(routed: SignInRealm, place: str) -> None:
    browser = routed.browser()
    uri = f"{_APPLICATION}#{place}" if place else _APPLICATION
    code = dict(parse_qsl(urlsplit(browser.sign_in(redirect_uri=_APPLICATION).location).query))
    form = {"client_id": "app", "post_logout_redirect_uri": uri, "state": "s"}
    assert code["code"]
    page = browser.get(f"{browser.protocol('logout')}?{urlencode(form)}")
    done = browser.submit(page, confirmLogout="on")
    assert urlsplit(done.location).fragment == place
    assert dict(parse_qsl(urlsplit(done.location).query)) == {"state": "s"}
