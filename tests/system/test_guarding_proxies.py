"""HAProxy, Apache, Caddy and Envoy as proxies/ configures them: who passes, what a service learns.

attacks: A4, A20, A21, B4, B5, B6, B7
"""

import socket
import ssl
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPException

import pytest

from gateway.forward_auth.identity_headers import IDENTITY_HEADERS
from tests.support.edge_certificates import REFUSED, REVOKED, STRANGERS
from tests.support.guarding_proxies import GuardingProxy, start_proxy
from tests.support.ports import ADDRESS
from tests.support.protected_sites import HOST, OPEN_HOST, PROXY_SECRET, WIKI_HOSTS, Protected
from tests.support.proxy_process import OTHER_PROXIES, haproxy_drops_trailers
from tests.support.spellings import spellings

FORGED = "forged-by-the-caller"
_TRUSTED = (
    *IDENTITY_HEADERS,
    *("X-Realmgate-Proxy-Secret", "X-Realmgate-Server", "X-Forwarded-For", "X-Forwarded-Proto"),
    *("X-Forwarded-Host", "X-Forwarded-Method", "X-Forwarded-Uri", "X-Request-Id"),
    *("ssl-client-cert", "ssl-client-verify"),
    *("Forwarded", "X-Original-URL", "X-Rewrite-URL", "X-Real-IP", "X-Client-IP"),
    *("X-SSL-Client-Cert", "Client-Cert", "Client-Cert-Chain"),
)
_FOR_THE_GATEWAY = (
    *("X-Realmgate-Proxy-Secret", "X-Realmgate-Server", "ssl-client-cert", "ssl-client-verify"),
)


@pytest.fixture(scope="module", params=OTHER_PROXIES)
def running(request: pytest.FixtureRequest, open_site: Protected) -> Iterator[GuardingProxy]:
    """Run each proxy."""
    with start_proxy(request.param, HOST, open_site) as proxy:
        yield proxy


@pytest.fixture
def proxy(running: GuardingProxy) -> GuardingProxy:
    """Return the proxy, the memory of its service cleared."""
    running.protected.service.forget()
    return running


def _asserted(proxy: GuardingProxy) -> dict[str, str]:
    names = {name.lower(): name for name in IDENTITY_HEADERS}
    received = proxy.protected.service.last.headers
    found = {names[name.lower()]: value for name, value in received if name.lower() in names}
    found.pop("X-Realmgate-Token", None)
    return found


def test_a_token_passes_with_its_identity(proxy: GuardingProxy) -> None:
    token = proxy.protected.token("ada")["access_token"]
    assert proxy.ask("/admin/x?y=%20", token=token, method="DELETE").status == 200
    received = proxy.protected.service.last
    assert (received.method, received.target) == ("DELETE", "/admin/x?y=%20")
    asserted = _asserted(proxy)
    assert asserted["Remote-User"] == "ada"
    assert asserted["X-Realmgate-Credential"] == "bearer"
    assert received.all("X-Forwarded-For") == [ADDRESS]
    assert received.all("X-Forwarded-Proto") == ["https"]
    assert received.all("Host") == received.all("X-Forwarded-Host") == [HOST]


@pytest.mark.parametrize("name", OTHER_PROXIES)
def test_a_site_keeps_authorization_from_its_service(open_site: Protected, name: str) -> None:
    """Of a caller with a token; other sites pass it on."""
    token = open_site.token("ada")["access_token"]
    for host, passed in ((WIKI_HOSTS[0], []), (HOST, [f"Bearer {token}"])):
        with start_proxy(name, host, open_site) as proxy:
            open_site.service.forget()
            assert proxy.ask("/home/", token=token).status == 200
        assert open_site.service.last.all("Remote-User") == ["ada"]
        assert open_site.service.last.all("Authorization") == passed
        assert open_site.service.last.all("X-Realmgate-Authorization") == []


def test_a_certificate_passes_with_its_names(proxy: GuardingProxy) -> None:
    assert proxy.ask("/machines/1", certificate="device-1").status == 200
    assert _asserted(proxy)["X-Realmgate-Subject"].startswith("CN=device-1,")
    for name in _FOR_THE_GATEWAY:
        assert proxy.protected.service.last.all(name) == []
    assert proxy.ask("/machines/1", certificate="device-2").status == 403
    token = proxy.protected.bound_token("device-1")
    assert proxy.ask("/bound/", token=token, certificate="device-1").status == 200
    assert proxy.ask("/bound/", token=token, certificate="device-2").status == 401
    assert proxy.ask("/bound/", token=token).status == 401
    assert PROXY_SECRET not in str(proxy.protected.service.received)
    assert "BEGIN" not in str(proxy.protected.service.received)


