"""Nonces of DPoP proofs, which a realm may require. Spec: RFC 9449 §8, §9; attacks C12."""

from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from gateway.domain.realm import DPOP_NONCE
from tests.support.dpop import ProofKey
from tests.support.spec_stack import Stack, protocol, refusal
from tests.support.wire import PASSWORD, SECRET

REALM: Final = "dpop"
_TEXT: Final = "Authorization server requires nonce in DPoP proof"
_FORM: Final = {
    "grant_type": "password",
    "client_id": "svc",
    "client_secret": SECRET,
    "username": "user-3",
    "password": PASSWORD,
    "scope": "openid",
}


@pytest.fixture(scope="module")
def key() -> ProofKey:
    return ProofKey.new()


@pytest.fixture
def strict(pair: Stack) -> Iterator[Stack]:
    """Let the realm require nonces."""
    _choose(pair, "true")
    yield pair
    _choose(pair, "false")


def _choose(stack: Stack, choice: str) -> httpx2.Response:
    attributes = stack.ask(REALM).json()["attributes"]
    return stack.put(REALM, {"attributes": attributes | {DPOP_NONCE: choice}})


def _ask(stack: Stack, key: ProofKey, nonce: str | None, **form: str) -> httpx2.Response:
    url = f"{stack.nginx.https}{protocol(REALM)}/token"
    page = {"Origin": "https://app.example.test"}
    headers = {"DPoP": key.proof("POST", url, nonce=nonce), **page}
    return stack.http.post(url, data=_FORM | form, headers=headers)


def test_a_proof_needs_a_nonce_of_its_realm(strict: Stack, key: ProofKey) -> None:
    """Given out by one gateway, accepted by both; a page may read it."""
    first = _ask(strict, key, None)
    assert refusal(first) == (400, "use_dpop_nonce", _TEXT)
    nonce = first.headers["dpop-nonce"]
    assert "DPoP-Nonce" in first.headers["access-control-expose-headers"]
    answers: list[Any] = [_ask(strict, key, nonce) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 6
    assert all(answer.headers["dpop-nonce"] for answer in answers)
    for wrong in ("", "made-up", f"{nonce[:-4]}AAAA", answers[0].json()["refresh_token"]):
        assert refusal(_ask(strict, key, wrong)) == (400, "use_dpop_nonce", _TEXT)
    # Every client that keeps no nonce is asked for one first: no failure to be recorded.
    assert strict.ask(f"{REALM}/events", type="LOGIN_ERROR").json() == []


def test_a_resource_asks_for_a_nonce_by_its_challenge(strict: Stack, key: ProofKey) -> None:
    """RFC 9449 §9."""
    nonce = _ask(strict, key, None).headers["dpop-nonce"]
    token = _ask(strict, key, nonce).json()["access_token"]
    url = f"{strict.nginx.https}{protocol(REALM)}/userinfo"

    def ask(sent: str | None) -> httpx2.Response:
        proof = key.proof("GET", url, token, nonce=sent)
        headers = {"Authorization": f"DPoP {token}", "DPoP": proof}
        return strict.http.get(url, headers=headers)

    refused = ask(None)
    assert refused.status_code == 401
    assert 'error="use_dpop_nonce"' in refused.headers["www-authenticate"]
    assert ask(refused.headers["dpop-nonce"]).status_code == 200


def test_a_realm_without_nonces_gives_none_out(pair: Stack, key: ProofKey) -> None:
    answer = _ask(pair, key, None)
    assert (answer.status_code, "dpop-nonce" in answer.headers) == (200, False)


def test_a_choice_that_is_none_is_refused(pair: Stack) -> None:
    response = _choose(pair, "yes")
    assert response.status_code == 400
    assert response.json()["errorMessage"].startswith(f"attributes.{DPOP_NONCE}: ")
