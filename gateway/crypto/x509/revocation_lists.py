"""Reading a file of revocation lists, one PEM block after another.

Spec: RFC 7468 §6; RFC 5280 §5
"""

import re

from cryptography import x509

BLOCK = re.compile(rb"-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----")
BEGINNING = b"-----BEGIN "


def load_revocation_lists(data: bytes) -> tuple[x509.CertificateRevocationList, ...]:
    """Return all lists of the file; raises ValueError when any block cannot be read."""
    blocks = BLOCK.findall(data)
    if len(blocks) != data.count(BEGINNING):
        raise ValueError("the file holds a PEM block that is not a whole revocation list")
    return tuple(map(x509.load_pem_x509_crl, blocks))
