"""Each route below a realm, over the real nginx: in clear, and while the realm is disabled.

The cases are made from the routes of the application, so that a new route cannot be forgotten.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import httpx2
import pytest

from gateway.cli.nginx import PlainHttp
from gateway.http.browser import BrowserEndpoint
from gateway.http.realm_endpoint import RealmCheck
from tests.support.application_routes import Served, served
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import make_prefix
from tests.support.spec_stack import CHEAP, Stack, start_stack
from tests.support.wire import SECRET, client, user

HTTPS_REQUIRED: Final = {"error": "invalid_request", "error_description": "HTTPS required"}
NOT_ENABLED: Final = {"error": "access_denied", "error_description": "Realm not enabled"}
DEFAULTS: Final = {
    "referrer-policy": "no-referrer",
    "strict-transport-security": "max-age=31536000; includeSubDomains",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "x-robots-tag": "none",
}
OPERATOR: Final = {
    "username": "service-account-operator",
    "serviceAccountClientId": "operator",
    "enabled": True,
    "clientRoles": {"realm-management": ["realm-admin"]},
}
GRANT: Final = {
    "grant_type": "client_credentials",
    "client_id": "operator",
    "client_secret": SECRET,
}


def headers_of(realm: str) -> dict[str, str]:
    """Return the headers of a realm of these tests: each value is its own."""
    return {
        "referrer-policy": "origin",
        "strict-transport-security": f"max-age={len(realm)}",
        "x-content-type-options": "nosniff",
        "x-frame-options": f"FRAMED-BY-{realm}",
        "x-robots-tag": f"for-{realm}",
    }


def _realm(name: str, **fields: Any) -> dict[str, Any]:
    sent = headers_of(name)
    return {
        "realm": name,
        "enabled": True,
        "passwordPolicy": CHEAP,
        "browserSecurityHeaders": {
            "referrerPolicy": sent["referrer-policy"],
            "strictTransportSecurity": sent["strict-transport-security"],
            "xFrameOptions": sent["x-frame-options"],
            "xRobotsTag": sent["x-robots-tag"],
        },
        "clients": [client("operator")],
        "users": [OPERATOR, user("ada")],
    } | fields


@dataclass(frozen=True, slots=True)
class Guarded:
    """nginx that forwards plain HTTP, and tokens of administrators."""

    stack: Stack
    master: str
    """Of the administrator of all realms."""
    closed: str
    """Of the administrator of the realm `closed`, issued before that was disabled."""

    def ask(
        self, method: str, path: str, token: str | None = None, *, clear: bool = False, **how: Any
    ) -> httpx2.Response:
        """Send a request, with `clear` to the plain HTTP listener."""
        nginx = self.stack.nginx
        base = f"http://localhost:{nginx.site.http_port}" if clear else nginx.https
        headers = how.pop("headers", {})
        if token:
            headers = {**headers, "Authorization": f"Bearer {token}"}
        return self.stack.http.request(method, base + path, headers=headers, **how)


@pytest.fixture(scope="module")
def guarded(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Guarded]:
    """Run nginx and a gateway: `strict` requires TLS always, `closed` is disabled."""
    master = _realm("master", sslRequired="external") | {"clients": [], "users": []}
    realms = [_realm("strict", sslRequired="all"), _realm("closed"), master]
    prefix = make_prefix(tmp_path_factory.mktemp("guarded"))
    with start_stack(
        prefix, edge_certificates, realms=realms, plain_http=PlainHttp.FORWARD
    ) as stack:
        token = stack.administrator()
        closed = str(stack.token("closed", GRANT).json()["access_token"])
        made = Guarded(stack, token, closed)
        answer = made.ask("PUT", "/admin/realms/closed", token, json={"enabled": False})
        assert answer.status_code == httpx2.codes.NO_CONTENT
        yield made


def requests(one: Served, realm: str) -> Iterator[tuple[str, str]]:
    """Return each method with each URL of a route."""
    for url in one.urls(realm):
        for method in one.guarded.methods:
            yield method, url


def routes_of_a_realm() -> list[Served]:
    """Return the routes whose path names a realm."""
    return [one for one in served() if one.is_of_a_realm]


FRAMES = ("/login-status-iframe.html", "/3p-cookies/step1.html", "/3p-cookies/step2.html")
"""Pages that clients show in frames. Keycloak: 12.9."""


def require_refusal(
    one: Served, response: httpx2.Response, document: dict[str, str], text: str
) -> None:
    """Require the refusal for programs, or the page for people. Keycloak: 12.10."""
    is_page = isinstance(one.guarded, BrowserEndpoint)
    asked = (response.request.method, str(response.url), response.text)
    assert response.status_code == (400 if is_page else 403), asked
    if response.request.method == "HEAD":
        return
    if is_page:
        assert text in response.text, asked
    else:
        assert response.json() == document, asked


def test_no_route_answers_in_clear_where_the_realm_requires_tls(guarded: Guarded) -> None:
    """With the best of all tokens, and before it is looked at."""
    for one in routes_of_a_realm():
        for method, url in requests(one, "strict"):
            for token in (guarded.master, None):
                response = guarded.ask(method, url, token, clear=True, headers=one.headers)
                require_refusal(one, response, HTTPS_REQUIRED, "HTTPS required")


def test_an_administrator_obeys_the_requirement_of_the_own_realm(guarded: Guarded) -> None:
    """The stricter of the caller's realm and the realm of the path counts."""
    token = str(guarded.stack.token("strict", GRANT).json()["access_token"])
    for path in ("/admin/realms", "/admin/serverinfo", "/admin/realms/master"):
        assert guarded.ask("GET", path, guarded.master, clear=True).status_code == 200
        refused = guarded.ask("GET", path, token, clear=True)
        assert (refused.status_code, refused.json()) == (403, HTTPS_REQUIRED)
    assert guarded.ask("GET", "/admin/realms/strict", token).status_code == 200


