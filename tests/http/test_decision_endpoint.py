"""The decision endpoint as a proxy asks it: dialects, hostile headers, and no body."""

from collections.abc import Mapping

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway.http.forward_auth.dialects import DIALECTS
from tests.support.host_spellings import ADDRESSES, spellings_of
from tests.support.protected_sites import HOST, OPEN_HOST, PROXY_SECRET, Protected

_PROXY = {"X-Realmgate-Proxy-Secret": PROXY_SECRET, "X-Forwarded-For": "203.0.113.9"}
_REQUESTS = {
    "nginx": {
        "X-Original-Request": "{method} {uri} HTTP/1.1",
        "X-Forwarded-Host": "{host}",
        "X-Realmgate-Server": "{host}:443",
    },
    "envoy": {"Host": "{host}", "X-Realmgate-Server": "{host}:443"},
    **{
        name: {
            "X-Forwarded-Method": "{method}",
            "X-Forwarded-Uri": "{uri}",
            "X-Forwarded-Host": "{host}",
            "X-Realmgate-Server": "{host}:443",
        }
        for name in ("traefik", "caddy", "haproxy", "apache")
    },
}


def _ask(
    protected: Protected,
    dialect: str,
    uri: str = "/home/",
    *,
    method: str = "GET",
    host: str = HOST,
    headers: Mapping[str, str] | None = None,
    more: tuple[tuple[str, str], ...] = (),
    page: bool = False,
) -> httpx2.Response:
    """Ask as the proxy; `headers` replace its own, `more` come beside them.

    Only a page that the proxy shows to a browser has a body.
    """
    values = {"method": method, "uri": uri, "host": host}
    sent = {name: text.format(**values) for name, text in _REQUESTS[dialect].items()}
    sent = _PROXY | {"X-Forwarded-Proto": "https"} | sent | dict(headers or {})
    path = f"/.realmgate/guard/{dialect}{uri if dialect == 'envoy' else ''}"
    asked = method if dialect == "envoy" else "GET"
    with protected.gateway.client() as http:
        for name in ("x-forwarded-proto", "x-forwarded-for", "user-agent"):
            http.headers.pop(name, None)
        response = http.request(asked, path, headers=[*sent.items(), *more])
    assert bool(response.content) is page
    return response


@pytest.fixture
def token(protected: Protected) -> str:
    """Return the value of an Authorization header that passes."""
    return f"Bearer {protected.token('ada')['access_token']}"


DIALECT_NAMES = [dialect.name for dialect in DIALECTS]


def test_every_dialect_is_asked_here() -> None:
    assert set(DIALECT_NAMES) == set(_REQUESTS)


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_every_dialect_gets_the_same_decisions(
    protected: Protected, token: str, dialect: str
) -> None:
    sent = {"Authorization": token}
    allowed = _ask(protected, dialect, "/admin/x?y=1", method="POST", headers=sent)
    assert allowed.status_code == 200
    assert allowed.headers["Remote-User"] == "ada"
    assert _ask(protected, dialect, "/nowhere", headers=sent).status_code == 403
    assert _ask(protected, dialect, "/home/").status_code == 401
    assert _ask(protected, dialect, "/notes/", method="PUT", headers=sent).status_code == 200
    elsewhere = _ask(protected, dialect, host="elsewhere.example.test", headers=sent)
    assert elsewhere.headers["X-Realmgate-Reason"] == "unknown_host"


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_a_browser_is_redirected_if_its_proxy_shows_the_answer(
    protected: Protected, dialect: str
) -> None:
    found = _ask(protected, dialect, headers={"Sec-Fetch-Mode": "navigate"})
    redirected = dialect in {"traefik", "caddy", "haproxy", "apache", "envoy"}
    assert found.status_code == (302 if redirected else 401)
    assert found.headers.get("Location") == (
        found.headers["X-Realmgate-Sign-In"] if redirected else None
    )
    navigation = {"Sec-Fetch-Mode": "navigate"}
    post = _ask(protected, dialect, method="POST", headers=navigation, page=redirected)
    assert post.status_code == 401


