"""Tokens that are bound to a DPoP key, at protected sites behind the real nginx.

Spec: RFC 9449 §7; attacks A19, B8
"""

from typing import Final

import httpx2
import pytest

from tests.support.dpop import ProofKey
from tests.support.protected_sites import HOST, Protected
from tests.support.wire import PASSWORD

_PUBLIC: Final = "https://gateway.test"
"""The public URL of the gateway: proofs name it, whatever host a request names."""
_HOME: Final = f"https://{HOST}/home/"


@pytest.fixture(scope="module")
def key() -> ProofKey:
    return ProofKey.new()


def _token(protected: Protected, key: ProofKey, username: str = "ada") -> str:
    """Return an access token that is bound to the key."""
    path = "/realms/staff/protocol/openid-connect/token"
    form = {"grant_type": "password", "client_id": "portal", "username": username}
    with protected.nginx.client() as http:
        sent = {"DPoP": key.proof("POST", f"{_PUBLIC}{path}"), "Host": "localhost"}
        url = f"{protected.nginx.https}{path}"
        response = http.post(url, data={**form, "password": PASSWORD}, headers=sent)
    assert response.json()["token_type"] == "DPoP", response.text
    return str(response.json()["access_token"])


def _ask(
    protected: Protected,
    token: str,
    proof: str | None,
    *,
    path: str = "/home/",
    method: str = "GET",
    scheme: str = "DPoP",
) -> httpx2.Response:
    headers = {"Authorization": f"{scheme} {token}"} | ({"DPoP": proof} if proof else {})
    return protected.ask(path, method=method, headers=headers)


def _refused(response: httpx2.Response) -> tuple[int, str, str]:
    """Return status, reason and challenge."""
    reason = response.headers.get("x-realmgate-reason", "")
    return response.status_code, reason, response.headers.get("www-authenticate", "")


def test_a_bound_token_passes_with_a_proof_of_the_request(
    protected: Protected, key: ProofKey
) -> None:
    """The rule `bound` accepts bound tokens alone."""
    token = _token(protected, key)
    for path, method in (("/home/?x=1", "GET"), ("/bound/1", "GET"), ("/notes/1", "PUT")):
        proof = key.proof(method, f"https://{HOST}{path}", token)
        assert _ask(protected, token, proof, path=path, method=method).status_code == 200
        assert protected.service.last.target == path


def test_a_stolen_token_does_not_pass(protected: Protected, key: ProofKey) -> None:
    """Neither do a proof that was used, and one of another request or key."""
    token, other = _token(protected, key), ProofKey.new()
    used = key.proof("GET", _HOME, token)
    assert _ask(protected, token, used).status_code == 200
    second = _token(protected, key)
    gateway = f"{protected.nginx.https}/home/"
    cases = {
        "used": (used, "DPoP proof has already been used"),
        "none": (None, "DPoP proof is missing"),
        "own key": (
            other.proof("GET", _HOME, token),
            "DPoP confirmation doesn't match DPoP proof",
        ),
        "method": (key.proof("POST", _HOME, token), "DPoP HTTP method mismatch"),
        "path": (key.proof("GET", f"{_HOME}x", token), "DPoP HTTP URL mismatch"),
        "host": (key.proof("GET", gateway, token), "DPoP HTTP URL mismatch"),
        "scheme": (
            key.proof("GET", _HOME.replace("https", "http"), token),
            "DPoP HTTP URL mismatch",
        ),
        "token": (
            key.proof("GET", _HOME, second),
            "DPoP proof access token hash mismatch",
        ),
    }
    for name, (proof, text) in cases.items():
        status, _, challenge = _refused(_ask(protected, token, proof))
        assert status == 401, name
        assert challenge.startswith('DPoP realm="staff", error="invalid_'), name
        assert text in challenge, name
    status, _, challenge = _refused(
        _ask(protected, token, key.proof("GET", _HOME, token), scheme="Bearer")
    )
    assert (status, challenge.partition(" ")[0]) == (401, "DPoP")


def test_an_unbound_token_does_not_pass_under_the_dpop_scheme(
    protected: Protected, key: ProofKey
) -> None:
    token = str(protected.token("ada")["access_token"])
    response = _ask(protected, token, key.proof("GET", _HOME, token))
    assert "The access token type is not DPoP" in _refused(response)[2]
    assert _ask(protected, token, None, scheme="Bearer").status_code == 200


def test_a_valid_proof_without_the_right_gets_its_refusal(
    protected: Protected, key: ProofKey
) -> None:
    """The proxy asks twice about a refused request, for its page; the proof counts once."""
    token = _token(protected, key, "bob")
    proof = key.proof("GET", f"https://{HOST}/admin/", token)
    response = _ask(protected, token, proof, path="/admin/")
    assert _refused(response)[:2] == (403, "missing_realm_role")


def test_a_site_asks_for_the_nonce_of_its_realm(protected: Protected, key: ProofKey) -> None:
    """RFC 9449 §9; nginx passes the header on with the refusal."""
    token = _token(protected, key)
    admin = protected.administration
    before = admin.ask("GET", "staff").json()["attributes"]

    def choose(choice: str) -> None:
        document = {"attributes": before | {"realmgate.dpop.nonce": choice}}
        assert admin.ask("PUT", "staff", document=document).status_code == 204

    choose("true")
    try:
        refused = _ask(protected, token, key.proof("GET", _HOME, token))
        assert 'error="use_dpop_nonce"' in _refused(refused)[2]
        nonce = refused.headers["dpop-nonce"]
        again = key.proof("GET", _HOME, token, nonce=nonce)
        assert _ask(protected, token, again).status_code == 200
    finally:
        choose("false")
