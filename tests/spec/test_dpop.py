"""Tokens that are bound to the key of DPoP proofs, from the proof to every endpoint.

Through nginx, with the real stores. The texts are those of Keycloak's DPoPUtil (26.7).
Spec: RFC 9449 §4 to §7, §11; attacks A19
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import httpx2
import jwt
import pytest

from tests.support.dpop import ProofKey, assembled
from tests.support.spec_stack import Stack, protocol, refusal
from tests.support.wire import PASSWORD, SECRET, claims_of

REALM: Final = "dpop"
ALGORITHMS: Final = ("PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
MISSING: Final = "DPoP proof is missing"
Form = Mapping[str, str]


@pytest.fixture(scope="module")
def key() -> ProofKey:
    return ProofKey.new()


@pytest.fixture(scope="module")
def other() -> ProofKey:
    return ProofKey.new()


def _url(stack: Stack, path: str, realm: str = REALM) -> str:
    return f"{stack.nginx.https}{protocol(realm)}/{path}"


def _service(client_id: str = "svc") -> dict[str, str]:
    return {
        "grant_type": "client_credentials",
        "client_id": client_id,
        "client_secret": SECRET,
    }


def _password(client_id: str = "app", **more: str) -> dict[str, str]:
    form = {"grant_type": "password", "client_id": client_id, "username": "user-0"}
    return {**form, "password": PASSWORD, "scope": "openid", **more}


def _ask(stack: Stack, form: Form, proof: str | None) -> httpx2.Response:
    headers = {} if proof is None else {"DPoP": proof}
    return stack.http.post(_url(stack, "token"), data=dict(form), headers=headers)


def _tokens(stack: Stack, key: ProofKey, form: Form) -> dict[str, Any]:
    response = _ask(stack, form, key.proof("POST", _url(stack, "token")))
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def _get(
    stack: Stack, url: str, token: str, proof: str | None, scheme: str = "DPoP"
) -> httpx2.Response:
    headers = {"Authorization": f"{scheme} {token}", "Accept": "application/json"}
    headers |= {"DPoP": proof} if proof else {}
    return stack.http.get(url, headers=headers)


def test_a_proof_binds_the_tokens_of_any_client_to_its_key(spec: Stack, key: ProofKey) -> None:
    tokens = _tokens(spec, key, _password())
    assert tokens["token_type"] == "DPoP"
    access, refresh = claims_of(tokens["access_token"]), claims_of(tokens["refresh_token"])
    assert access["cnf"] == refresh["cnf"] == {"jkt": key.thumbprint}
    assert access["typ"] == "DPoP"
    confidential = _tokens(spec, key, _password("svc", client_secret=SECRET))
    assert claims_of(confidential["access_token"])["cnf"] == {"jkt": key.thumbprint}
    assert "cnf" not in claims_of(confidential["refresh_token"])
    assert "cnf" not in claims_of(_ask(spec, _service(), None).json()["access_token"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm_of_discovery_is_accepted(spec: Stack, algorithm: str) -> None:
    url = f"{spec.nginx.https}/realms/{REALM}/.well-known/openid-configuration"
    listed = spec.http.get(url).json()["dpop_signing_alg_values_supported"]
    assert tuple(listed) == ALGORITHMS
    each = ProofKey.new(algorithm)
    token = _tokens(spec, each, _service())["access_token"]
    assert claims_of(token)["cnf"] == {"jkt": each.thumbprint}


def test_a_client_with_bound_tokens_gets_none_without_a_proof(spec: Stack, key: ProofKey) -> None:
    """Keycloak: dpop.bound.access.tokens."""
    refused = (400, "invalid_request", MISSING)
    for form in (_service("bound-svc"), _password("bound-app")):
        assert refusal(_ask(spec, form, None)) == refused
        assert _tokens(spec, key, form)["token_type"] == "DPoP"
    refresh = _tokens(spec, key, _password("bound-app"))["refresh_token"]
    form = {"grant_type": "refresh_token", "client_id": "bound-app", "refresh_token": refresh}
    assert refusal(_ask(spec, form, None)) == refused
    events = spec.ask(f"{REALM}/events", type="CLIENT_LOGIN_ERROR", client="bound-svc").json()
    assert {event["error"] for event in events} == {"invalid_dpop_proof"}
    assert {event["details"]["reason"] for event in events} == {MISSING}


def _wrong_proofs(stack: Stack, key: ProofKey) -> dict[str, tuple[str, str]]:
    """Return proofs that must be refused, and the texts of their refusals."""
    url, now = _url(stack, "token"), int(time.time())
    rsa, weak, pkcs1 = (
        ProofKey.new("PS256"),
        ProofKey.new("PS256", bits=1024),
        ProofKey.new("RS256"),
    )
    header = {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.jwk}
    claims = {"jti": "1", "htm": "POST", "htu": url, "iat": now}
    right = key.proof("POST", url)
    malformed = "DPoP header verification failure"
    by_value = "The key in the DPoP header must be given by value alone"
    kind = "Unsupported key type in DPoP header"
    signature = "DPoP verification failure: Invalid token signature"
    incomplete = "DPoP mandatory claims are missing"
    private = "Private key material must not be present in DPoP JWK"
    inactive, named = "DPoP proof is not active", "DPoP HTTP URL mismatch"

    def proof(changed: Mapping[str, Any] | None = None, **more: Any) -> str:
        return key.proof("POST", url, header=changed, **more)

    symmetric = {"kty": "oct", "k": "c2VjcmV0"}
    secret = "a secret of thirty-two characters"
    mac = jwt.encode(claims, secret, "HS256", headers={"typ": "dpop+jwt", "jwk": symmetric})
    return {
        "nothing": ("", MISSING),
        "a word": ("garbage", malformed),
        "two parts": ("a.b", malformed),
        "no JSON": ("bm90.bm90.bm90", malformed),
        "repeated member": (f"eyJhIjoxLCJhIjoxfQ.{right.partition('.')[2]}", malformed),
        "huge": (proof(padding="x" * 8000), "DPoP proof is longer than 8192 characters"),
        "of a token": (proof({"typ": "JWT"}), "Invalid or missing type in DPoP header: JWT"),
        "without a type": (
            assembled({**header, "typ": None}, claims),
            "Invalid or missing type in DPoP header: null",
        ),
        "a type with a quote": (
            assembled({**header, "typ": 'dpop"\r\n'}, claims),
            "Invalid or missing type in DPoP header: ?",
        ),
        "unsigned": (
            assembled({**header, "alg": "none"}, claims),
            "Unsupported DPoP algorithm: none",
        ),
        "by a secret": (mac, "Unsupported DPoP algorithm: HS256"),
        "PKCS#1 v1.5": (pkcs1.proof("POST", url), "Unsupported DPoP algorithm: RS256"),
        "algorithm a list": (
            assembled({**header, "alg": ["ES256"]}, claims),
            "Unsupported DPoP algorithm: ?",
        ),
        "critical": (proof({"crit": ["exp"], "exp": 1}), malformed),
        "without a key": (assembled({**header, "jwk": None}, claims), "No JWK in DPoP header"),
        "symmetric key": (proof({"jwk": symmetric}), private),
        "private key": (proof({"jwk": key.private_jwk}), private),
        "key at a URL": (proof({"jku": "https://attacker.example/keys"}), by_value),
        "certificate": (proof({"x5c": ["MIIB"]}), by_value),
        "certificate in the key": (
            proof({"jwk": {**key.jwk, "x5u": "https://a.example"}}),
            by_value,
        ),
        "weak key": (assembled({**header, "alg": "PS256", "jwk": weak.jwk}, claims), kind),
        "unknown curve": (proof({"jwk": {**key.jwk, "crv": "secp256k1"}}), kind),
        "point off the curve": (proof({"jwk": {**key.jwk, "y": key.jwk["x"]}}), kind),
        "key of another kind": (proof({"jwk": rsa.jwk}), signature),
        "key of another client": (proof({"jwk": ProofKey.new().jwk}), signature),
        "altered": (right[:-6] + ("AAAAAA" if right[-6:] != "AAAAAA" else "BBBBBB"), signature),
        "payload a list": (
            key_signed(key, header, b"[]"),
            incomplete,
        ),
        "without jti": (proof(jti=None), incomplete),
        "blank jti": (proof(jti=" "), incomplete),
        "jti a number": (proof(jti=7), incomplete),
        "without htm": (proof(htm=None), incomplete),
        "without htu": (proof(htu=None), incomplete),
        "without iat": (proof(iat=None), incomplete),
        "iat true": (proof(iat=True), incomplete),
        "iat a text": (proof(iat=str(now)), incomplete),
        "future": (proof(iat=now + 60), inactive),
        "far future": (proof(iat=1e300), inactive),
        "past": (proof(iat=now - 60), inactive),
        "another method": (key.proof("GET", url), "DPoP HTTP method mismatch"),
        "another case": (key.proof("post", url), "DPoP HTTP method mismatch"),
        "another endpoint": (key.proof("POST", _url(stack, "userinfo")), named),
        "another realm": (key.proof("POST", _url(stack, "token", "spec")), named),
        "another host": (key.proof("POST", url.replace("https://", "https://x.")), named),
        "another scheme": (key.proof("POST", url.replace("https", "http", 1)), named),
        "no URL": (key.proof("POST", "token"), "Malformed HTTP URL in DPoP proof"),
        "user in the URL": (
            key.proof("POST", url.replace("https://", "https://a@")),
            "Malformed HTTP URL in DPoP proof",
        ),
    }


def key_signed(key: ProofKey, header: Mapping[str, Any], payload: bytes) -> str:
    """Return a JWS of any payload."""
    return jwt.PyJWS().encode(payload, key.private, key.algorithm, headers=dict(header))


def test_a_wrong_proof_gets_no_token_and_a_reason(spec: Stack, key: ProofKey) -> None:
    """RFC 9449 §4.3, §11; attacks C13, C14."""
    found = {
        name: refusal(_ask(spec, _service(), proof))
        for name, (proof, _) in _wrong_proofs(spec, key).items()
    }
    wanted = {
        name: (400, "invalid_dpop_proof", text)
        for name, (_, text) in _wrong_proofs(spec, key).items()
    }
    assert found == wanted


def test_two_proofs_in_one_request_are_refused(spec: Stack, key: ProofKey) -> None:
    """RFC 9449 §4.3, number 1; attacks A4."""
    url = _url(spec, "token")
    proofs = [("DPoP", key.proof("POST", url)), ("DPoP", key.proof("POST", url))]
    response = spec.http.post(url, data=_service(), headers=proofs)
    assert refusal(response) == (400, "invalid_request", "The header DPoP was sent more than once")


def test_the_url_of_a_proof_is_compared_in_its_normal_form(spec: Stack, key: ProofKey) -> None:
    """RFC 9449 §4.3, number 9."""
    url = _url(spec, "token")
    alias = f"{spec.nginx.mtls}{protocol(REALM)}/token"
    for named in (f"{url}?a=b#c", url.replace("/token", "/%74oken/../token"), alias):
        proof = key.proof("POST", named.replace("https", "HTTPS", 1))
        assert _ask(spec, _service(), proof).status_code == 200, named
    below = f"{spec.nginx.https}/auth{protocol(REALM)}/token"
    headers = {"DPoP": key.proof("POST", below)}
    assert spec.http.post(below, data=_service(), headers=headers).status_code == 200


def test_a_proof_is_accepted_once(spec: Stack, key: ProofKey) -> None:
    """RFC 9449 §11.1; attacks C12."""
    proof = key.proof("POST", _url(spec, "token"))
    assert _ask(spec, _service(), proof).status_code == 200
    used = (400, "invalid_dpop_proof", "DPoP proof has already been used")
    assert refusal(_ask(spec, _service(), proof)) == used
    form = _service() | {"client_secret": "wrong"}
    unused = key.proof("POST", _url(spec, "token"))
    assert _ask(spec, form, unused).status_code == 401
    assert _ask(spec, _service(), unused).status_code == 200


def test_of_many_uses_at_once_at_two_gateways_one_succeeds(pair: Stack, key: ProofKey) -> None:
    """RFC 9449 §11.1; attacks C12."""
    proof = key.proof("POST", _url(pair, "token"))
    with ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(_ask, pair, _service(), proof) for _ in range(16)]
    assert sorted(answer.result().status_code for answer in answers) == [200, *[400] * 15]


def _challenged(response: httpx2.Response) -> tuple[int, str, str]:
    """Return status, error and text of a challenge of DPoP."""
    challenge = response.headers["www-authenticate"]
    assert challenge.startswith(f'DPoP realm="{REALM}", '), challenge
    assert challenge.endswith(f'algs="{" ".join(ALGORITHMS)}"')
    document = response.json()
    error, text = document["error"], document["error_description"]
    assert f'error="{error}", error_description="{text}"' in challenge
    return response.status_code, error, text


def test_a_bound_token_is_useless_without_its_key(
    spec: Stack, key: ProofKey, other: ProofKey
) -> None:
    """RFC 9449 §7; attacks A19: stolen, with a proof that was seen, or with a key of its own."""
    url = _url(spec, "userinfo")
    token = _tokens(spec, key, _password())["access_token"]
    second = _tokens(spec, key, _password())["access_token"]
    proof = key.proof("GET", url, token)
    assert _get(spec, url, token, proof).json()["preferred_username"] == "user-0"
    cases = {
        "replayed": (proof, "DPoP", "DPoP proof has already been used"),
        "without a proof": (None, "DPoP", MISSING),
        "own key": (
            other.proof("GET", url, token),
            "DPoP",
            "DPoP confirmation doesn't match DPoP proof",
        ),
        "without ath": (key.proof("GET", url), "DPoP", "No access token hash in DPoP proof"),
        "ath of another token": (
            key.proof("GET", url, second),
            "DPoP",
            "DPoP proof access token hash mismatch",
        ),
        "of the token request": (
            key.proof("POST", _url(spec, "token"), token),
            "DPoP",
            "DPoP HTTP URL mismatch",
        ),
        "another method": (key.proof("POST", url, token), "DPoP", "DPoP HTTP method mismatch"),
        "PKCS#1 v1.5": (
            ProofKey.new("RS256").proof("GET", url, token),
            "DPoP",
            "Unsupported DPoP algorithm: RS256",
        ),
        "as a bearer token": (
            key.proof("GET", url, token),
            "Bearer",
            "The access token type is DPoP but Authorization Header is not DPoP",
        ),
    }
    mismatch = {"own key", "as a bearer token"}
    for name, (sent, scheme, text) in cases.items():
        error = "invalid_token" if name in mismatch else "invalid_dpop_proof"
        assert _challenged(_get(spec, url, token, sent, scheme)) == (401, error, text), name
    in_body = spec.http.post(url, data={"access_token": token})
    assert _challenged(in_body)[0] == 401


def test_a_token_that_is_not_bound_is_refused_under_the_scheme(spec: Stack, key: ProofKey) -> None:
    """RFC 9449 §7.2: a bearer token must not pass for a bound one."""
    url = _url(spec, "userinfo")
    token = _ask(spec, _password(), None).json()["access_token"]
    assert _get(spec, url, token, None, "Bearer").status_code == 200
    refused = _challenged(_get(spec, url, token, key.proof("GET", url, token)))
    text = "The access token type is not DPoP but Authorization Header is DPoP"
    assert refused == (401, "invalid_token", text)


def test_a_token_older_than_the_required_proofs_is_refused(spec: Stack) -> None:
    url = _url(spec, "userinfo")
    (client,) = spec.ask(f"{REALM}/clients", clientId="changing").json()
    token = _ask(spec, _password("changing"), None).json()["access_token"]
    assert _get(spec, url, token, None, "Bearer").status_code == 200
    attributes = client["attributes"] | {"dpop.bound.access.tokens": "true"}
    spec.put(f"{REALM}/clients/{client['id']}", client | {"attributes": attributes})
    text = "This client requires DPoP, but no DPoP Authorization header is present"
    assert _challenged(_get(spec, url, token, None, "Bearer")) == (401, "invalid_token", text)


def test_the_refresh_token_of_a_public_client_needs_the_same_key(
    spec: Stack, key: ProofKey, other: ProofKey
) -> None:
    """RFC 9449 §5; a confidential client may replace its key."""
    refresh = _tokens(spec, key, _password())["refresh_token"]
    form = {"grant_type": "refresh_token", "client_id": "app", "refresh_token": refresh}
    assert refusal(_ask(spec, form, None)) == (400, "invalid_grant", MISSING)
    proof = other.proof("POST", _url(spec, "token"))
    text = "DPoP confirmation doesn't match DPoP proof"
    assert refusal(_ask(spec, form, proof)) == (400, "invalid_grant", text)
    renewed = _tokens(spec, key, form)
    assert claims_of(renewed["refresh_token"])["cnf"] == {"jkt": key.thumbprint}
    secret = {"client_id": "svc", "client_secret": SECRET}
    kept = _tokens(spec, key, _password() | secret)["refresh_token"]
    changed = _tokens(spec, other, {**form, **secret, "refresh_token": kept})
    assert claims_of(changed["access_token"])["cnf"] == {"jkt": other.thumbprint}


def test_token_endpoints_of_a_public_client_need_the_key(
    spec: Stack, key: ProofKey, other: ProofKey
) -> None:
    """A token of a confidential client is its own by client authentication; attacks A19."""
    tokens = _tokens(spec, key, _password())
    bodies = {
        "revoke": {"client_id": "app", "token": tokens["access_token"]},
        "logout": {"client_id": "app", "refresh_token": tokens["refresh_token"]},
    }
    for path, form in bodies.items():
        url = _url(spec, path)
        for proof in (None, other.proof("POST", url)):
            headers = {} if proof is None else {"DPoP": proof}
            assert spec.http.post(url, data=form, headers=headers).status_code == 401, path
        right = {"DPoP": key.proof("POST", url)}
        assert spec.http.post(url, data=form, headers=right).status_code in {200, 204}, path
    own = _tokens(spec, key, _service())["access_token"]
    url = _url(spec, "token/introspect")
    form = {"client_id": "svc", "client_secret": SECRET, "token": own}
    described = spec.http.post(url, data=form).json()
    assert (described["cnf"], described["token_type"]) == ({"jkt": key.thumbprint}, "DPoP")
    wrong = {"DPoP": other.proof("POST", url)}
    assert spec.http.post(url, data=form, headers=wrong).status_code == 401


def test_admin_and_account_api_need_the_proof(spec: Stack, key: ProofKey) -> None:
    """Attacks A19."""
    admin = {"grant_type": "password", "client_id": "admin-cli", "username": "admin"}
    asked = f"{spec.nginx.https}{protocol('master')}/token"
    password = {"password": "The administrator's word 1"}
    proof = key.proof("POST", asked)
    token = spec.token("master", admin | password, DPoP=proof).json()["access_token"]
    users = f"{spec.nginx.https}/admin/realms/{REALM}/users"
    account = f"{spec.nginx.https}/realms/{REALM}/account/"
    own = _tokens(spec, key, _password("account-app"))["access_token"]
    for url, each in ((users, token), (account, own)):
        assert _get(spec, url, each, None, "Bearer").status_code == 401
        assert _get(spec, url, each, None).status_code == 401
        sent = key.proof("GET", url, each)
        response = _get(spec, url, each, sent)
        assert response.status_code == 200, response.text
        assert _get(spec, url, each, sent).status_code == 401
