"""Where a DPoP proof is demanded, where it may be left out, and what a missing one leaves alone.

Through nginx, with the real stores. Spec: RFC 9449 §5, §7, §10.1, §11.1; attacks A19
"""

from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from tests.support.dpop import ProofKey
from tests.support.sign_in_browser import CALLBACK, SignInBrowser
from tests.support.spec_stack import Stack, protocol, refusal
from tests.support.wire import PASSWORD, SECRET, claims_of

REALM: Final = "dpop"
MISSING: Final = (400, "invalid_request", "DPoP proof is missing")


@pytest.fixture(scope="module")
def key() -> ProofKey:
    return ProofKey.new()


@pytest.fixture
def browser(spec: Stack) -> Iterator[SignInBrowser]:
    with spec.nginx.client() as http:
        http.base_url = spec.nginx.https
        yield SignInBrowser(http, REALM, public_url=spec.nginx.https)


def _url(stack: Stack, path: str, realm: str = REALM) -> str:
    return f"{stack.nginx.https}{protocol(realm)}/{path}"


def _post(
    stack: Stack, path: str, key: ProofKey | None, form: dict[str, str], **changed: Any
) -> httpx2.Response:
    url = _url(stack, path)
    headers = {} if key is None else {"DPoP": key.proof("POST", url, **changed)}
    return stack.http.post(url, data=form, headers=headers)


def _password(client_id: str) -> dict[str, str]:
    form = {"grant_type": "password", "client_id": client_id, "username": "user-4"}
    return {**form, "password": PASSWORD, "scope": "openid"}


def _service(client_id: str = "svc") -> dict[str, str]:
    form = {"grant_type": "client_credentials", "client_id": client_id}
    return {**form, "client_secret": SECRET}


def test_a_code_outlasts_a_request_without_a_proof(
    spec: Stack, browser: SignInBrowser, key: ProofKey
) -> None:
    """The proof is demanded before anything is used up."""
    page = browser.submit(browser.open("bound-web"), username="user-4", password=PASSWORD)
    form = {"grant_type": "authorization_code", "code": page.answer["code"]}
    form |= {"redirect_uri": CALLBACK, "client_id": "bound-web", "client_secret": SECRET}
    assert refusal(_post(spec, "token", None, form)) == MISSING
    assert _post(spec, "token", key, form).status_code == 200


def test_a_push_of_a_bound_client_may_leave_the_proof_out(spec: Stack, key: ProofKey) -> None:
    """RFC 9449 §10.1: the code is bound by a proof, the tokens by that of the token request."""
    form = {"response_type": "code", "redirect_uri": CALLBACK, "scope": "openid"}
    form |= {"client_id": "bound-web", "client_secret": SECRET}
    for sent in (None, key):
        assert _post(spec, "ext/par/request", sent, form).status_code == 201


def test_a_resource_server_introspects_a_token_without_its_key(spec: Stack, key: ProofKey) -> None:
    """It compares `cnf` with the proof of its own caller. RFC 9449 §6.2."""
    tokens = _post(spec, "token", key, _password("account-app")).json()
    described = {"token": tokens["access_token"], "client_id": "svc", "client_secret": SECRET}
    (app,) = spec.ask(f"{REALM}/clients", clientId="account-app").json()
    assert app["publicClient"] is True
    answer = _post(spec, "token/introspect", None, described).json()
    assert answer == {"active": False}, "it is not for this resource server"
    url = f"{spec.nginx.https}/admin/realms/{REALM}/clients/{app['id']}/protocol-mappers/models"
    mapper = {
        "name": "for svc",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-audience-mapper",
        "config": {"included.client.audience": "svc", "access.token.claim": "true"},
    }
    headers = {"Authorization": f"Bearer {spec.administrator()}"}
    made = spec.http.post(url, json=mapper, headers=headers)
    assert made.is_success, made.text
    token = _post(spec, "token", key, _password("account-app")).json()["access_token"]
    answer = _post(spec, "token/introspect", None, described | {"token": token}).json()
    assert (answer["active"], answer["cnf"]) == (True, {"jkt": key.thumbprint})
    assert spec.http.delete(made.headers["location"], headers=headers).is_success


