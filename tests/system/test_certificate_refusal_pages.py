"""A refused or missing client certificate is explained, by the gateway through the real nginx.

nginx decides and sets the status; the gateway only says why. attacks: A6, A8
"""

import json
import re
import shutil
import socket
import ssl
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from scripts.certificate_outcomes_page import OUTCOMES
from scripts.outcomes_table import read_outcomes
from tests.support.certificate_kinds import KINDS, REGISTERED, make_certificate_kinds
from tests.support.chains import CA, Node, issue
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import start_gateway
from tests.support.nginx import PROXY_SECRET, Edge, RunningNginx, start_nginx

OF_MASTER: Final = issue("master root", None, CA)
OF_THE_REALM: Final = issue("authority of the realm", None, CA)
"""nginx does not know it."""
REALM: Final = {
    "realm": "demo",
    "enabled": True,
    "certificateAuthorities": [{"certificate": OF_THE_REALM.pem}],
    "attributes": {"realmgate.certificates.gatewayAuthorities": "true"},
}
MASTER: Final = {
    **REALM,
    "realm": "master",
    "certificateAuthorities": [{"certificate": OF_MASTER.pem}],
}
SPEAKING: Final = {
    **REALM,
    "realm": "speaking",
    "displayName": "North Company",
    "internationalizationEnabled": True,
    "supportedLocales": ["en", "fr"],
}
TOKEN: Final = "/realms/demo/protocol/openid-connect/token"
BROWSER: Final = {"Accept": "text/html"}
PROGRAM: Final = {"Accept": "application/json"}
STEPS: Final = {
    "expired": ("validity", r"It ended on \d{4}-\d\d-\d\d \d\d:\d\d UTC\."),
    "not yet valid": ("validity", r"It is not valid before \d{4}-.*UTC\."),
    "unknown CA": ("path", r"No trusted authority is known here that leads to its issuer\."),
    "self-signed": ("path", r"It is self-signed, and no authority here has issued it\."),
    "same-named CA with another key": ("path", r"No trusted authority is known here .*"),
    "wrong EKU": ("path", r"Its extended key usage does not allow client authentication\."),
    "weak key": ("path", r"Its key is weak .*"),
    "revoked": ("revocation", r"It was revoked\."),
}
"""The first failing step, and the sentence."""
OUTSIDE_OF_REALMS: Final = {
    "expired": ("validity", r"It ended on .*UTC\."),
    "unknown CA": ("path", r"No trusted authority is known here .*"),
    "revoked": ("revocation", r"It was revoked\."),
}


