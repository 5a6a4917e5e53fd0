"""A client certificate through nginx, HAProxy, Apache, Caddy and Envoy to the gateway.

The listeners take a certificate optionally, require one, or take one of any authority.
Attacks A2, A4, A6, A17, A19
"""

import base64
from collections.abc import Iterator
from urllib.parse import quote

import httpx2
import pytest

from tests.support.edge_certificates import (
    OVERSIZED,
    REFUSED,
    REVOKED,
    STRANGERS,
    EdgeCertificates,
)
from tests.support.gateway_proxies import LISTENERS, SETTINGS, GatewayProxy, start_gateway_behind
from tests.support.spec_stack import protocol
from tests.support.wire import BOUND, DEVICE_SUBJECT, device

REALM = {
    "realm": "edge",
    "enabled": True,
    "defaultSignatureAlgorithm": "ES256",
    "clients": [device("device-1", DEVICE_SUBJECT, **BOUND)],
}
FORM = {"grant_type": "client_credentials", "client_id": "device-1", "scope": "openid"}
TOKEN, USERINFO = f"{protocol('edge')}/token", f"{protocol('edge')}/userinfo"
UNVERIFIED = {"caddy": {"any"}}
"""Listeners whose proxy verifies nothing: no certificate identifies a client there."""


@pytest.fixture(scope="module", params=SETTINGS)
def proxy(
    request: pytest.FixtureRequest, edge_certificates: EdgeCertificates
) -> Iterator[GatewayProxy]:
    """Run each proxy in front of a gateway that reads its dialect."""
    with start_gateway_behind(request.param, REALM, edge_certificates) as running:
        yield running


def ask(
    proxy: GatewayProxy,
    listener: str,
    certificate: str | None,
    headers: dict[str, str] | None = None,
    *,
    http2: bool = False,
) -> httpx2.Response | None:
    """Ask for a token; None where the proxy refuses the connection."""
    try:
        with proxy.client(certificate, http2=http2) as client:
            return client.post(f"{proxy.url(listener)}{TOKEN}", data=FORM, headers=headers)
    except httpx2.TransportError:
        return None


def test_a_certificate_authenticates_and_binds_the_token(proxy: GatewayProxy) -> None:
    for listener in LISTENERS:
        for http2 in (False, True):
            answer = ask(proxy, listener, "device-1", http2=http2)
            assert answer is not None
            unverified = listener in UNVERIFIED.get(proxy.name, ())
            assert answer.status_code == (401 if unverified else 200), (listener, answer.text)
            other = ask(proxy, listener, "device-2", http2=http2)
            assert other is not None
            assert other.status_code == 401
    granted = ask(proxy, "optional", "device-1")
    assert granted is not None
    token = granted.json()["access_token"]
    for listener in LISTENERS:
        url = f"{proxy.url(listener)}{USERINFO}"
        for certificate, status in (("device-1", 200), ("device-2", 401), (None, 401)):
            if listener == "required" and certificate is None:
                continue
            with proxy.client(certificate) as client:
                found = client.get(url, headers={"Authorization": f"Bearer {token}"})
            assert found.status_code == status, (listener, certificate, found.text)


def test_a_bad_certificate_is_no_credential_on_any_listener(proxy: GatewayProxy) -> None:
    """Attacks A6: where the proxy lets it pass, the gateway refuses it."""
    for listener in LISTENERS:
        for certificate in (*REFUSED, *STRANGERS, REVOKED):
            answer = ask(proxy, listener, certificate)
            assert answer is None or answer.status_code in {400, 401}, (listener, certificate)


def test_a_large_certificate_passes_and_a_huge_one_is_no_5xx(
    proxy: GatewayProxy,
) -> None:
    """Attacks A17."""
    answer = ask(proxy, "optional", "large")
    assert answer is not None
    assert answer.json()["error"] == "invalid_client"
    for certificate in OVERSIZED:
        answer = ask(proxy, "optional", certificate)
        assert answer is None or answer.status_code < 500, (certificate, answer)


def test_a_forged_certificate_authenticates_nobody(proxy: GatewayProxy) -> None:
    """Attacks A2, A4: the certificate of the device in every dialect, header and spelling."""
    pem = proxy.certificates.pair("device-1").with_suffix(".crt").read_text()
    leaf = pem[: pem.index("-----END")] + "-----END CERTIFICATE-----\n"
    der = "".join(leaf.splitlines()[1:-1])
    assert base64.b64decode(der)
    escaped = quote(leaf, safe="")
    values = {
        "ssl-client-cert": {
            "nginx": escaped,
            "haproxy": der,
            "apache": leaf.replace("\n", " ").strip(),
            "caddy": escaped,
            "envoy": escaped,
        }[proxy.name],
        "Client-Cert": f":{der}:",
        "X-Forwarded-Client-Cert": f'Chain="{escaped}"',
        "X-Forwarded-Tls-Client-Cert": der,
    }
    names = list(values.items())
    names += [(name.lower().replace("-", "_"), value) for name, value in values.items()]
    for listener, certificate in (("optional", None), ("optional", "device-2"), ("any", None)):
        for http2 in (False, True):
            with proxy.client(certificate, http2=http2) as client:
                for name, value in names:
                    for verdict in ("SUCCESS", "0"):
                        forged = {name.lower(): value, "ssl-client-verify": verdict}
                        answer = client.post(
                            f"{proxy.url(listener)}{TOKEN}", data=FORM, headers=forged
                        )
                        assert answer.status_code in {400, 401, 403}, (name, answer.text)
