"""Pushed authorization requests, and what clients' settings make of them.

Each expectation was compared with an answer of Keycloak 26.7.3. Spec: RFC 9126 §2; Keycloak: 12.8
"""

from collections.abc import Iterator
from typing import Any, Final

import jwt
import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.recorded_realm import RECORDED, Recorded

URI: Final = "https://app.example/cb"
SECRET: Final = "0123456789abcdef0123456789abcdef"
UNSIGNED: Final = jwt.encode({"nonce": "n"}, "", "none")
PATH: Final = "ext/par/request"
PUSHED: Final = "urn:ietf:params:oauth:request_uri:"


def _client(client_id: str, **fields: Any) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "redirectUris": [URI],
        "implicitFlowEnabled": True,
    } | fields


CLIENTS: Final = [
    _client("app"),
    _client("pub", publicClient=True),
    _client("bearer", bearerOnly=True),
    _client("no-code", standardFlowEnabled=False),
    _client("no-implicit", implicitFlowEnabled=False),
    _client("rooted", rootUrl="https://root.example", redirectUris=["/cb/*"]),
    _client("pkce", attributes={"pkce.code.challenge.method": "S256"}),
    _client("par", attributes={"require.pushed.authorization.requests": "true"}),
    _client("object", attributes={"request.object.required": "request only"}),
    _client("hs512", attributes={"request.object.signature.alg": "HS512"}),
    _client("any-query", attributes={"allow.oidc.params.in.redirect.uris": "true"}),
]
CLIENTS[-1]["redirectUris"] = ["https://app.example/*"]


@pytest.fixture(scope="module")
def recorded(administration: Administration) -> Iterator[Recorded]:
    """Make a realm that records everything."""
    document = {**RECORDED, "clients": CLIENTS, "users": []}
    document["attributes"] = {**RECORDED["attributes"], "parRequestUriLifespan": "90"}
    with administered_realm(administration, "pushed", {}, **document) as realm:
        yield Recorded(realm)


def push(recorded: Recorded, client_id: str | None = "app", **changed: str | None) -> Any:
    form: dict[str, str | None] = {
        "client_id": client_id,
        "client_secret": SECRET,
        "redirect_uri": URI,
        "response_type": "code",
        "scope": "openid",
        "state": "s",
    } | changed
    return recorded.post(PATH, {name: text for name, text in form.items() if text is not None})


def refusal(response: Any) -> tuple[int, str, str | None]:
    body = response.json()
    return response.status_code, body["error"], body.get("error_description")


def test_a_request_gets_a_reference_of_its_own(recorded: Recorded) -> None:
    first, second = push(recorded), push(recorded)
    assert first.status_code == 201
    assert list(first.json()) == ["request_uri", "expires_in"]
    assert first.json()["expires_in"] == 90
    assert first.headers["cache-control"] == "no-store"
    reference = first.json()["request_uri"]
    assert reference.startswith(PUSHED)
    assert len(reference) - len(PUSHED) >= 43
    assert reference != second.json()["request_uri"]


@pytest.mark.parametrize("client", ["pub", "par"])
def test_public_clients_and_those_that_must_push_do(recorded: Recorded, client: str) -> None:
    assert push(recorded, client).status_code == 201


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"client_secret": "wrong"}, "unauthorized_client"),
        ({"client_id": "unknown"}, "invalid_client"),
    ],
)
def test_the_client_has_to_authenticate(
    recorded: Recorded, changed: dict[str, str], error: str
) -> None:
    assert refusal(push(recorded, **changed))[:2] == (401, error)


@pytest.mark.parametrize(
    ("changed", "error", "description"),
    [
        (
            {"request_uri": f"{PUSHED}x"},
            "invalid_request",
            "It is not allowed to include request_uri to PAR.",
        ),
        (
            {"redirect_uri": "https://evil.example/"},
            "invalid_request",
            "Invalid parameter: redirect_uri",
        ),
        ({"redirect_uri": f"{URI}?code=x"}, "invalid_request", "Invalid parameter: redirect_uri"),
        ({"redirect_uri": None}, "invalid_request", "Invalid parameter: redirect_uri"),
        ({"response_type": None}, "invalid_request", "Missing parameter: response_type"),
        ({"response_mode": "x"}, "invalid_request", "Invalid parameter: response_mode"),
        ({"scope": "unknown"}, "invalid_scope", "Invalid scopes: unknown"),
        ({"response_type": "id_token"}, "invalid_request", "Missing parameter: nonce"),
        ({"code_challenge": "x"}, "invalid_request", "Invalid parameter: code_challenge"),
        ({"nonce": "x" * 4001}, "invalid_request", "Invalid parameter: nonce"),
        ({"request": "x"}, "invalid_request_object", "Invalid Request"),
    ],
)
def test_a_request_is_checked_when_it_is_pushed(
    recorded: Recorded, changed: dict[str, str | None], error: str, description: str
) -> None:
    assert refusal(push(recorded, **changed)) == (400, error, description)


