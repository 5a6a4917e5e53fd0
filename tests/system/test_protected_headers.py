"""No service behind nginx takes a caller's own headers for the gateway's or for nginx's.

Each spelling is tried at each listener, with and without an identity, over HTTP/1.1 and HTTP/2, and
with a listener whose default server lets underscores in. attacks: A4, A20, B4, B6
"""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.forward_auth.identity_headers import IDENTITY_HEADERS
from tests.support.edge_certificates import EdgeCertificates
from tests.support.guarded_edge import DECISION, REFUSED, GuardedEdge, response, start_guarded_edge
from tests.support.nginx import PROXY_SECRET
from tests.support.ports import ADDRESS
from tests.support.protected_sites import HOST
from tests.support.spellings import spellings

FORGED = "forged-by-the-caller"
_TRUSTED = (
    *IDENTITY_HEADERS,
    *("X-Realmgate-Proxy-Secret", "X-Realmgate-Server", "X-Forwarded-For", "X-Forwarded-Proto"),
    *("X-Forwarded-Host", "X-Forwarded-Port", "X-Real-IP", "X-Request-Id", "ssl-client-cert"),
    *("ssl-client-verify", "X-Original-Request"),
)
_DASHED_ALONE = (
    *("Forwarded", "X-Forwarded-Uri", "X-Forwarded-Method", "X-Forwarded-Prefix", "Client-Cert"),
    *("X-Forwarded-Client-Cert", "X-Original-URI", "X-Original-URL", "X-Rewrite-URL"),
    *("X-Forwarded-User", "X-SSL-Client-Cert", "X-Original-Method", "X-Forwarded-Server"),
    *("X-Forwarded-Scheme", "X-Forwarded-Ssl", "X-Client-IP", "X-Client-Cert"),
    *("X-SSL-Client-Verify", "Client-Cert-Chain", "ssl-client-subject-dn"),
    *("ssl-client-issuer-dn", "ssl-client-s-dn", "ssl-client-i-dn"),
)
_QUESTION = (
    *("X-Original-Request", "X-Realmgate-Server", "X-Realmgate-Proxy-Secret", "X-Request-Id"),
    *("X-Forwarded-Host", "X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Method"),
    *("X-Forwarded-Uri", "X-Forwarded-Port", "ssl-client-cert", "ssl-client-verify"),
)
"""What the gateway or its parser may read of a question."""
UNDERSCORES_ON = {
    "realmgate/guard-pages.conf": ("underscores_in_headers off;", "underscores_in_headers on;"),
    "realmgate/server.conf": ("underscores_in_headers off;", "underscores_in_headers on;"),
}
IDENTITY = tuple(f"{name}: of the gateway" for name in IDENTITY_HEADERS)


def test_no_forged_header_reaches_the_service(edge: GuardedEdge) -> None:
    """attacks: A4, A20, B6."""
    names = [*(each for name in _TRUSTED for each in spellings(name)), *_DASHED_ALONE]
    assert _reached(edge, names) == []


