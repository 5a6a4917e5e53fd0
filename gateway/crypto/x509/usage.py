"""What a certificate is issued for. Spec: RFC 5280 §4.2.1.3, §4.2.1.4, §4.2.1.12."""

import sys
from collections.abc import Iterable

from cryptography import x509

from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.certificates import KEY_USAGES, CertificateUsage

_LIBRARY_NAMES = (
    *("digital_signature", "content_commitment", "key_encipherment", "data_encipherment"),
    *("key_agreement", "key_cert_sign", "crl_sign", "encipher_only", "decipher_only"),
)
"""The library's names of KEY_USAGES."""


def certificate_usage(parsed: ParsedCertificate) -> CertificateUsage:
    """Return what the extensions of a certificate say of its usage."""
    purposes = parsed.extension(x509.ExtendedKeyUsage)
    policies = parsed.extension(x509.CertificatePolicies)
    return CertificateUsage(
        _key_usages(parsed.extension(x509.KeyUsage)),
        _dotted(purposes or ()),
        _dotted(each.policy_identifier for each in policies or ()),
    )


def _key_usages(found: x509.KeyUsage | None) -> tuple[str, ...] | None:
    if found is None:
        return None
    # The last two have a meaning, and a value, only with key agreement.
    asked = zip(KEY_USAGES, _LIBRARY_NAMES, strict=True)
    ends = len(KEY_USAGES) if found.key_agreement else len(KEY_USAGES) - 2
    return tuple(name for name, attribute in list(asked)[:ends] if getattr(found, attribute))


def _dotted(identifiers: Iterable[x509.ObjectIdentifier]) -> tuple[str, ...]:
    # Certificates of one authority share them: thousands are cached.
    return tuple(sys.intern(each.dotted_string) for each in identifiers)
