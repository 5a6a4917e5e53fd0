"""Self-signed client certificates of many names, as a hostile caller makes them."""

from datetime import UTC, datetime, timedelta
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

_NAMES: Final = 300
_SMALL: Final = 3
_HUGE: Final = 10
"""One in so many has names in such numbers; the others are small, of which more can be kept."""


def certificates(count: int) -> list[bytes]:
    """Return so many certificates in PEM, no two of them the same."""
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.now(UTC)
    return [_certificate(key, number, now) for number in range(count)]


def _certificate(key: ec.EllipticCurvePrivateKey, number: int, now: datetime) -> bytes:
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, f"device-{number}"),
            *(
                x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, f"unit-{place}")
                for place in range(_SMALL)
            ),
        ]
    )
    names = [f"n{place}.example" for place in range(_NAMES if number % _HUGE == 0 else _SMALL)]
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(number + 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(one) for one in names]), critical=False
        )
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