@pytest.mark.parametrize(
    ("client", "changed", "description"),
    [
        ("no-code", {}, "Standard flow is disabled for the client."),
        (
            "no-implicit",
            {"response_type": "id_token", "nonce": "n"},
            "Implicit flow is disabled for the client.",
        ),
        ("pkce", {}, "Missing parameter: code_challenge_method"),
        ("rooted", {}, "Invalid parameter: redirect_uri"),
        ("rooted", {"redirect_uri": "https://root.example/cb/../x"}, "redirect_uri"),
        ("object", {}, "Invalid Request"),
        ("bearer", {}, "Bearer-only not allowed"),
    ],
)
def test_a_setting_of_the_client_refuses(
    recorded: Recorded, client: str, changed: dict[str, str], description: str
) -> None:
    response = push(recorded, client, **changed)
    assert response.status_code == 400
    assert response.json()["error_description"].endswith(description)


@pytest.mark.parametrize(
    ("client", "changed"),
    [
        ("rooted", {"redirect_uri": "https://root.example/cb/x?y#z"}),
        ("pkce", {"code_challenge": "x" * 43, "code_challenge_method": "S256"}),
        ("any-query", {"redirect_uri": f"{URI}?code=x"}),
        ("object", {"request": jwt.encode({"nonce": "n"}, SECRET, "HS256")}),
        ("object", {"request": UNSIGNED}),
    ],
)
def test_a_setting_of_the_client_is_met(
    recorded: Recorded, client: str, changed: dict[str, str]
) -> None:
    response = push(recorded, client, **changed)
    assert response.status_code == 201, response.text


def test_a_request_object_needs_the_clients_algorithm(recorded: Recorded) -> None:
    """RFC 9101 §10.5; attacks: C13, C20. An unsigned one is none where a client signs."""
    assert push(recorded, "hs512", request=jwt.encode({}, SECRET * 2, "HS256")).status_code == 400
    assert push(recorded, "hs512", request=UNSIGNED).status_code == 400


@pytest.mark.parametrize("name", ["state", "unknown"])
def test_a_repeated_parameter_is_refused(recorded: Recorded, name: str) -> None:
    """Attacks C19."""
    form = f"client_id=app&client_secret={SECRET}&redirect_uri={URI}&response_type=code"
    realm = recorded.realm
    response = realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/{PATH}",
        content=f"{form}&{name}=1&{name}=2",
        headers={"Content-Type": "application/x-www-form-urlencoded"},
    )
    assert refusal(response) == (400, "invalid_request", "duplicated parameter")


def test_pushed_requests_are_recorded(recorded: Recorded) -> None:
    recorded.events()
    push(recorded)
    push(recorded, redirect_uri="https://evil.example/")
    push(recorded, scope="unknown")
    accepted, of_uri, of_scope = recorded.events()
    assert (accepted["type"], accepted["clientId"]) == ("PUSHED_AUTHORIZATION_REQUEST", "app")
    details = {"response_type": "code", "redirect_uri": URI, "response_mode": "query"}
    assert details.items() <= accepted["details"].items()
    assert (of_uri["type"], of_uri["error"]) == (
        "PUSHED_AUTHORIZATION_REQUEST_ERROR",
        "invalid_redirect_uri",
    )
    assert of_scope["error"] == "invalid_request"
    assert of_scope["details"]["reason"] == "Invalid scopes: unknown"


def test_only_posts_are_answered(recorded: Recorded) -> None:
    realm = recorded.realm
    path = f"/realms/{realm.name}/protocol/openid-connect/{PATH}"
    assert realm.administration.http.get(path).status_code == 405
