"""The profiles of FAPI 2.0 as client policies, through the real nginx: what its suite asks for.

Spec: FAPI 2.0 Security Profile §5.3.2, FAPI 2.0 Message Signing §5.3.1, RFC 8705 §3;
Keycloak: client policies (26.7)
"""

import json
import ssl
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.client_policies import list_global_profiles
from tests.support.administered_server import AdministeredServer
from tests.support.administration import PASSWORD
from tests.support.client_policies import policy
from tests.support.dpop import ProofKey
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser
from tests.support.wire import claims_of, user

REALM: Final = "fapi"
ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
VERIFIER: Final = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
"""RFC 7636, Appendix B."""
CHALLENGE: Final = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
HOUR: Final = 3600
KEY: Final = rsa.generate_private_key(65537, 2048)
REQUEST: Final = {
    "response_type": "code",
    "redirect_uri": CALLBACK,
    "scope": "openid",
    "state": "s",
    "code_challenge": CHALLENGE,
    "code_challenge_method": "S256",
}


@dataclass(frozen=True, slots=True)
class Fapi:
    """The realm, its client `app` with a key, and whatever profile is in force."""

    server: AdministeredServer
    opened: ExitStack

    @property
    def issuer(self) -> str:
        return f"{self.server.url}/realms/{REALM}"

    def enforce(self, *profiles: str) -> None:
        """Put the profiles into force for all clients, none for nothing."""
        policies = [policy(*profiles)] if profiles else []
        path = f"/{REALM}/client-policies/policies"
        answer = self.server.ask("PUT", path, {"policies": policies})
        assert answer.is_success, answer.text

    def post(
        self,
        path: str,
        certificate: str | None = "device-1",
        key: ProofKey | None = None,
        /,
        **form: str,
    ) -> tuple[int, dict[str, Any]]:
        """Send a form with a new assertion, with a certificate and a DPoP proof or without."""
        url = f"{self.issuer}/protocol/openid-connect/{path}"
        headers = {"DPoP": key.proof("POST", url)} if key else {}
        sent = {
            "client_id": "app",
            "client_assertion_type": ASSERTION,
            "client_assertion": self.assertion(),
        } | form
        with httpx2.Client(verify=self._context(certificate)) as http:
            response = http.post(url, data=sent, headers=headers)
        return response.status_code, response.json() if response.content else {}

    def assertion(self, algorithm: str = "PS256", **changed: Any) -> str:
        now = int(time.time())
        claims = {
            "iss": "app",
            "sub": "app",
            "aud": self.issuer,
            "jti": str(uuid.uuid4()),
            "iat": now,
            "exp": now + 60,
        }
        return jwt.encode(claims | changed, KEY, algorithm, headers={"kid": "k"})

    def request_object(self, **changed: Any) -> str:
        """Return a request object; None leaves a claim out."""
        now = int(time.time())
        claims = {
            **REQUEST,
            "client_id": "app",
            "iss": "app",
            "aud": self.issuer,
            "nbf": now,
            "exp": now + 300,
        }
        kept = {name: value for name, value in (claims | changed).items() if value is not None}
        return jwt.encode(kept, KEY, "PS256", headers={"kid": "k"})

    def push(
        self, certificate: str | None = "device-1", **changed: Any
    ) -> tuple[int, dict[str, Any]]:
        return self.post("ext/par/request", certificate, request=self.request_object(**changed))

    def browser(self) -> SignInBrowser:
        http = httpx2.Client(verify=self._context(None), base_url=self.server.url)
        self.opened.enter_context(http)
        return SignInBrowser(http, REALM, public_url=self.server.url)

    def open(self, request_uri: str, **sent: str) -> Page:
        """Open the authorization endpoint with a pushed request and whatever else is sent."""
        nothing = dict.fromkeys(("redirect_uri", "response_type", "scope", "state"))
        return self.browser().open("app", request_uri=request_uri, **nothing | sent)

    def code(self, certificate: str | None) -> str:
        """Return the code of a sign-in with a request that was pushed with the certificate."""
        status, pushed = self.push(certificate)
        assert status == 201, pushed
        browser = self.browser()
        nothing = dict.fromkeys(("redirect_uri", "response_type", "scope", "state"))
        page = browser.open("app", request_uri=pushed["request_uri"], **nothing)
        page = browser.submit(page, username="anna", password=PASSWORD)
        if page.status == 200:
            page = browser.submit(page, accept="on")
        return page.answer["code"]

    def redeem(
        self, certificate: str | None = "device-1", key: ProofKey | None = None, **form: str
    ) -> tuple[int, dict[str, Any]]:
        asked = {
            "grant_type": "authorization_code",
            "code": self.code(certificate),
            "redirect_uri": CALLBACK,
            "code_verifier": VERIFIER,
        } | form
        return self.post("token", certificate, key, **asked)

    def _context(self, certificate: str | None) -> ssl.SSLContext:
        assert self.server.certificates is not None
        context = ssl.create_default_context(cafile=str(self.server.authority))
        if certificate is not None:
            pair = self.server.certificates.pair(certificate)
            context.load_cert_chain(f"{pair}.crt", f"{pair}.key")
        return context


