"""The DPoP header at the edge, and the URLs that its proof may name. RFC 9449 §4.3."""

from typing import Any

import pytest

from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.ports.client_keys import NO_PROOF, SentProof
from gateway.http.certificate_lookup import NginxLookup
from gateway.http.edge import Edge, ProofRepeated, ProxyTrust, sent_proof

_EDGE = Edge(trust=ProxyTrust((), None), lookup=NginxLookup(), certificates=X509CertificateParser())
_STRANGER = ("203.0.113.7", 4711)


def _sent(addresses: tuple[str, ...], *proofs: bytes, **scope: Any) -> SentProof:
    asked = {
        "method": "POST",
        "raw_path": b"/realms/demo/token?a=b",
        "scheme": "https",
        "client": _STRANGER,
        "headers": [(b"dpop", proof) for proof in proofs],
    }
    return sent_proof(_EDGE.facts(asked | scope), addresses)


def test_a_request_without_the_header_has_no_proof() -> None:
    assert _sent(("https://id.test",)) is NO_PROOF


def test_a_proof_may_name_each_address_of_the_endpoint() -> None:
    addresses = ("https://id.test", "https://mtls.test:8443")
    urls = ("https://id.test/realms/demo/token", "https://mtls.test:8443/realms/demo/token")
    assert _sent(addresses, b"a.b.c") == SentProof("a.b.c", "POST", urls)


def test_the_address_path_may_be_kept_or_removed_by_the_proxy() -> None:
    urls = _sent(("https://id.test/auth",), b"a.b.c").urls
    assert urls == (
        "https://id.test/auth/realms/demo/token",
        "https://id.test/realms/demo/token",
    )


def test_a_path_beyond_ascii_is_escaped() -> None:
    urls = _sent(("https://id.test",), b"a.b.c", raw_path="/realms/d\u00e9mo".encode()).urls
    assert urls == ("https://id.test/realms/d%C3%A9mo",)


@pytest.mark.parametrize("second", [b"a.b.c", b"d.e.f"])
def test_of_two_headers_none_counts(second: bytes) -> None:
    """Also where no proxy is in front, which refuses them. Attacks A4."""
    assert _sent(("https://id.test",), b"a.b.c", second).text == ""


def test_a_second_proof_is_the_refusal_before_a_wrong_address() -> None:
    behind_proxy = {
        "client": None,
        "headers": [(b"dpop", b"a.b.c"), (b"dpop", b"d.e.f"), (b"x-forwarded-for", b"no address")],
    }
    with pytest.raises(ProofRepeated):
        _sent(("https://id.test",), **behind_proxy)
