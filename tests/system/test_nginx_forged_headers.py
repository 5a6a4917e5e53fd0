"""Nothing a caller writes into a header is believed behind nginx, in no location.

Attacks A2, A4, A20: nginx drops inherited headers in a location that sets one of its own, so
every location of every shipped configuration is tried, found in nginx's own dump.
"""

import re
import ssl
from pathlib import Path

import pytest

from gateway.cli.nginx import SHIPPED, PlainHttp
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import (
    PROXY_SECRET,
    Edge,
    changed_source,
    start_edge,
)
from tests.support.nginx_dump import Location, proxying_locations
from tests.support.ports import ADDRESS

FORGED = "forged-by-the-caller"
SPELLINGS = (
    *("ssl-client-cert", "SSL-Client-Cert", "SSL-CLIENT-CERT", "ssl_client_cert"),
    *("Ssl_Client_Cert", "ssl-client_cert", "ssl_client-cert", "SSL_CLIENT_CERT"),
    *("ssl-client-verify", "SSL-Client-Verify", "ssl_client_verify", "ssl-client_verify"),
    *("X-Realmgate-Proxy-Secret", "x_realmgate_proxy_secret", "X_REALMGATE_PROXY_SECRET"),
    *("X-Request-Id", "x_request_id", "Forwarded", "forwarded", "FORWARDED"),
    *("X-Forwarded-For", "x_forwarded_for", "X-Forwarded-Proto", "x_forwarded_proto"),
    *("X-Forwarded-Host", "x_forwarded_host", "X-Forwarded-Port", "x_forwarded_port"),
    *("X-Forwarded-Client-Cert", "Client-Cert", "Client-Cert-Chain", "X-SSL-Client-Cert"),
    *("X-Forwarded-Tls-Client-Cert", "ssl-cert-chain"),
    *("X-Real-IP", "X-Original-URI", "X-Forwarded-Uri", "X-Forwarded-Prefix"),
)
OF_OTHERS = (
    *("X-Forwarded-Server", "X-Forwarded-Scheme", "X-Forwarded-Ssl", "X-Forwarded-User"),
    *("X-Forwarded-Method", "X-Original-URL", "X-Original-Method", "X-Original-Request"),
    *("X-Realmgate-Server", "X-Rewrite-URL", "X-Client-IP", "X-Client-Cert"),
    *("X-SSL-Client-Verify", "ssl-client-subject-dn", "ssl-client-issuer-dn"),
    *("ssl-client-s-dn", "ssl-client-i-dn", "ssl_client-verify"),
)
"""Those that a service behind the proxy could trust. They are tried all at once: nginx treats one
like the other."""
ATTEMPTS = (
    *([(spelling, FORGED)] for spelling in SPELLINGS),
    *([(spelling, FORGED), (spelling, f"{FORGED} again")] for spelling in SPELLINGS),
    [(spelling, FORGED) for spelling in (*SPELLINGS, *OF_OTHERS)],
)
UNDERSCORES_ON = {
    "realmgate/server.conf": ("underscores_in_headers off;", "underscores_in_headers on;")
}
_CARELESS = """
    location /careless/ {
        proxy_set_header X-Harmless yes;
        proxy_pass http://realmgate;
    }

    location / {"""
CARELESS_LOCATION = {
    "realmgate.conf": ("        location / {", _CARELESS),
    "realmgate/certificate-servers.conf": ("    location / {", _CARELESS),
}


def believed(edge: Edge, location: Location, certificate: str | None, *, http2: bool) -> list[str]:
    """Return the headers of all attempts that reached the gateway with a forged value."""
    edge.upstream.forget()
    with edge.nginx.client(certificate, http2=http2) as client:
        for headers in ATTEMPTS:
            response = client.get(location.url, headers=headers)
            assert response.status_code == 200, response.text
            assert response.http_version == ("HTTP/2" if http2 else "HTTP/1.1")
    assert len(edge.upstream.received) == len(ATTEMPTS)
    return [
        f"{location.url} {name}: {value}"
        for received in edge.upstream.received
        for name, value in received.headers
        if FORGED in value
    ]


def crawl(edge: Edge, within: str = "/") -> tuple[int, list[str]]:
    """Try locations over HTTP/1.1 and HTTP/2; return the number of all and the accepted headers."""
    accepted: list[str] = []
    locations = list(proxying_locations(edge.nginx))
    for location in (each for each in locations if within in each.url):
        required = f":{edge.nginx.site.mtls_port}/" in location.url
        for certificate in ("device-1",) if required else ("device-1", None):
            accepted += believed(edge, location, certificate, http2=False)
            if location.tls:
                accepted += believed(edge, location, certificate, http2=True)
    return len(locations), accepted


@pytest.mark.parametrize(
    ("changes", "plain_http", "expected_locations"),
    [
        pytest.param({}, PlainHttp.REDIRECT, 15, id="as shipped"),
        pytest.param({}, PlainHttp.FORWARD, 20, id="plain HTTP forwarded"),
        pytest.param(UNDERSCORES_ON, PlainHttp.FORWARD, 20, id="underscores let in by a site"),
    ],
)
def test_no_location_passes_a_forged_header(
    tmp_path: Path,
    edge_certificates: EdgeCertificates,
    changes: dict[str, tuple[str, str]],
    plain_http: PlainHttp,
    expected_locations: int,
) -> None:
    """attacks: A2, A4, A20."""
    source = changed_source(tmp_path, changes)
    with start_edge(
        tmp_path, edge_certificates.folder, source=source, plain_http=plain_http
    ) as edge:
        assert crawl(edge) == (expected_locations, [])


