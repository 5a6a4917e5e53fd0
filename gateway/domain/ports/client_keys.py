"""Keys of clients: files and archives, signed JWTs and DPoP proofs, encryption for clients.

No private key is stored. A DPoP proof is a JWT that the client signs for one request with a key of
its own. Keycloak: clients/{id}/certificates. Spec: RFC 9101 §6.2, RFC 7523 §3, RFC 9449 §4, §4.3,
RFC 7516, OpenID Connect Core §10.2; attacks C13, C14
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Final, Protocol

from gateway.domain.certificates import PresentedCertificate
from gateway.domain.clients import Client
from gateway.domain.errors import InvalidToken, RealmgateError
from gateway.domain.keys import SignatureAlgorithm, TokenEncryption
from gateway.domain.secrets import Secret


class NoEncryptionKey(RealmgateError):
    """The client has no key to encrypt for; `str()` is the reason, for logs."""


class Encrypter(Protocol):
    """Encrypts for one client, with the key and the algorithms that were found for it."""

    def encrypt(self, content: str, content_type: str | None = None) -> str:
        """Return the compact JWE; `content_type` is the header's `cty`, JWT for a nested one."""


class ClientEncrypters(Protocol):
    """Finds the encryption keys of clients."""

    async def encrypter(self, client: Client, encryption: TokenEncryption) -> Encrypter:
        """Return an encrypter with the client's `enc` key; raises NoEncryptionKey."""


class KeyFile(StrEnum):
    """Formats of files with a client's key, by Keycloak's names."""

    CERTIFICATE = "Certificate PEM"
    PUBLIC_KEY = "Public Key PEM"
    KEY_SET = "JSON Web Key Set"
    PKCS12 = "PKCS12"


@dataclass(frozen=True, slots=True)
class ClientKey:
    """A client's public key: base64 of DER, PEM, or the JSON of a JWKS."""

    certificate: str | None = None
    public_key: str | None = None
    kid: str | None = None
    key_set: str | None = None


@dataclass(frozen=True, slots=True)
class GeneratedKey:
    """A key pair: base64 of DER, the private part in PKCS#1."""

    private_key: Secret = field(repr=False)
    certificate: str


@dataclass(frozen=True, slots=True)
class NamedCertificate:
    """A certificate in an archive, base64 of DER."""

    alias: str
    certificate: str


class ClientKeys(Protocol):
    """Works with keys of clients. Slow: seconds of computing for a long key."""

    def generate(self, name: str, bits: int, begins: datetime, ends: datetime) -> GeneratedKey:
        """Generate an RSA key with a certificate of its own for `name`."""

    def read_key_file(
        self, kind: KeyFile, content: bytes, alias: str, password: Secret
    ) -> ClientKey:
        """Return the public key of a file or archive entry; raises UnusableSetting."""

    def archive(
        self,
        password: Secret,
        certificates: Sequence[NamedCertificate],
        private_key: Secret | None = None,
    ) -> bytes:
        """Return PKCS#12, the private key for the first certificate; raises UnusableSetting."""


class RegisteredCertificates(Protocol):
    """Finds a certificate among those of a client."""

    async def holds(self, client: Client, leaf: PresentedCertificate) -> bool:
        """Return whether the certificate, or its key, is one of the client's. RFC 8705 §2.2.

        A key of a set with `x5c` allows that very certificate, one without for each certificate
        of the key. Several may be registered, so that a new one works before the old one goes.
        Raises NoUsableKey where the client's keys cannot be read or fetched.
        """


PROOF_ALGORITHMS: Final = (
    SignatureAlgorithm.PS256,
    SignatureAlgorithm.PS384,
    SignatureAlgorithm.PS512,
    SignatureAlgorithm.ES256,
    SignatureAlgorithm.ES384,
    SignatureAlgorithm.ES512,
    SignatureAlgorithm.EDDSA,
)
"""In the order of discovery. FAPI 2.0 forbids RSASSA-PKCS1-v1_5 (RS256), which Keycloak accepts."""
LONGEST_PROOF: Final = 8 * 1024
"""Characters; a longer proof is refused unread."""


class TokenScheme(StrEnum):
    """How the Authorization header presents an access token. Spec: RFC 6750 §2.1, RFC 9449 §7.1."""

    BEARER = "Bearer"
    DPOP = "DPoP"


@dataclass(frozen=True, slots=True)
class SentProof:
    """The header `DPoP` of a request, and the request that the proof has to name.

    `text` is None without the header, and empty where it was sent twice. `urls` are the addresses
    under which clients reach the endpoint.
    """

    text: str | None = field(default=None, repr=False)
    method: str = ""
    urls: tuple[str, ...] = ()
    is_repeated: bool = False
    """A proxy asks a second time for the same request, only to show why it was refused."""


NO_PROOF: Final = SentProof()


@dataclass(frozen=True, slots=True)
class SignedProof:
    """The claims of a valid proof; `thumbprint` is the `jkt`. Spec: RFC 9449 §6.1, RFC 7638."""

    thumbprint: str
    claims: Mapping[str, Any] = field(repr=False)


class InvalidProof(InvalidToken):
    """A proof that proves nothing; `str()` is public, and quotes at most a few characters of it."""


class NoUsableKey(InvalidToken):
    """No registered key of the client may have signed the JWT, or its keys cannot be read."""


@dataclass(frozen=True, slots=True)
class UnverifiedClaims:
    """What a JWT says, unverified: `algorithm` and `header_type` (`typ`) are of its header."""

    algorithm: str
    claims: Mapping[str, Any] = field(repr=False)
    header_type: str = ""


@dataclass(frozen=True, slots=True)
class VerifiedClaims:
    """The claims of a JWT with a valid signature by a key or the secret of the client.

    Created by `ClientSignatures.verify_claims` alone; `algorithm` is never `none`.
    """

    algorithm: str
    claims: Mapping[str, Any] = field(repr=False)
    header_type: str = ""


class ClientSignatures(Protocol):
    """Verifies with the keys that are registered for a client, or with its secret."""

    def read_claims(self, token: str) -> UnverifiedClaims:
        """Return the claims without verifying anything; raises InvalidToken for no JWT."""

    def read_unsigned(self, token: str) -> UnverifiedClaims:
        """Return the claims of a JWT with `none` and no signature; else raises InvalidToken."""

    async def verify_claims(self, client: Client, token: str) -> VerifiedClaims:
        """Return the claims if the signature holds; a JWT without a signature is refused.

        The caller decides which algorithms it accepts, and checks the claims. Raises InvalidToken.
        """


class ProofSignatures(Protocol):
    """Verifies DPoP proofs with the public key in their own header."""

    def verify_proof(self, proof: str) -> SignedProof:
        """Return the claims if type, algorithm, key and signature are valid; raises InvalidProof.

        The caller limits the length before the call, and checks the claims.
        """
