"""ssl_required: none, external, all. Keycloak: 13."""

import pytest

from gateway.domain.realm import SslRequired
from gateway.protocol.requests import transport_is_sufficient

LOCAL = [
    *("127.0.0.1", "127.8.9.1", "::1", "10.0.0.1", "172.16.0.1", "172.31.255.254"),
    *("192.168.1.1", "169.254.1.1", "fe80::1", "fec0::1", "fd12::1", "::ffff:10.0.0.1"),
]
EXTERNAL = [
    *("203.0.113.5", "8.8.8.8", "172.32.0.1", "11.0.0.1", "192.169.0.1", "2001:db8::1"),
    *("::ffff:8.8.8.8", "unix:", "", "10.0.0.1, 8.8.8.8", "localhost"),
]


@pytest.mark.parametrize("address", [*LOCAL, *EXTERNAL])
@pytest.mark.parametrize("required", list(SslRequired))
def test_tls_is_always_sufficient(required: SslRequired, address: str) -> None:
    assert transport_is_sufficient(required, address, secure=True)


@pytest.mark.parametrize("address", [*LOCAL, *EXTERNAL])
def test_none_asks_nobody_for_tls(address: str) -> None:
    assert transport_is_sufficient(SslRequired.NONE, address, secure=False)


@pytest.mark.parametrize("address", [*LOCAL, *EXTERNAL])
def test_all_asks_everybody_for_tls(address: str) -> None:
    assert not transport_is_sufficient(SslRequired.ALL, address, secure=False)


@pytest.mark.parametrize("address", LOCAL)
def test_external_spares_local_networks(address: str) -> None:
    assert transport_is_sufficient(SslRequired.EXTERNAL, address, secure=False)


@pytest.mark.parametrize("address", EXTERNAL)
def test_external_asks_everybody_else_and_whoever_has_no_address(address: str) -> None:
    assert not transport_is_sufficient(SslRequired.EXTERNAL, address, secure=False)
