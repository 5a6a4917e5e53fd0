"""Listing the users of a realm, through the real nginx.

Spec: 4.3; Keycloak: 7.2, 9
"""

import pytest

from tests.support.spec_stack import NUMBERED, Stack
from tests.support.wire import SECRET

UNAUTHORIZED = (401, {"error": "HTTP 401 Unauthorized"})
FORBIDDEN = (403, {"error": "HTTP 403 Forbidden"})


def _names(stack: Stack, realm: str = "limits", **query: str) -> list[str]:
    response = stack.ask(f"{realm}/users", **query)
    assert response.status_code == 200, response.text
    return [user["username"] for user in response.json()]


def test_the_list_has_keycloaks_shape(spec: Stack) -> None:
    response = spec.ask("spec/users", username="alice", exact="true")
    assert response.headers["Content-Type"] == "application/json;charset=UTF-8"
    (found,) = response.json()
    assert list(found) == [
        "id",
        "username",
        "firstName",
        "lastName",
        "email",
        "emailVerified",
        "enabled",
        "createdTimestamp",
        "totp",
        "disableableCredentialTypes",
        "requiredActions",
        "notBefore",
        "access",
    ]
    assert (found["username"], found["email"]) == ("alice", "alice@example.test")
    assert (found["totp"], found["enabled"], found["requiredActions"]) == (False, True, [])
    assert spec.ask("spec/users", search="second").json()[0]["totp"] is True


def test_a_page_is_a_piece_of_the_whole_in_the_order_of_names(spec: Stack) -> None:
    everybody = _names(spec, max="-1")
    assert everybody == sorted(f"user-{number}" for number in range(NUMBERED))
    assert _names(spec, first="5", max="3") == everybody[5:8]
    assert _names(spec, first=str(NUMBERED)) == []
    assert int(spec.ask("limits/users/count").text) == NUMBERED


@pytest.mark.parametrize("name", ["first", "max"])
def test_a_page_that_is_no_number_is_a_path_that_does_not_exist(spec: Stack, name: str) -> None:
    response = spec.ask("limits/users", **{name: "x"})
    assert (response.status_code, response.json()) == (404, {"error": "HTTP 404 Not Found"})


def test_searching_finds_by_prefix_star_quotes_and_field(spec: Stack) -> None:
    assert _names(spec, search="user-39") == ["user-39"]
    assert _names(spec, search="er-39") == []
    assert _names(spec, search="*er-39") == ["user-39"]
    assert _names(spec, search='"user-3"') == ["user-3"]
    assert _names(spec, username="R-39") == ["user-39"]
    assert _names(spec, username="r-39", exact="true") == []
    assert _names(spec, email="user-39@EXAMPLE.test", exact="true") == ["user-39"]
    assert _names(spec, "spec", enabled="false") == ["disabled"]


@pytest.mark.parametrize("prefix", ["", "/auth"])
@pytest.mark.parametrize(
    "authorization", [None, "Bearer", "Bearer x", "Bearer a.b.c", "Basic YTpi"], ids=str
)
def test_a_missing_token_is_401_without_a_challenge(
    spec: Stack, authorization: str | None, prefix: str
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    response = spec.http.get(f"{spec.nginx.https}{prefix}/admin/realms/spec/users", headers=headers)
    assert (response.status_code, response.json()) == UNAUTHORIZED
    assert "WWW-Authenticate" not in response.headers


def test_a_wrong_token_or_one_of_an_ended_session_is_401(spec: Stack) -> None:
    form = {
        "grant_type": "password",
        "client_id": "admin-cli",
        "username": "admin",
        "password": "The administrator's word 1",
    }
    tokens = spec.token("master", form).json()
    assert spec.ask("spec/users", token=tokens["access_token"]).status_code == 200
    wrong = spec.ask("spec/users", token=tokens["refresh_token"])
    assert (wrong.status_code, wrong.json()) == UNAUTHORIZED
    ended = spec.logout(tokens["refresh_token"], "master", client_id="admin-cli")
    assert ended.status_code == 204
    over = spec.ask("spec/users", token=tokens["access_token"])
    assert (over.status_code, over.json()) == UNAUTHORIZED


def test_without_the_role_the_answer_is_403(spec: Stack) -> None:
    plain = spec.administrator("plain", "The right password 1")
    own = spec.signed_in(spec.fresh())["access_token"]
    form = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
    service = spec.token("spec", form).json()["access_token"]
    for token in (plain, own, service):
        refused = spec.ask("spec/users", token=token)
        assert (refused.status_code, refused.json()) == FORBIDDEN


def test_an_unknown_realm_is_404_to_whoever_is_known(spec: Stack) -> None:
    unknown = spec.ask("nowhere/users")
    assert (unknown.status_code, unknown.json()) == (404, {"error": "Realm not found."})
    anonymous = spec.http.get(f"{spec.nginx.https}/admin/realms/nowhere/users")
    assert (anonymous.status_code, anonymous.json()) == UNAUTHORIZED


def test_a_removed_right_is_gone_on_every_gateway_at_once(
    pair: Stack,
) -> None:
    token = pair.administrator("plain", "The right password 1")
    first = pair.gateways[0]
    assert pair.ask("spec/users", token=token).status_code == 403
    pair.command(first, "user", "roles", "plain", "--realm", "master", "--add", "admin")
    for _ in range(4):
        assert pair.ask("spec/users", token=token).status_code == 200
    pair.command(first, "user", "roles", "plain", "--realm", "master", "--remove", "admin")
    for _ in range(4):
        assert pair.ask("spec/users", token=token).status_code == 403