def test_no_password_is_set_in_clear(guarded: Guarded) -> None:
    stack = guarded.stack
    ada = stack.id_of("ada", "strict")
    users = "/admin/realms/strict/users"
    word = {"type": "password", "value": "The new password 1"}
    sent = (
        ("PUT", f"{users}/{ada}/reset-password", word),
        ("PUT", f"{users}/{ada}", {"credentials": [word]}),
        ("POST", users, {"username": "eve", "credentials": [word]}),
        ("POST", "/admin/realms/strict/partialImport", {"users": [{"username": "eve"}]}),
        ("POST", "/realms/strict/clients-registrations/default", {"clientId": "new"}),
    )
    for method, path, document in sent:
        response = guarded.ask(method, path, guarded.master, clear=True, json=document)
        assert (response.status_code, response.json()) == (403, HTTPS_REQUIRED), path
    assert stack.ask("strict/users", search="eve").json() == []


def test_a_disabled_realm_answers_with_its_public_metadata_alone(guarded: Guarded) -> None:
    """Keycloak 26.7 answers registration in a disabled realm too; here it is refused."""
    for one in routes_of_a_realm():
        is_exempt = any(e.check is RealmCheck.ENABLED for e in one.guarded.exempt)
        for method, url in requests(one, "closed"):
            response = guarded.ask(method, url, headers=one.headers)
            if not is_exempt:
                require_refusal(one, response, NOT_ENABLED, "Realm not enabled")
            elif url.startswith("/admin/") or url.endswith("/userinfo"):
                assert response.status_code == 401, (method, url)
            elif url.endswith("/logout-confirm"):
                assert response.status_code == 400, (method, url)
            else:
                assert response.status_code == 200, (method, url)


def test_a_token_of_a_disabled_realm_brings_no_rights(guarded: Guarded) -> None:
    for one in served():
        if one.path.startswith("/admin/"):
            for method, url in requests(one, "closed"):
                response = guarded.ask(method, url, guarded.closed)
                assert response.status_code == 401, (method, url)


def test_master_still_administers_a_disabled_realm(guarded: Guarded) -> None:
    """Else it could not be enabled again. Keycloak 26.7 as measured."""
    assert guarded.ask("GET", "/admin/realms/closed", guarded.master).json()["enabled"] is False
    users = guarded.ask("GET", "/admin/realms/closed/users", guarded.master)
    assert [one["username"] for one in users.json()] == ["ada"]
    for enabled in (True, False):
        change = {"enabled": enabled}
        done = guarded.ask("PUT", "/admin/realms/closed", guarded.master, json=change)
        assert done.status_code == 204
        token = guarded.stack.token("closed", GRANT)
        assert token.status_code == (200 if enabled else 403)


def _sent(response: httpx2.Response) -> dict[str, str]:
    return {name: ", ".join(response.headers.get_list(name)) for name in DEFAULTS}