def test_a_bad_certificate_is_no_credential(proxy: GuardingProxy) -> None:
    for certificate in (*REFUSED, *STRANGERS, REVOKED):
        with suppress(OSError, HTTPException):  # the end of the handshake, or of the connection
            assert proxy.ask("/home/", certificate=certificate).status in {400, 401}, certificate
    assert proxy.protected.service.received == []


def test_whoever_may_not_pass_learns_why(proxy: GuardingProxy) -> None:
    """attacks: B5."""
    token = proxy.protected.token("bob")["access_token"]
    for path, sent, status in (
        ("/home/", None, 401),
        ("/home/", "nonsense", 401),
        ("/admin", token, 403),
        ("/nowhere", token, 403),
    ):
        found = proxy.ask(path, token=sent)
        assert found.status == status
        assert found.headers["x-realmgate-reason"]
    for agent in ("kube-probe/1.29", "ELB-HealthChecker/2.0"):
        assert proxy.ask("/home/", f"User-Agent: {agent}").status == 401
    challenged = proxy.ask("/home/").headers["www-authenticate"]
    assert challenged.startswith('Bearer realm="staff"')
    assert proxy.protected.service.received == []


def test_a_browser_is_sent_to_sign_in_and_shown_pages(proxy: GuardingProxy) -> None:
    navigation = ("Sec-Fetch-Mode: navigate", "Accept: text/html")
    found = proxy.ask("/home/?a=b", *navigation)
    assert found.status == 302
    assert found.headers["location"].startswith(f"https://{HOST}/.realmgate/sign-in?")
    page = proxy.ask("/home/", "Accept: text/html", method="POST")
    assert page.status == 401
    assert b"<html" in page.body
    begun = proxy.ask(found.headers["location"].removeprefix(f"https://{HOST}"), *navigation)
    assert begun.status in {302, 303}
    assert begun.headers["location"].startswith("https://gateway.test/realms/staff/")
    assert proxy.protected.service.received == []


def test_the_decision_is_for_the_proxy_alone(proxy: GuardingProxy) -> None:
    """attacks: B4."""
    token = proxy.protected.token("ada")["access_token"]
    for path in (
        *(f"/.realmgate/guard/{name}" for name in OTHER_PROXIES),
        *("/.realmgate/guard", "/.realmgate/%67uard/haproxy", "/%2erealmgate/guard/caddy"),
        *("/.realmgate/x/../guard/apache", "/.realmgate//guard/haproxy", "//.realmgate/guard/x"),
    ):
        found = proxy.ask(path, "X-Forwarded-Uri: /home/", "X-Forwarded-Method: GET", token=token)
        statuses = {404} if path.startswith("/.realmgate/guard") else {308, 400, 403, 404}
        assert found.status in statuses, path
        assert "remote-user" not in found.headers
    assert proxy.protected.service.received == []


def test_no_forged_header_reaches_the_service(proxy: GuardingProxy) -> None:
    """attacks: A4, B6."""
    names = [each for name in _TRUSTED for each in spellings(name)]
    names += ["Remote.User", "Remote-Anything", "X-Realmgate-Anything", "X-Client-Cert"]
    names += ["X-Forwarded-Client-Cert", "ssl-client-subject-dn"]
    names += ["X-Original-Method", "X-Forwarded-User"]
    lines = [f"{name}: {FORGED}" for name in names]
    token = proxy.protected.token("ada")["access_token"]
    lines += [line for line in lines if "_" in line]
    for attempt in [lines[start : start + 40] for start in range(0, len(lines), 40)]:
        for sent in (None, token):
            found = proxy.ask("/public/" if sent is None else "/home/", *attempt, token=sent)
            assert found.status in {200, 400}
    received = proxy.protected.service.received
    assert received
    assert not [value for each in received for value in each.headers if FORGED in value[1]]
    for each in received:
        users = each.all("Remote-User")
        assert users == (["ada"] if each.target == "/home/" else [])
        if each.target == "/public/":
            assert not [name for name in IDENTITY_HEADERS if each.all(name)]