@pytest.fixture(scope="module")
def fapi(administered: AdministeredServer) -> Iterator[Fapi]:
    """Make the realm; its client is registered while the profile is in force."""
    anna = user("anna", credentials=[{"type": "password", "value": PASSWORD}])
    with (
        administered.realm(REALM, {"enabled": True, "users": [anna]}),
        ExitStack() as opened,
    ):
        made = Fapi(administered, opened)
        made.enforce("fapi-2-message-signing")
        public = json.loads(jwt.get_algorithm_by_name("PS256").to_jwk(KEY.public_key()))
        keys = json.dumps({"keys": [public | {"kid": "k"}]})
        client = {
            "clientId": "app",
            "redirectUris": [CALLBACK],
            "attributes": {"use.jwks.string": "true", "jwks.string": keys},
        }
        answer = administered.ask("POST", f"/{REALM}/clients", client)
        assert answer.status_code == 201, answer.text
        yield made


@pytest.fixture(autouse=True)
def message_signing(fapi: Fapi) -> Iterator[None]:
    """Put the profile into force again."""
    yield
    fapi.enforce("fapi-2-message-signing")


def test_the_profile_makes_a_plain_client_one_of_fapi(fapi: Fapi) -> None:
    (found,) = fapi.server.get(f"/{REALM}/clients?clientId=app")
    assert found["clientAuthenticatorType"] == "client-jwt"
    assert found["consentRequired"] is True
    assert found["fullScopeAllowed"] is False
    assert (
        found["attributes"].items()
        >= {
            "tls.client.certificate.bound.access.tokens": "true",
            "pkce.code.challenge.method": "S256",
            "id.token.signed.response.alg": "PS256",
            "request.object.signature.alg": "PS256",
        }.items()
    )


def test_a_fapi_sign_in_ends_with_certificate_bound_tokens(fapi: Fapi) -> None:
    status, tokens = fapi.redeem()
    assert status == 200, tokens
    assert "x5t#S256" in claims_of(tokens["access_token"])["cnf"]
    status, renewed = fapi.post(
        "token", grant_type="refresh_token", refresh_token=tokens["refresh_token"]
    )
    assert status == 200, renewed


def test_a_token_request_has_a_certificate(fapi: Fapi) -> None:
    """RFC 8705 §3; attacks A4."""
    status, answer = fapi.redeem(certificate=None)
    text = "Client Certification missing for MTLS HoK Token Binding"
    assert (status, answer["error_description"]) == (400, text)


def test_an_assertion_names_the_issuer_alone(fapi: Fapi) -> None:
    """Security Profile §5.3.2.1, number 8. attacks C12."""
    protocol = f"{fapi.issuer}/protocol/openid-connect"
    refusal = (400, "invalid_request", "invalid audience in client assertion")
    for audience in (f"{protocol}/token", f"{protocol}/ext/par/request", [f"{protocol}/token"]):
        for path, form in (
            ("ext/par/request", {"request": fapi.request_object()}),
            ("token", {"grant_type": "client_credentials"}),
            ("token/introspect", {"token": "x"}),
        ):
            wrong = fapi.assertion(aud=audience)
            status, answer = fapi.post(path, client_assertion=wrong, **form)
            found = (status, answer["error"], answer["error_description"])
            assert found == refusal, (path, audience)
    right = fapi.assertion(aud=[fapi.issuer])
    pushed = fapi.post("ext/par/request", client_assertion=right, request=fapi.request_object())
    assert pushed[0] == 201, pushed


def test_a_request_object_lasts_at_most_an_hour(fapi: Fapi) -> None:
    """Message Signing §5.3.1, numbers 3 and 4."""
    now = int(time.time())
    long = "Request's available period is long"
    for changed, text in (
        ({"nbf": None}, "Missing parameter in the 'request' object: nbf"),
        ({"exp": None}, "Missing parameter in the 'request' object: exp"),
        ({"nbf": now - HOUR - 10}, long),
        ({"exp": now + HOUR + 60}, long),
        ({"nbf": now - HOUR, "exp": now + 60}, long),
        ({"iat": now + 60}, "Request issued in the future"),
        ({"aud": None}, "Missing parameter in the 'request' object: aud"),
    ):
        status, answer = fapi.push(**changed)
        found = (status, answer.get("error"), answer.get("error_description"))
        assert found == (400, "invalid_request_object", text), changed
    assert fapi.push(nbf=now - 60, exp=now + HOUR - 120)[0] == 201
    assert fapi.push(nbf=now + 10)[0] == 201, "clocks differ by up to 15 s"


def test_a_pushed_request_without_a_signed_object_is_refused(fapi: Fapi) -> None:
    status, answer = fapi.post("ext/par/request", **REQUEST)
    text = "Missing parameter: 'request' or 'request_uri'"
    assert (status, answer["error_description"]) == (400, text)
    fapi.enforce("fapi-2-security-profile")
    assert fapi.post("ext/par/request", **REQUEST)[0] == 201