@pytest.fixture(scope="module")
def answers(guarded: Guarded) -> list[httpx2.Response]:
    """Ask every route of the realm `strict`, with and without what it needs."""
    urls = [url for one in routes_of_a_realm() for url in one.urls("strict")]
    return [
        answer
        for url in urls
        for answer in (
            guarded.ask("GET", url, guarded.master),
            guarded.ask("OPTIONS", url),
            guarded.ask("PATCH", url, guarded.master),
            guarded.ask("POST", url, content=b"{"),
        )
    ]


def test_every_response_of_a_realm_has_its_headers_once(
    guarded: Guarded, answers: list[httpx2.Response]
) -> None:
    """Whatever the route, the method and the status."""
    malformed = guarded.ask("POST", "/admin/realms/strict/users", guarded.master, content=b"{")
    disabled = guarded.ask("GET", "/realms/strict/clients-registrations/default/x", clear=True)
    upload = "/admin/realms/strict/localization/en/key"
    text = guarded.ask("PUT", upload, guarded.master, files={"file": b"x"})
    for answer in (*answers, malformed, disabled, text):
        got = (answer.request.method, str(answer.url), answer.status_code)
        expected = headers_of("strict")
        if answer.url.path.endswith(FRAMES) and answer.status_code == httpx2.codes.OK:
            expected = expected | {"x-frame-options": _sent(answer)["x-frame-options"]}
        is_link = answer.url.path.endswith("/login-actions/action-token")
        if is_link and answer.request.method in {"GET", "POST"}:
            expected = expected | {"referrer-policy": "no-referrer"}
        assert (got, _sent(answer)) == (got, expected)
    seen = {answer.status_code for answer in (*answers, malformed, disabled, text)}
    assert seen >= {200, 400, 401, 403, 404, 405, 415, 501}


def test_answers_of_the_admin_api_are_not_stored(answers: list[httpx2.Response]) -> None:
    """They hold secrets: of clients, of registrations, of users."""
    administrative = [answer for answer in answers if answer.url.path.startswith("/admin/")]
    assert {answer.headers.get("cache-control") for answer in administrative} == {"no-store"}


@pytest.mark.parametrize(
    ("path", "realm"),
    [
        ("/realms/strict/", "strict"),
        ("/auth/realms/strict/no/such/path", "strict"),
        ("/realms/strict%0A", None),
        ("/admin", "master"),
        ("/admin/", "master"),
        ("/auth/admin", "master"),
        ("/admin/realms", "master"),
        ("/admin/serverinfo", "master"),
        ("/admin/no-such-path", "master"),
        ("/admin/realms/strict", "strict"),
        ("/admin/realms/strict/no-such-path", "strict"),
        ("/admin/strict/console/whoami", "strict"),
        ("/admin/strict/console", "strict"),
        ("/realms/nowhere", None),
        ("/realms/nowhere/path", None),
        ("/admin/realms/nowhere", None),
        ("/", None),
        ("/somewhere", None),
    ],
)
def test_a_path_has_the_headers_of_its_realm_or_the_defaults(
    guarded: Guarded, path: str, realm: str | None
) -> None:
    expected = DEFAULTS if realm is None else headers_of(realm)
    assert _sent(guarded.ask("GET", path)) == expected


def test_a_path_without_a_realm_has_the_callers_realms_headers(guarded: Guarded) -> None:
    token = str(guarded.stack.token("strict", GRANT).json()["access_token"])
    assert _sent(guarded.ask("GET", "/admin/realms", token)) == headers_of("strict")


def test_a_request_that_the_edge_refuses_has_the_headers(guarded: Guarded) -> None:
    twice = [("traceparent", "a"), ("traceparent", "b")]
    response = guarded.stack.http.get(
        f"{guarded.stack.nginx.https}/realms/strict/protocol/openid-connect/userinfo", headers=twice
    )
    assert response.json()["error_description"] == "Malformed request from the proxy"
    assert (response.status_code, _sent(response)) == (400, headers_of("strict"))


def test_a_byte_order_mark_before_json_is_refused(guarded: Guarded) -> None:
    """RFC 8259 §8.1."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {guarded.master}"}
    for path in ("/admin/realms/strict/users", "/realms/strict/clients-registrations/default"):
        response = guarded.stack.http.post(
            guarded.stack.nginx.https + path,
            content=b'\xef\xbb\xbf{"username":"eve"}',
            headers=headers,
        )
        assert (response.status_code, response.json()) == (
            400,
            {"error": "invalid_request", "error_description": "Cannot parse the JSON"},
        )