def test_no_forged_header_passes_http2_and_split_cookies_work(
    proxy: GuardingProxy,
) -> None:
    """Cookies of HTTP/2 come in several fields: RFC 9113 §8.2.3. attacks: A4, B6."""
    names = sorted({each.lower() for name in _TRUSTED for each in spellings(name)})
    version = "HTTP/1.1" if proxy.name == "apache" else "HTTP/2"
    cookies = ["a=1", proxy.protected.browser_session(), "b=2"]
    cookies = cookies if version == "HTTP/2" else ["; ".join(cookies)]
    headers = [("host", HOST), *(("cookie", cookie) for cookie in cookies)]
    with proxy.client() as http:
        for start in range(0, len(names), 40):
            forged = [(name, FORGED) for name in names[start : start + 40]]
            sni = {"sni_hostname": HOST}
            answer = http.get("/home/", headers=headers + forged, extensions=sni)
            assert answer.http_version == version
            assert answer.status_code in {200, 400}
    received = proxy.protected.service.received
    assert received
    for each in received:
        assert each.all("Remote-User") == ["ada"]
        assert each.all("Cookie") == ["a=1; b=2"]
        assert not [name for name, value in each.headers if FORGED in value]


def test_one_forged_header_changes_no_decision(proxy: GuardingProxy) -> None:
    """attacks: A20, B4."""
    for line in (
        *("X-Forwarded-Uri: /public/", "X_Forwarded_Uri: /public/", "X-Forwarded-Method: OPTIONS"),
        *(f"X-Forwarded-Host: {OPEN_HOST}", f"X-Realmgate-Server: {OPEN_HOST}"),
        *("X-Original-URI: /public/", "X-Rewrite-URL: /public/", "Remote-User: ada"),
    ):
        assert proxy.ask("/home/", line).status in {400, 401, 403}, line
    assert proxy.protected.service.received == []


def test_no_header_changes_the_method_behind_the_decision(proxy: GuardingProxy) -> None:
    """attacks: B4."""
    received = proxy.protected.service.received
    for name in ("X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"):
        for spelling in spellings(name):
            status = proxy.ask("/public/", f"{spelling}: DELETE").status
            # The Caddy of Debian 13 removes names with underscores itself.
            assert status == 403 or (proxy.name, "_" in spelling) == ("caddy", True), spelling
            sent = [value for each in received for _, value in each.headers]
            assert (status, "DELETE" in sent) in {(403, False), (200, False)}, spelling
            assert status == 200 or received == []
            received.clear()


@pytest.mark.parametrize("host", [OPEN_HOST, "elsewhere.example.test", "", f"{HOST},{OPEN_HOST}"])
def test_the_host_of_another_site_opens_nothing(proxy: GuardingProxy, host: str) -> None:
    for head in (
        f"GET /home/ HTTP/1.1\r\nHost: {host}",
        f"GET https://{host or HOST}/home/ HTTP/1.1\r\nHost: {HOST}",
        f"GET /home/ HTTP/1.1\r\nHost: {HOST}\r\nHost: {host}",
    ):
        found = proxy.send(f"{head}\r\nConnection: close\r\n\r\n")
        assert found.status in {200, 400, 401, 403, 421}
    assert proxy.protected.service.received == []


def test_the_service_does_not_get_the_session_of_the_browser(proxy: GuardingProxy) -> None:
    for cookies, passed in (
        ("a=1; __Host-realmgate-session=x; b=2", ["a=1; b=2"]),
        ("__Secure-realmgate-session=x; a=1", ["a=1"]),
        ("a=1; b=2", ["a=1; b=2"]),
        ("__Host-realmgate-session=x; __Secure-realmgate-session=y; a=1", ["a=1"]),
        ("__Secure-realmgate-session=x; a=1; __Secure-realmgate-session=y", ["a=1"]),
    ):
        assert proxy.ask("/public/", f"Cookie: {cookies}").status == 200
        assert proxy.protected.service.last.all("Cookie") == passed


def test_nothing_but_a_websocket_is_an_upgrade(proxy: GuardingProxy) -> None:
    for upgrades in (
        *(("h2c",), ("HTTP/2.0",), ("websocket, h2c",), ("h2c", "websocket")),
        *(("websocket", "h2c"), ("websocket", "websocket, h2c")),
    ):
        lines = [f"Upgrade: {upgrade}" for upgrade in upgrades]
        lines += ["Connection: Upgrade, HTTP2-Settings, close", "HTTP2-Settings: AAMAAABk"]
        head = "\r\n".join(["GET /public/ HTTP/1.1", f"Host: {HOST}", *lines, "", ""])
        assert proxy.send(head).status in {200, 400, 403}
    received = proxy.protected.service.received
    assert {value for each in received for value in each.all("Upgrade")} <= {"websocket"}