def test_a_client_introspects_its_token_with_the_right_key_only(spec: Stack, key: ProofKey) -> None:
    token = _post(spec, "token", key, _service()).json()["access_token"]
    form = {"token": token, "client_id": "svc", "client_secret": SECRET}
    assert _post(spec, "token/introspect", ProofKey.new(), form).status_code == 401
    for sent in (None, key):
        assert _post(spec, "token/introspect", sent, form).json()["active"] is True


def test_the_id_of_a_proof_counts_for_its_key_and_its_url(spec: Stack, key: ProofKey) -> None:
    """RFC 9449 §11.1: clients that count their proofs use the ids of each other."""
    jti = "the-first-one"
    assert _post(spec, "token", key, _service(), jti=jti).status_code == 200
    assert _post(spec, "token", ProofKey.new(), _service(), jti=jti).status_code == 200
    tokens = _post(spec, "token", key, _password("app")).json()
    revoked = {"token": tokens["access_token"], "client_id": "app"}
    assert _post(spec, "revoke", key, revoked, jti=jti).status_code == 200
    used = (400, "invalid_dpop_proof", "DPoP proof has already been used")
    assert refusal(_post(spec, "token", key, _service(), jti=jti)) == used


def test_a_long_type_is_not_quoted(spec: Stack, key: ProofKey) -> None:
    proof = key.proof("POST", _url(spec, "token"), header={"typ": "x" * 21})
    response = spec.token(REALM, _service(), DPoP=proof)
    assert refusal(response)[2] == "Invalid or missing type in DPoP header: ?"


def test_a_client_is_registered_with_a_bound_token_and_its_proof(
    spec: Stack, key: ProofKey
) -> None:
    """Attacks A19."""
    headers = {"Authorization": f"Bearer {spec.administrator()}"}
    clients = f"{spec.nginx.https}/admin/realms/{REALM}/clients"
    (svc,) = spec.ask(f"{REALM}/clients", clientId="svc").json()
    (management,) = spec.ask(f"{REALM}/clients", clientId="realm-management").json()
    account = spec.ask(f"{REALM}/clients/{svc['id']}/service-account-user").json()["id"]
    role = spec.ask(f"{REALM}/clients/{management['id']}/roles/create-client").json()
    mappings = f"{clients.removesuffix('/clients')}/users/{account}/role-mappings/clients"
    given = spec.http.post(f"{mappings}/{management['id']}", json=[role], headers=headers)
    assert given.is_success, given.text
    token = _post(spec, "token", key, _service()).json()["access_token"]
    url = f"{spec.nginx.https}/realms/{REALM}/clients-registrations/default"
    for scheme, proof, status in (
        ("Bearer", None, 401),
        ("DPoP", None, 401),
        ("DPoP", ProofKey.new().proof("POST", url, token), 401),
        ("DPoP", key.proof("POST", url, token), 201),
    ):
        sent = {"Authorization": f"{scheme} {token}"} | ({"DPoP": proof} if proof else {})
        response = spec.http.post(url, json={"clientId": "registered"}, headers=sent)
        assert response.status_code == status, (scheme, response.text)
    (made,) = spec.ask(f"{REALM}/clients", clientId="registered").json()
    assert spec.http.delete(f"{clients}/{made['id']}", headers=headers).is_success


def test_a_token_for_a_certificate_and_a_key_needs_both(spec: Stack, key: ProofKey) -> None:
    """RFC 8705 §3, RFC 9449 §7."""
    realm, userinfo = "spec", f"{spec.nginx.mtls}{protocol('spec')}/userinfo"
    form = _password("bound-app") | {"client_secret": SECRET}
    with spec.nginx.client("device-1") as holder, spec.nginx.client("device-2") as other:
        asked = f"{spec.nginx.mtls}{protocol(realm)}/token"
        proof = {"DPoP": key.proof("POST", asked)}
        token = holder.post(asked, data=form, headers=proof).json()["access_token"]
        assert claims_of(token)["cnf"].keys() == {"x5t#S256", "jkt"}
        for http, prover, status in (
            (other, key, 401),
            (holder, ProofKey.new(), 401),
            (holder, key, 200),
        ):
            sent = {"Authorization": f"DPoP {token}", "DPoP": prover.proof("GET", userinfo, token)}
            assert http.get(userinfo, headers=sent).status_code == status
