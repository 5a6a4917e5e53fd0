"""What the gateway believes of a connection. Attacks A1 to A4, A18 to A22; Keycloak: 11.1, 13."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest

from tests.support.certificates import Zoo
from tests.support.gateway_process import start_gateway, until
from tests.support.ports import free_port
from tests.support.wire import DEVICE_SUBJECT, REALMS, SECRET, Wire, claims_of, device, protocol

DEVICE = {"grant_type": "client_credentials", "client_id": "device-1"}
SVC = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
HTTPS_REQUIRED = {"error": "invalid_request", "error_description": "HTTPS required"}


def test_two_certificates_are_one_too_many(wire: Wire) -> None:
    value = wire.certificates["device-1"]
    for name in ("ssl-client-cert", "SSL-Client-Cert"):
        headers = [("ssl-client-cert", value), (name, value), ("ssl-client-verify", "SUCCESS")]
        response = wire.http.post(protocol("wire", "token"), data=DEVICE, headers=headers)
        assert response.status_code == 400


@pytest.mark.parametrize("name", ["ssl_client_cert", "ssl-client_cert", "ssl_client_verify"])
def test_another_spelling_is_refused(wire: Wire, name: str) -> None:
    """attacks: A4."""
    headers = {name: wire.certificates["device-1"]}
    response = wire.http.post(protocol("wire", "token"), data=DEVICE, headers=headers)
    assert response.status_code == 400


@pytest.mark.parametrize(
    "value",
    [
        "%",
        "%zz",
        "garbage",
        "-----BEGIN CERTIFICATE-----",
        quote("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
    ],
)
def test_an_undecodable_certificate_is_400_with_the_reason(wire: Wire, value: str) -> None:
    headers = {"ssl-client-cert": value, "ssl-client-verify": "SUCCESS"}
    response = wire.http.post(protocol("wire", "token"), data=SVC, headers=headers)
    text = "The client certificate cannot be read"
    assert response.status_code == 400
    assert response.json() == {"error": "invalid_request", "error_description": text}


@pytest.mark.parametrize("value", ["not-an-address", "203.0.113.1, 10.0.0.1", "localhost", ""])
def test_a_forwarded_address_that_is_none_is_400(wire: Wire, value: str) -> None:
    """attacks: A20."""
    response = wire.token_request(X_Forwarded_For=value)
    assert response.status_code == 400


def test_the_clients_address_is_the_proxys_word(wire: Wire) -> None:
    claims = claims_of(wire.token(X_Forwarded_For="2001:DB8::1"))
    assert claims["clientAddress"] == "2001:db8::1"


@pytest.mark.parametrize(
    ("realm", "address", "scheme", "sufficient"),
    [
        ("wire", "203.0.113.5", "http", True),
        ("tls-all", "203.0.113.5", "https", True),
        ("tls-all", "203.0.113.5", "http", False),
        ("tls-all", "127.0.0.1", "http", False),
        ("tls-all", "203.0.113.5", "HTTPS", False),
        ("tls-external", "203.0.113.5", "http", False),
        ("tls-external", "203.0.113.5", "https", True),
        ("tls-external", "10.1.2.3", "http", True),
    ],
)
def test_ssl_required_is_judged_on_the_proxys_word(
    wire: Wire, realm: str, address: str, scheme: str, *, sufficient: bool
) -> None:
    """Specification 2.1 ssl_required; attacks A22."""
    how = {"X-Forwarded-For": address, "X-Forwarded-Proto": scheme}
    answers = [
        wire.http.post(protocol(realm, "token"), data=SVC, headers=how),
        wire.http.post(protocol(realm, "revoke"), data=SVC | {"token": "x"}, headers=how),
        wire.http.post(protocol(realm, "token/introspect"), data=SVC | {"token": "x"}, headers=how),
        wire.get(protocol(realm, "certs"), **how),
        wire.get(f"/realms/{realm}/.well-known/openid-configuration", **how),
        wire.get(f"/realms/{realm}", **how),
    ]
    if sufficient:
        assert [answer.status_code for answer in answers] == [200] * 6
    else:
        assert [answer.json() for answer in answers] == [HTTPS_REQUIRED] * 6
        assert {answer.status_code for answer in answers} == {403}


def test_tls_is_required_before_a_disabled_realm_is_reported(wire: Wire) -> None:
    response = wire.post("token", {}, realm="tls-all-off", X_Forwarded_Proto="http")
    assert response.json() == HTTPS_REQUIRED


def test_a_stranger_on_tcp_is_believed_nothing(tmp_path: Path, certificate_zoo: Zoo) -> None:
    """Attacks A1: the header counts from a listed peer with the shared secret alone."""
    realm = {"realm": "r", "enabled": True, "sslRequired": "external"}
    realm["clients"] = [device("device-1", DEVICE_SUBJECT)]
    (tmp_path / "realms.json").write_text(json.dumps(realm))
    port, secret = free_port(), "a shared secret of the proxy"
    with start_gateway(
        tmp_path,
        listen=f"127.0.0.1:{port}",
        trusted_proxies="127.0.0.1",
        proxy_secret=secret,
        import_realm=tmp_path / "realms.json",
        client_ca_file=certificate_zoo.directory / "ca.crt",
        client_crl_file=certificate_zoo.directory / "ca.crl",
    ) as gateway:
        headers = {
            "ssl-client-cert": quote((certificate_zoo.directory / "device-1.crt").read_text()),
            "ssl-client-verify": "SUCCESS",
            "X-Forwarded-For": "203.0.113.7",
            "X-Forwarded-Proto": "https",
        }
        url = f"http://127.0.0.1:{port}{protocol('r', 'token')}"
        with httpx2.Client(headers=headers) as http:
            for wrong in ({}, {"X-Realmgate-Proxy-Secret": "another secret of nobody"}):
                response = http.post(url, data=DEVICE, headers=wrong)
                assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
            proxied = http.post(url, data=DEVICE, headers={"X-Realmgate-Proxy-Secret": secret})
            claims = claims_of(proxied.json()["access_token"])
        assert claims["clientAddress"] == "203.0.113.7"
        seen = [line for line in gateway.log() if line["event"] == "security"]
        assert [line["kind"] for line in seen] == ["untrusted_certificate_header"] * 2
        assert "did not send the proxy secret" in seen[0]["reason"]
        assert "sent another proxy secret" in seen[1]["reason"]
        assert secret not in gateway.log_text()
        counted = 'realmgate_security_events_total{kind="untrusted_certificate_header"} 2.0'
        until(lambda: counted in gateway.metrics(), "the events are not counted")


@pytest.mark.parametrize("listener", ["unix", "tcp"])
def test_a_peer_without_the_secret_is_no_proxy_on_any_listener(
    tmp_path: Path, certificate_zoo: Zoo, listener: str
) -> None:
    """A configured secret is required on a unix socket too, and TCP is never trusted without one.

    attacks: A1, A2.
    """
    realm = {"realm": "r", "enabled": True, "sslRequired": "none"}
    realm["clients"] = [device("device-1", DEVICE_SUBJECT)]
    (tmp_path / "realms.json").write_text(json.dumps(realm))
    port, secret = free_port(), "a shared secret of the proxy"
    settings: dict[str, Any] = {"listen": f"127.0.0.1:{port}"}
    if listener == "unix":
        settings = {"proxy_secret": secret}
    with start_gateway(
        tmp_path,
        import_realm=tmp_path / "realms.json",
        client_ca_file=certificate_zoo.directory / "ca.crt",
        client_crl_file=certificate_zoo.directory / "ca.crl",
        **settings,
    ) as gateway:
        shown = {
            "ssl-client-cert": quote((certificate_zoo.directory / "device-1.crt").read_text()),
            "ssl-client-verify": "SUCCESS",
        }
        over_tcp = httpx2.Client(base_url=f"http://127.0.0.1:{port}", headers=shown)
        with gateway.client(**shown) if listener == "unix" else over_tcp as http:
            response = http.post(protocol("r", "token"), data=DEVICE)
            assert (response.status_code, response.json()["error"]) == (401, "invalid_client")
            if listener == "unix":
                proof = {"X-Realmgate-Proxy-Secret": secret}
                assert http.post(protocol("r", "token"), data=DEVICE, headers=proof).is_success
        (seen,) = [line for line in gateway.log() if line["event"] == "security"]
        assert seen["kind"] == "untrusted_certificate_header"


def test_a_listed_secret_from_an_unlisted_peer_is_not_enough(tmp_path: Path) -> None:
    (tmp_path / "realms.json").write_text(json.dumps(REALMS[3]))
    port, secret = free_port(), "a shared secret of the proxy"
    with start_gateway(
        tmp_path,
        listen=f"127.0.0.1:{port}",
        trusted_proxies="192.0.2.1",
        proxy_secret=secret,
        import_realm=tmp_path / "realms.json",
    ) as gateway:
        headers = {"X-Forwarded-Proto": "https", "X-Realmgate-Proxy-Secret": secret}
        url = f"http://127.0.0.1:{port}{protocol('tls-all', 'token')}"
        assert httpx2.post(url, data=SVC, headers=headers).json() == HTTPS_REQUIRED
        (seen,) = [line for line in gateway.log() if line["event"] == "security"]
        assert seen["kind"] == "untrusted_proxy_headers"
        assert "127.0.0.1 is not in REALMGATE_TRUSTED_PROXIES" in seen["reason"]
