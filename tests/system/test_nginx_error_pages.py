"""nginx's own errors: readable for people, JSON for programs, with the request's id.

The gateway's own errors pass unchanged.
"""

import itertools
import re
import ssl
from collections.abc import Iterator

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import Edge, RunningNginx, changed_source, make_prefix, start_nginx
from tests.support.recording_upstream import ERROR_OF_ITS_OWN

STATUSES = {
    400: 400,
    404: 404,
    405: 405,
    413: 413,
    414: 414,
    421: 421,
    429: 429,
    494: 400,
    495: 400,
    496: 400,
    497: 400,
    500: 500,
    501: 501,
    502: 502,
    503: 503,
    504: 504,
    505: 505,
}
RETURNING = {
    "realmgate.conf": (
        "        location / {",
        "".join(f"location = /return/{code} {{ return {code}; }}\n" for code in STATUSES)
        + "        location / {",
    )
}
TOKEN_ENDPOINT = "/realms/demo/protocol/openid-connect/token"
BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.fixture(scope="module")
def without_gateway(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[RunningNginx]:
    """Run an nginx whose gateway is down, and that can be asked for every error."""
    prefix = make_prefix(tmp_path_factory.mktemp("without-gateway"))
    with start_nginx(
        prefix,
        edge_certificates.folder,
        [f"unix:{prefix}/run/nobody-there.sock"],
        source=changed_source(prefix, RETURNING),
    ) as nginx:
        yield nginx


SECURITY_HEADERS = {
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "SAMEORIGIN",
    "x-robots-tag": "none",
}
OVER_TLS = SECURITY_HEADERS | {"strict-transport-security": "max-age=31536000; includeSubDomains"}
"""What a realm has by default: nginx knows no realm."""


def security_headers(response: httpx2.Response) -> dict[str, str]:
    """Return the headers for browsers that a response has."""
    found = {name: ", ".join(response.headers.get_list(name)) for name in OVER_TLS}
    return {name: value for name, value in found.items() if value}


def check_page(response: httpx2.Response) -> str:
    """Check what holds for every error page and return its text."""
    text = response.text
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert text.startswith("<!doctype html>")
    assert re.search(r"<h1>[A-Z][^<]{10,}</h1>", text)
    assert "<h2>What to do</h2>" in text
    assert response.headers["x-request-id"] in text
    assert response.headers["server"] == "nginx"
    assert not re.search(r"<script|\son\w+=|https?://[^ ]|url\(|@import|\$realmgate|nginx", text)
    return text


@pytest.mark.parametrize(("code", "status"), STATUSES.items())
def test_people_get_a_page(without_gateway: RunningNginx, code: int, status: int) -> None:
    with without_gateway.client() as client:
        url = f"{without_gateway.https}/return/{code}"
        response = client.get(url, headers={"Accept": BROWSER})
    assert response.status_code == status
    assert f"Error {status}" in check_page(response)
    assert "style-src 'unsafe-inline'" in response.headers["content-security-policy"]
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(("code", "status"), STATUSES.items())
def test_programs_get_json(without_gateway: RunningNginx, code: int, status: int) -> None:
    with without_gateway.client() as client:
        url = f"{without_gateway.https}/return/{code}"
        response = client.get(url, headers={"Accept": "application/json"})
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    assert set(response.json()) == {"error", "error_description", "request_id"}
    assert response.json()["request_id"] == response.headers["x-request-id"]
    assert re.fullmatch(r"[a-z_]+", response.json()["error"])
    assert len(response.json()["error_description"]) > 50
    assert "$" not in response.text


@pytest.mark.parametrize("accept", ["application/json", BROWSER])
def test_each_error_has_the_headers_of_a_realm(without_gateway: RunningNginx, accept: str) -> None:
    """Above all 400, 413 and 421, which nginx answers in place of the gateway."""
    with without_gateway.client() as client:
        for code in STATUSES:
            url = f"{without_gateway.https}/return/{code}"
            response = client.get(url, headers={"Accept": accept})
            assert security_headers(response) == OVER_TLS, code


def test_errors_that_requests_cause_have_the_headers(edge: Edge) -> None:
    with edge.nginx.client() as client:
        url = f"{edge.nginx.https}{TOKEN_ENDPOINT}"
        responses = [
            client.post(url, content=b"x" * 65_537),
            client.get(url, headers={"Host": "elsewhere.test"}),
            client.request("TRACE", url),
        ]
    assert [response.status_code for response in responses] == [413, 421, 405]
    assert [security_headers(response) for response in responses] == [OVER_TLS] * 3


def test_strict_transport_security_is_not_sent_in_clear(edge: Edge) -> None:
    """RFC 6797 §7.2."""
    url = f"http://localhost:{edge.nginx.site.mtls_port}/"
    with edge.nginx.client() as client:
        assert security_headers(client.get(url)) == SECURITY_HEADERS


@pytest.mark.parametrize("path", [TOKEN_ENDPOINT, "/admin/realms", "/"])
def test_trace_is_refused_with_the_methods_that_are_allowed(edge: Edge, path: str) -> None:
    """RFC 9110 §15.5.6."""
    with edge.nginx.client() as client:
        response = client.request("TRACE", f"{edge.nginx.https}{path}")
        other = client.get(f"{edge.nginx.https}{path}", headers={"Host": "elsewhere.test"})
    assert response.status_code == 405
    assert response.headers["allow"] == "GET, HEAD, POST, PUT, DELETE, OPTIONS"
    assert "allow" not in other.headers
    assert not edge.upstream.received


def test_each_error_has_texts_of_its_own(without_gateway: RunningNginx) -> None:
    with without_gateway.client() as client:
        pages = [
            client.get(f"{without_gateway.https}/return/{code}", headers={"Accept": "text/html"})
            for code in STATUSES
        ]
    titles = [re.findall("<h1>(.*)</h1>", page.text)[0] for page in pages]
    assert len(set(titles)) == len(STATUSES)


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        ("/", "*/*", "text/html"),
        ("/", None, "text/html"),
        ("/", "application/problem+json", "application/json"),
        (TOKEN_ENDPOINT, "*/*", "application/json"),
        (TOKEN_ENDPOINT, None, "application/json"),
        (f"/auth{TOKEN_ENDPOINT}/introspect", "*/*", "application/json"),
        ("/admin/realms/demo", "*/*", "application/json"),
        (TOKEN_ENDPOINT, BROWSER, "text/html"),
        (f"/?next={TOKEN_ENDPOINT}", "*/*", "text/html"),
    ],
)
def test_the_caller_decides_between_page_and_json(
    without_gateway: RunningNginx, path: str, accept: str | None, kind: str
) -> None:
    with without_gateway.client() as client:
        del client.headers["accept"]
        headers = {} if accept is None else {"Accept": accept}
        response = client.get(f"{without_gateway.https}{path}", headers=headers)
    assert response.status_code == 502
    assert response.headers["content-type"].startswith(kind)


