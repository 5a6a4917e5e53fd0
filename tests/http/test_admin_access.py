"""Who may do what by the admin API: 401, 404, 403, in this order. Keycloak: 9."""

from typing import Any

import httpx2
import pytest

from gateway.admin.access.rights import AdminRole
from tests.support.administration import ADMIN_PASSWORD, NAMES, Administration
from tests.support.gateway_process import until
from tests.support.wire import claims_of

VIEW = {AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS}
QUERY = {AdminRole.QUERY_USERS, *VIEW}
MANAGE = {AdminRole.MANAGE_USERS}
REALM = {AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM}
CLIENTS = {AdminRole.QUERY_CLIENTS, AdminRole.VIEW_CLIENTS}
METHODS = REALM | CLIENTS | {AdminRole.MANAGE_CLIENTS}
ACTIONS = REALM | {AdminRole.QUERY_USERS, AdminRole.VIEW_USERS}
LOCKOUTS = "attack-detection/brute-force/users"
ENDPOINTS = {
    ("GET", "users"): (QUERY, 200),
    ("GET", "users/count"): (QUERY, 200),
    ("GET", "users/id-of-anna"): (VIEW, 200),
    ("GET", "users/id-of-nobody"): (QUERY, 404),
    ("GET", LOCKOUTS): (VIEW, 200),
    ("GET", f"{LOCKOUTS}/id-of-anna"): (VIEW, 200),
    ("DELETE", f"{LOCKOUTS}/id-of-anna"): (MANAGE, 204),
    ("DELETE", LOCKOUTS): (MANAGE, 204),
    ("GET", "authentication/flows"): (REALM | CLIENTS, 200),
    ("GET", "authentication/flows/browser/executions"): (REALM, 200),
    ("GET", "authentication/client-authenticator-providers"): (METHODS, 200),
    ("GET", "authentication/per-client-config-description"): (METHODS, 200),
    ("GET", "authentication/authenticator-providers"): (REALM, 200),
    ("GET", "authentication/required-actions"): (ACTIONS, 200),
    ("GET", "authentication/required-actions/UPDATE_PASSWORD"): (REALM, 200),
}


@pytest.mark.parametrize("realm", ["master", "acme"])
@pytest.mark.parametrize(("method", "path"), list(ENDPOINTS))
def test_each_endpoint_takes_its_roles_and_no_others(
    administration: Administration, realm: str, method: str, path: str
) -> None:
    sufficient, answer = ENDPOINTS[method, path]
    given = {
        name: administration.ask(method, f"acme/{path}", administration.token(name, realm))
        for name in NAMES
    }
    assert {name: response.status_code for name, response in given.items()} == {
        name: answer if name in sufficient else 403 for name in NAMES
    }
    assert given["nobody"].json() == {"error": "HTTP 403 Forbidden"}


@pytest.mark.parametrize(("method", "path"), list(ENDPOINTS))
def test_no_right_reaches_another_realm(
    administration: Administration, method: str, path: str
) -> None:
    for realm in ("acme", "master"):
        token = administration.token("manage-users", realm)
        assert administration.ask(method, f"other/{path}", token).status_code == 403
        assert administration.ask(method, f"master/{path}", token).status_code == 403


def test_the_administrator_of_master_administers_every_realm(
    administration: Administration,
) -> None:
    for realm in ("acme", "other", "master"):
        assert administration.ask("GET", f"{realm}/users").status_code == 200


@pytest.mark.parametrize(("method", "path"), list(ENDPOINTS))
@pytest.mark.parametrize("realm", ["acme", "nowhere"])
@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer a b", "Basic cm9vdDpyb290", "Bearer garbage"]
)
def test_without_a_token_nobody_learns_anything(
    administration: Administration, method: str, path: str, realm: str, authorization: str | None
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    response = administration.http.request(method, f"/admin/realms/{realm}/{path}", headers=headers)
    assert_not_authenticated(response)


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param("{head}.{claims}.AAAA", id="another signature"),
        pytest.param("{head}.{claims}.{signature}x", id="longer"),
        pytest.param("{head}.{claims}.", id="no signature"),
        pytest.param("e30.{claims}.", id="no algorithm"),
        pytest.param("{head}.W10.{signature}", id="claims that are a list"),
        pytest.param("{head}.e30.{signature}", id="no issuer"),
        pytest.param("{head}.!!!!.{signature}", id="no base64"),
        pytest.param("{head}.eyJpc3MiOiJodHRwczovL2V2aWwudGVzdC8ifQ.{signature}", id="foreign"),
        pytest.param("{head}.{claims}.{signature} again", id="two"),
    ],
)
def test_a_token_that_is_not_genuine_is_none(administration: Administration, broken: str) -> None:
    head, claims, signature = administration.token().split(".")
    token = broken.format(head=head, claims=claims, signature=signature)
    assert_not_authenticated(administration.ask("GET", "acme/users", token))


def test_a_revoked_token_is_none(administration: Administration) -> None:
    token = administration.fresh_token()
    form = {"client_id": "root", "client_secret": "a-clients-secret", "token": token}
    assert administration.ask("GET", "acme/users/count", token).status_code == 200
    administration.http.post("/realms/master/protocol/openid-connect/revoke", data=form)
    assert_not_authenticated(administration.ask("GET", "acme/users/count", token))