@pytest.fixture(scope="module")
def nginx(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[RunningNginx]:
    """Run nginx in front of a gateway that has the same authorities."""
    folder, certificates = tmp_path_factory.mktemp("refusals"), edge_certificates.folder
    (folder / "realm.json").write_text(json.dumps([REALM, SPEAKING, MASTER]))
    socket_address = f"unix:{folder / 'state/run/gateway.sock'}"
    with (
        start_nginx(folder, certificates, [socket_address], proxy_secret=PROXY_SECRET) as running,
        start_gateway(
            folder,
            import_realm=folder / "realm.json",
            public_url=running.https,
            proxy_secret=PROXY_SECRET,
            client_ca_file=certificates / "ca.crt",
            client_crl_file=certificates / "ca.crl",
        ),
    ):
        yield running


def get(
    nginx: RunningNginx, pair: Path | None, path: str, headers: dict[str, str], **options: Any
) -> httpx2.Response:
    """Ask the listener that requires certificates."""
    method = options.pop("method", "GET")
    with nginx.client(pair, http2=options.pop("http2", False)) as client:
        return client.request(method, f"{nginx.mtls}{path}", headers=headers, **options)


def _written(node: Node, pair: Path) -> Path:
    """Write the certificate and its key as files of that name, and return the name."""
    key = node.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    pair.with_suffix(".crt").write_text(node.pem)
    pair.with_suffix(".key").write_bytes(key)
    return pair


def test_the_first_failing_step_is_named(
    nginx: RunningNginx, edge_certificates: EdgeCertificates
) -> None:
    for path, expected in ((TOKEN, STEPS), ("/", OUTSIDE_OF_REALMS)):
        for kind, (step, sentence) in expected.items():
            response = get(nginx, edge_certificates.pair(kind), path, PROGRAM)
            answer = response.json()
            assert response.status_code == 400
            assert answer["failed_step"] == step, (kind, answer)
            assert answer["checks"][step] == "failed"
            assert re.search(f"refused. {sentence} ", answer["error_description"]), kind
            assert answer["request_id"] == response.headers["x-request-id"]


def test_an_accepted_certificate_is_directed_to_another_address(
    nginx: RunningNginx, tmp_path: Path
) -> None:
    """The anchors of a realm count where nginx passes certificates of unknown authorities on."""
    pair = _written(issue("device", OF_THE_REALM), tmp_path / "device")
    answer = get(nginx, pair, TOKEN, PROGRAM).json()
    assert answer["failed_step"] == "path"
    assert "This realm accepts it, but this address" in answer["error_description"]
    assert "optional_no_ca" in answer["error_description"]
    outside = get(nginx, pair, "/", PROGRAM).json()
    assert "No trusted authority is known here" in outside["error_description"]
    pair = _written(issue("clerk", OF_MASTER), tmp_path / "clerk")
    outside = get(nginx, pair, "/", PROGRAM).json()
    assert "The gateway accepts it, but this address accepts" in outside["error_description"]
    inside = get(nginx, pair, "/realms/master/account/", PROGRAM).json()
    assert "This realm accepts it, but this address accepts" in inside["error_description"]


def test_people_get_a_page_without_anything_to_load(
    nginx: RunningNginx, edge_certificates: EdgeCertificates
) -> None:
    for http2 in (False, True):
        pair = edge_certificates.pair("expired")
        response = get(nginx, pair, "/realms/demo/account?a=<b>", BROWSER, http2=http2)
        page = response.text
        assert response.status_code == 400
        assert response.headers["content-type"] == "text/html; charset=utf-8"
        assert "It ended on" in page
        assert "Renew the certificate" in page
        assert response.headers["x-request-id"] in page
        assert not re.search(r"<script|<link|\son\w+=|\sstyle=|https?://|url\(|<b>|demo", page)
        (style,) = re.findall(r"<style>(.*)</style>", page, re.DOTALL)
        digest = b64encode(sha256(style.encode()).digest()).decode()
        policy = response.headers["content-security-policy"]
        assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")
        assert response.headers["cache-control"] == "no-store"
        assert response.headers.get_list("x-content-type-options") == ["nosniff"]


def test_a_refusal_is_in_the_language_of_the_browser(
    nginx: RunningNginx, edge_certificates: EdgeCertificates
) -> None:
    """Where its realm offers the language, as on all pages."""
    pair, asked = edge_certificates.pair("expired"), {**BROWSER, "Accept-Language": "fr, en;q=0.5"}
    page = get(nginx, pair, "/realms/speaking/account", asked).text
    assert '<html lang="fr" dir="ltr">' in page
    assert "Votre certificat client a été refusé" in page
    assert re.search("Il a expiré le \u2066\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC\u2069", page)
    assert "North Company" in page
    assert '<html lang="en" dir="ltr">' in get(nginx, pair, "/realms/demo/account", asked).text
    missing = get(nginx, None, "/realms/speaking/account", asked).text
    assert "Un certificat client est nécessaire" in missing


def test_names_of_a_stranger_are_text(nginx: RunningNginx, tmp_path: Path) -> None:
    """A name is whatever its issuer wrote: markup, direction marks, any length."""
    node = issue("<b>\u202eevil</b>", issue("x" * 60, None, CA))
    page = get(nginx, _written(node, tmp_path / "evil"), TOKEN, BROWSER).text
    assert "\u202e" not in page
    assert r"CN=\&lt;b\&gt;" in page
    assert r"\<b" not in page


def test_a_missing_certificate_is_said_to_be_missing(nginx: RunningNginx) -> None:
    page = get(nginx, None, "/", BROWSER)
    answer = get(nginx, None, TOKEN, {"Accept": "*/*"})
    assert (page.status_code, answer.status_code) == (400, 400)
    assert "No certificate was sent." in page.text
    assert set(answer.json()) == {"error", "error_description", "request_id"}
    assert answer.json()["error"] == "invalid_client"


def test_head_has_no_body_and_a_small_post_is_explained(
    nginx: RunningNginx, edge_certificates: EdgeCertificates
) -> None:
    pair = edge_certificates.pair("expired")
    head = get(nginx, pair, TOKEN, BROWSER, method="HEAD")
    posted = get(nginx, pair, TOKEN, PROGRAM, method="POST", content=b"x" * 60_000)
    assert (head.status_code, head.content) == (400, b"")
    assert (posted.status_code, posted.json()["failed_step"]) == (400, "validity")


def test_a_large_body_is_not_read(nginx: RunningNginx, edge_certificates: EdgeCertificates) -> None:
    """The static page comes at once, while not one byte of the body has been sent."""
    tls = ssl.create_default_context(cafile=nginx.site.certificates / "ca.crt")
    pair = edge_certificates.pair("expired")
    tls.load_cert_chain(f"{pair}.crt", f"{pair}.key")
    head = f"POST {TOKEN} HTTP/1.1\r\nHost: localhost\r\n"
    for length in ("Content-Length: 65000", "Transfer-Encoding: chunked"):
        request = f"{head}{length}\r\n\r\n".encode()
        with (
            socket.create_connection(("127.0.0.1", nginx.site.mtls_port), timeout=4) as plain,
            tls.wrap_socket(plain, server_hostname="localhost") as connection,
        ):
            connection.sendall(request)
            answer = connection.recv(65536)
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b"The check ended with: certificate has expired" in answer


def test_nothing_but_the_certificate_goes_to_the_gateway(
    edge: Edge, edge_certificates: EdgeCertificates
) -> None:
    forged = {
        "ssl-client-verify": "SUCCESS",
        "X-Original-Request": "GET /realms/other/ HTTP/1.1",
        "Cookie": "session=secret",
        "Authorization": "Bearer secret",
    }
    response = get(
        *(edge.nginx, edge_certificates.pair("expired"), TOKEN, PROGRAM | forged),
        method="POST",
        content=b"password=secret",
    )
    (asked,) = edge.upstream.asked
    assert (asked.method, asked.target) == ("GET", "/.realmgate/certificate/json/495")
    assert asked.body == b""
    assert sorted(name.lower() for name, _ in asked.headers) == [
        "host",
        "ssl-client-cert",
        "ssl-client-verify",
        "x-forwarded-for",
        "x-forwarded-proto",
        "x-original-request",
        "x-realmgate-proxy-secret",
        "x-request-id",
    ]
    assert asked.all("ssl-client-verify") == ["FAILED:certificate has expired"]
    assert asked.all("x-original-request") == [f"POST {TOKEN} HTTP/1.1"]
    # The gateway had no page, so nginx shows its own.
    assert response.status_code == 400
    assert "The check ended with: certificate has expired" in response.json()["error_description"]


def test_no_callers_body_is_left_in_the_gateway_connection(
    edge: Edge, edge_certificates: EdgeCertificates
) -> None:
    """The gateway would read it as the beginning of the next request, which is of another caller.

    RFC 9112 §11.2 (request smuggling)
    """
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
    pair = edge_certificates.pair("expired")
    for _ in range(8):
        response = get(edge.nginx, pair, TOKEN, PROGRAM, method="POST", content=smuggled)
        assert response.status_code == 400
    asked = [(each.method, each.target) for each in edge.upstream.asked]
    assert asked == [("GET", "/.realmgate/certificate/json/495")] * 8
    assert edge.upstream.received == []


def test_a_body_of_unknown_length_is_limited_in_every_location(
    nginx: RunningNginx, edge_certificates: EdgeCertificates
) -> None:
    """HTTP/2 needs no length; below /admin/ bodies of many megabytes are accepted."""
    pair = edge_certificates.pair("expired")
    for size, is_explained in ((60_000, True), (70_000, False)):
        pieces = (b"x" * 10_000 for _ in range(size // 10_000))
        response = get(
            *(nginx, pair, "/admin/realms/demo", PROGRAM),
            method="POST",
            content=pieces,
            http2=True,
        )
        assert response.status_code == 400
        assert ("failed_step" in response.json()) == is_explained, size


def test_without_the_gateway_the_static_page_is_shown(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    upstream = f"unix:{tmp_path / 'nobody-there.sock'}"
    with start_nginx(tmp_path, edge_certificates.folder, [upstream]) as nginx:
        expired = get(nginx, edge_certificates.pair("expired"), "/", BROWSER)
        missing = get(nginx, None, TOKEN, PROGRAM)
    assert (expired.status_code, missing.status_code) == (400, 400)
    assert "The check ended with: certificate has expired" in expired.text
    assert "a certificate, and none was sent" in missing.json()["error_description"]
    assert expired.headers["x-request-id"] in expired.text


def test_the_pages_cannot_be_asked_for(nginx: RunningNginx) -> None:
    forged = {"X-Original-Request": f"GET {TOKEN} HTTP/1.1", "X-Realmgate-Proxy-Secret": "guess"}
    with nginx.client() as client:
        unknown = client.get(f"{nginx.https}/unknown")
        hidden = client.get(f"{nginx.https}/.realmgate/certificate/html/496", headers=forged)
        behind_prefix = client.get(
            f"{nginx.https}/auth/.realmgate/certificate/html/496", headers=forged
        )
    assert (unknown.status_code, hidden.status_code) == (404, 404)
    assert hidden.text == unknown.text
    assert (behind_prefix.status_code, behind_prefix.text) == (404, unknown.text)


def test_a_listener_that_takes_any_certificate_is_not_affected(
    nginx: RunningNginx, edge_certificates: EdgeCertificates
) -> None:
    with nginx.client(edge_certificates.pair("unknown CA")) as client:
        response = client.get(f"{nginx.self_signed}/realms/demo")
    assert (response.status_code, response.json()["realm"]) == (200, "demo")


UNLISTED: Final = issue("authority without a list", None, CA)
"""nginx and the gateway trust it, and neither has a revocation list of it."""
_OF_A_LIST: Final = "no revocation list of the authority that issued it"
_SELF_SIGNED: Final = "It is an authority's certificate: self-signed with CA:TRUE."


@pytest.fixture(scope="module")
def unlisted(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[RunningNginx]:
    """Run nginx and a gateway with an authority that has no revocation list."""
    folder = tmp_path_factory.mktemp("unlisted")
    certificates = folder / "certificates"
    shutil.copytree(edge_certificates.folder, certificates)
    bundle = certificates / "ca.crt"
    bundle.write_text(bundle.read_text() + UNLISTED.pem)
    (folder / "realm.json").write_text(json.dumps(REALM))
    address = f"unix:{folder / 'state/run/gateway.sock'}"
    with (
        start_nginx(folder, certificates, [address], proxy_secret=PROXY_SECRET) as running,
        start_gateway(
            folder,
            import_realm=folder / "realm.json",
            public_url=running.https,
            proxy_secret=PROXY_SECRET,
            client_ca_file=bundle,
            client_crl_file=certificates / "ca.crl",
        ),
    ):
        yield running


def test_chain_list_and_revocation_have_texts_of_their_own(
    unlisted: RunningNginx, edge_certificates: EdgeCertificates, tmp_path: Path
) -> None:
    below = issue("below", UNLISTED, CA)
    written = {
        "list": _written(issue("device", UNLISTED), tmp_path / "list"),
        "chain": _written(issue("device", below), tmp_path / "chain"),
        "revoked": edge_certificates.pair("revoked"),
        "CA:TRUE": _written(issue("device", None, CA), tmp_path / "authority"),
    }
    expected = {
        "list": ("revocation", _OF_A_LIST, "has to provide the current revocation list"),
        "chain": ("path", "No trusted authority is known here", "to trust the authority"),
        "revoked": ("revocation", "It was revoked.", "Choose another certificate."),
        "CA:TRUE": ("path", _SELF_SIGNED, "-addext basicConstraints=critical,CA:FALSE"),
    }
    for kind, (step, sentence, advice) in expected.items():
        for path in (TOKEN, "/", "/realms/unknown/account"):
            answer = get(unlisted, written[kind], path, PROGRAM).json()
            assert answer["failed_step"] == step, (kind, path, answer)
            assert sentence in answer["error_description"], (kind, path, answer)
            assert advice in answer["error_description"], (kind, path, answer)
            others = {text for other, (_, text, _) in expected.items() if other != kind}
            assert not [each for each in others if each in answer["error_description"]]
            # nginx says why in words of OpenSSL, and drops intermediate certificates.
            assert answer["proxy_reason"]
            assert "send its intermediate certificates" not in answer["error_description"]
            assert ("do not reach this service" in answer["error_description"]) == (kind == "chain")
            page = get(unlisted, written[kind], path, BROWSER).text
            assert f'<dd><bdi lang="en">{answer["proxy_reason"]}</bdi></dd>' in page


def test_the_static_page_repeats_the_words_of_the_check(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    upstream = f"unix:{tmp_path / 'nobody-there.sock'}"
    words = {
        "expired": "certificate has expired",
        "revoked": "certificate revoked",
        "unknown CA": "the authority that issued it is not known here",
        "self-signed": "",
    }
    with start_nginx(tmp_path, edge_certificates.folder, [upstream]) as nginx:
        for kind, said in words.items():
            page = get(nginx, edge_certificates.pair(kind), "/", BROWSER).text
            assert f"The check ended with: {said}" in page, kind
            assert ("(unable to " in page) is (kind in {"unknown CA", "self-signed"}), kind
            assert "send its intermediate certificates" not in page, kind
        for language in ("de", "fr", "es", "ja", "ar"):
            headers = BROWSER | {"Accept-Language": language}
            for kind, phrase in _OF_OPENSSL.items():
                page = get(nginx, edge_certificates.pair(kind), "/", headers).text
                assert f'<html lang="{language}"' in page
                shown = rf"<bdi lang='en' dir='ltr'>{phrase}</bdi>"
                assert re.search(shown, page), (language, kind)
                text = re.sub(r"(?s)<style.*?</style>|<bdi lang='en'.*?</bdi>|<[^>]*>", "", page)
                assert not re.search(r"The check|is not known|administrator", text), language


_OF_OPENSSL: Final = {
    "expired": "certificate has expired",
    "revoked": "certificate revoked",
    "unknown CA": "unable to [a-zA-Z ]+",
}
_UNKNOWN: Final = "path: No trusted authority is known here that leads to its issuer."
_ALONE: Final = "path: It is self-signed, and no authority here has issued it."
EVERY_KIND: Final = {
    "none": "No certificate was sent.",
    "none, with a forged header": "No certificate was sent.",
    REGISTERED: _ALONE,
    "self-signed, not registered": f"path: {_SELF_SIGNED}",
    "of an unknown authority": _UNKNOWN,
    "of an authority with the name of a trusted one": _UNKNOWN,
    "of an authority of the realm": "path: This realm accepts it, but this address accepts other",
    "expired": "validity: It ended on ",
    "not yet valid": "validity: It is not valid before ",
    "without client authentication in its purposes": "path: Its extended key usage does not allow",
    "weak key": "path: Its key is weak",
    "outside the name constraints of its authority": "path: Its authority may not issue",
    "revoked by a list": "revocation: It was revoked.",
    "its intermediate authority unknown": _UNKNOWN,
    "its intermediate authority registered in the realm": "path: The gateway knows the authority",
}
"""What nginx refuses of docs/certificate-outcomes.md: the step and the sentence."""


def test_every_certificate_that_nginx_refuses_has_a_true_text(
    tmp_path: Path, edge_certificates: EdgeCertificates
) -> None:
    kinds = make_certificate_kinds(edge_certificates, tmp_path)
    certificates = kinds.certificates
    (tmp_path / "realm.json").write_text(json.dumps(kinds.realm()))
    address = f"unix:{tmp_path / 'state/run/gateway.sock'}"
    found = {}
    with (
        start_nginx(tmp_path, certificates.folder, [address], proxy_secret=PROXY_SECRET) as nginx,
        start_gateway(
            tmp_path,
            import_realm=tmp_path / "realm.json",
            public_url=nginx.https,
            proxy_secret=PROXY_SECRET,
            client_ca_file=certificates.folder / "ca.crt",
            client_crl_file=certificates.folder / "ca.crl",
        ),
    ):
        for kind, name in KINDS.items():
            pair = None if name is None else certificates.pair(name)
            answer = get(nginx, pair, f"/realms/{kinds.realm()['realm']}", PROGRAM)
            if answer.status_code == 400:
                document = answer.json()
                text = document["error_description"].partition(". ")[2]
                step = document.get("failed_step")
                found[kind] = text if step is None else f"{step}: {text}"
                assert step is None or document["proxy_reason"], kind
    wrong = {
        kind: found.get(kind)
        for kind in {*found, *EVERY_KIND}
        if not found.get(kind, "").startswith(EVERY_KIND.get(kind, "-"))
    }
    assert wrong == {}
    assert found.keys() == {
        row["certificate"]
        for row in read_outcomes(OUTCOMES)
        if row["use"] == "client authentication"
        and row["outcomes"]["nginx on"] == "400 by the proxy"
    }
