"""Client policies at the use of clients that were made before and violate them.

An executor protects when a client is used, not only when it is created or changed: each executor of
the registry has a row here, which is accepted without the policy. Keycloak: client policies (26.7)
"""

import base64
import json
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.client_policies import EXECUTORS
from gateway.protocol.authorization.request import CodeChallenge
from tests.support.administered_realm import administered_realm
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.browser_sign_ins import REDIRECT_URI, sign_in
from tests.support.chains import CA, Node, issue
from tests.support.client_policies import global_profile, policies_of
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.sign_in_browser import Page, SignInBrowser
from tests.support.wire import PUBLIC_URL, audience, claims_of

NAME: Final = "earlier-clients"
ISSUER: Final = f"{PUBLIC_URL}/realms/{NAME}"
ASSERTION: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
VERIFIER: Final = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
"""RFC 7636, Appendix B."""
CHALLENGE: Final = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
KEY: Final = rsa.generate_private_key(65537, 2048)
ROOT: Final = issue("earlier root", None, CA)
LEAF: Final = issue("probe", ROOT)
PLAIN: Final = "http://plain.example.test/cb"
OPEN: Final = "https://wild.example.test/apps/*"
BELOW: Final = "https://wild.example.test/apps/anywhere"
REQUEST: Final = {
    "client_id": "svc",
    "response_type": "code",
    "redirect_uri": REDIRECT_URI,
    "scope": "openid",
    "state": "s",
}


def _client(client_id: str, attributes: Mapping[str, str] = {}, **fields: Any) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "redirectUris": [REDIRECT_URI],
        "serviceAccountsEnabled": not fields.get("publicClient"),
        "directAccessGrantsEnabled": True,
        "implicitFlowEnabled": True,
        "attributes": {"oauth2.device.authorization.grant.enabled": "true", **attributes},
    } | fields


@pytest.fixture(scope="module")
def recorded(administration: Administration) -> Iterator[Recorded]:
    """Make the clients while no policy is in force."""
    public = json.loads(jwt.get_algorithm_by_name("PS256").to_jwk(KEY.public_key()))
    keys = json.dumps({"keys": [{**public, "kid": "k"}]})
    signs = {"use.jwks.string": "true", "jwks.string": keys}
    clients = [
        *RECORDED["clients"][:1],
        _client("svc", signs, protocolMappers=[audience("svc")]),
        _client("keyed", signs, clientAuthenticatorType="client-jwt"),
        _client("pub", publicClient=True),
        _client("plain", {"post.logout.redirect.uris": PLAIN}, redirectUris=[PLAIN]),
        _client("wild", redirectUris=[OPEN]),
        _client("weak", {"id.token.signed.response.alg": "RS256"}),
        _client("front", {"frontchannel.logout.url": PLAIN}, frontchannelLogout=True),
        _client("probe", {"x509.subjectdn": "CN=probe"}, clientAuthenticatorType="client-x509"),
    ]
    document = {**RECORDED, "bruteForceProtected": False, "clients": clients}
    with administered_realm(administration, NAME, {}, **document) as realm:
        realm.change("POST", "certificates/authorities", {"certificate": ROOT.pem})
        made = Recorded(realm)
        svc = realm.get("clients?clientId=svc")[0]["id"]
        realm.change("POST", f"clients/{svc}/roles", {"name": "own"})
        own, john = realm.get(f"clients/{svc}/roles/own"), made.user_id("john")
        realm.change("POST", f"users/{john}/role-mappings/clients/{svc}", [own])
        yield made


def _token(recorded: Recorded, grant_type: str, **form: str) -> httpx2.Response:
    return recorded.post("token", {"grant_type": grant_type, **form})


def _password(recorded: Recorded, client_id: str = "svc", **form: str) -> httpx2.Response:
    asked = {"username": "john", "password": PASSWORD, "client_id": client_id, "scope": "openid"}
    return _token(recorded, "password", **asked | form)


