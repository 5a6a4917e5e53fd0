"""What each executor demands of requests, rule by rule, and what it leaves alone.

Each text is Keycloak's. Keycloak: client policies (26.7)
"""

import json
import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.administered_realm import administered_realm
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.browser_sign_ins import REDIRECT_URI, sign_in
from tests.support.client_policies import policies_of
from tests.support.dpop import ProofKey
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.wire import PUBLIC_URL, claims_of

NAME: Final = "executors"
ISSUER: Final = f"{PUBLIC_URL}/realms/{NAME}"
KEY: Final = rsa.generate_private_key(65537, 2048)
PROOF: Final = ProofKey.new()
ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
CODE: Final = "authorization_code"
CHALLENGE: Final = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
PUSHED: Final = {"response_type": "code", "redirect_uri": REDIRECT_URI, "scope": "openid"}
Executors = Mapping[str, Mapping[str, Any]]


def _client(client_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "redirectUris": [REDIRECT_URI],
        "serviceAccountsEnabled": not fields.get("publicClient"),
        "directAccessGrantsEnabled": True,
        "implicitFlowEnabled": True,
        "attributes": {},
    } | fields


@pytest.fixture(scope="module")
def recorded(administration: Administration) -> Iterator[Recorded]:
    public = json.loads(jwt.get_algorithm_by_name("PS256").to_jwk(KEY.public_key()))
    keys = json.dumps({"keys": [public | {"kid": "k"}]})
    signed = {"use.jwks.string": "true", "jwks.string": keys}
    clients = [
        *RECORDED["clients"][:1],
        _client("svc", attributes=signed),
        _client("keyed", clientAuthenticatorType="client-jwt", attributes=signed),
        _client("pub", publicClient=True),
    ]
    document = {**RECORDED, "bruteForceProtected": False, "clients": clients}
    with administered_realm(administration, NAME, {}, **document) as realm:
        yield Recorded(realm)


def _under(
    recorded: Recorded, executors: Executors, path: str, form: Mapping[str, str], **headers: str
) -> tuple[int, str | None, str | None]:
    """Return status, error and text of a request under a policy with these executors."""
    with policies_of(recorded.realm, executors):
        response = recorded.post(path, form, **headers)
    body = response.json() if response.content else {}
    return response.status_code, body.get("error"), body.get("error_description")


def _code(recorded: Recorded, client_id: str = "svc") -> dict[str, str]:
    gateway = recorded.realm.administration.gateway
    code = sign_in(gateway, realm=NAME, client_id=client_id).code
    return {"grant_type": CODE, "code": code, "redirect_uri": REDIRECT_URI, "client_id": client_id}


def _password(client_id: str = "svc") -> dict[str, str]:
    form = {"grant_type": "password", "username": "john", "password": PASSWORD}
    return {**form, "scope": "openid", "client_id": client_id}


def _proof(path: str) -> dict[str, str]:
    return {"DPoP": PROOF.proof("POST", f"{ISSUER}/protocol/openid-connect/{path}")}


def _assertion(algorithm: str = "PS256", **changed: Any) -> str:
    now = int(time.time())
    claims = {"iss": "keyed", "sub": "keyed", "aud": ISSUER, "iat": now, "exp": now + 60}
    return jwt.encode(
        claims | {"jti": f"{time.time_ns()}"} | changed, KEY, algorithm, headers={"kid": "k"}
    )


def _asserted(assertion: str, **form: str) -> dict[str, str]:
    shown = {"client_assertion_type": ASSERTION, "client_assertion": assertion}
    return {"client_id": "keyed", "client_secret": "", **shown, **form}


@pytest.mark.parametrize("response_type", ["token", "id_token", "code token", "code id_token"])
def test_no_token_comes_from_the_authorization_endpoint(
    recorded: Recorded, response_type: str
) -> None:
    rejecting: Executors = {"reject-implicit-grant": {}}
    form = {**PUSHED, "response_type": response_type, "nonce": "n"}
    text = "Implicit/Hybrid flow is prohibited."
    assert _under(recorded, rejecting, "ext/par/request", form) == (400, "invalid_request", text)
    assert _under(recorded, rejecting, "ext/par/request", PUSHED)[0] == 201


def test_a_challenge_is_there_and_made_by_s256(recorded: Recorded) -> None:
    for sent, status in (
        ({"code_challenge_method": "S256"}, 400),
        ({"code_challenge_method": "S256", "code_challenge": ""}, 400),
        ({"code_challenge_method": "S256", "code_challenge": CHALLENGE}, 201),
        ({"code_challenge": CHALLENGE}, 400),
    ):
        found = _under(recorded, {"pkce-enforcer": {}}, "ext/par/request", PUSHED | sent)
        assert found[0] == status, sent


