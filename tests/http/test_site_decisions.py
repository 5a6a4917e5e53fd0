"""Who reaches a protected service, and what it learns of its caller, through the real nginx."""

import base64
import time
from urllib.parse import quote

import jwt
import pytest

from gateway.forward_auth.identity_headers import IDENTITY_HEADERS
from tests.support.protected_sites import (
    DEVICE_HOST,
    HOST,
    PROXY_SECRET,
    SERVICE_AUDIENCE,
    WIKI_HOSTS,
    Protected,
)
from tests.support.wire import DEVICE_SUBJECT, SECRET, app, claims_of, device, user

GROUPS = "oidc-group-membership-mapper"


def _reason(protected: Protected, path: str, **how: str) -> tuple[int, str]:
    """Ask the gateway as nginx does; return status and reason."""
    headers = {
        "X-Realmgate-Proxy-Secret": PROXY_SECRET,
        "X-Original-Request": f"{how.pop('method', 'GET')} {path} HTTP/1.1",
        "X-Forwarded-Host": HOST,
        "X-Realmgate-Server": HOST,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "203.0.113.9",
    }
    with protected.gateway.client() as http:
        response = http.get("/.realmgate/guard/nginx", headers=headers | how)
    assert response.content == b""
    return response.status_code, response.headers.get("X-Realmgate-Reason", "")


def _asserted(protected: Protected) -> dict[str, str]:
    """Return the identity headers that the service received, the token left out."""
    received = protected.service.last.headers
    names = {name.lower(): name for name in IDENTITY_HEADERS}
    found = {names[name.lower()]: value for name, value in received if name.lower() in names}
    found.pop("X-Realmgate-Token", None)
    return found


def test_the_service_learns_who_the_bearer_of_a_token_is(protected: Protected) -> None:
    token = protected.token("ada")["access_token"]
    assert protected.ask("/admin/users?x=1", token=token).status_code == 200
    assert protected.service.last.target == "/admin/users?x=1"
    roles = _asserted(protected).pop("Remote-Roles").split(",")
    assert {"admin", "portal/reader"} <= set(roles)
    assert {
        name: value for name, value in _asserted(protected).items() if name != "Remote-Roles"
    } == {
        "Remote-User": "ada",
        "Remote-Email": "ada@example.test",
        "Remote-Groups": "/teams/red/a",
        "X-Realmgate-Realm": "staff",
        "X-Realmgate-Subject": claims_of(token)["sub"],
        "X-Realmgate-Client": "portal",
        "X-Realmgate-Credential": "bearer",
    }


def test_http_2_changes_nothing(protected: Protected) -> None:
    token = protected.bound_token("device-1")
    found = protected.ask("/bound/é", token=token, certificate="device-1", http2=True)
    assert (found.http_version, found.status_code) == ("HTTP/2", 200)
    assert protected.ask("/bound/", token=token, http2=True).status_code == 401
    assert protected.ask("/home/%2e%2e", token=token, http2=True).status_code == 403


def test_the_service_verifies_the_identity_by_the_realms_keys(protected: Protected) -> None:
    token = protected.token("ada")["access_token"]
    assert protected.ask("/home/", token=token).status_code == 200
    (signed,) = protected.service.last.all("X-Realmgate-Token")
    with protected.gateway.client() as http:
        keys = http.get("/realms/staff/protocol/openid-connect/certs").json()["keys"]
    by_id = {key["kid"]: jwt.PyJWK(key) for key in keys if key["use"] == "sig"}
    key = by_id[jwt.get_unverified_header(signed)["kid"]]
    claims = jwt.decode(signed, key, algorithms=["ES256"], audience=SERVICE_AUDIENCE)
    assert claims["iss"] == "https://gateway.test/realms/staff"
    assert claims["preferred_username"] == "ada"
    assert "admin" in claims["realm_access"]["roles"]
    assert claims["resource_access"]["portal"]["roles"] == ["reader"]
    assert claims["exp"] - time.time() <= 60


def test_the_token_for_the_service_is_no_credential_of_the_realm(protected: Protected) -> None:
    token = protected.token("ada")["access_token"]
    protected.ask("/home/", token=token)
    (signed,) = protected.service.last.all("X-Realmgate-Token")
    assert protected.ask("/home/", token=signed).status_code == 401
    with protected.gateway.client(Authorization=f"Bearer {signed}") as http:
        userinfo = http.get("/realms/staff/protocol/openid-connect/userinfo")
    assert userinfo.status_code == 401