def test_the_crawl_notices_a_location_with_own_headers(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    source = changed_source(tmp_path, CARELESS_LOCATION)
    with start_edge(tmp_path, edge_certificates.folder, source=source) as edge:
        locations, accepted = crawl(edge, within="/careless/")
    assert locations == 19
    assert any("/careless/ ssl-client-cert" in line for line in accepted)


def test_the_gateway_gets_what_nginx_found_out_and_nothing_twice(edge: Edge) -> None:
    with edge.nginx.client() as client:
        client.get(f"{edge.nginx.https}/", headers=[(name, FORGED) for name in SPELLINGS])
    received = edge.upstream.last
    port = edge.nginx.site.https_port
    assert received.all("x-forwarded-for") == [ADDRESS]
    assert received.all("x-forwarded-proto") == ["https"]
    assert received.all("x-forwarded-host") == [f"localhost:{port}"]
    assert received.all("host") == [f"localhost:{port}"]
    assert received.all("x-forwarded-port") == [str(port)]
    assert received.all("x-realmgate-proxy-secret") == [PROXY_SECRET]
    assert received.all("ssl-client-verify") == ["NONE"]
    assert received.all("ssl-client-cert") == []
    assert received.all("forwarded") == []
    assert received.all("connection") == []


def test_connection_options_and_trailers_smuggle_no_certificate(edge: Edge) -> None:
    context = ssl.create_default_context(cafile=edge.nginx.site.certificates / "ca.crt")
    request = (
        "POST /trailers HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
        "Connection: close, ssl-client-verify, x-realmgate-proxy-secret\r\n"
        "Trailer: ssl-client-cert\r\nUpgrade: h2c\r\n\r\n"
        f"2\r\nab\r\n0\r\nssl-client-cert: {FORGED}\r\nX-Forwarded-For: {FORGED}\r\n\r\n"
    )
    edge.nginx.raw(edge.nginx.site.https_port, request.encode(), context)
    received = edge.upstream.last
    assert received.body == b"ab"
    assert FORGED not in str(received)
    assert received.all("connection") == received.all("upgrade") == []
    assert received.all("ssl-client-verify") == ["NONE"]
    assert received.all("x-realmgate-proxy-secret") == [PROXY_SECRET]


def test_forwarded_plain_http_says_so_without_a_certificate(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    forged = {"X-Forwarded-Proto": "https", "ssl-client-cert": FORGED}
    with (
        start_edge(tmp_path, edge_certificates.folder, plain_http=PlainHttp.FORWARD) as edge,
        edge.nginx.client() as client,
    ):
        client.get(edge.nginx.http, headers=forged)
    received = edge.upstream.last
    assert received.all("x-forwarded-proto") == ["http"]
    assert received.all("x-forwarded-port") == [str(edge.nginx.site.http_port)]
    assert received.all("ssl-client-cert") == []
    assert received.all("ssl-client-verify") == []


def test_plain_http_redirects_with_method_and_query_kept(edge: Edge) -> None:
    with edge.nginx.client() as client:
        response = client.post(f"{edge.nginx.http}/realms/demo?a=b%20c", content=b"x")
    assert response.status_code == 308
    assert response.headers["location"] == f"{edge.nginx.https}/realms/demo?a=b%20c"
    assert response.headers["referrer-policy"] == "no-referrer"
    assert response.headers["x-frame-options"] == "SAMEORIGIN"
    assert "strict-transport-security" not in response.headers
    assert not edge.upstream.received


def test_every_header_that_the_configuration_sets_is_tried() -> None:
    """Otherwise nothing would fail where its line is removed."""
    text = (SHIPPED / "realmgate/proxy-headers.conf").read_text()
    named = set(re.findall(r"^proxy_set_header (\S+)", text, re.MULTILINE))
    tried = {spelling.lower() for spelling in (*SPELLINGS, *OF_OTHERS)}
    assert {name for name in named if name.lower() not in tried} == {"Connection", "Host"}


def test_every_proxy_pass_stands_below_the_headers() -> None:
    """Each is a place to forget them in."""
    passing = {}
    for path in SHIPPED.rglob("*.conf"):
        text = path.read_text()
        headers = text.count("include realmgate/proxy-headers.conf;")
        headers += text.count("include realmgate/guard-request.conf;")
        # Passes on no header of the caller.
        headers += text.count("include realmgate/certificate-refusal.conf;")
        if "proxy_pass http" in text:
            passing[path.name] = text.count("proxy_pass http")
            assert headers == passing[path.name], path.name
    assert passing == {
        "error-pages.conf": 2,
        "gateway.conf": 1,
        "guard-server.conf": 1,
        "guard-cache.conf": 1,
        "guard-pages.conf": 2,
    }