def test_only_the_code_grant_has_a_verifier(recorded: Recorded) -> None:
    enforcing: Executors = {"pkce-enforcer": {}}
    missing = (400, "code_verifier_missing", "PKCE code verifier not specified")
    assert _under(recorded, enforcing, "token", _code(recorded)) == missing
    assert _under(recorded, enforcing, "token", _password())[0] == 200


def test_a_public_client_gets_no_token_by_any_grant(recorded: Recorded) -> None:
    """Stricter than Keycloak, which refuses codes and service accounts alone."""
    demanding: Executors = {"confidential-client": {}}
    refusal = (400, "invalid_client", "invalid client access type: public")
    service = {"grant_type": "client_credentials", "client_id": "pub"}
    tokens = recorded.post("token", _password("pub")).json()
    renewal = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    renewal |= {"client_id": "pub"}
    for form in (_code(recorded, "pub"), service, _password("pub"), renewal):
        assert _under(recorded, demanding, "token", form) == refusal, form
    assert _under(recorded, demanding, "ext/par/request", {**PUSHED, "client_id": "pub"}) == refusal
    assert _under(recorded, demanding, "auth/device", {"client_id": "pub"}) == refusal
    for form in (_code(recorded), {"grant_type": "client_credentials"}):
        assert _under(recorded, demanding, "token", form)[0] == 200


def test_only_the_password_grant_is_closed(recorded: Recorded) -> None:
    rejecting: Executors = {"reject-ropc-grant": {}}
    assert _under(recorded, rejecting, "token", _password())[1] == "invalid_grant"
    for form in (_code(recorded), {"grant_type": "client_credentials"}):
        assert _under(recorded, rejecting, "token", form)[0] == 200


def test_an_assertion_names_the_issuer_alone(recorded: Recorded) -> None:
    """Without the policy the address of the endpoint is accepted, as in Keycloak."""
    demanding: Executors = {"secure-client-authentication-assertion": {}}
    refusal = (400, "invalid_request", "invalid audience in client assertion")
    form = {"grant_type": "client_credentials"}
    for audience, is_accepted in (
        (ISSUER, True),
        ([ISSUER], True),
        (f"{ISSUER}/protocol/openid-connect/token", False),
    ):
        sent = _asserted(_assertion(aud=audience), **form)
        found = _under(recorded, demanding, "token", sent)
        assert found == ((200, None, None) if is_accepted else refusal), audience
        assert recorded.post("token", _asserted(_assertion(aud=audience), **form)).is_success


def test_an_assertion_of_a_public_client_satisfies_no_policy(recorded: Recorded) -> None:
    """A public client is not authenticated, so nothing has verified what it sends."""
    demanding: Executors = {
        "secure-signature-algorithm-signed-jwt": {"require-client-assertion": True}
    }
    refusal = (400, "invalid_request", "client assertion is required.")
    for assertion in ("x", _assertion(), _assertion("PS256", sub="pub", iss="pub")):
        form = {**_password("pub"), "client_secret": "", "client_assertion": assertion}
        assert _under(recorded, demanding, "token", form) == refusal, assertion
        assert recorded.post("token", form).status_code == 200


def test_an_assertion_may_be_required(recorded: Recorded) -> None:
    """Not of a browser, and not of what sends a token alone."""
    executor, form = "secure-signature-algorithm-signed-jwt", {"grant_type": "client_credentials"}
    refusal = (400, "invalid_request", "client assertion is required.")
    for required in (True, False):
        demanding: Executors = {executor: {"require-client-assertion": required}}
        found = _under(recorded, demanding, "token", form)
        assert found == (refusal if required else (200, None, None))
        asserted = _asserted(_assertion(), **form)
        assert _under(recorded, demanding, "token", asserted)[0] == 200
        token = recorded.sign_in(scope="openid")["access_token"]
        logout = f"/realms/{NAME}/protocol/openid-connect/logout"
        with policies_of(recorded.realm, demanding):
            assert recorded.userinfo(token).status_code == 200
            http = recorded.realm.administration.http
            assert http.get(logout, params={"client_id": "svc"}).status_code == 200


@pytest.mark.parametrize("algorithm", ["RS256", "RS512", "PS384", "PS512"])
def test_an_assertion_is_signed_by_a_secure_algorithm(recorded: Recorded, algorithm: str) -> None:
    form = _asserted(_assertion(algorithm), grant_type="client_credentials")
    found = _under(recorded, {"secure-signature-algorithm-signed-jwt": {}}, "token", form)
    text = "not allowed signature algorithm."
    is_accepted = algorithm.startswith("PS")
    assert found == ((200, None, None) if is_accepted else (400, "invalid_request", text))


def _page(recorded: Recorded, executors: Executors, **asked: str) -> httpx2.Response:
    url = f"/realms/{NAME}/protocol/openid-connect/auth"
    parameters = {"client_id": "svc", **asked}
    with policies_of(recorded.realm, executors):
        http = recorded.realm.administration.http
        return http.get(url, params=parameters, follow_redirects=False)