@pytest.mark.parametrize("dialect", [*DIALECT_NAMES, "nginx/x", "", "unknown", "envoy"])
def test_nothing_is_decided_without_the_callers_request(
    protected: Protected, token: str, dialect: str
) -> None:
    with protected.gateway.client(**_PROXY, Authorization=token) as http:
        found = http.get(f"/.realmgate/guard/{dialect}")
    assert found.status_code in {403, 404}
    assert found.content == b""


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_a_question_without_one_of_its_headers_is_refused(
    protected: Protected, token: str, dialect: str
) -> None:
    """attacks: B1."""
    values = {"method": "GET", "uri": "/home/", "host": HOST}
    sent = {name: text.format(**values) for name, text in _REQUESTS[dialect].items()}
    path = "/home/" if dialect == "envoy" else ""
    for missing in sent.keys() - {"Host"}:
        rest = {name: value for name, value in sent.items() if name != missing}
        with protected.gateway.client(**_PROXY, Authorization=token, **rest) as http:
            found = http.get(f"/.realmgate/guard/{dialect}{path}")
        assert found.status_code == 403
        assert found.headers["X-Realmgate-Reason"] == "ambiguous_request"


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_a_question_at_the_url_of_another_dialect_is_not_found(
    protected: Protected, token: str, dialect: str
) -> None:
    """attacks: B1."""
    values = {"method": "GET", "uri": "/home/", "host": HOST}
    sent = {name: text.format(**values) for name, text in _REQUESTS[dialect].items()}
    wrong = "" if dialect == "envoy" else "/home/"
    with protected.gateway.client(**_PROXY, Authorization=token, **sent) as http:
        assert http.get(f"/.realmgate/guard/{dialect}{wrong}").status_code == 404


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_the_server_of_another_site_is_refused(
    protected: Protected, token: str, dialect: str
) -> None:
    """attacks: B4."""
    sent = {"Authorization": token, "X-Realmgate-Server": OPEN_HOST}
    found = _ask(protected, dialect, headers=sent)
    assert found.status_code == 403
    assert found.headers["X-Realmgate-Reason"] == "unknown_host"


@pytest.mark.parametrize("dialect", DIALECT_NAMES)
def test_no_spelling_of_a_host_opens_a_dialect(protected: Protected, dialect: str) -> None:
    """attacks: B4."""
    own = {HOST, HOST.upper(), f"{HOST}:443", "App.example.test"}
    reported = {"X-Realmgate-Server": f"{HOST}:443"}
    for host in (*spellings_of(HOST), *spellings_of(OPEN_HOST), *ADDRESSES, f"{HOST}, {OPEN_HOST}"):
        if host != host.strip() or not (host.isascii() and host.isprintable()):
            continue  # this client does not send it
        sent = {"Host": host} if dialect == "envoy" else {"X-Forwarded-Host": host}
        found = _ask(protected, dialect, "/public/", headers=reported | sent)
        # Hypercorn itself refuses some hosts of a request.
        assert found.status_code == 200 if host in own else found.status_code in {400, 403}, host
    for server in (OPEN_HOST, f"{OPEN_HOST}:443", "*.example.test:443", "_:443", ":443", HOST[1:]):
        found = _ask(protected, dialect, "/public/", headers={"X-Realmgate-Server": server})
        assert found.status_code == 403, server
    for more in (("X-Realmgate-Server", f"{HOST}:443"), ("X-Realmgate_Server", f"{HOST}:443")):
        assert _ask(protected, dialect, "/public/", more=(more,)).status_code == 403, more


@pytest.mark.parametrize("secret", [None, "another secret than the one of this proxy"])
def test_only_the_proxy_is_answered(protected: Protected, token: str, secret: str | None) -> None:
    sent = {"Authorization": token}
    if secret is not None:
        sent["X-Realmgate-Proxy-Secret"] = secret
    with protected.gateway.client() as http:
        request = {"X-Original-Request": "GET /home/ HTTP/1.1", "X-Forwarded-Host": HOST}
        found = http.get("/.realmgate/guard/nginx", headers=sent | request)
    assert found.status_code == 404
    assert "Remote-User" not in found.headers


@pytest.mark.parametrize(
    "path",
    [
        *("/.realmgate/guard", "/.realmgate/guard/nginx", "/.realmgate/guard/envoy/home/"),
        *("/.realmgate/refused", "/.realmgate/refused/unread"),
        *("/.realmgate/unavailable/json", "/.realmgate/unavailable/html"),
    ],
)
@pytest.mark.parametrize("listener", ["https", "mtls", "self_signed"])
def test_callers_of_nginx_do_not_reach_the_endpoint(
    protected: Protected, token: str, path: str, listener: str
) -> None:
    """attacks: B4."""
    headers = {
        "Authorization": token,
        "X-Original-Request": "GET /home/ HTTP/1.1",
        "X-Forwarded-Host": HOST,
    }
    for host, statuses in ((HOST, {404}), ("localhost", {403, 404})):
        found = protected.ask(
            path, host=host, headers=headers, certificate="device-1", listener=listener
        )
        assert found.status_code in statuses
        assert "Remote-User" not in found.headers


SENT_TWICE = {
    "Authorization": "Bearer x",
    "Cookie": "a=b",
    "X-Forwarded-Host": HOST,
    "X-Original-Request": "GET /public/ HTTP/1.1",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-For": "203.0.113.9",
    "Sec-Fetch-Mode": "navigate",
}