def _code(recorded: Recorded, client_id: str = "svc", **asked: Any) -> httpx2.Response:
    gateway = recorded.realm.administration.gateway
    code = sign_in(gateway, realm=NAME, client_id=client_id, asked=asked).code
    form = {"code": code, "redirect_uri": REDIRECT_URI, "client_id": client_id}
    return _token(recorded, "authorization_code", **form)


def _authorize(recorded: Recorded, **changed: str) -> httpx2.Response:
    url = f"/realms/{NAME}/protocol/openid-connect/auth"
    http = recorded.realm.administration.http
    parameters = {name: text for name, text in (REQUEST | changed).items() if text}
    return http.get(url, params=parameters, follow_redirects=False)


def _logout(recorded: Recorded, **parameters: str) -> httpx2.Response:
    url = f"/realms/{NAME}/protocol/openid-connect/logout"
    http = recorded.realm.administration.http
    return http.get(url, params=parameters, follow_redirects=False)


def _assertion(algorithm: str = "PS256", client_id: str = "keyed", **changed: Any) -> str:
    now = int(time.time())
    claims = {"iss": client_id, "sub": client_id, "aud": ISSUER, "iat": now, "exp": now + 60}
    claims |= {"jti": str(uuid.uuid4())} | changed
    if algorithm == "none":
        return jwt.encode(claims, "", "none")
    return jwt.encode(claims, KEY, algorithm, headers={"kid": "k"})


def _forged(**changed: Any) -> str:
    """Return an assertion whose header names a secure algorithm, without a valid signature."""
    head, body, signature = _assertion(**changed).split(".")
    return f"{head}.{body}.{'A' * len(signature)}"


def _asserted(recorded: Recorded, assertion: str, **form: str) -> httpx2.Response:
    shown = {"client_assertion_type": ASSERTION, "client_assertion": assertion}
    asked = {"client_id": "keyed", "client_secret": "", **shown, **form}
    return _token(recorded, "client_credentials", **asked)


def _object(algorithm: str = "PS256", client_id: str = "svc", **changed: Any) -> str:
    now = int(time.time())
    claims = {**REQUEST, "client_id": client_id, "iss": client_id, "aud": ISSUER}
    claims |= {"nbf": now, "exp": now + 300} | changed
    if algorithm == "none":
        return jwt.encode(claims, "", "none")
    return jwt.encode(claims, KEY, algorithm, headers={"kid": "k"})


def _with_certificate(recorded: Recorded, node: Node = LEAF) -> httpx2.Response:
    headers = {"X-Forwarded-Proto": "https", "ssl-client-verify": "SUCCESS"}
    headers |= {"ssl-client-cert": quote(node.pem, safe="")}
    form = {"grant_type": "client_credentials", "client_id": "probe", "client_secret": ""}
    return recorded.post("token", form, **headers)


def _is_accepted(response: httpx2.Response) -> bool:
    """Return whether a request goes on: a redirect with an error is a refusal."""
    found = httpx2.URL(response.headers.get("location", "").replace("#", "?"))
    return response.status_code < httpx2.codes.BAD_REQUEST and "error" not in found.params


Ask = Callable[[Recorded], httpx2.Response]


@dataclass(frozen=True, slots=True)
class Refused:
    """Requests that are accepted without the executor, and refused under it."""

    asks: tuple[Ask, ...]
    configuration: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Changed:
    """A request that goes on, and has another result under the executor."""

    result: Callable[[Recorded], object]
    before: object
    after: object


def _lightweight(recorded: Recorded) -> object:
    return claims_of(_password(recorded).json()["access_token"])["jti"][2:4] == "lt"


def _has_foreign_roles(claims: Mapping[str, Any]) -> bool:
    """Return whether there are roles of the realm beside the client's own one."""
    assert claims["resource_access"]["svc"] == {"roles": ["own"]}
    return "realm_access" in claims


