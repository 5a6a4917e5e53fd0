"""Reading a file of revocation lists, one PEM block after another.

Spec: RFC 7468 §6; RFC 5280 §5
"""

import re

from cryptography import x509

from gateway.crypto.certificates import load_revocation_list

BLOCK = re.compile(rb"-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----")
ARMOUR = b"-----"


def load_revocation_lists(data: bytes) -> tuple[x509.CertificateRevocationList, ...]:
    """Return all lists of the file; raises ValueError for none, and for a block cut short."""
    blocks = BLOCK.findall(data)
    if not blocks or ARMOUR in BLOCK.sub(b"", data):
        raise ValueError("not a file of whole PEM revocation lists")
    return tuple(map(load_revocation_list, blocks))
