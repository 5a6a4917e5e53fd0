"""Who counts as our proxy. RFC 8705 §6.5; attacks A1, A2."""

from ipaddress import ip_network

import pytest

from gateway.domain.secrets import Secret
from gateway.http.edge import ProxyTrust

SECRET = Secret("a long shared secret")
NETWORKS = (ip_network("10.0.0.0/8"), ip_network("fd00::/8"))
Peer = tuple[str, int] | None


@pytest.mark.parametrize(
    ("peer", "secret", "accepted"),
    [
        (("10.1.2.3", 1), b"a long shared secret", True),
        (("::ffff:10.1.2.3", 1), b"a long shared secret", True),
        (("fd00::1", 1), b"a long shared secret", True),
        (("10.1.2.3", 1), b"another secret", False),
        (("10.1.2.3", 1), None, False),
        (("192.0.2.1", 1), b"a long shared secret", False),
        (("not an address", 1), b"a long shared secret", False),
        (None, b"a long shared secret", True),
        (None, None, False),
        (None, b"another secret", False),
    ],
)
def test_every_peer_needs_the_secret_and_tcp_peers_a_listing(
    peer: Peer, secret: bytes | None, *, accepted: bool
) -> None:
    assert ProxyTrust(NETWORKS, SECRET).accepts(peer, secret) is accepted


@pytest.mark.parametrize(
    ("peer", "accepted"), [(None, True), (("10.1.2.3", 1), False), (("127.0.0.1", 1), False)]
)
def test_without_a_secret_only_the_unix_socket_is_accepted(peer: Peer, *, accepted: bool) -> None:
    assert ProxyTrust(NETWORKS, None).accepts(peer, None) is accepted


@pytest.mark.parametrize(
    ("secret", "peer", "sent", "reason"),
    [
        (None, ("10.1.2.3", 1), None, "not trusted without REALMGATE_PROXY_SECRET"),
        (SECRET, None, None, "did not send the proxy secret"),
        (SECRET, None, b"another secret", "sent another proxy secret"),
        (SECRET, ("192.0.2.1", 1), b"a long shared secret", "192.0.2.1 is not in REALMGATE_TR"),
    ],
)
def test_the_cause_of_distrust_is_named_without_the_secret(
    secret: Secret | None, peer: Peer, sent: bytes | None, reason: str
) -> None:
    found = ProxyTrust(NETWORKS, secret).reason_for_distrust(peer, sent)
    assert reason in found
    assert SECRET.reveal() not in found
    assert "another secret" not in found