def test_what_was_not_pushed_does_not_begin(recorded: Recorded) -> None:
    """A request object at the client, or in the request, is no pushed request."""
    (found,) = recorded.realm.get("clients?clientId=svc")
    address = "https://app.example.test/object"
    own = {**found["attributes"], "request.uris": address}
    recorded.realm.change("PUT", f"clients/{found['id']}", {"attributes": own})
    for asked in ({**PUSHED}, {"request_uri": address, "scope": "openid"}):
        page = _page(recorded, {"secure-par-content": {}}, **asked)
        assert (page.status_code, "location" in page.headers) == (400, False)
        recorded.events()
    pushed = recorded.post("ext/par/request", PUSHED).json()["request_uri"]
    for more, status in (({"nonce": "n"}, 400), ({"scope": "openid"}, 200)):
        page = _page(recorded, {"secure-par-content": {}}, request_uri=pushed, **more)
        assert page.status_code == status, more


def test_a_token_that_is_not_bound_gets_no_claims(recorded: Recorded) -> None:
    """RFC 8705 §3, RFC 9449 §7."""
    token = recorded.sign_in(scope="openid")["access_token"]
    for executor, text in (
        (
            "holder-of-key-enforcer",
            "Client certificate missing, or its thumbprint and one in the token did NOT match",
        ),
        ("dpop-bind-enforcer", "DPoP proof and token binding verification failed"),
    ):
        with policies_of(recorded.realm, {executor: {}}):
            response = recorded.userinfo(token)
        assert response.status_code == 401
        challenge = response.headers["www-authenticate"]
        assert ('error="invalid_token"' in challenge, text in challenge) == (True, True), challenge


def test_no_certificate_no_token_for_services_and_users(
    recorded: Recorded,
) -> None:
    text = "Client Certification missing for MTLS HoK Token Binding"
    for form in (_code(recorded), {"grant_type": "client_credentials"}, _password()):
        found = _under(recorded, {"holder-of-key-enforcer": {}}, "token", form)
        assert found == (400, "invalid_request", text)


def test_no_token_is_issued_without_a_proof(recorded: Recorded) -> None:
    binding: Executors = {"dpop-bind-enforcer": {}}
    for form in (_code(recorded), {"grant_type": "client_credentials"}, _password()):
        found = _under(recorded, binding, "token", form)
        assert found == (400, "invalid_request", "DPoP proof is missing")


def test_a_client_ends_its_own_tokens_where_they_must_be_bound(recorded: Recorded) -> None:
    """The refresh token of a confidential client is bound to the client. RFC 9449 §5, RFC 7009."""
    binding: Executors = {"dpop-bind-enforcer": {}}
    for client_id, scope, is_bound in (
        ("svc", "openid", False),
        ("svc", "openid offline_access", False),
        ("pub", "openid", True),
    ):
        with policies_of(recorded.realm, binding):
            form = {**_password(client_id), "scope": scope}
            tokens = recorded.post("token", form, **_proof("token")).json()
        assert ("cnf" in claims_of(tokens["refresh_token"])) is is_bound
        for name in ("access_token", "refresh_token"):
            form = {"token": tokens[name], "client_id": client_id}
            found = _under(recorded, binding, "revoke", form, **_proof("revoke"))
            assert found == (200, None, None), (client_id, scope, name)
    unbound = recorded.post("token", _password("pub")).json()
    for name in ("access_token", "refresh_token"):
        form = {"token": unbound[name], "client_id": "pub"}
        found = _under(recorded, binding, "revoke", form, **_proof("revoke"))
        assert found[:2] == (401, "invalid_token"), name


def test_a_code_may_have_to_be_bound_to_a_key(recorded: Recorded) -> None:
    """By `dpop_jkt`, or by a proof with which the request is pushed. RFC 9449 §10, §10.1."""
    option = "enforce-authorization-code-binding-to-dpop"
    refusal = (400, "invalid_request", "Missing parameter: dpop_jkt")
    for value in ("true", "false"):
        binding: Executors = {"dpop-bind-enforcer": {option: value}}
        accepted = (201, None, None)
        found = _under(recorded, binding, "ext/par/request", PUSHED)
        assert found == (refusal if value == "true" else accepted)
        named = {**PUSHED, "dpop_jkt": PROOF.thumbprint}
        assert _under(recorded, binding, "ext/par/request", named) == accepted
        path = "ext/par/request"
        assert _under(recorded, binding, path, PUSHED, **_proof(path)) == accepted
        page = _page(recorded, binding, **PUSHED)
        assert ("Missing%20parameter" in page.headers.get("location", "")) is (value == "true")
        pushed = recorded.post(path, PUSHED, **_proof(path)).json()["request_uri"]
        assert _page(recorded, binding, request_uri=pushed).status_code == 200