ALLOWED = [
    ("ada", "/admin", "GET"),
    ("ada", "/admin/", "DELETE"),
    ("ada", "/reports/1", "GET"),
    ("ada", "/teams/plan", "GET"),
    ("ada", "/mail/inbox", "GET"),
    ("ada", "/notes/1", "POST"),
    ("bob", "/notes/1", "GET"),
    ("bob", "/notes/1", "HEAD"),
    ("bob", "/home/bob", "GET"),
]
FORBIDDEN = [
    ("bob", "/admin", "GET", "missing_realm_role"),
    ("bob", "/reports/1", "GET", "missing_client_role"),
    ("bob", "/teams/plan", "GET", "missing_group"),
    ("bob", "/notes/1", "POST", "missing_realm_role"),
    ("ada", "/jobs/1", "GET", "client_not_allowed"),
    ("ada", "/elsewhere", "GET", "no_rule"),
    ("ada", "/adminx", "GET", "no_rule"),
    ("ada", "/health/", "GET", "no_rule"),
]


@pytest.mark.parametrize(("username", "path", "method"), ALLOWED)
def test_the_first_rule_that_matches_allows(
    protected: Protected, username: str, path: str, method: str
) -> None:
    token = protected.token(username)["access_token"]
    assert protected.ask(path, method=method, token=token).status_code == 200
    assert protected.service.last.method == method


@pytest.mark.parametrize(("username", "path", "method", "reason"), FORBIDDEN)
def test_the_first_rule_that_matches_forbids(
    protected: Protected, username: str, path: str, method: str, reason: str
) -> None:
    token = protected.token(username)["access_token"]
    assert protected.ask(path, method=method, token=token).status_code == 403
    assert protected.service.received == []
    found = _reason(protected, path, method=method, Authorization=f"Bearer {token}")
    assert found == (403, reason)


def test_a_site_keeps_authorization_from_its_service(protected: Protected) -> None:
    """Also at an anonymous rule, where the gateway does not read it; other sites pass it on."""
    token = protected.token("ada")["access_token"]
    for host, path, passed in (
        (WIKI_HOSTS[0], "/page", []),
        (WIKI_HOSTS[0], "/open/page", []),
        (HOST, "/home/", [f"Bearer {token}"]),
        (HOST, "/public/", [f"Bearer {token}"]),
    ):
        assert protected.ask(path, token=token, host=host).status_code == 200
        assert protected.service.last.all("Authorization") == passed
        assert protected.service.last.all("X-Realmgate-Authorization") == []


def test_names_with_slashes_give_no_rights_of_others(protected: Protected) -> None:
    """A group, a realm role and a client role, each named like another one with more rights."""
    ask = protected.administration.ask
    full = {"full.path": "true", "claim.name": "groups", "access.token.claim": "true"}
    mapper = {"name": "g", "protocol": "openid-connect", "protocolMapper": GROUPS, "config": full}
    documents = {
        "staff/groups": {"name": "teams/red"},
        "staff/roles": {"name": "portal/reader"},
        "staff/clients": app("of-groups", protocolMappers=[mapper]),
        "staff/users": user("mallory"),
    }
    for path, document in documents.items():
        assert ask("POST", path, document=document).is_success, path
    portal = ask("GET", "staff/clients?clientId=portal").json()[0]["id"]
    made = f"staff/clients/{portal}/roles"
    assert ask("POST", made, document={"name": "x/reader"}).is_success
    mallory = f"staff/users/{ask('GET', 'staff/users?username=mallory').json()[0]['id']}"
    group = next(g for g in ask("GET", "staff/groups").json() if g["name"] == "teams/red")
    assert group["path"] == "/teams/red"  # as Keycloak shows it
    assert ask("PUT", f"{mallory}/groups/{group['id']}").is_success
    role = ask("GET", "staff/roles/portal%2Freader").json()
    assert ask("POST", f"{mallory}/role-mappings/realm", document=[role]).is_success
    role = next(r for r in ask("GET", made).json() if r["name"] == "x/reader")
    assert ask("POST", f"{mallory}/role-mappings/clients/{portal}", document=[role]).is_success

    token = protected.token("mallory", "of-groups")["access_token"]
    assert claims_of(token)["groups"] == ["/teams~/red"]
    for path in ("/teams/1", "/reports/1"):
        assert protected.ask(path, token=token).status_code == 403
    assert protected.ask("/home/", token=token).status_code == 200
    asserted = _asserted(protected)
    assert asserted["Remote-Groups"] == "/teams~/red"
    roles = asserted["Remote-Roles"].split(",")
    assert {"portal~/reader", "portal/x~/reader"} <= set(roles)
    assert "portal/reader" not in roles


