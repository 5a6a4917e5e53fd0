"""Redirect URIs by the flags of `secure-redirect-uris-enforcer`, and addresses of clients.

Each text is Keycloak's. Keycloak: client policies (26.7). Spec: RFC 8252 §7, OAuth 2.1 draft §8.4
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import SECRET, Administration
from tests.support.client_policies import policies_of

ENFORCER: Final = "secure-redirect-uris-enforcer"
INVALID: Final = "Invalid Redirect Uri: invalid uri"
LOOPBACK: Final = "Invalid Redirect Uri: invalid loopback address"
PRIVATE: Final = "Invalid Redirect Uri: invalid private use scheme"
SECURE: Final = "https://a.example/cb"
V4: Final = "allow-ipv4-loopback-address"
V6: Final = "allow-ipv6-loopback-address"
HTTP: Final = "allow-http-scheme"
WILDCARD: Final = "allow-wildcard-context-path"
SCHEMES: Final = "allow-private-use-uri-scheme"
STRICT: Final = "oauth-2-1-compliant"
DOMAINS: Final = "allow-permitted-domains"
REGISTERED: Final[tuple[tuple[frozenset[str], Mapping[str, str | None]], ...]] = (
    (
        frozenset(),
        {
            SECURE: None,
            "http://a.example/cb": INVALID,
            "https://a.example/*": INVALID,
            "https://a.example:port/cb": INVALID,
            "https://127.0.0.1/cb": LOOPBACK,
            "https://[::1]/cb": LOOPBACK,
            "https://localhost/cb": LOOPBACK,
            "https://127.0.0.1.a.example/cb": None,
            "https://192.0.2.1/cb": None,
            "com.example.app:/cb": PRIVATE,
        },
    ),
    (frozenset({HTTP}), {"http://a.example/cb": None}),
    (frozenset({HTTP, STRICT}), {"http://a.example/cb": INVALID, SECURE: None}),
    (frozenset({STRICT}), {f"{SECURE}#f": INVALID}),
    (
        frozenset({WILDCARD}),
        {
            "https://a.example/*": None,
            "https://a.example/a/*": None,
            "https://a.example/*/*": INVALID,
        },
    ),
    (frozenset({WILDCARD, STRICT}), {"https://a.example/*": INVALID}),
    (
        frozenset({V4}),
        {
            "https://127.0.0.1/cb": None,
            "https://localhost/cb": None,
            "http://127.0.0.1/cb": LOOPBACK,
            "https://[::1]/cb": LOOPBACK,
            "https://127.0.0.1/*": LOOPBACK,
        },
    ),
    (frozenset({V6}), {"https://[::1]/cb": None, "https://127.0.0.1/cb": LOOPBACK}),
    (frozenset({V4, HTTP}), {"http://127.0.0.1:8080/cb": None, "http://localhost/cb": None}),
    (frozenset({V4, HTTP, WILDCARD}), {"http://127.0.0.1/*": None}),
    (
        frozenset({V4, V6, HTTP, WILDCARD, STRICT}),
        {
            "http://127.0.0.1/cb": None,
            "http://[::1]/cb": None,
            "http://[0:0:0:0:0:0:0:1]/cb": LOOPBACK,
            "http://127.0.0.1:80/cb": LOOPBACK,
            "http://127.0.0.1/cb#f": LOOPBACK,
            "http://127.0.0.1/*": LOOPBACK,
            "http://localhost/cb": LOOPBACK,
        },
    ),
    (
        frozenset({SCHEMES}),
        {
            "com.example.app:/cb": None,
            "myapp:/cb": None,
            "com.example.app:/*": PRIVATE,
            "//a.example/cb": INVALID,
        },
    ),
    (
        frozenset({SCHEMES, STRICT}),
        {
            "com.example.app:/cb": None,
            "com.example.app:/cb#f": PRIVATE,
            "myapp:/cb": PRIVATE,
        },
    ),
)
"""Flags of the executor; redirect URI -> why a client with it is refused, None where it is not."""


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    with administered_realm(administration, "judged-uris", {}) as made:
        yield made


def _added(realm: AdministeredRealm, **fields: Any) -> str | None:
    """Add a client for a moment; return the text of its refusal."""
    document = {"clientId": "new", "secret": SECRET, "redirectUris": [SECURE]} | fields
    response = realm.ask("POST", "clients", document)
    if response.is_success:
        realm.change("DELETE", f"clients/{response.headers['location'].rpartition('/')[2]}")
        return None
    assert response.status_code == 400, response.text
    return str(response.json()["error_description"])


@pytest.mark.parametrize(("flags", "cases"), REGISTERED, ids=lambda each: ",".join(sorted(each)))
def test_a_client_has_the_redirect_uris_that_the_flags_allow(
    realm: AdministeredRealm, flags: frozenset[str], cases: Mapping[str, str | None]
) -> None:
    with policies_of(realm, {ENFORCER: dict.fromkeys(flags, "true")}):
        found = {uri: _added(realm, redirectUris=[SECURE, uri]) for uri in cases}
    assert found == cases


def test_a_host_matches_one_of_the_permitted_domains(realm: AdministeredRealm) -> None:
    with policies_of(realm, {ENFORCER: {DOMAINS: ["b\\.test", "[a-z]+\\.example"]}}):
        for host, text in (
            ("a.example", None),
            ("A.Example", None),
            ("b.test", None),
            ("a.example.test", INVALID),
            ("a.b.example", INVALID),
        ):
            assert _added(realm, redirectUris=[f"https://{host}/cb"]) == text, host


def test_addresses_after_a_logout_are_judged_too(realm: AdministeredRealm) -> None:
    attributes = {"post.logout.redirect.uris": "https://a.example/x##http://a.example/y"}
    with policies_of(realm, {ENFORCER: {}}):
        assert _added(realm, attributes=attributes) == INVALID


def test_open_redirects_go_anywhere_but_must_be_registered(
    realm: AdministeredRealm,
) -> None:
    with policies_of(realm, {ENFORCER: {"allow-open-redirect": True}}):
        assert _added(realm, redirectUris=["http://a.example/*"]) is None
        assert _added(realm, redirectUris=[]) == INVALID


def test_a_client_without_a_flow_that_redirects_is_not_judged(realm: AdministeredRealm) -> None:
    uris = ["http://a.example/cb"]
    with policies_of(realm, {ENFORCER: {}}):
        assert _added(realm, redirectUris=uris, standardFlowEnabled=False) is None
        implicit = {"standardFlowEnabled": False, "implicitFlowEnabled": True}
        assert _added(realm, redirectUris=uris, **implicit) == INVALID


def test_the_redirect_uri_of_a_request_is_checked_first(
    realm: AdministeredRealm,
) -> None:
    """That of a loopback address has a port, unlike the registered one. Spec: RFC 8252 §7.3."""
    http = realm.administration.http
    registered = ["http://127.0.0.1/cb", "http://[::1]/cb", SECURE]
    flows = {"native": {}, "silent": {"standardFlowEnabled": False}}
    for client_id, fields in flows.items():
        document = {"clientId": client_id, "publicClient": True, "redirectUris": registered}
        realm.change("POST", "clients", document | fields)
    flags = dict.fromkeys((V4, V6, HTTP, STRICT), "true")
    with policies_of(realm, {ENFORCER: flags}):
        for client_id, uri, is_refused in (
            ("native", SECURE, False),
            ("native", "http://127.0.0.1:49152/cb", False),
            ("native", "http://127.0.0.1/cb", True),
            ("native", "http://[::1]:49152/cb", False),
            ("native", "http://[::1]/cb", True),
            ("native", "http://localhost:49152/cb", True),
            ("silent", "http://127.0.0.1/cb", False),
        ):
            page = http.get(
                f"/realms/{realm.name}/protocol/openid-connect/auth",
                params={"client_id": client_id, "redirect_uri": uri, "response_type": "code"},
                follow_redirects=False,
            )
            assert ("Invalid request" in page.text) is is_refused, (client_id, uri, page.text)
            assert not is_refused or "location" not in page.headers


def test_the_root_url_of_a_new_client_becomes_its_redirect_uri(realm: AdministeredRealm) -> None:
    """In place of the wildcard that a client without any gets; not later, and not beside others."""
    root = "https://root.example"
    own = {"clientId": "rooted", "rootUrl": root, "redirectUris": [SECURE]}
    with policies_of(realm, {"secure-client-uris": {}}):
        made = realm.change("POST", "clients", own)
        assert realm.get(f"clients/{made}")["redirectUris"] == [SECURE]
        realm.change("PUT", f"clients/{made}", own | {"redirectUris": []})
        assert realm.get(f"clients/{made}")["redirectUris"] == []
    realm.change("DELETE", f"clients/{made}")


@pytest.mark.parametrize(
    ("attribute", "text"),
    [
        ("backchannel.logout.url", "Invalid logoutUrl"),
        ("frontchannel.logout.url", "Invalid frontChannelLogoutUrl"),
        ("post.logout.redirect.uris", "Invalid postLogoutUris"),
        ("jwks.url", "Invalid jwksUri"),
        ("request.uris", "Invalid requestUris"),
        ("logoUri", "Invalid logoUri"),
        ("policyUri", "Invalid policyUri"),
        ("tosUri", "Invalid tosUri"),
    ],
)
def test_every_address_of_a_client_has_tls(
    realm: AdministeredRealm, attribute: str, text: str
) -> None:
    with policies_of(realm, {"secure-client-uris": {}}):
        assert _added(realm, attributes={attribute: "http://a.example/x"}) == text
        assert _added(realm, attributes={attribute: "https://a.example/x"}) is None


def test_only_the_named_addresses_match_a_pattern(realm: AdministeredRealm) -> None:
    patterns = ["https://b\\.test/.*", "https://a\\.example(/.*)?"]
    for fields, text in (
        ([], "Invalid baseUrl"),
        (["redirectUris"], None),
        (["baseUrl"], "Invalid baseUrl"),
    ):
        configuration = {"allowed-patterns": patterns, "client-uri-fields": fields}
        with policies_of(realm, {"secure-client-uris-pattern": configuration}):
            assert _added(realm, baseUrl="https://c.test/") == text, fields
            assert _added(realm) is None
    with policies_of(realm, {"secure-client-uris-pattern": {"client-uri-fields": ["baseUrl"]}}):
        assert _added(realm) is None, "an address that there is not needs no pattern"


def test_a_redirect_uri_without_tls_is_local_if_allowed_at_all(
    realm: AdministeredRealm,
) -> None:
    ports = ["http://localhost:8080/cb", "http://127.0.0.1:8080/cb"]
    local = [*ports, "http://localhost/*", "http://localhost.evil.example/cb"]
    document = {"clientId": "local", "publicClient": True, "redirectUris": local}
    realm.change("POST", "clients", document)
    for uri, allowed in (
        ("http://localhost/cb", True),
        ("http://localhost:8080/cb", True),
        ("http://127.0.0.1:8080/cb", True),
        ("http://localhost.evil.example/cb", False),
        ("http://localhost/*", False),
    ):
        for flag in (True, False):
            with policies_of(realm, {"secure-client-uris": {"allow-http-on-localhost": flag}}):
                response = realm.administration.http.get(
                    f"/realms/{realm.name}/protocol/openid-connect/auth",
                    params={"client_id": "local", "redirect_uri": uri, "response_type": "code"},
                    follow_redirects=False,
                )
            location = httpx2.URL(response.headers.get("location", ""))
            text = location.params.get("error_description")
            assert (text == "Invalid redirect_uri") is not (allowed and flag), (uri, flag, text)