@pytest.mark.parametrize(("name", "value"), SENT_TWICE.items())
def test_a_header_that_comes_twice_is_refused(
    protected: Protected, token: str, name: str, value: str
) -> None:
    """attacks: A4, B1."""
    twice = ((name, value), (name, value))
    sent = {"Authorization": token} if name != "Authorization" else {}
    assert _ask(protected, "nginx", headers=sent, more=twice).status_code == 403


MISSPELLED = (
    *("X_Original_Request", "X-Original_Request", "x_forwarded_host", "X_Forwarded_Proto"),
    *("Sec_Fetch_Mode", "X_Requested-With"),
)


@pytest.mark.parametrize("name", MISSPELLED)
def test_a_header_in_another_spelling_is_refused(
    protected: Protected, token: str, name: str
) -> None:
    """attacks: A4, B4."""
    found = _ask(protected, "nginx", headers={"Authorization": token}, more=((name, "x"),))
    assert found.status_code == 403


@pytest.mark.parametrize(
    "name",
    ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override", "x_http_method_override"],
)
def test_a_header_that_overrides_the_method_is_refused(
    protected: Protected, token: str, name: str
) -> None:
    found = _ask(protected, "nginx", headers={"Authorization": token}, more=((name, "PUT"),))
    assert found.status_code == 403


REQUEST_LINES = (
    *("", "GET", "GET /home/", "GET  /home/ HTTP/1.1", "GET /home/ x HTTP/1.1", "/home/"),
    *("GET http://app.example.test/home/ HTTP/1.1", "GET * HTTP/1.1", "get /home/ HTTP/1.1"),
    *("CONNECT app.example.test:443 HTTP/1.1", "GET //home/ HTTP/1.1", "GET /home/%zz HTTP/1.1"),
)


@pytest.mark.parametrize("line", REQUEST_LINES)
def test_a_malformed_request_line_is_refused(protected: Protected, token: str, line: str) -> None:
    """attacks: B1, B3."""
    sent = {"Authorization": token, "X-Original-Request": line}
    assert _ask(protected, "nginx", headers=sent).status_code == 403


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    line=st.text(st.characters(min_codepoint=33, max_codepoint=126) | st.just(" "), max_size=60),
    host=st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30),
)
def test_no_header_makes_the_endpoint_allow_by_accident(
    protected: Protected, line: str, host: str
) -> None:
    """Source: attacks B1. No credential is sent, so nothing but anonymous paths may pass."""
    sent = {"X-Original-Request": line.strip(), "X-Forwarded-Host": host}
    assert _ask(protected, "nginx", headers=sent).status_code in {401, 403}


@pytest.mark.parametrize(
    "agent", ["", "kube-probe/1.29", "GoogleHC/1.0", "ELB-HealthChecker/2.0", "Prometheus/2.50"]
)
def test_no_user_agent_or_health_check_passes_without_credential(
    protected: Protected, agent: str
) -> None:
    """Source: attacks B5."""
    for path in ("/home/", "/ping", "/ready", "/home/health"):
        found = _ask(protected, "nginx", path, headers={"User-Agent": agent})
        assert found.status_code in {401, 403}


def test_a_realm_that_requires_https_accepts_no_token_in_clear(protected: Protected) -> None:
    token = protected.client_token("devices", "svc")
    sent = {"Authorization": f"Bearer {token}"}
    assert _ask(protected, "nginx", headers=sent).status_code == 200
    refused = _ask(protected, "nginx", headers=sent | {"X-Forwarded-Proto": "http"})
    assert refused.status_code == 401
    assert refused.headers["X-Realmgate-Reason"] == "https_required"


def test_a_caller_cannot_name_another_path_than_its_own(protected: Protected) -> None:
    """Source: attacks B4."""
    names = ("X-Original-Request", "X-Original-URI", "X-Forwarded-Uri", "X-Rewrite-URL")
    for name in names:
        value = "GET /public/ HTTP/1.1" if name == "X-Original-Request" else "/public/"
        assert protected.ask("/home/", headers={name: value}).status_code == 401, name
    assert protected.ask("/home/", headers={"X-Forwarded-Method": "OPTIONS"}).status_code == 401
    forwarded = {"X-Forwarded-Host": "elsewhere.example.test", "X-Forwarded-Proto": "http"}
    assert protected.ask("/home/", headers=forwarded).status_code == 401
    assert protected.service.received == []


def test_a_service_receives_no_identity_but_the_gateways(protected: Protected) -> None:
    """Source: attacks B6."""
    forged = {"Remote-User": "root", "REMOTE-GROUPS": "/admins", "X-Realmgate-Token": "x"}
    assert protected.ask("/public/", headers=forged).status_code == 200
    received = protected.service.last
    assert not {name.lower() for name in forged}.intersection(
        name.lower() for name, _ in received.headers
    )
