"""What a certificate must be, taken by itself, to be accepted from a TLS client.

nginx checks most of this too, except on a listener with `optional_no_ca`, which passes on what
OpenSSL rejects first: a server's certificate of an unknown authority arrives there (attacks A7).
Spec: RFC 5280 §4.2, §6.1.4; RFC 8705 §7.5; SP 800-131A (key sizes, hashes)
"""

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

from gateway.crypto.x509.parse import ParsedCertificate
from gateway.domain.certificates import CertificateRefused

SMALLEST_RSA_KEY = 2048
CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)
HASHES = (hashes.SHA256, hashes.SHA384, hashes.SHA512)

UNDERSTOOD = frozenset(
    {
        ExtensionOID.BASIC_CONSTRAINTS,
        ExtensionOID.KEY_USAGE,
        ExtensionOID.EXTENDED_KEY_USAGE,
        ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
        ExtensionOID.NAME_CONSTRAINTS,
        ExtensionOID.CERTIFICATE_POLICIES,
        ExtensionOID.POLICY_CONSTRAINTS,
        ExtensionOID.INHIBIT_ANY_POLICY,
    }
)
"""Extensions that may be critical: all of them are checked."""


def require_client(parsed: ParsedCertificate) -> None:
    """Raise CertificateRefused unless an end entity may show this to a TLS server."""
    constraints = parsed.extension(x509.BasicConstraints)
    if constraints is not None and constraints.ca:
        raise CertificateRefused("it is an authority's certificate")
    key_usage = parsed.extension(x509.KeyUsage)
    if key_usage is not None and not key_usage.digital_signature:
        raise CertificateRefused("its key usage does not allow digital signatures")
    _require_client_purpose(parsed)
    _require_understood(parsed)
    _require_strong_key(parsed)
    require_strong_signature(parsed)


def require_authority(parsed: ParsedCertificate, authorities_below: int) -> None:
    """Raise CertificateRefused unless it may issue with that number of authorities below it.

    Self-issued ones do not count. Spec: RFC 5280 §4.2.1.9
    """
    who = f"the authority {parsed.subject}"
    constraints = parsed.extension(x509.BasicConstraints)
    if constraints is None or not constraints.ca:
        raise CertificateRefused(f"{who} is no authority")
    if constraints.path_length is not None and constraints.path_length < authorities_below:
        raise CertificateRefused(f"{who} allows fewer authorities below it")
    key_usage = parsed.extension(x509.KeyUsage)
    if key_usage is not None and not key_usage.key_cert_sign:
        raise CertificateRefused(f"{who} may not sign certificates")
    _require_client_purpose(parsed)
    _require_understood(parsed)
    _require_strong_key(parsed)


def require_strong_signature(parsed: ParsedCertificate) -> None:
    """Raise CertificateRefused for signatures over hashes that can be forged."""
    try:
        algorithm = parsed.certificate.signature_hash_algorithm
    except UnsupportedAlgorithm as error:
        raise CertificateRefused("its signature algorithm is not known") from error
    # Ed25519 names no hash of its own.
    if algorithm is not None and not isinstance(algorithm, HASHES):
        raise CertificateRefused(f"its signature is made with {algorithm.name}")


def _require_client_purpose(parsed: ParsedCertificate) -> None:
    purposes = parsed.extension(x509.ExtendedKeyUsage)
    if purposes is not None and ExtendedKeyUsageOID.CLIENT_AUTH not in purposes:
        raise CertificateRefused("its extended key usage does not allow client authentication")


def _require_understood(parsed: ParsedCertificate) -> None:
    for extension in parsed.extensions:
        if extension.critical and extension.oid not in UNDERSTOOD:
            raise CertificateRefused(f"critical extension {extension.oid.dotted_string}")


def _require_strong_key(parsed: ParsedCertificate) -> None:
    try:
        key = parsed.certificate.public_key()
    except (ValueError, UnsupportedAlgorithm) as error:
        raise CertificateRefused("its key cannot be read") from error
    match key:
        case rsa.RSAPublicKey():
            strong = key.key_size >= SMALLEST_RSA_KEY
        case ec.EllipticCurvePublicKey():
            strong = isinstance(key.curve, CURVES)
        case _:
            strong = isinstance(key, ed25519.Ed25519PublicKey)
    if not strong:
        raise CertificateRefused("its key is weak or of a kind that is not accepted")