def test_a_websocket_is_asked_for(proxy: GuardingProxy) -> None:
    asked = ("Upgrade: WebSocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    lines = ["GET /public/ HTTP/1.1", f"Host: {HOST}", "Connection: close, Upgrade", *asked]
    assert proxy.send("\r\n".join([*lines, "", ""])).status == 200
    received = proxy.protected.service.last
    wanted = [] if proxy.name == "apache" else ["websocket"]
    assert [each.lower() for each in received.all("Upgrade")] == wanted
    if wanted:
        assert [each.lower() for each in received.all("Connection")] == ["upgrade"]


def test_a_caller_takes_no_header_away(proxy: GuardingProxy) -> None:
    """Headers that `Connection` names are for the next hop alone: RFC 9110 §7.6.1."""
    token = proxy.protected.token("ada")["access_token"]
    lost = ["Remote-User", "X-Realmgate-Subject", "X-Realmgate-Token"]
    websocket = ("Upgrade: websocket", "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==")
    for lines in (
        (f"Connection: {', '.join(lost)}",),
        ("Connection: Upgrade, Remote-User", *websocket),
    ):
        assert proxy.ask("/home/", *lines, token=token).status == 200
        received = proxy.protected.service.last
        assert received.all("Remote-User") == ["ada"]
        assert all(len(received.all(name)) == 1 for name in lost)
        assert "remote-user" not in ",".join(received.all("Connection")).lower()
    answer = proxy.ask("/home/", "Connection: X-Forwarded-Proto", token=token)
    assert answer.status == (400 if proxy.name == "envoy" else 200)
    assert proxy.protected.service.last.all("X-Forwarded-Proto") == ["https"]


def test_no_trailer_reaches_the_service(proxy: GuardingProxy) -> None:
    """A program may read trailers as headers: RFC 9110 §6.5.1. attacks: A4, B6."""
    token = proxy.protected.token("ada")["access_token"]
    trailers = "".join(f"{name}: {FORGED}\r\n" for name in ("X-Plain", *IDENTITY_HEADERS))
    for path, line in (("/public/", ""), ("/home/", f"Authorization: Bearer {token}\r\n")):
        head = f"POST {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close, Trailer\r\n{line}"
        head += "TE: trailers\r\nTrailer: Remote-User\r\nTransfer-Encoding: chunked\r\n"
        assert proxy.send(f"{head}\r\n3\r\nabc\r\n0\r\n{trailers}\r\n").status == 200
        received = proxy.protected.service.last
        assert received.body == b"abc"
        assert FORGED not in str(received.headers)
        if proxy.name != "haproxy" or haproxy_drops_trailers():
            assert received.trailers == ()


def test_a_large_request_takes_no_header_away(proxy: GuardingProxy) -> None:
    """HAProxy has one buffer of 16 kB for a request and what it adds."""
    token = proxy.protected.token("ada")["access_token"]
    proxy.ask("/home/", token=token)
    complete = {name for name in IDENTITY_HEADERS if proxy.protected.service.last.all(name)}
    assert "X-Realmgate-Token" in complete
    statuses = set()
    for size in range(500, 2_500, 100):
        proxy.protected.service.forget()
        filling = [f"X-Filling-{number}: {'a' * 985}" for number in range(12)]
        found = proxy.ask("/home/", *filling, f"X-Last: {'a' * size}", token=token)
        statuses.add(found.status)
        for received in proxy.protected.service.received:
            assert {name for name in IDENTITY_HEADERS if received.all(name)} == complete, size
    assert statuses <= {200, 400, 503}


def test_the_service_gets_a_path_and_no_url(proxy: GuardingProxy) -> None:
    for scheme in ("https", "http"):
        assert proxy.ask(f"{scheme}://{HOST}/public/x?y").status in {200, 400, 403}
    targets = {each.target for each in proxy.protected.service.received}
    assert targets <= {"/public/x?y"}


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_no_tls_session_outlives_a_revocation(
    proxy: GuardingProxy, version: ssl.TLSVersion
) -> None:
    """Caddy reads no revocation list: the realm's check is that of each request. attacks: A9."""
    tls = ssl.create_default_context()
    tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    tls.minimum_version = tls.maximum_version = version
    pair = proxy.protected.certificates.pair("device-1")
    tls.load_cert_chain(f"{pair}.crt", f"{pair}.key")
    request = f"GET /public/ HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n\r\n".encode()
    session, resumed = None, []
    for _ in range(3):
        with (
            socket.create_connection((ADDRESS, proxy.port)) as plain,
            tls.wrap_socket(plain, server_hostname=HOST, session=session) as connection,
        ):
            connection.sendall(request)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")
            resumed.append(connection.session_reused)
            session = connection.session
    assert proxy.name == "caddy" or not any(resumed)