def test_an_anonymous_path_asserts_nothing_about_its_caller(protected: Protected) -> None:
    token = protected.token("ada")["access_token"]
    assert protected.ask("/public/logo.svg", token=token).status_code == 200
    assert _asserted(protected) == {}
    assert protected.ask("/health").status_code == 200


def test_a_caller_without_a_credential_is_told_which_one_to_send(protected: Protected) -> None:
    response = protected.ask("/home/")
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == 'Bearer realm="staff"'
    assert _reason(protected, "/home/") == (401, "no_credential")
    assert protected.service.received == []


def test_a_token_may_not_say_more_than_its_scope(protected: Protected) -> None:
    """Clients without full scope, and scopes that were not granted."""
    narrow = protected.token("ada", "narrow")["access_token"]
    assert protected.ask("/admin", token=narrow).status_code == 403
    roleless = protected.token("ada", "roleless")["access_token"]
    assert protected.ask("/home/", token=roleless).status_code == 200
    assert protected.ask("/admin", token=roleless).status_code == 403
    worker = protected.client_token()
    assert protected.ask("/jobs/1", token=worker).status_code == 200
    assert protected.ask("/admin", token=worker).status_code == 403


def test_the_roles_of_a_lightweight_token_are_looked_up(protected: Protected) -> None:
    token = protected.token("ada", "light")["access_token"]
    assert "realm_access" not in claims_of(token)
    assert protected.ask("/admin", token=token).status_code == 200


@pytest.mark.parametrize(
    "header",
    [
        "Bearer",
        "Bearer nonsense",
        "Bearer a.b.c",
        f"Bearer {'x' * 7_000}",
        "Basic " + base64.b64encode(b"ada:password").decode(),
        "Digest username=ada",
        "Bearer {token} {token}",
        "{token}",
    ],
)
def test_a_header_that_is_no_valid_token_is_refused(protected: Protected, header: str) -> None:
    sent = header.format(token=protected.token("ada")["access_token"])
    response = protected.ask("/home/", headers={"Authorization": sent}, certificate="device-1")
    assert response.status_code == 401
    assert 'error="invalid_token"' in response.headers["WWW-Authenticate"]
    assert protected.service.received == []


def test_a_token_of_a_realm_not_named_by_the_site_is_refused(protected: Protected) -> None:
    token = protected.client_token("elsewhere", "svc")
    assert protected.ask("/home/", token=token).status_code == 401
    found = _reason(protected, "/home/", Authorization=f"Bearer {token}")
    assert found == (401, "realm_not_allowed")


def test_tokens_of_each_realm_of_the_site_are_accepted(protected: Protected) -> None:
    token = protected.client_token("devices", "svc")
    assert protected.ask("/home/", token=token).status_code == 200
    assert _asserted(protected)["X-Realmgate-Realm"] == "devices"


def test_refresh_and_id_tokens_are_no_bearer_tokens(protected: Protected) -> None:
    tokens = protected.token("ada", scope="openid")
    for kind in ("refresh_token", "id_token"):
        assert protected.ask("/home/", token=tokens[kind]).status_code == 401, kind


BOUND = [("device-1", 200), ("device-2", 401), (None, 401)]


@pytest.mark.parametrize(("certificate", "status"), BOUND)
def test_a_bound_token_works_with_its_certificate_alone(
    protected: Protected, certificate: str | None, status: int
) -> None:
    token = protected.bound_token("device-1")
    response = protected.ask("/home/", token=token, certificate=certificate)
    assert response.status_code == status
    if status == 200:
        thumbprint = claims_of(token)["cnf"]["x5t#S256"]
        assert _asserted(protected)["X-Realmgate-Certificate"] == thumbprint
    else:
        assert protected.service.received == []


def test_a_rule_may_require_bound_tokens(protected: Protected) -> None:
    bound, unbound = protected.bound_token("device-1"), protected.token("ada")["access_token"]
    assert protected.ask("/bound/", token=bound, certificate="device-1").status_code == 200
    assert protected.ask("/bound/", token=unbound, certificate="device-1").status_code == 401


