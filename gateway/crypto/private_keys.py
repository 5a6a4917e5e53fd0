"""Private keys: which kind each algorithm takes, how they are made, written and read.

RSA keys have 2048 bits, as Keycloak's generated ones. A key of another kind than its algorithm
takes is refused when it is read, not when a token is signed.

Spec: RFC 7518 §3.1, §3.3, §3.4; RFC 8037 §3.1
"""

from collections.abc import Callable

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

from gateway.domain.errors import SecretUnreadable
from gateway.domain.keys import KeyAlgorithm, RealmKey, SignatureAlgorithm
from gateway.domain.secrets import Secret

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

RSA_BITS = 2048
_CURVES: dict[KeyAlgorithm, ec.EllipticCurve] = {
    SignatureAlgorithm.ES256: ec.SECP256R1(),
    SignatureAlgorithm.ES384: ec.SECP384R1(),
    SignatureAlgorithm.ES512: ec.SECP521R1(),
}


def generate_rsa_key(bits: int = RSA_BITS) -> rsa.RSAPrivateKey:
    """Generate an RSA key; it takes about 0.1 s of processor time."""
    return rsa.generate_private_key(public_exponent=65537, key_size=bits)


def generate_private_key(
    algorithm: SignatureAlgorithm,
    rsa_key: Callable[[], rsa.RSAPrivateKey] = generate_rsa_key,
) -> PrivateKey:
    """Generate a key for `algorithm`."""
    if algorithm is SignatureAlgorithm.EDDSA:
        return ed25519.Ed25519PrivateKey.generate()
    curve = _CURVES.get(algorithm)
    return rsa_key() if curve is None else ec.generate_private_key(curve)


def write_private_key(key: PrivateKey) -> Secret:
    """Return the key as PKCS#8 PEM, not encrypted: sealing it is the store's business."""
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return Secret(pem.decode("ascii"))


def load_private_key(record: RealmKey) -> PrivateKey:
    """Read the key of `record`; raises SecretUnreadable when it does not fit its algorithm."""
    pem = record.private_key.reveal().encode("utf-8", "surrogatepass")
    try:
        # Checking an RSA key takes 37 ms, at every start for every realm. The key is our own:
        # what the store hands over was authenticated when it was unsealed.
        key = load_pem_private_key(pem, password=None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise SecretUnreadable(f"the private key of {record.kid} is not PKCS#8 PEM") from error
    if isinstance(key, PrivateKey) and _fits(key, record.algorithm):
        return key
    raise SecretUnreadable(f"the private key of {record.kid} is not a {record.algorithm} key")


def _fits(key: PrivateKey, algorithm: KeyAlgorithm) -> bool:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        return algorithm is SignatureAlgorithm.EDDSA
    curve = _CURVES.get(algorithm)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return curve is not None and key.curve.name == curve.name
    return curve is None and algorithm is not SignatureAlgorithm.EDDSA and key.key_size >= RSA_BITS
