"""The addresses of clients. The texts are those of Keycloak 26.7, asked for each address."""

from typing import Any

import pytest

from gateway.domain.clients import origins_of
from gateway.domain.clients.client import Client
from gateway.representations.clients.client import parse_client
from gateway.representations.clients.validation import explained, wrong_addresses
from tests.support.stored_documents import restored_client

FRAGMENT = "must not contain an URL fragment"
ILLEGAL = "uses an illegal scheme"
NO_URL = "is not a valid URL"
NO_URI = "is not a valid URI"


def wrong(attributes: dict[str, str] | None = None, **document: Any) -> list[str]:
    client = Client("id", "realm", "x", attributes=attributes or {}, document=document)
    return [found.text for found in wrong_addresses(client)]


@pytest.mark.parametrize(
    "address",
    [
        *("", "http:///x", "HTTP://A", "ftp://a", "mailto:a@b", "${authBaseUrl}", "http://ä"),
        *("http://[::1]/", "file:///x", "${authAdminUrl}/x", "https://a:8443/b?c=[1]"),
    ],
)
def test_a_root_is_an_address(address: str) -> None:
    assert wrong(rootUrl=address) == []


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        *((text, NO_URL) for text in ("http://", "http:", "//a/b", "a", "/a", "${foo}", "x:y")),
        *((text, NO_URL) for text in ("http://a b", "http://a%zz", "http://a|b", "http://a:x")),
        *(
            (text, NO_URL)
            for text in (" javascript:x", "http://a:99999", "http://[::1", "http://[abc]/")
        ),
        *((text, ILLEGAL) for text in ("JAVASCRIPT:x", "Data:x", "vbscript:x")),
        ("http://a#b", FRAGMENT),
    ],
)
def test_a_root_that_is_none_is_refused(address: str, problem: str) -> None:
    assert wrong(rootUrl=address) == [f"Root URL {problem}"]


@pytest.mark.parametrize(
    "address",
    [
        *("", "*", "+", "/a", "a", "//a/b", "x:y", "http://*", "http://a*", "http://a/x?y=[1]"),
        "com.example.app:/callback",
    ],
)
def test_a_redirect_uri_may_be_a_pattern_or_belong_to_an_app(address: str) -> None:
    assert wrong(redirectUris=[address]) == []


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        *((text, NO_URI) for text in ("http://", "http:", "custom://", "custom:", "${foo}")),
        *((text, NO_URI) for text in ("[x", "a]b", "http://a\\b", "a^b", 'a"b', "not a uri")),
        ("java\tscript:x", NO_URI),
        *((text, ILLEGAL) for text in ("javascript:x", "JavaScript:x", "data:text/html,x")),
        *((text, FRAGMENT) for text in ("a#b", "#", "http://a/b#c")),
    ],
)
def test_a_redirect_uri_that_leads_nowhere_or_astray_is_refused(address: str, problem: str) -> None:
    client = Client("id", "realm", "x", document={"redirectUris": ["http://fine", address]})
    (found,) = wrong_addresses(client)
    assert (found.text, found.is_redirect) == (f"A redirect URI {problem}", True)


@pytest.mark.parametrize("name", ["baseUrl", "adminUrl"])
@pytest.mark.parametrize(
    ("address", "problem"),
    [
        *((text, "") for text in ("/x", "//h", "http://a#b")),
        *((text, NO_URL) for text in ("x", "#", "?a", "http://")),
        ("javascript:x", ILLEGAL),
    ],
)
def test_other_addresses_may_begin_at_the_root(name: str, address: str, problem: str) -> None:
    label = {"baseUrl": "Base URL", "adminUrl": "Admin URL"}[name]
    assert wrong(None, **{name: address}) == ([f"{label} {problem}"] if problem else [])


def test_an_address_below_a_placeholder_root_is_not_checked() -> None:
    assert wrong(rootUrl="${authBaseUrl}", baseUrl="/realms/x y/account") == []