def test_parameters_beside_a_request_object_are_the_same_in_it(fapi: Fapi) -> None:
    signed = fapi.request_object()
    text = "Invalid parameter. Parameters in 'request' object not matching with request parameters"
    for sent, status in (({"state": "other"}, 400), ({"nonce": "n"}, 400), ({"state": "s"}, 201)):
        found, answer = fapi.post("ext/par/request", request=signed, **sent)
        assert found == status, answer
        assert status == 201 or answer["error_description"] == text


def test_no_parameter_comes_through_the_browser_alone(fapi: Fapi) -> None:
    """Security Profile §5.3.2.2; attacks C3."""
    uri = fapi.push()[1]["request_uri"]
    assert fapi.open(uri, nonce="n").status == 400
    assert fapi.open(uri, state="s").status == 200
    browser = fapi.browser()
    assert browser.open("app", request_uri=None).status == 400
    assert browser.open("app", request=fapi.request_object()).status == 400


def test_assertions_and_requests_are_signed_by_secure_algorithms(fapi: Fapi) -> None:
    """Security Profile §5.4.1."""
    path = f"/{REALM}/clients"
    (found,) = fapi.server.get(f"{path}?clientId=app")
    weak = {**found["attributes"], "token.endpoint.auth.signing.alg": "RS256"}
    refused = fapi.server.ask("PUT", f"{path}/{found['id']}", {"attributes": weak})
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_request")
    fapi.enforce()
    fapi.server.ask("PUT", f"{path}/{found['id']}", {"attributes": weak})
    fapi.enforce("fapi-2-message-signing")
    signed = fapi.assertion("RS256")
    status, answer = fapi.post(
        "ext/par/request", client_assertion=signed, request=fapi.request_object()
    )
    assert (status, answer["error_description"]) == (400, "not allowed signature algorithm.")
    fapi.enforce()
    fapi.server.ask("PUT", f"{path}/{found['id']}", {"attributes": found["attributes"]})


def test_unbound_tokens_are_refused_once_the_profile_is_active(fapi: Fapi) -> None:
    """RFC 8705 §3; attacks A4."""
    path = f"/{REALM}/clients"
    (found,) = fapi.server.get(f"{path}?clientId=app")
    unbound: Mapping[str, str] = {"tls.client.certificate.bound.access.tokens": "false"}
    fapi.enforce()
    changed = {"attributes": {**found["attributes"], **unbound}}
    assert fapi.server.ask("PUT", f"{path}/{found['id']}", changed).is_success
    status, tokens = fapi.redeem(certificate=None)
    assert status == 200, tokens
    assert "cnf" not in claims_of(tokens["access_token"])
    fapi.enforce("fapi-2-security-profile")
    renewal = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    text = "Client certificate missing, or its thumbprint and one in the token did NOT match"
    status, answer = fapi.post("token", **renewal)
    assert (status, answer["error"], answer["error_description"]) == (400, "invalid_grant", text)
    for path_, form in (
        ("revoke", {"token": tokens["access_token"]}),
        ("logout", {"refresh_token": tokens["refresh_token"]}),
    ):
        status, answer = fapi.post(path_, **form)
        assert (status, answer["error"], answer["error_description"]) == (401, "not_allowed", text)
    status, answer = fapi.redeem()
    assert status == 200, answer
    assert "x5t#S256" in claims_of(answer["access_token"])["cnf"], "a policy binds them itself"
    fapi.enforce()
    fapi.server.ask("PUT", f"{path}/{found['id']}", {"attributes": found["attributes"]})


def test_every_token_is_bound_to_a_proof_under_a_dpop_profile(
    fapi: Fapi,
) -> None:
    """RFC 9449 §5. A client that was registered before needs no setting of its own."""
    _, before = fapi.redeem()
    fapi.enforce("fapi-2-dpop-security-profile")
    executor, key = "dpop-bind-enforcer", ProofKey.new("ES256")
    status, answer = fapi.redeem()
    assert (status, answer["error"]) == (400, "invalid_request"), executor
    status, tokens = fapi.redeem(key=key)
    assert status == 200, tokens
    assert claims_of(tokens["access_token"])["cnf"]["jkt"] == key.thumbprint
    renewal = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert fapi.post("token", **renewal)[0] == 400
    status, renewed = fapi.post("token", "device-1", key, **renewal)
    assert status == 200, renewed
    assert claims_of(renewed["access_token"])["cnf"]["jkt"] == key.thumbprint
    status, answer = fapi.post("revoke", token=before["access_token"])
    text = "DPoP proof and token binding verification failed"
    assert (status, answer["error_description"]) == (401, text)
    assert fapi.post("revoke", token=renewed["access_token"])[0] == 200


def test_each_profile_of_every_realm_can_be_enforced(fapi: Fapi) -> None:
    for profile in list_global_profiles():
        fapi.enforce(profile["name"])
