"""Client policies judge the requests of clients, at every endpoint that has a client.

Each text is Keycloak's. Keycloak: client policies (26.7)
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.application_routes import served
from tests.support.browser_sign_ins import REDIRECT_URI, sign_in
from tests.support.client_policies import policies_of
from tests.support.dpop import ProofKey
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.registration import Registration
from tests.support.wire import claims_of

NAME: Final = "judged-requests"
DEVICE: Final = "urn:ietf:params:oauth:grant-type:device_code"
REJECT: Final[Mapping[str, Mapping[str, Any]]] = {"reject-request": {}}
REFUSAL: Final = ("invalid_request", "Request not allowed")
PLAIN: Final = "http://plain.example/cb"
AUTHORIZATION: Final = {
    "client_id": "svc",
    "response_type": "code",
    "scope": "openid",
    "redirect_uri": REDIRECT_URI,
    "state": "s",
}


def _app(client_id: str, **fields: Any) -> dict[str, Any]:
    switch = {"oauth2.device.authorization.grant.enabled": "true"}
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "serviceAccountsEnabled": not fields.get("publicClient"),
        "directAccessGrantsEnabled": True,
        "implicitFlowEnabled": True,
        "redirectUris": [REDIRECT_URI],
        "attributes": switch | fields.pop("attributes", {}),
    } | fields


@pytest.fixture(scope="module")
def recorded(administration: Administration) -> Iterator[Recorded]:
    """Make a realm that records everything; client `marked` has a role and an attribute."""
    clients = [
        *RECORDED["clients"][:1],
        _app("svc", optionalClientScopes=["phone"], defaultClientScopes=["basic", "email"]),
        _app("pub", publicClient=True, defaultClientScopes=["basic"]),
        _app("marked", attributes={"grade": "high"}),
        _app("plain", redirectUris=[PLAIN, f"{PLAIN}/deeper"]),
    ]
    roles = {"client": {"marked": [{"name": "watched"}]}}
    document = {**RECORDED, "clients": clients, "roles": roles}
    with administered_realm(administration, NAME, {}, **document) as realm:
        yield Recorded(realm)


def _form(grant_type: str, **form: str) -> dict[str, str]:
    return {"grant_type": grant_type, **form}


def _password(recorded: Recorded, **form: str) -> httpx2.Response:
    asked = _form("password", username="john", password=PASSWORD, scope="openid")
    return recorded.post("token", asked | form)


def _authorize(recorded: Recorded, **changed: str) -> httpx2.Response:
    url = f"/realms/{NAME}/protocol/openid-connect/auth"
    http = recorded.realm.administration.http
    return http.get(url, params=AUTHORIZATION | changed, follow_redirects=False)


def _code(recorded: Recorded, **changes: Any) -> str:
    gateway = recorded.realm.administration.gateway
    return sign_in(gateway, realm=NAME, client_id="svc", **changes).code


def _answer(response: httpx2.Response) -> tuple[str, str | None]:
    body = response.json()
    return body["error"], body.get("error_description")


TOKEN: Final = "token"
WITHOUT_CLIENT: Final = {
    *("certs", "login-status-iframe.html", "login-status-iframe.html/init"),
    *("3p-cookies/step1.html", "3p-cookies/step2.html", "logout/logout-confirm"),
    "logout/logout-cancel",
}
"""Endpoints of the protocol that name no client, change nothing, or answer what was judged."""


def test_a_policy_guards_every_endpoint_that_has_a_client(recorded: Recorded) -> None:
    """A new route of the protocol has to be added here, or among those without a client."""
    tokens, code = recorded.sign_in(scope="openid"), _code(recorded)
    devices = recorded.post("auth/device", {"scope": "openid"}).json()
    pushed = {name: AUTHORIZATION[name] for name in list(AUTHORIZATION)[1:]}
    http, base = recorded.realm.administration.http, f"/realms/{NAME}/protocol/openid-connect"
    requests: Mapping[str, tuple[Callable[[], httpx2.Response], ...]] = {
        TOKEN: tuple(
            lambda form=form: recorded.post("token", form)  # type: ignore[misc]
            for form in (
                _form("client_credentials"),
                _form("password", username="john", password=PASSWORD),
                _form("refresh_token", refresh_token=tokens["refresh_token"]),
                _form("authorization_code", code=code, redirect_uri=REDIRECT_URI),
                _form(DEVICE, device_code=devices["device_code"]),
            )
        ),
        "token/introspect": (
            lambda: recorded.post("token/introspect", {"token": tokens["access_token"]}),
        ),
        "revoke": (
            lambda: recorded.post("revoke", {"token": tokens["access_token"]}),
            lambda: recorded.post("revoke", {"token": tokens["refresh_token"]}),
        ),
        "userinfo": (lambda: recorded.userinfo(tokens["access_token"]),),
        "ext/par/request": (lambda: recorded.post("ext/par/request", pushed),),
        "auth/device": (lambda: recorded.post("auth/device", {}),),
        "auth": (lambda: _authorize(recorded),),
        "registrations": (lambda: http.get(f"{base}/registrations", params=AUTHORIZATION),),
        "forgot-credentials": (
            lambda: http.get(f"{base}/forgot-credentials", params=AUTHORIZATION),
        ),
        "logout": (
            lambda: recorded.post("logout", {"refresh_token": tokens["refresh_token"]}),
            lambda: http.get(f"{base}/logout", params={"client_id": "svc"}),
        ),
    }
    prefix = "/realms/{realm}/protocol/openid-connect/"
    routes = {one.path.removeprefix(prefix) for one in served() if one.path.startswith(prefix)}
    assert routes == requests.keys() | WITHOUT_CLIENT
    with policies_of(recorded.realm, REJECT):
        for path, several in requests.items():
            for ask in several:
                response = ask()
                if response.headers["content-type"].startswith("text/html"):
                    assert (response.status_code, "Invalid request" in response.text) == (400, True)
                elif path == "userinfo":
                    assert REFUSAL[1] in response.headers["www-authenticate"]
                else:
                    assert _answer(response) == REFUSAL, (path, response.text)
    assert recorded.post("token", _form("client_credentials")).status_code == 200


def test_a_policy_guards_client_registration_and_the_admin_api(
    recorded: Recorded,
) -> None:
    realm, registration = recorded.realm, Registration(recorded.realm)
    made = realm.change("POST", "clients", _app("own"))
    token, initial = registration.own(made), registration.initial(2)
    with policies_of(realm, REJECT):
        for asked in (
            ("POST", "default", {"clientId": "new"}, initial),
            ("POST", "openid-connect", {"redirect_uris": [REDIRECT_URI]}, initial),
            ("GET", "default/own", None, token),
            ("PUT", "default/own", {"clientId": "own"}, token),
            ("DELETE", "default/own", None, token),
        ):
            method, path, document, bearer = asked
            status, body = registration.refused(method, path, document, token=bearer)[:2]
            assert (status, body["error"], body["error_description"]) == (400, *REFUSAL), asked
        for method, path, document in (
            ("POST", "clients", _app("new")),
            ("GET", f"clients/{made}", None),
            ("PUT", f"clients/{made}", {"clientId": "own"}),
            ("DELETE", f"clients/{made}", None),
        ):
            body = {"error": REFUSAL[0], "error_description": REFUSAL[1]}
            assert realm.refused(method, path, document) == (400, body), method


def test_the_event_of_a_refused_request_names_the_policies_error(recorded: Recorded) -> None:
    recorded.events()
    with policies_of(recorded.realm, {"reject-ropc-grant": {}}):
        text = "resource owner password credentials grant is prohibited."
        assert _answer(_password(recorded)) == ("invalid_grant", text)
    event = recorded.one()
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", "invalid_grant")
    assert (
        event["details"].items()
        >= {
            "reason": "client_policy_error",
            "client_policy_error": "invalid_grant",
            "client_policy_error_detail": text,
        }.items()
    )


def test_each_executor_checks_authorization_requests(
    recorded: Recorded,
) -> None:
    """The client learns it at its redirect URI, and at once where it pushes the request."""
    plain = {"code_challenge": "x" * 43, "code_challenge_method": "plain"}
    for executor, changed, error, text in (
        (
            *("reject-implicit-grant", {"response_type": "code id_token", "nonce": "n"}),
            *("invalid_request", "Implicit/Hybrid flow is prohibited."),
        ),
        ("secure-session", {}, "invalid_request", "Missing parameter: nonce"),
        (
            *("secure-session", {"scope": "email", "state": ""}, "invalid_request"),
            "Missing parameter: state",
        ),
        ("pkce-enforcer", {}, "invalid_request", "Missing parameter: code_challenge_method"),
        (
            *("pkce-enforcer", plain, "invalid_request"),
            "Invalid parameter: invalid code_challenge_method",
        ),
        (
            *("confidential-client", {"client_id": "pub"}, "invalid_client"),
            "invalid client access type: public",
        ),
        (
            *("secure-client-uris", {"client_id": "plain", "redirect_uri": PLAIN}),
            *("invalid_request", "Invalid redirect_uri"),
        ),
        ("secure-client-uris", {"redirect_uri": REDIRECT_URI}, "", ""),
        ("secure-redirect-uris-enforcer", {"redirect_uri": REDIRECT_URI}, "", ""),
    ):
        with policies_of(recorded.realm, {executor: {}}):
            response = _authorize(recorded, **changed)
            if not error:
                assert response.status_code == 200, executor
                continue
            location = httpx2.URL(response.headers["location"].replace("#", "?"))
            found = location.params["error"], location.params["error_description"]
            assert found == (error, text), executor
            client_id = changed.get("client_id", "svc")
            form = {**AUTHORIZATION, **changed, "client_id": client_id}
            pushed = recorded.post("ext/par/request", form)
            assert _answer(pushed) == (error, text), executor


def test_a_policy_demands_that_the_code_is_bound_to_a_dpop_key(recorded: Recorded) -> None:
    """By dpop_jkt, or by the proof of a pushed request. RFC 9449 §10."""
    key, path = ProofKey.new(), f"/realms/{NAME}/protocol/openid-connect"
    missing = ("invalid_request", "Missing parameter: dpop_jkt")
    configuration = {"enforce-authorization-code-binding-to-dpop": "true"}
    with policies_of(recorded.realm, {"dpop-bind-enforcer": configuration}):
        for named, is_accepted in (({}, False), ({"dpop_jkt": key.thumbprint}, True)):
            response = _authorize(recorded, **named)
            if is_accepted:
                assert response.status_code == 200, response.text
            else:
                answer = httpx2.URL(response.headers["location"]).params
                assert (answer["error"], answer["error_description"]) == missing
            pushed = recorded.post("ext/par/request", AUTHORIZATION | named)
            assert (pushed.status_code == 201) == is_accepted, pushed.text
        proof = key.proof("POST", f"https://gateway.test{path}/ext/par/request")
        pushed = recorded.post("ext/par/request", dict(AUTHORIZATION), DPoP=proof)
        assert pushed.status_code == 201, pushed.text
        reference = pushed.json()["request_uri"]
        http, asked = recorded.realm.administration.http, {"client_id": "svc"}
        page = http.get(f"{path}/auth", params=asked | {"request_uri": reference})
        assert page.status_code == 200, page.text
    with policies_of(recorded.realm, {"dpop-bind-enforcer": {}}):
        assert _authorize(recorded).status_code == 200


def test_a_policy_names_what_is_missing_in_keycloaks_words(recorded: Recorded) -> None:
    recorded.events()
    with policies_of(recorded.realm, {"secure-par-content": {}}):
        assert _authorize(recorded).status_code == 400
    details = recorded.one()["details"]
    assert details["client_policy_error_detail"] == "PAR request_uri not included."
    demanded = {"secure-signature-algorithm-signed-jwt": {"require-client-assertion": True}}
    with policies_of(recorded.realm, demanded):
        found = _answer(recorded.post("token", _form("client_credentials")))
    assert found == ("invalid_request", "client assertion is required.")


def test_responses_are_signed_by_an_id_token_or_as_a_jwt(
    recorded: Recorded,
) -> None:
    """FAPI 1.0 Advanced §5.2.2.1; an access token in the response has to be allowed."""
    for allow_token, response_type, mode, is_accepted in (
        (False, "code", None, False),
        (False, "code", "query", False),
        (False, "code", "jwt", True),
        (False, "code id_token", None, True),
        (False, "code token", None, False),
        (False, "id_token", None, False),
        (False, "id_token", "jwt", False),
        (False, "code id_token token", None, False),
        (True, "code id_token token", None, True),
        (True, "code token", "jwt", False),
        (True, "id_token token", None, False),
    ):
        configuration = {"allow-token-response-type": allow_token}
        with policies_of(recorded.realm, {"secure-response-type": configuration}):
            form = AUTHORIZATION | {"response_type": response_type, "nonce": "n"}
            pushed = recorded.post(
                "ext/par/request", form | ({"response_mode": mode} if mode else {})
            )
        case = (allow_token, response_type, mode)
        if is_accepted:
            assert pushed.status_code == 201, (case, pushed.text)
        else:
            assert _answer(pushed) == ("invalid_request", "invalid response_type"), case


def test_a_redirect_uri_that_a_policy_forbids_gets_no_answer(recorded: Recorded) -> None:
    """Attacks C3."""
    with policies_of(recorded.realm, {"secure-redirect-uris-enforcer": {}}):
        response = _authorize(recorded, client_id="plain", redirect_uri=PLAIN)
    assert (response.status_code, "location" in response.headers) == (400, False)


def test_a_client_authenticates_by_a_method_the_policy_allows(recorded: Recorded) -> None:
    """Clients that were registered before are refused; public ones are for another executor."""
    allowed = {"allowed-client-authenticators": ["client-jwt", "client-x509"]}
    text = "Configured client authentication method not allowed for client"
    tokens = recorded.sign_in(scope="openid")
    with policies_of(recorded.realm, {"secure-client-authenticator": allowed}):
        for path, form in (
            ("token", _form("client_credentials")),
            ("token", _form("refresh_token", refresh_token=tokens["refresh_token"])),
            ("token/introspect", {"token": tokens["access_token"]}),
            ("revoke", {"token": tokens["access_token"]}),
            ("ext/par/request", dict(AUTHORIZATION)),
            ("logout", {"refresh_token": tokens["refresh_token"]}),
        ):
            assert _answer(recorded.post(path, form)) == ("invalid_request", text), path
        assert recorded.userinfo(tokens["access_token"]).status_code == 200
        public = _form("password", username="john", password=PASSWORD, client_id="pub")
        assert recorded.post("token", public).status_code == 200


def test_conditions_choose_the_requests_that_a_policy_judges(recorded: Recorded) -> None:
    attributes = '[{"key": "grade", "value": "high"}]'
    for condition, configuration, judged, passed in (
        ("client-access-type", {"type": ["public"]}, {"client_id": "pub"}, {}),
        ("client-attributes", {"attributes": attributes}, {"client_id": "marked"}, {}),
        ("client-roles", {"roles": ["watched"]}, {"client_id": "marked"}, {}),
        ("client-scopes", {"type": "Default", "scopes": ["email"]}, {}, {"client_id": "pub"}),
        (
            *("client-scopes", {"type": "Optional", "scopes": ["phone"]}),
            *({"scope": "openid phone"}, {}),
        ),
        ("client-scopes", {"type": "Any", "scopes": ["phone"]}, {"scope": "openid phone"}, {}),
        ("grant-type", {"grant_types": ["authorization_code"]}, {}, {"response_type": "token"}),
        ("client-type", {"protocol": "saml", "is-negative-logic": True}, {}, None),
        ("client-type", {"protocol": "openid-connect"}, {}, None),
        (
            "client-roles",
            {"roles": ["watched"], "is-negative-logic": True},
            {},
            {"client_id": "marked"},
        ),
    ):
        # Before the request begins some conditions abstain; the executor judges what follows.
        with policies_of(recorded.realm, {"secure-session": {}}, {condition: configuration}):
            found = _authorize(recorded, **{"scope": "openid", **judged, "nonce": ""})
            assert "Missing+parameter" in found.headers["location"].replace("%20", "+"), condition
            if passed is not None:
                assert _authorize(recorded, **passed).status_code == 200, condition


def test_scopes_of_codes_and_service_accounts_select_the_policy(
    recorded: Recorded,
) -> None:
    phone = {"client-scopes": {"type": "Optional", "scopes": ["phone"]}}
    with policies_of(recorded.realm, {"pkce-enforcer": {}}, phone):
        for scope, status in (("openid phone", 400), ("openid", 200)):
            form = _form("authorization_code", code=_code(recorded, scope=scope))
            response = recorded.post("token", form | {"redirect_uri": REDIRECT_URI})
            assert response.status_code == status, response.text
    with policies_of(recorded.realm, REJECT, phone):
        for scope, status in (("phone", 400), ("email", 200)):
            response = recorded.post("token", _form("client_credentials", scope=scope))
            assert response.status_code == status, response.text


def test_scopes_of_passwords_refreshes_and_userinfo_select_it(
    recorded: Recorded,
) -> None:
    """As Keycloak 26.7.3 judges them."""
    tokens = {scope: recorded.sign_in(scope=f"openid {scope}") for scope in ("phone", "email")}
    phone = {"client-scopes": {"type": "Optional", "scopes": ["phone"]}}
    with policies_of(recorded.realm, REJECT, phone):
        for scope, answered in tokens.items():
            refresh = _form("refresh_token", refresh_token=answered["refresh_token"])
            for response in (
                _password(recorded, scope=f"openid {scope}"),
                recorded.post("token", refresh),
                recorded.userinfo(answered["access_token"]),
            ):
                assert response.is_success == (scope == "email"), response.text
    with policies_of(recorded.realm, REJECT, {"client-scopes": {"scopes": ["email"]}}):
        assert _answer(_password(recorded)) == REFUSAL


def test_the_grant_chooses_the_policy(recorded: Recorded) -> None:
    tokens = recorded.sign_in(scope="openid")
    refreshed = _form("refresh_token", refresh_token=tokens["refresh_token"])
    forms = {
        "password": _form("password", username="john", password=PASSWORD),
        "client_credentials": _form("client_credentials"),
        "refresh_token": refreshed,
    }
    for grant in forms:
        with policies_of(recorded.realm, REJECT, {"grant-type": {"grant_types": [grant]}}):
            for other, form in forms.items():
                status = 400 if other == grant else 200
                assert recorded.post("token", form).status_code == status, (grant, other)


def _is_lightweight(response: httpx2.Response) -> bool:
    """Tell it by the prefix of the token's id: session, kind of token, grant."""
    return str(claims_of(response.json()["access_token"])["jti"])[2:4] == "lt"


def test_lightweight_tokens_are_issued_where_a_policy_wants_them(recorded: Recorded) -> None:
    for form in (
        _form("client_credentials"),
        _form("password", username="john", password=PASSWORD, scope="openid"),
    ):
        assert not _is_lightweight(recorded.post("token", form))
        with policies_of(recorded.realm, {"use-lightweight-access-token": {}}):
            assert _is_lightweight(recorded.post("token", form))
    form = _form("authorization_code", redirect_uri=REDIRECT_URI)
    with policies_of(recorded.realm, {"use-lightweight-access-token": {}}):
        answer = recorded.post("token", form | {"code": _code(recorded)})
        assert _is_lightweight(answer)
        again = _form("refresh_token", refresh_token=answer.json()["refresh_token"])
        assert _is_lightweight(recorded.post("token", again))