def _issued_roles(recorded: Recorded) -> object:
    return _has_foreign_roles(claims_of(_password(recorded).json()["access_token"]))


def _introspected_roles(recorded: Recorded) -> object:
    token = _password(recorded).json()["access_token"]
    return _has_foreign_roles(recorded.post("token/introspect", {"token": token}).json())


def _detached(recorded: Recorded) -> object:
    """Return whether the ID token of an authorization response has claims of the user."""
    gateway = recorded.realm.administration.gateway
    done = sign_in(gateway, realm=NAME, response_type="code id_token", scope="openid profile")
    return "preferred_username" in claims_of(done.parameters["id_token"])


def _signed_in(recorded: Recorded, **asked: str) -> Page:
    """Return the page or the redirect that follows the password."""
    with recorded.realm.administration.gateway.client() as http:
        browser = SignInBrowser(http, NAME)
        page = browser.open("svc", redirect_uri=REDIRECT_URI, scope="openid", **asked)
        return browser.submit(page, username="john", password=PASSWORD)


def _asks_for_consent(recorded: Recorded) -> object:
    page = _signed_in(recorded)
    return page.status == httpx2.codes.OK and "accept" in page.response.text


def _implicit_token(recorded: Recorded) -> httpx2.Response:
    return _signed_in(recorded, response_type="token").response


def _is_implicit_lightweight(recorded: Recorded) -> object:
    token = _signed_in(recorded, response_type="token").answer["access_token"]
    return claims_of(token)["jti"][2:4] == "lt"


