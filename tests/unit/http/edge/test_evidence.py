"""The edge reports what the proxy said about a certificate, and decides nothing about it."""

import base64
from typing import Any
from urllib.parse import quote

import pytest

from gateway.crypto.x509.parse import parse_certificate
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.certificates import CertificateEvidence, ProxyVerdict
from gateway.domain.secrets import Secret
from gateway.http.certificate_lookup import LOOKUPS, LookupOptions, NginxLookup
from gateway.http.edge import Edge, EdgeRefusal, ProxyTrust
from tests.support.certificates import Zoo

UNIX_PEER = None
STRANGER = ("203.0.113.7", 4711)


@pytest.fixture(scope="module", name="edge")
def make_edge() -> Edge:
    return Edge(
        trust=ProxyTrust((), None), lookup=NginxLookup(), certificates=X509CertificateParser()
    )


def scope(
    certificate: str, verdict: str, client: tuple[str, int] | None = UNIX_PEER
) -> dict[str, Any]:
    headers = [
        (b"ssl-client-cert", quote(certificate, safe="").encode()),
        (b"ssl-client-verify", verdict.encode()),
    ]
    return {"headers": headers, "client": client, "scheme": "http"}


@pytest.mark.parametrize("kind", ["valid", "expired", "revoked", "weak key", "CA:TRUE"])
def test_a_certificate_is_reported_whatever_it_is_worth(
    edge: Edge, certificate_zoo: Zoo, kind: str
) -> None:
    certificate = certificate_zoo[kind]
    evidence = edge.facts(scope(certificate.certificate.read_text(), "SUCCESS")).certificate
    assert evidence is not None
    assert evidence.leaf.der == certificate.der
    assert evidence.leaf.subject == parse_certificate(certificate.der).subject
    assert (evidence.verdict, evidence.reason) == (ProxyVerdict.VERIFIED, None)
    assert (evidence.chain, evidence.lookup) == ((), "nginx")


def test_the_reason_of_a_failed_verification_is_reported(edge: Edge, certificate_zoo: Zoo) -> None:
    sent = scope(
        certificate_zoo["self-signed"].certificate.read_text(), "FAILED:self-signed certificate"
    )
    evidence = edge.facts(sent).certificate
    assert isinstance(evidence, CertificateEvidence)
    assert evidence.verdict is ProxyVerdict.FAILED
    assert evidence.reason == "self-signed certificate"


def test_a_certificate_with_another_verdict_is_other_evidence(
    edge: Edge, certificate_zoo: Zoo
) -> None:
    """What is known of a certificate is kept, and never what the proxy said of it before."""
    text = certificate_zoo["valid"].certificate.read_text()
    sent = ["SUCCESS", "FAILED:certificate revoked", "NONE", "SUCCESS", "FAILED:expired"]
    found = [edge.facts(scope(text, verdict)).certificate for verdict in sent]
    assert [one and (one.verdict, one.reason) for one in found] == [
        (ProxyVerdict.VERIFIED, None),
        (ProxyVerdict.FAILED, "certificate revoked"),
        (ProxyVerdict.NONE, None),
        (ProxyVerdict.VERIFIED, None),
        (ProxyVerdict.FAILED, "expired"),
    ]


def test_an_unparsable_certificate_is_refused_before_any_realm(
    edge: Edge,
) -> None:
    sent = scope("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "SUCCESS")
    with pytest.raises(EdgeRefusal, match="undecodable client certificate: not an X"):
        edge.facts(sent)


def test_the_chain_is_evidence_and_has_to_be_certificates(certificate_zoo: Zoo) -> None:
    """Attacks A18: a chain that cannot be parsed is refused as the leaf is."""
    edge = Edge(
        trust=ProxyTrust((), None),
        lookup=LOOKUPS["haproxy"](LookupOptions(chain_header="ssl-cert-chain", chain_length=2)),
        certificates=X509CertificateParser(),
    )
    leaf, issuer = certificate_zoo["valid"].der, certificate_zoo["CA:TRUE"].der
    for chain in (issuer, issuer + b"\x30\x03\x02\x01\x00", b"\x30\x00"):
        sent: dict[str, object] = {
            "headers": [
                (b"ssl-client-cert", base64.b64encode(leaf)),
                (b"ssl-cert-chain", base64.b64encode(chain)),
                (b"ssl-client-verify", b"0"),
            ],
            "client": UNIX_PEER,
            "scheme": "http",
        }
        if chain == issuer:
            evidence = edge.facts(sent).certificate
            assert evidence is not None
            assert (evidence.leaf.der, evidence.chain) == (leaf, (issuer,))
            assert (evidence.lookup, evidence.verdict) == ("haproxy", ProxyVerdict.VERIFIED)
        else:
            with pytest.raises(EdgeRefusal, match="undecodable client certificate"):
                edge.facts(sent)


def test_headers_of_every_dialect_are_the_proxys_alone(edge: Edge, certificate_zoo: Zoo) -> None:
    """Attacks A4: also those that the configured lookup does not read."""
    sent = scope(certificate_zoo["valid"].certificate.read_text(), "SUCCESS")
    for name in (b"client_cert", b"x-forwarded_client-cert", b"x_forwarded_tls_client_cert"):
        with pytest.raises(EdgeRefusal, match="ambiguous header"):
            edge.facts(sent | {"headers": [*sent["headers"], (name, b"x")]})


def test_a_certificate_from_another_peer_is_no_evidence(edge: Edge, certificate_zoo: Zoo) -> None:
    facts = edge.facts(scope(certificate_zoo["valid"].certificate.read_text(), "SUCCESS", STRANGER))
    assert facts.certificate is None
    assert facts.forged_certificate
    assert facts.ignored == "a TCP peer is not trusted without REALMGATE_PROXY_SECRET"


def test_without_headers_of_a_proxy_nothing_is_ignored() -> None:
    trust = ProxyTrust((), Secret("a long shared secret"))
    edge = Edge(trust=trust, lookup=NginxLookup(), certificates=X509CertificateParser())
    assert edge.facts({"headers": [], "client": UNIX_PEER, "scheme": "http"}).ignored is None
    forwarded = {
        "headers": [(b"x-forwarded-proto", b"https")],
        "client": UNIX_PEER,
        "scheme": "http",
    }
    facts = edge.facts(forwarded)
    assert facts.ignored is not None
    assert "did not send the proxy secret" in facts.ignored
    assert not facts.secure