@pytest.mark.parametrize("listener", ["https", "mtls", "self_signed"])
def test_a_certificate_alone_reaches_what_its_names_allow(
    protected: Protected, listener: str
) -> None:
    path = "/machines/1"
    assert protected.ask(path, certificate="device-1", listener=listener).status_code == 200
    asserted = _asserted(protected)
    assert asserted["X-Realmgate-Credential"] == "certificate"
    assert asserted["X-Realmgate-Subject"].startswith("CN=device-1,")
    assert "Remote-User" not in asserted
    assert protected.ask(path, certificate="device-2", listener=listener).status_code == 403


def test_a_certificate_identifies_its_registered_client(protected: Protected) -> None:
    found = protected.ask("/", host=DEVICE_HOST, certificate="device-1")
    assert found.status_code == 200
    asserted = _asserted(protected)
    assert asserted["X-Realmgate-Client"] == "device-1"
    assert asserted["Remote-User"] == "service-account-device-1"
    other = protected.ask("/", host=DEVICE_HOST, certificate="device-2")
    assert other.status_code == 403


def test_no_user_has_the_subject_of_a_client(protected: Protected) -> None:
    """Administrators choose the ids of clients and, in imports, of users."""
    ask = protected.administration.ask
    before = ask("GET", "staff/clients?clientId=worker").json()[0]
    path = f"staff/clients/{before['id']}"
    subject = DEVICE_SUBJECT.replace("-1", "-2")
    by_certificate = device("worker", subject) | {"serviceAccountsEnabled": False}
    del by_certificate["protocolMappers"]
    mallory = user("mallory-2", id=before["id"])
    assert ask("POST", "staff/partialImport", document={"users": [mallory]}).is_success
    assert ask("PUT", path, document=by_certificate).is_success
    try:
        answer = protected.ask("/jobs/", certificate="device-2")
        assert answer.status_code == 200, answer.headers
        of_client = _asserted(protected)
    finally:
        assert ask("PUT", path, document={**before, "secret": SECRET}).is_success
    token = protected.token("mallory-2")["access_token"]
    assert protected.ask("/home/", token=token).status_code == 200
    assert of_client["X-Realmgate-Client"] == "worker"
    assert _asserted(protected)["X-Realmgate-Subject"] != of_client["X-Realmgate-Subject"]


@pytest.mark.parametrize("certificate", ["self-signed", "unknown CA", "expired", "revoked"])
def test_a_certificate_that_no_realm_trusts_is_no_credential(
    protected: Protected, certificate: str
) -> None:
    response = protected.ask("/machines/1", certificate=certificate, listener="self_signed")
    assert response.status_code == (400 if certificate == "expired" else 401)
    assert protected.service.received == []


def test_a_valid_certificate_does_not_replace_an_invalid_token(protected: Protected) -> None:
    for token in ("nonsense", protected.client_token("elsewhere", "svc")):
        found = protected.ask("/machines/1", token=token, certificate="device-1")
        assert found.status_code == 401


def test_a_browser_without_a_session_is_shown_where_to_sign_in(protected: Protected) -> None:
    wanted = "/home/?a=1&b=%20"
    navigation = {"Sec-Fetch-Mode": "navigate", "Accept": "text/html"}
    headers = {
        "X-Realmgate-Proxy-Secret": PROXY_SECRET,
        "X-Original-Request": f"GET {wanted} HTTP/1.1",
        "X-Forwarded-Host": HOST,
        "X-Realmgate-Server": HOST,
        "X-Forwarded-Proto": "https",
    }
    with protected.gateway.client(**headers) as http:
        url = "/.realmgate/guard/nginx"
        found = http.get(url, headers=navigation)
        assert found.headers["X-Realmgate-Sign-In"] == (
            f"https://{HOST}/.realmgate/sign-in?rd=" + quote(f"https://{HOST}{wanted}", safe="")
        )
        old = http.get(url, headers={"Accept": "text/html,*/*"})
        assert "X-Realmgate-Sign-In" in old.headers
        for program in (
            {"Sec-Fetch-Mode": "cors", "Accept": "text/html"},
            {"Accept": "application/json"},
            {"Accept": "text/html", "X-Requested-With": "XMLHttpRequest"},
            {**navigation, "X-Original-Request": f"POST {wanted} HTTP/1.1"},
        ):
            assert "X-Realmgate-Sign-In" not in http.get(url, headers=program).headers