_METHODS: Final = {"allowed-client-authenticators": ["client-jwt"]}
_DN: Final = {"ca-subject-dn": "CN=another root", "enforced": True}
_IMPLICIT: Final = {"response_type": "id_token", "nonce": "n"}
_OF_PASSWORDS: Final[Ask] = _password
USES: Final[Mapping[str, Refused | Changed | tuple[Refused | Changed, ...]]] = {
    "auth-flow-enforcer": Refused((_authorize,), {"auth-flow-alias": "not there"}),
    "confidential-client": Refused(
        (
            lambda recorded: _authorize(recorded, client_id="pub"),
            lambda recorded: _password(recorded, "pub"),
            lambda recorded: _code(recorded, "pub"),
            lambda recorded: recorded.post("auth/device", {"client_id": "pub"}),
        )
    ),
    "consent-required": (
        Refused((_OF_PASSWORDS,)),
        Changed(_asks_for_consent, before=False, after=True),
    ),
    "dpop-bind-enforcer": Refused((_OF_PASSWORDS, _code, _implicit_token)),
    "full-scope-disabled": (
        Changed(_issued_roles, before=True, after=False),
        Changed(_introspected_roles, before=True, after=False),
    ),
    "holder-of-key-enforcer": Refused((_OF_PASSWORDS, _code, _implicit_token)),
    "pkce-enforcer": Refused((_authorize, _code)),
    "reject-implicit-grant": Refused((lambda recorded: _authorize(recorded, **_IMPLICIT),)),
    "reject-ropc-grant": Refused((_OF_PASSWORDS,)),
    "reject-request": Refused((_OF_PASSWORDS, _authorize)),
    "secure-client-authentication-assertion": Refused(
        (
            lambda recorded: _asserted(
                recorded, _assertion(aud=f"{ISSUER}/protocol/openid-connect/token")
            ),
        )
    ),
    "secure-client-authenticator": Refused(
        (_OF_PASSWORDS, lambda recorded: _token(recorded, "client_credentials")), _METHODS
    ),
    "secure-client-uris": Refused(
        (
            lambda recorded: _authorize(recorded, client_id="plain", redirect_uri=PLAIN),
            lambda recorded: _authorize(recorded, client_id="wild", redirect_uri=BELOW),
            lambda recorded: _logout(recorded, client_id="plain", post_logout_redirect_uri=PLAIN),
        )
    ),
    "secure-client-uris-pattern": Refused(
        (
            _authorize,
            lambda recorded: _logout(recorded, client_id="plain", post_logout_redirect_uri=PLAIN),
        ),
        {"allowed-patterns": [r"https://other\.example\.test/.*"]},
    ),
    "secure-logout": Refused((lambda recorded: _logout(recorded, client_id="front"),)),
    "secure-par-content": Refused((_authorize,)),
    "secure-redirect-uris-enforcer": Refused(
        (
            lambda recorded: _authorize(recorded, client_id="plain", redirect_uri=PLAIN),
            lambda recorded: _authorize(recorded, client_id="wild", redirect_uri=BELOW),
            lambda recorded: _logout(recorded, client_id="plain", post_logout_redirect_uri=PLAIN),
        )
    ),
    "secure-request-object": (
        Refused(
            (
                _authorize,
                lambda recorded: _authorize(recorded, request=_object("none")),
                lambda recorded: recorded.post("ext/par/request", {"request": _object("none")}),
                lambda recorded: recorded.post(
                    "ext/par/request", {name: REQUEST[name] for name in list(REQUEST)[1:]}
                ),
            )
        ),
    ),
    "secure-response-type": (
        Refused((_authorize,)),
        Changed(_detached, before=True, after=False),
    ),
    "secure-session": Refused((_authorize,)),
    "secure-signature-algorithm": Refused(
        (
            lambda recorded: _password(recorded, "weak"),
            lambda recorded: _authorize(recorded, client_id="weak"),
            lambda recorded: _authorize(recorded, request=_object("RS256")),
            lambda recorded: _asserted(recorded, _assertion("RS256")),
        )
    ),
    "secure-signature-algorithm-signed-jwt": (
        Refused((lambda recorded: _asserted(recorded, _assertion("RS256")),)),
        Refused((_OF_PASSWORDS,), {"require-client-assertion": True}),
    ),
    "tls-client-auth-ca-subject-dn": (
        Refused((_with_certificate,), _DN),
        Refused((_with_certificate,), {**_DN, "enforced": False}),
    ),
    "use-lightweight-access-token": (
        Changed(_lightweight, before=False, after=True),
        Changed(_is_implicit_lightweight, before=False, after=True),
    ),
}
"""Executor -> how a client that violates it is used."""
AT_REGISTRATION: Final = frozenset({"secret-rotation"})


def test_each_executor_has_a_use_or_a_reason_why_it_has_none() -> None:
    reasons = {name for name, executor in EXECUTORS.items() if executor.registration_only}
    assert reasons == AT_REGISTRATION
    assert set(USES) == EXECUTORS.keys() - reasons


@pytest.mark.parametrize("executor", sorted(USES))
def test_a_client_of_before_the_policy_is_not_used_against_it(
    recorded: Recorded, executor: str
) -> None:
    found = USES[executor]
    for number, use in enumerate(found if isinstance(found, tuple) else (found,)):
        if isinstance(use, Changed):
            assert use.result(recorded) == use.before
            with policies_of(recorded.realm, {executor: {}}):
                assert use.result(recorded) == use.after
            continue
        for position, ask in enumerate(use.asks):
            without = ask(recorded)
            assert _is_accepted(without), (number, position, without.text)
            with policies_of(recorded.realm, {executor: use.configuration}):
                assert not _is_accepted(ask(recorded)), (number, position)


_DEMANDED: Final = {"require-client-assertion": True}
_SEVERAL: Final = (
    "The request has a client_assertion beside a client secret, one client credential is allowed"
)


def _basic(secret: str = SECRET, client_id: str = "svc") -> dict[str, str]:
    pair = base64.b64encode(f"{client_id}:{secret}".encode()).decode()
    return {"Authorization": f"Basic {pair}"}


