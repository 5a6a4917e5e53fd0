"""Codes that are redeemed with the DPoP key that they were asked for with.

Spec: RFC 9449 §10, §10.1; Keycloak: 2.5; attacks C7
"""

from collections.abc import Iterator
from typing import Final

import httpx2
import pytest

from tests.support.dpop import ProofKey
from tests.support.sign_in_browser import CALLBACK, SignInBrowser
from tests.support.spec_stack import Stack, protocol
from tests.support.wire import PASSWORD, SECRET, claims_of

REALM: Final = "dpop"
_SECRET: Final = {"client_id": "web", "client_secret": SECRET}
_OTHER: Final = "DPoP Proof public key thumbprint does not match dpop_jkt"


@pytest.fixture(scope="module")
def key() -> ProofKey:
    return ProofKey.new()


@pytest.fixture
def browser(spec: Stack) -> Iterator[SignInBrowser]:
    """Return a browser without a signed-in user."""
    with spec.nginx.client() as http:
        http.base_url = spec.nginx.https
        yield SignInBrowser(http, REALM, public_url=spec.nginx.https)


def _code(browser: SignInBrowser, client_id: str = "web", **parameters: str | None) -> str:
    page = browser.open(client_id, **parameters)
    done = browser.submit(page, username="user-1", password=PASSWORD)
    return str(done.answer["code"])


def _redeem(
    stack: Stack, code: str, key: ProofKey | None, client_id: str = "web"
) -> httpx2.Response:
    url = f"{stack.nginx.https}{protocol(REALM)}/token"
    form = {"grant_type": "authorization_code", "code": code, "redirect_uri": CALLBACK}
    headers = {} if key is None else {"DPoP": key.proof("POST", url)}
    sent = form | _SECRET | {"client_id": client_id}
    return stack.http.post(url, data=sent, headers=headers)


def test_a_code_for_a_key_is_redeemed_with_it_alone(
    spec: Stack, browser: SignInBrowser, key: ProofKey
) -> None:
    """A stolen code is useless without the key; each attempt spends it. attacks: C4, C7."""
    cases = ((key, 200, None), (ProofKey.new(), 400, _OTHER), (None, 400, "DPoP Proof missing"))
    for sent, status, text in cases:
        browser.cookies.clear()
        code = _code(browser, dpop_jkt=key.thumbprint)
        response = _redeem(spec, code, sent)
        assert (response.status_code, response.json().get("error_description")) == (status, text)
        if status == 200:
            claims = claims_of(response.json()["access_token"])
            assert claims["cnf"] == {"jkt": key.thumbprint}


def test_a_code_of_a_bound_client_needs_a_proof_of_any_key(
    spec: Stack, browser: SignInBrowser, key: ProofKey
) -> None:
    refused = _redeem(spec, _code(browser, "bound-web"), None, "bound-web").json()
    assert refused == {"error": "invalid_request", "error_description": "DPoP proof is missing"}
    browser.cookies.clear()
    assert _redeem(spec, _code(browser, "bound-web"), key, "bound-web").status_code == 200


def test_a_pushed_request_with_a_proof_binds_its_code(
    spec: Stack, browser: SignInBrowser, key: ProofKey
) -> None:
    """RFC 9449 §10.1."""
    url = f"{spec.nginx.https}{protocol(REALM)}/ext/par/request"
    asked = {"response_type": "code", "redirect_uri": CALLBACK, "scope": "openid", **_SECRET}

    def push(proof: str, **more: str) -> httpx2.Response:
        return spec.http.post(url, data=asked | more, headers={"DPoP": proof})

    other = ProofKey.new()
    pushed = push(key.proof("POST", url)).json()["request_uri"]
    code = _code(
        browser, request_uri=pushed, response_type=None, redirect_uri=None, scope=None, state=None
    )
    assert _redeem(spec, code, other).json()["error_description"] == _OTHER
    assert push(key.proof("POST", url), dpop_jkt=key.thumbprint).status_code == 201
    refused = push(key.proof("POST", url), dpop_jkt=other.thumbprint)
    assert (refused.status_code, refused.json()["error_description"]) == (400, _OTHER)
    wrong = push(key.proof("POST", f"{url}/x"))
    assert wrong.json()["error_description"] == "DPoP HTTP URL mismatch"


def test_a_browser_gets_no_token_of_a_bound_client(browser: SignInBrowser) -> None:
    """An implicit response would contain a token that is bound to nothing."""
    for client_id, kind in (("bound-web", "DPoP"), ("certified-web", "Certificate")):
        for response_type in ("token", "code token"):
            done = browser.open(client_id, response_type=response_type, nonce="a-nonce")
            assert done.answer["error"] == "unauthorized_client", "before the user signs in"
            assert done.answer["error_description"] == (
                f"{kind} is not supported for implicit nor hybrid flows."
                f" Client requires {kind} bound access tokens."
            )
