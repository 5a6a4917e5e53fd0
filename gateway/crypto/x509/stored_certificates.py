"""Reading the certificates of realms and clients as they are stored. Spec: RFC 7517 §4.7 (x5c)."""

from collections.abc import Iterator

from gateway.crypto.keys import keys_of
from gateway.crypto.pem import CERTIFICATE_LABELS, unwrap
from gateway.crypto.x509.parse import parse_certificate
from gateway.domain.certificates import CertificateFacts
from gateway.domain.ports.certificates import MalformedCertificate
from gateway.domain.ports.client_signatures import NoUsableKey


class StoredCertificateReader:
    """CertificateReader on the library."""

    def read(self, content: str) -> tuple[CertificateFacts, ...]:
        found = {}
        for text in _texts(content):
            try:
                facts = parse_certificate(unwrap(text.encode(), *CERTIFICATE_LABELS)).facts
            except (ValueError, MalformedCertificate):
                continue
            found[facts.digest] = facts
        return tuple(found.values())


def _texts(content: str) -> Iterator[str]:
    """Yield the certificate, or the first one of each `x5c` of a key set."""
    if not content.lstrip().startswith("{"):
        yield content
        return
    try:
        keys = keys_of(content)
    except NoUsableKey:
        return
    for key in keys:
        chain = key.get("x5c")
        if isinstance(chain, list) and chain and isinstance(chain[0], str):
            yield chain[0]