def test_an_assertion_that_nobody_verified_satisfies_no_policy(recorded: Recorded) -> None:
    """Beside a secret, with a type or without, and under each algorithm that a header may name."""
    assertions = (
        "x",
        _forged(client_id="svc"),
        _assertion("none", "svc"),
        _assertion(client_id="svc"),
        jwt.encode({"sub": "svc", "aud": ISSUER}, "k" * 64, "HS256", headers={"kid": "k"}),
    )
    paths = ("token", "token/introspect", "revoke", "ext/par/request", "auth/device", "logout")
    for executor in (
        "secure-signature-algorithm-signed-jwt",
        "secure-client-authentication-assertion",
    ):
        with policies_of(recorded.realm, {executor: _DEMANDED}):
            for assertion in assertions:
                form = {"grant_type": "client_credentials", "client_assertion": assertion}
                form |= {"refresh_token": "x", "token": "x"}
                for kind in ({}, {"client_assertion_type": ASSERTION}):
                    for path in paths:
                        by_secret = recorded.post(path, form | kind)
                        by_header = recorded.post(
                            path, form | kind | {"client_secret": ""}, **_basic()
                        )
                        for response in (by_secret, by_header):
                            assert response.status_code == 400, (path, response.text)
                            assert response.json()["error_description"] == _SEVERAL


def test_an_assertion_comes_without_a_secret(recorded: Recorded) -> None:
    """RFC 6749 §2.3, §5.2. A client id is no credential, and neither is an empty secret."""
    form = {"grant_type": "client_credentials"}
    without = {**form, "client_secret": ""}
    asserted = {"client_assertion_type": ASSERTION, "client_assertion": _assertion(client_id="svc")}
    for sent, headers, is_accepted in (
        (form, {}, True),
        (without, _basic(), True),
        ({**without, "client_id": ""}, _basic(), True),
        (form, _basic(""), True),
        (form | asserted, {}, False),
        (without | asserted, _basic(), False),
        (without | asserted, _basic("wrong"), False),
    ):
        response = recorded.post("token", sent, **headers)
        assert response.is_success is is_accepted, (sent, headers, response.text)
        if not is_accepted:
            assert response.json() == {
                "error": "invalid_request",
                "error_description": _SEVERAL,
            }