@pytest.mark.parametrize(
    ("name", "address", "text"),
    [
        ("backchannel.logout.url", "x", f"Backchannel logout URL {NO_URL}"),
        ("backchannel.logout.url", "/x", ""),
        ("backchannel.logout.url", "http://a#b", ""),
        ("backchannel.logout.url", "http://a##http://b", f"Backchannel logout URL {NO_URL}"),
        ("frontchannel.logout.url", "javascript:x", f"Front-channel logout URL {ILLEGAL}"),
        ("logoUri", "x", ""),
        ("logoUri", "nope nope", f"Logo URL {NO_URL}"),
        ("policyUri", "/x", f"Policy URL {NO_URL}"),
        ("tosUri", "data:x", f"Terms of service URL {ILLEGAL}"),
        ("jwks.url", "+", f"JWKS URL {NO_URL}"),
        (
            "request.uris",
            "http://a##javascript:x",
            "Valid request URIs has a value with illegal scheme",
        ),
        ("request.uris", "nope nope", "Valid request URIs has an invalid value"),
        ("request.uris", "http://a#b", ""),
        ("post.logout.redirect.uris", "+", ""),
        ("post.logout.redirect.uris", "http://a##http://b", ""),
        ("post.logout.redirect.uris", "x##http://a#b", f"A post-logout redirect URI {FRAGMENT}"),
        ("login_theme", "javascript:x", ""),
    ],
)
def test_attributes_that_are_addresses_are_judged(name: str, address: str, text: str) -> None:
    assert wrong({name: address}) == ([text] if text else [])


def test_everything_that_is_wrong_is_told_once_and_in_order() -> None:
    uris = ["http://a/b#c", "javascript:x", "http://d#e"]
    document = {"redirectUris": uris, "rootUrl": "data:s", "baseUrl": "x#y"}
    found = wrong_addresses(Client("id", "realm", "x", document=document))
    assert [one.address for one in found] == ["data:s", "x#y", *uris]
    redirects = f"A redirect URI {FRAGMENT}; A redirect URI {ILLEGAL}"
    assert explained(found) == f"Root URL {ILLEGAL}; Base URL {NO_URL}; {redirects}"


def test_origins_are_those_of_the_addresses_that_have_one() -> None:
    uris = ["http://a/*", "/rel", "https://b:8443/x", "custom:x", "http://a/b", "HTTP://C?d", 5]
    assert origins_of([*uris, "*", "http://*"]) == ["http://a", "https://b:8443", "HTTP://C"]


@pytest.mark.parametrize(
    ("origins", "redirects", "root", "allowed"),
    [
        (["https://x.test", "*"], ["https://app.test/*"], "", ["https://x.test", "*"]),
        (
            ["+"],
            [
                "https://app.test/*",
                "http://localhost:8080/cb",
                "myapp://x",
                "/rel",
                "https://app.test:444/a",
            ],
            "https://root.test/x",
            [
                "https://app.test",
                "http://localhost:8080",
                "https://root.test",
                "https://app.test:444",
            ],
        ),
        (["+", "*"], ["https://app.test/*"], "", ["*", "https://app.test"]),
        (["https://app.test", "+"], ["https://app.test/*"], "", ["https://app.test"]),
        (["+"], [], "https://root.test/x", []),
        (["+"], ["*"], "https://root.test/x", []),
        (["+"], ["/rel"], "", []),
    ],
)
def test_a_plus_in_web_origins_stands_for_the_redirect_uris(
    origins: list[str], redirects: list[str], root: str, allowed: list[str]
) -> None:
    document = {"redirectUris": redirects, "rootUrl": root}
    given = {"clientId": "app", "webOrigins": origins, **document}
    client = parse_client(given, "demo", report_ineffective=True)
    assert client.allowed_origins == tuple(allowed)
    assert client.web_origins == tuple(origins)
    assert restored_client(client) == client


def test_a_client_without_web_origins_allows_none() -> None:
    redirects = {"clientId": "app", "redirectUris": ["https://app.test/*"]}
    client = parse_client({**redirects, "webOrigins": []}, "demo")
    assert client.allowed_origins is None
    changed = parse_client({"webOrigins": ["+"]}, "demo", base=client)
    assert changed.allowed_origins == ("https://app.test",)
    moved = parse_client({"redirectUris": ["https://b.test/*"]}, "demo", base=changed)
    assert moved.allowed_origins == ("https://b.test",)