def test_the_scheme_may_be_written_in_any_case(administration: Administration) -> None:
    headers = {"Authorization": f"bEARER {administration.token()}"}
    response = administration.http.get("/admin/realms/acme/users/count", headers=headers)
    assert response.status_code == 200


def test_an_unknown_realm_is_told_before_any_right_is_looked_at(
    administration: Administration,
) -> None:
    for name in ("nobody", "manage-users"):
        response = administration.ask("GET", "nowhere/users", administration.token(name, "acme"))
        assert (response.status_code, response.json()) == (404, {"error": "Realm not found."})


def test_an_admin_cli_sign_in_gives_a_token_without_roles(
    administration: Administration,
) -> None:
    token = administration.password_token("admin", ADMIN_PASSWORD)
    assert "resource_access" not in claims_of(token)
    assert administration.ask("GET", "acme/users", token).status_code == 200


@pytest.mark.parametrize(
    ("client_id", "status"),
    [("unlimited", 200), ("scopeless", 403), ("light", 200), ("light-scopeless", 403)],
)
def test_a_token_brings_no_right_that_its_client_may_not_have(
    administration: Administration, client_id: str, status: int
) -> None:
    token = administration.token(client_id, "acme")
    carried = "resource_access" in claims_of(token)
    assert carried is (client_id == "unlimited")
    assert administration.ask("GET", "acme/users", token).status_code == status


def test_a_removed_right_is_gone_though_the_token_has_it(
    administration: Administration,
) -> None:
    token = administration.fresh_token("unlimited", "acme")
    account = ("--realm", "acme", "service-account-unlimited")
    right = "realm-management/manage-users"
    assert administration.ask("GET", "acme/users/count", token).status_code == 200
    assert administration.command("user", "roles", *account, "--remove", right).exit_code == 0
    assert administration.ask("GET", "acme/users/count", token).status_code == 403
    assert administration.command("user", "roles", *account, "--add", right).exit_code == 0
    assert administration.ask("GET", "acme/users/count", token).status_code == 200


def test_a_right_counts_from_its_grant_to_its_removal(
    administration: Administration,
) -> None:
    """Keycloak 26.7: also for a token that is older than the right."""
    token = administration.fresh_token("nobody", "acme")
    account = ("--realm", "acme", "service-account-nobody")
    right = "realm-management/view-users"
    administration.command("user", "roles", *account, "--add", right)
    assert administration.ask("GET", "acme/users/count", token).status_code == 200
    administration.command("user", "roles", *account, "--remove", right)
    assert administration.ask("GET", "acme/users/count", token).status_code == 403


def test_a_known_url_with_another_method_is_405_and_unknown_404(
    administration: Administration,
) -> None:
    refused = administration.ask("PUT", "acme/users/count")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
    assert refused.json() == {"error": "HTTP 405 Method Not Allowed"}
    assert administration.ask("GET", "acme/nothing").status_code == 404


@pytest.mark.parametrize("path", ["users", "users/count", "users/id-of-anna", LOCKOUTS])
def test_a_trailing_slash_and_the_prefix_auth_make_no_difference(
    administration: Administration, path: str
) -> None:
    headers = {"Authorization": f"Bearer {administration.token()}"}
    answers = {
        administration.http.get(url, headers=headers).content
        for url in (
            f"/admin/realms/acme/{path}",
            f"/admin/realms/acme/{path}/",
            f"/auth/admin/realms/acme/{path}",
        )
    }
    assert len(answers) == 1
    assert b"error" not in answers.pop()


def test_answers_are_uncached_json_with_the_realms_headers(
    administration: Administration,
) -> None:
    plain = administration.ask("GET", "acme/users")
    typed = administration.ask("GET", "acme/users", headers={"Content-Type": "application/json"})
    assert plain.json() == typed.json()
    assert plain.headers["content-type"] == "application/json;charset=UTF-8"
    assert plain.headers["cache-control"] == "no-store"
    assert plain.headers["x-frame-options"] == "SAMEORIGIN"
    refused = administration.ask("GET", "acme/users", administration.token("nobody"))
    assert refused.headers["content-type"] == "application/json"
    assert "www-authenticate" not in refused.headers


def test_requests_are_logged_with_caller_and_without_query(
    administration: Administration,
) -> None:
    request_id = "5c" * 16
    path = "acme/users/canary?search=canary-in-query"
    administration.ask("GET", path, headers={"X-Request-Id": request_id})
    line = until(lambda: _logged(administration, request_id), "the request is not in the log")
    assert line["route"] == "/admin/realms/{realm}/users/{user_id}"
    assert (line["client"], line["realm"]) == ("root", "acme")
    assert "canary-in-query" not in administration.gateway.log_text()


def _logged(administration: Administration, request_id: str) -> dict[str, Any]:
    """Return the log line of one request, empty until it is written."""
    lines = administration.gateway.log()
    return next((line for line in lines if line.get("request_id") == request_id), {})


def assert_not_authenticated(response: httpx2.Response) -> None:
    assert response.status_code == 401
    assert response.json() == {"error": "HTTP 401 Unauthorized"}
    assert "www-authenticate" not in response.headers