def test_a_request_object_that_nobody_signed_satisfies_no_policy(recorded: Recorded) -> None:
    """At the endpoint, pushed, and pushed before the policy was in force; attacks C20."""
    pushed = {}
    for algorithm in ("none", "PS256"):
        answer = recorded.post("ext/par/request", {"request": _object(algorithm)})
        pushed[algorithm] = answer.json()["request_uri"]
    plain = recorded.post("ext/par/request", {name: REQUEST[name] for name in list(REQUEST)[1:]})
    pushed["without"] = plain.json()["request_uri"]
    only = dict.fromkeys(list(REQUEST)[1:], "")
    with policies_of(recorded.realm, {"secure-request-object": {}}):
        assert _is_accepted(_authorize(recorded, request=_object()))
        head, body, _ = _object().split(".")
        for unsigned in (_object("none"), f"{head}.{body}.", _object("none") + "AAAA"):
            assert not _is_accepted(_authorize(recorded, request=unsigned))
        for algorithm, reference in pushed.items():
            used = _authorize(recorded, **only, request_uri=reference)
            assert _is_accepted(used) is (algorithm == "PS256"), algorithm
    with_all = {"nonce": "n", "code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    for profile in ("fapi-1-advanced", "fapi-2-message-signing"):
        with global_profile(recorded.realm, profile):
            unsigned = _object("none", "keyed", **with_all)
            assert not _is_accepted(_authorize(recorded, client_id="keyed", request=unsigned))
            form = {"client_id": "keyed", "client_secret": "", "request": unsigned}
            form |= {"client_assertion_type": ASSERTION, "client_assertion": _assertion()}
            refused = recorded.post("ext/par/request", form)
            text = "Request object is not signed"
            assert refused.json()["error_description"] == text, profile


def test_a_code_verifier_counts_where_it_fits_an_s256_challenge(recorded: Recorded) -> None:
    """A code of before the policy may have none, or a plain one."""
    for challenge, verifier, error in (
        (None, {}, "code_verifier_missing"),
        (None, {"code_verifier": "v" * 43}, "invalid_grant"),
        (CodeChallenge("v" * 43, "plain"), {"code_verifier": "v" * 43}, "invalid_grant"),
        (CodeChallenge(CHALLENGE, "S256"), {"code_verifier": VERIFIER}, None),
    ):
        gateway = recorded.realm.administration.gateway
        code = sign_in(gateway, realm=NAME, asked={"code_challenge": challenge}).code
        form = {"code": code, "redirect_uri": REDIRECT_URI, **verifier}
        with policies_of(recorded.realm, {"pkce-enforcer": {}}):
            response = _token(recorded, "authorization_code", **form)
        assert response.json().get("error") == error, (challenge, response.text)


def test_the_scopes_that_a_device_was_granted_choose_the_policy(recorded: Recorded) -> None:
    """A device names its scopes when it asks for its codes, not when it polls."""
    phone = {"client-scopes": {"type": "Optional", "scopes": ["phone"]}}
    for asked, polls_with, is_judged in (
        ("openid phone", "", True),
        ("openid phone", "openid", True),
        ("openid", "openid phone", False),
    ):
        codes = recorded.post("auth/device", {"scope": asked}).json()
        form = {"device_code": codes["device_code"], "scope": polls_with}
        with policies_of(recorded.realm, {"reject-request": {}}, phone):
            response = _token(recorded, DEVICE, **form)
        error = "invalid_request" if is_judged else "authorization_pending"
        assert response.json()["error"] == error, (asked, polls_with)


def test_a_client_does_not_leave_a_policy_by_a_judged_change(
    recorded: Recorded,
) -> None:
    """Each condition holds for the client as it is, or as it would be."""
    realm = recorded.realm
    made = realm.change("POST", "clients", _client("marked", {"grade": "high"}))
    marked = '[{"key": "grade", "value": "high"}]'
    for change, conditions in (
        ({"attributes": {"grade": "low"}}, {"client-attributes": {"attributes": marked}}),
        ({"attributes": {"grade": ""}}, {"client-attributes": {"attributes": marked}}),
        ({"publicClient": True}, {"client-access-type": {"type": ["confidential"]}}),
        (
            {"attributes": {"other": "exempt"}},
            {
                "client-attributes": {
                    "attributes": '[{"key": "other", "value": "exempt"}]',
                    "is-negative-logic": True,
                }
            },
        ),
    ):
        with policies_of(realm, {"reject-request": {}}, conditions):
            answer = realm.ask("PUT", f"clients/{made}", {"clientId": "marked", **change})
        assert answer.status_code == 400, (change, answer.text)
    realm.change("DELETE", f"clients/{made}")


def test_each_condition_lets_the_executors_of_a_redirect_act(recorded: Recorded) -> None:
    """Some say nothing before a request is verified; then the executors judge it afterwards."""
    for condition, configuration in (
        ("client-roles", {"roles": ["other"], "is-negative-logic": True}),
        ("client-scopes", {"type": "Any", "scopes": ["email"]}),
        ("grant-type", {"grant_types": ["authorization_code"]}),
        ("acr-condition", {"acr-property": "gold", "is-negative-logic": True}),
    ):
        for executor, changed in (
            ("secure-par-content", {}),
            ("secure-redirect-uris-enforcer", {"client_id": "plain", "redirect_uri": PLAIN}),
        ):
            with policies_of(recorded.realm, {executor: {}}, {condition: configuration}):
                assert not _is_accepted(_authorize(recorded, **changed)), (condition, executor)