@pytest.mark.parametrize(
    ("code", "again"), [(429, "2"), (500, None), (502, "2"), (503, "2"), (504, "2")]
)
def test_passing_troubles_say_when_to_come_back(
    without_gateway: RunningNginx, code: int, again: str | None
) -> None:
    with without_gateway.client() as client:
        response = client.get(f"{without_gateway.https}/return/{code}")
    assert response.headers.get("retry-after") == again


def test_plain_http_on_a_tls_port_is_told_to_use_https(edge: Edge) -> None:
    url = f"http://localhost:{edge.nginx.site.mtls_port}/"
    with edge.nginx.client() as client:
        response = client.get(url, headers={"Accept": "text/html"})
    assert response.status_code == 400
    assert "This address speaks HTTPS only" in check_page(response)


@pytest.mark.parametrize(
    ("request_bytes", "status", "phrase"),
    [
        (b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "not a well-formed HTTP request"),
        (b"GET / HTTP/1.1\r\n\r\n", 400, "not a well-formed HTTP request"),
        (b"GARBAGE\r\n\r\n", 400, "not a well-formed HTTP request"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: b\r\n c\r\n\r\n", 400, "not a well-formed HTTP"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, "not a well-formed HTTP request"),
        (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"x" * 70_000 + b"\r\n\r\n", 400, "A header is"),
        (b"GET /" + b"x" * 70_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, "The address is longer"),
        (b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n", 501, "transfer encoding"),
        (b"GET / HTTP/9.1\r\nHost: a\r\n\r\n", 505, "version of HTTP"),
        (b"TRACE / HTTP/1.1\r\nHost: a\r\n\r\n", 405, "does not offer this HTTP method"),
    ],
)
def test_unreadable_requests_are_explained(
    edge: Edge, request_bytes: bytes, status: int, phrase: str
) -> None:
    closing = request_bytes.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nConnection: close\r\n", 1)
    answer = edge.nginx.raw(edge.nginx.site.http_port, closing).decode()
    assert phrase in answer
    # The words GARBAGE are HTTP/0.9 to nginx, whose answers have no status line.
    assert answer.startswith((f"HTTP/1.1 {status} ", "<!doctype html>"))


@pytest.mark.parametrize("target", [b"/\xc3\xa4", b"/\xff", b"/?a=\xe4"])
def test_addresses_beyond_ascii_are_explained(edge: Edge, target: bytes) -> None:
    """RFC 3986 §2: such bytes are percent-encoded; h11 refuses them without a word."""
    context = ssl.create_default_context(cafile=edge.nginx.site.certificates / "ca.crt")
    request = b"GET " + target + b" HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
    answer = edge.nginx.raw(edge.nginx.site.https_port, request, context).decode()
    assert answer.startswith("HTTP/1.1 400 ")
    assert "not a well-formed HTTP request" in answer
    assert not edge.upstream.received


def test_a_body_over_64_kb_is_refused_before_the_gateway(edge: Edge) -> None:
    url = f"{edge.nginx.https}{TOKEN_ENDPOINT}"
    with edge.nginx.client() as client:
        assert client.post(url, content=b"x" * 65_536).status_code == 200
        edge.upstream.forget()
        response = client.post(url, content=b"x" * 65_537)
    assert response.status_code == 413
    assert response.json()["error"] == "invalid_request"
    assert not edge.upstream.received


def test_an_announced_body_over_64_kb_is_refused_over_http2(edge: Edge) -> None:
    with edge.nginx.client(http2=True) as client:
        response = client.post(
            f"{edge.nginx.https}{TOKEN_ENDPOINT}",
            content=b"the first bytes",
            headers={"Content-Length": "65537"},
        )
    assert (response.http_version, response.status_code) == ("HTTP/2", 413)
    assert response.json()["error"] == "invalid_request"
    assert not edge.upstream.received


def test_the_gateways_own_errors_pass_unchanged(edge: Edge) -> None:
    with edge.nginx.client() as client:
        response = client.get(f"{edge.nginx.https}{ERROR_OF_ITS_OWN}")
    assert (response.status_code, response.json()) == (503, {"target": ERROR_OF_ITS_OWN})


def test_error_pages_cannot_be_asked_for(edge: Edge) -> None:
    with edge.nginx.client() as client:
        for kind in ("html", "json"):
            response = client.get(f"{edge.nginx.https}/.realmgate/error/{kind}/502")
            assert response.status_code == 404
    assert not edge.upstream.received


def test_a_missing_certificate_is_said_in_the_own_language(
    without_gateway: RunningNginx,
) -> None:
    """The page without a gateway; JSON and other errors stay in English."""
    english = "A client certificate is needed"
    for languages, lang, direction, title in (
        ("fr-CH, en;q=0.5", "fr", "ltr", "Un certificat client est nécessaire"),
        ("ja", "ja", "ltr", "クライアント証明書が必要です"),
        ("AR", "ar", "rtl", "شهادة العميل مطلوبة"),
        ("den, fr", "en", "ltr", english),
        ("it", "en", "ltr", english),
        ("", "en", "ltr", english),
    ):
        asked = {"Accept": "text/html", "Accept-Language": languages}
        with without_gateway.client() as client:
            page = client.get(f"{without_gateway.mtls}/", headers=asked).text
            other = client.get(f"{without_gateway.https}/", headers=asked).text
            asked["Accept"] = "application/json"
            answer = client.get(f"{without_gateway.mtls}/", headers=asked).json()
        assert f'<html lang="{lang}" dir="{direction}">' in page, languages
        assert f"<h1>{title}</h1>" in page, languages
        assert '<html lang="en" dir="ltr">' in other
        assert "The service cannot be reached" in other
        assert answer["error_description"].startswith(english)


def test_colours_are_readable_in_light_and_dark(without_gateway: RunningNginx) -> None:
    """WCAG 2.2 §1.4.3: text stands out 4.5 to 1 from what is behind it."""
    with without_gateway.client() as client:
        page = client.get(f"{without_gateway.https}/", headers={"Accept": "text/html"}).text
    light, dark = (
        dict(re.findall(r"--(\w+):#([0-9a-f]{3,6})", block))
        for block in re.findall(r":root\{([^}]*)\}", page)
    )
    assert light.keys() == dark.keys()
    for colours, text, ground in itertools.product(
        (light, dark), ("ink", "soft", "accent"), ("card", "tint")
    ):
        assert contrast(colours[text], colours[ground]) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of two colours as WCAG defines it."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour written in hexadecimal."""
    digits = colour if len(colour) == 6 else "".join(digit * 2 for digit in colour)
    channels = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_crashed_gateway_is_a_readable_502(edge: Edge) -> None:
    with edge.nginx.client() as client:
        response = client.post(f"{edge.nginx.https}/fail/close", headers={"Accept": "text/html"})
    assert response.status_code == 502
    assert "The service cannot be reached" in check_page(response)
