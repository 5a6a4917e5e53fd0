"""Settings of a site's client that decide whether browsers can sign in at the site."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import redis

from gateway.storage.redis.private_server import PrivateRedis
from tests.support.administered_realm import AdministeredRealm
from tests.support.client_policies import policies_of
from tests.support.gateway_process import until
from tests.support.protected_sites import HOST, Protected
from tests.support.sign_in_browser import query_of
from tests.support.site_browser import HOME, SiteBrowser
from tests.support.wire import PASSWORD, SECRET

SIGN_IN = f"https://{HOST}/.realmgate/sign-in"
PUSHED_ONLY = {"require.pushed.authorization.requests": "true"}


@contextmanager
def _portal(
    protected: Protected, attributes: Mapping[str, str] | None = None, **fields: Any
) -> Iterator[None]:
    """Change the client of the site for a while."""
    administration = protected.administration
    headers = {"Authorization": f"Bearer {administration.token()}"}
    clients, http = "/admin/realms/staff/clients", administration.http
    (before,) = http.get(f"{clients}?clientId=portal", headers=headers).json()
    url = f"{clients}/{before['id']}"
    after = {**before, **fields, "attributes": {**before["attributes"], **(attributes or {})}}
    answer = http.put(url, json=after, headers=headers)
    assert answer.is_success, answer.text
    try:
        yield
    finally:
        added = dict.fromkeys(attributes or {}, "")
        restored = {**before, "attributes": {**added, **before["attributes"]}}
        assert http.put(url, json=restored, headers=headers).is_success


@pytest.mark.parametrize(
    ("attributes", "fields"),
    [
        ({"pkce.code.challenge.method": "S256"}, {}),
        ({"request.object.signature.alg": "ES256"}, {}),
        ({"exclude.session.state.from.auth.response": "true"}, {}),
        ({"tls.client.certificate.bound.access.tokens": "true"}, {}),
        ({}, {"publicClient": False, "secret": SECRET}),
        (PUSHED_ONLY, {}),
        (PUSHED_ONLY, {"publicClient": False, "secret": SECRET}),
        ({**PUSHED_ONLY, "tls.client.certificate.bound.access.tokens": "true"}, {}),
    ],
)
def test_a_browser_signs_in(
    protected: Protected, attributes: dict[str, str], fields: dict[str, Any]
) -> None:
    with _portal(protected, attributes, **fields):
        assert SiteBrowser(protected).sign_in().status == 200


@pytest.mark.parametrize(("attributes", "username"), [({}, "ada"), (PUSHED_ONLY, "bob")])
def test_a_user_consents_where_the_client_requires_it(
    protected: Protected, attributes: dict[str, str], username: str
) -> None:
    with _portal(protected, attributes, consentRequired=True):
        for answer, status in (("cancel", 400), ("accept", 200)):
            browser = SiteBrowser(protected)
            page = browser.submit(browser.visit(), username=username, password=PASSWORD)
            assert page.id == "consent", page.text
            assert browser.submit(page, **{answer: "on"}).status == status


def test_a_pushed_request_is_a_reference_that_is_used_once(
    protected: Protected,
) -> None:
    """RFC 9126 §4: what the browser carries cannot be changed on its way."""
    with _portal(protected, PUSHED_ONLY):
        browser = SiteBrowser(protected)
        url = browser.open(f"{SIGN_IN}?rd={HOME}").location
        sent = query_of(url)
        assert sent.keys() == {"client_id", "request_uri"}
        assert sent["request_uri"].startswith("urn:ietf:params:oauth:request_uri:")
        assert browser.submit(browser.visit(url), username="ada", password=PASSWORD).status == 200
        assert browser.visit(url).status == 400


def test_a_site_meets_a_policy_of_request_objects_by_pushing(
    protected: Protected,
) -> None:
    """The gateway keeps what it has made itself, so no signature has to protect it."""
    realm = AdministeredRealm(protected.administration, "staff")
    executors: Mapping[str, Mapping[str, Any]] = {
        "secure-request-object": {},
        "secure-par-content": {},
    }
    with _portal(protected, PUSHED_ONLY), policies_of(realm, executors):
        browser = SiteBrowser(protected)
        url = browser.open(f"{SIGN_IN}?rd={HOME}").location
        assert browser.submit(browser.visit(url), username="ada", password=PASSWORD).status == 200


def test_requests_are_pushed_only_where_the_client_requires_it(protected: Protected) -> None:
    with redis.Redis.from_url(PrivateRedis(protected.gateway.state_dir).url.reveal()) as store:
        before = store.dbsize()
        SiteBrowser(protected).open(SIGN_IN)
        assert store.dbsize() == before


@pytest.mark.parametrize(
    ("attributes", "fields", "reason"),
    [
        (
            {"exclude.issuer.from.auth.response": "true"},
            {},
            "exclude.issuer.from.auth.response is true",
        ),
        (
            {"request.object.required": "request only"},
            {},
            "request.object.required is request only",
        ),
        (
            {"request.object.required": "request_uri only", **PUSHED_ONLY},
            {},
            "request.object.required is request_uri only",
        ),
        (
            {"pkce.code.challenge.method": "plain"},
            {},
            "pkce.code.challenge.method is plain",
        ),
        ({}, {"standardFlowEnabled": False}, "standardFlowEnabled is false"),
    ],
)
def test_an_unusable_site_client_is_refused_before_the_sign_in(
    protected: Protected, attributes: dict[str, str], fields: dict[str, Any], reason: str
) -> None:
    with _portal(protected, attributes, **fields):
        browser = SiteBrowser(protected)
        page = browser.visit(HOME)
        assert (page.status, page.id) == (400, "error")
        assert browser.url.startswith(SIGN_IN)
        assert "cannot be used to sign in here" in page.text
        assert browser.pending() == {}
        until(lambda: reason in protected.gateway.log_text(), "the log has no reason", 5)
