"""Keys of realms and clients: parse, generate, publish; sign, verify, encrypt, decrypt."""

from gateway.crypto.keys.client_certificates import CertificatesOfKeySets
from gateway.crypto.keys.client_encryption import RegisteredClientEncrypters
from gateway.crypto.keys.client_key_sets import keys_of
from gateway.crypto.keys.client_keys import CryptographyClientKeys
from gateway.crypto.keys.client_signatures import RegisteredClientSignatures
from gateway.crypto.keys.dpop_proofs import ProofSignatureVerifier
from gateway.crypto.keys.encryption_keys import load_or_create_keys, parse_keys
from gateway.crypto.keys.private import load_own_private_key
from gateway.crypto.keys.signing import PyJwtKeyFactory
