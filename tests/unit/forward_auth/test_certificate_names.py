"""Names of certificates in rules, compared as parsed names."""

from datetime import UTC, datetime

import pytest

from gateway.domain.certificate_names import CertificateName
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.distinguished_names import parse_distinguished_name

_INSTANT = datetime(2026, 1, 1, tzinfo=UTC)
_THUMBPRINT = "A" * 43
"""That of a digest of zeros."""
CERTIFICATE = PresentedCertificate(
    issuer=parse_distinguished_name("CN=CA"),
    subject=parse_distinguished_name("CN=device-1,O=Example"),
    serial=1,
    not_before=_INSTANT,
    not_after=_INSTANT,
    digest=bytes(32),
    der=b"",
    issued_serial="",
    legacy_subject="",
    legacy_issuer="",
    emails=("Device@Example.org",),
    dns_names=("a.devices.example.org", "*.wild.example.org"),
    uris=("spiffe://example.org/device",),
)

MATCHES = (
    *("subject:CN=device-1,O=Example", "subject:CN=device-1, O=Example"),
    *("dns:a.devices.example.org", "dns:A.Devices.example.org", "dns:*.devices.example.org"),
    *("email:Device@example.org", "uri:spiffe://example.org/device", f"sha256:{_THUMBPRINT}"),
)
OTHERS = (
    *("subject:O=Example,CN=device-1", "subject:CN=device-1", "subject:CN=device-1,O=example"),
    *("dns:devices.example.org", "dns:b.devices.example.org", "dns:*.example.org"),
    *("dns:x.wild.example.org", "dns:*.wild.example.org", "dns:a.devices.example.org.evil"),
    *("email:device@example.org", "email:other@example.org", "uri:spiffe://example.org/"),
    *("uri:spiffe://example.org/Device", f"sha256:{'B' * 43}"),
)
MALFORMED = (
    *("", "CN=device-1", "subject:", "subject:nonsense", "dns:", "dns:*", "dns:a.*.b", "dns:a_b"),
    *("dns:*.*.b", "email:", "email:a", "email:@b", "uri:", "uri:a", "sha256:", "sha256:abc"),
    *("issuer:CN=CA", f"uri:a:{'x' * 3000}", f"sha256:{'+' * 43}", "DNS:a.example"),
)


@pytest.mark.parametrize("text", MATCHES)
def test_a_name_of_the_certificate_matches(text: str) -> None:
    assert CertificateName.parse_name(text).matches(CERTIFICATE)


@pytest.mark.parametrize("text", OTHERS)
def test_another_name_does_not_match(text: str) -> None:
    assert not CertificateName.parse_name(text).matches(CERTIFICATE)


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_name_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        CertificateName.parse_name(text)