def test_no_forged_header_arrives_where_underscores_are_allowed(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    names = [each for name in IDENTITY_HEADERS for each in spellings(name)]
    with start_guarded_edge(tmp_path, edge_certificates, changes=UNDERSCORES_ON) as edge:
        assert _reached(edge, names) == []
        assert _reached(edge, ["X_Harmless"]) != []


def _reached(edge: GuardedEdge, names: list[str]) -> list[str]:
    """Send each name once, twice and with all others; return those that the service received."""
    attempts = [[(name, FORGED)] for name in names]
    attempts.append([(name, FORGED) for name in names])
    attempts.append([(name, FORGED) for name in names for _ in range(2)])
    found: set[str] = set()
    for asserted in (IDENTITY, ()):
        edge.gateway.responses[DECISION] = response("200 OK", *asserted)
        for url, http2 in itertools.product(edge.nginx.listeners, (False, True)):
            edge.service.received.clear()
            with edge.nginx.client("device-1", http2=http2) as client:
                for headers in attempts:
                    sent = [("Host", HOST), *headers]
                    assert client.get(f"{url}/", headers=sent).status_code == 200
            assert len(edge.service.received) == len(attempts)
            for received in edge.service.received:
                found.update(name for name, value in received.headers if FORGED in value)
                for name in IDENTITY_HEADERS:
                    assert received.all(name) == (["of the gateway"] if asserted else []), name
    return sorted(found)


def test_the_gateway_decides_by_what_nginx_found_out(edge: GuardedEdge) -> None:
    """attacks: A20, B4."""
    names = [each for name in _QUESTION for each in spellings(name) if "-" in each]
    with edge.nginx.client("device-1") as client:
        url = f"{edge.nginx.https}/admin/x?y=%20"
        client.post(url, headers=[("Host", HOST), *((name, FORGED) for name in names)], content="b")
    (asked,) = edge.gateway.received
    assert (asked.method, asked.target, asked.body) == ("GET", DECISION, b"")
    assert asked.all("X-Original-Request") == ["POST /admin/x?y=%20 HTTP/1.1"]
    assert asked.all("X-Realmgate-Server") == [f"{HOST}:{edge.nginx.site.https_port}"]
    assert asked.all("X-Forwarded-Host") == [HOST]
    assert asked.all("X-Forwarded-For") == [ADDRESS]
    assert asked.all("X-Forwarded-Proto") == ["https"]
    assert asked.all("X-Realmgate-Proxy-Secret") == [PROXY_SECRET]
    assert asked.all("ssl-client-verify") == ["SUCCESS"]
    (certificate,) = asked.all("ssl-client-cert")
    assert certificate.startswith("-----BEGIN%20CERTIFICATE-----")
    assert asked.all("Content-Length") == asked.all("Transfer-Encoding") == []
    assert FORGED not in str([asked.all(name) for name in _QUESTION])
    assert asked.all("Host") == ["localhost"]


def test_no_protected_response_names_the_version_of_nginx(edge: GuardedEdge) -> None:
    answers = {}
    for status in ("200 OK", "401 Unauthorized", "403 Forbidden", "500 Internal Server Error"):
        edge.refuse(status)
        for path in ("/", "/.realmgate/sign-in", "/.realmgate/guard/nginx", "/.realmgate/refused"):
            with edge.nginx.client() as client:
                found = client.get(f"{edge.nginx.https}{path}", headers={"Host": HOST})
            answers[status, path] = found.status_code
            assert found.headers["server"] == "nginx", (status, path)
            assert "nginx/" not in found.text, (status, path)
    assert set(answers.values()) >= {200, 401, 403, 404, 503}


@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_decision_and_refusal_are_requested_by_get_without_body(
    edge: GuardedEdge, method: str
) -> None:
    """attacks: B4."""
    edge.refuse("401 Unauthorized")
    with edge.nginx.client() as client:
        content = b"body" if method == "POST" else None
        client.request(method, f"{edge.nginx.https}/", headers={"Host": HOST}, content=content)
    asked = [(each.method, each.target, each.body) for each in edge.gateway.received]
    assert asked == [("GET", DECISION, b""), ("GET", REFUSED, b"")]


def test_the_service_does_not_get_the_session_of_the_browser(edge: GuardedEdge) -> None:
    """It could use it at other services."""
    sessions = ("__Host-realmgate-session=one", "__Secure-realmgate-session=two")
    with edge.nginx.client() as client:
        for cookies, passed in (
            (("a=1", *sessions, "b=2"), "a=1; b=2"),
            ((*sessions, "a=1"), "a=1"),
            ((*sessions[::-1], "my__Host-realmgate-session=x"), "my__Host-realmgate-session=x"),
            (("a=1", "b=2"), "a=1; b=2"),
            (sessions, None),
            ((*sessions, "a=1", "__Secure-realmgate-session=of another host"), None),
            ((), None),
        ):
            headers = {"Host": HOST} | ({"Cookie": "; ".join(cookies)} if cookies else {})
            client.get(f"{edge.nginx.https}/", headers=headers)
            assert edge.gateway.last.all("Cookie") == ["; ".join(cookies)][: len(cookies)]
            received = edge.service.last.all("Cookie")
            assert [value.strip("; ") for value in received] == ([passed] if passed else [])


@pytest.fixture(scope="module")
def running(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[GuardedEdge]:
    """Run nginx as it is shipped."""
    with start_guarded_edge(tmp_path_factory.mktemp("guarded"), edge_certificates) as edge:
        yield edge


@pytest.fixture
def edge(running: GuardedEdge) -> GuardedEdge:
    """Return the nginx of this file, its gateway allowing everything."""
    running.forget()
    running.gateway.responses[DECISION] = response("200 OK")
    return running
