"""Keys of clients: uploaded files, key sets by value or URL, certificates, encryption for clients.

Input is parsed whole before it is used: one certificate or key, of a supported kind and length.
Certificates are compared by digest, so a key set is parsed once for as long as it is cached. A
client's encryption key is the first with `use` `enc` and, if present, the chosen `alg`.
Spec: RFC 5280, RFC 7292 (PKCS#12), RFC 7517 §4.7, §5, RFC 7591 §2, RFC 8017 §A.1, RFC 8705 §2.2.2;
OpenID Connect Core §10.2.1; Keycloak 26.7 ignores keys without `use` too
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

import jwt
import orjson
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
    serialize_key_and_certificates,
)

from gateway.crypto import jwe
from gateway.crypto.der import CERTIFICATE_LABELS, unwrap
from gateway.crypto.pkcs12 import read_archive
from gateway.crypto.private_keys import generate_rsa_key, load_own_private_key
from gateway.crypto.public_keys import (
    PRIVATE_MEMBERS,
    PublicKey,
    UnsupportedKey,
    load_certificate,
    load_public_jwk,
    load_public_key,
    require_supported,
    self_signed,
)
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.clients import Client, VerificationKeys
from gateway.domain.errors import UnusableSetting
from gateway.domain.keys import KeyManagement, TokenEncryption
from gateway.domain.limits.caches import cached
from gateway.domain.limits.input_sizes import (
    MAX_CERTIFICATE_BYTES,
    MAX_DOCUMENT_BYTES,
    MAX_KEYS_IN_SET,
    LimitExceeded,
    require_at_most,
)
from gateway.domain.ports.client_keys import (
    ClientKey,
    Encrypter,
    GeneratedKey,
    KeyFile,
    NamedCertificate,
    NoEncryptionKey,
    NoUsableKey,
)
from gateway.domain.ports.outgoing import DocumentUnavailable, RemoteDocuments
from gateway.domain.secrets import Secret

OFTEN: Final = timedelta(seconds=10)
"""Unknown keys do not make the gateway fetch a key set more often. Keycloak 26.7: the same."""
UNREADABLE: Final = (
    ValueError,
    TypeError,
    LookupError,
    UnsupportedAlgorithm,
    x509.InvalidVersion,
    jwt.PyJWTError,
)
"""Errors of parsing a key or a key set."""


class ClientKeySets:
    """Finds the key set of a client."""

    def __init__(self, documents: RemoteDocuments) -> None:
        self._documents = documents

    async def fetch(self, client: Client, newest: timedelta | None = None) -> str:
        """Return the document at the client's URL, at most `newest` old; raises NoUsableKey."""
        url = client.verification_keys.key_set_url
        address = f"{client.redirects.root_url}{url}" if url.startswith("/") else url
        try:
            return (await self._documents.fetch(address, newest=newest)).decode("utf-8")
        except (DocumentUnavailable, UnicodeDecodeError) as error:
            raise NoUsableKey(f"the client's key set was not fetched: {error}") from error


def keys_of(text: str) -> list[Mapping[str, Any]]:
    """Return the JWKs of a set, unparsed; raises NoUsableKey."""
    try:
        require_at_most(len(text), MAX_DOCUMENT_BYTES, "Key set in bytes")
        keys = orjson.loads(text)["keys"]
    except UNREADABLE as error:
        raise NoUsableKey("the client's key set cannot be read") from error
    found = keys if isinstance(keys, list) else []
    return [key for key in found[:MAX_KEYS_IN_SET] if isinstance(key, dict)]


_PUBLIC_KEY_LABELS: Final = (b"PUBLIC KEY", b"RSA PUBLIC KEY")
_NOT_FOUND: Final = "Certificate or key with given alias not found in the keystore"


class CryptographyClientKeys:
    """The ClientKeys of the product."""

    def generate(self, name: str, bits: int, begins: datetime, ends: datetime) -> GeneratedKey:
        key = generate_rsa_key(bits)
        certificate = self_signed(key, name, begins, ends)
        private = key.private_bytes(Encoding.DER, PrivateFormat.TraditionalOpenSSL, NoEncryption())
        return GeneratedKey(Secret(_base64(private)), _of_certificate(certificate))

    def read_key_file(
        self, kind: KeyFile, content: bytes, alias: str, password: Secret
    ) -> ClientKey:
        with _refusals():
            match kind:
                case KeyFile.CERTIFICATE:
                    return ClientKey(certificate=_of_certificate(_certificate(content)))
                case KeyFile.PUBLIC_KEY:
                    return ClientKey(public_key=_of_public_key(content))
                case KeyFile.KEY_SET:
                    return _of_key_set(content)
                case KeyFile.PKCS12:
                    return ClientKey(certificate=_of_archive(content, alias, password))

    def archive(
        self,
        password: Secret,
        certificates: Sequence[NamedCertificate],
        private_key: Secret | None = None,
    ) -> bytes:
        encryption = BestAvailableEncryption(password.reveal().encode())
        with _refusals():
            # What is stored may have been written as an attribute, unread.
            named = [
                PKCS12Certificate(_certificate(one.certificate.encode()), one.alias.encode())
                for one in certificates
            ]
        if private_key is None:
            return serialize_java_truststore(named, encryption)
        key = _own_key(private_key)
        own, *others = named
        return serialize_key_and_certificates(
            own.friendly_name, key, own.certificate, others, encryption
        )


@contextmanager
def _refusals() -> Iterator[None]:
    """Raise UnusableSetting for a document that cannot be read; it quotes nothing of it."""
    try:
        yield
    except (LimitExceeded, UnsupportedKey) as error:
        raise UnusableSetting(str(error)) from None
    except UNREADABLE:
        raise UnusableSetting("error loading keystore") from None


def _own_key(private_key: Secret) -> rsa.RSAPrivateKey:
    pem = (
        f"-----BEGIN RSA PRIVATE KEY-----\n{private_key.reveal()}\n-----END RSA PRIVATE KEY-----\n"
    )
    key = load_own_private_key(pem.encode("ascii"))
    if not isinstance(key, rsa.RSAPrivateKey):
        raise UnusableSetting("not an RSA key")
    return key


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode("ascii")


def _certificate(content: bytes) -> x509.Certificate:
    return _usable(unwrap(content, *CERTIFICATE_LABELS))


def _usable(der: bytes) -> x509.Certificate:
    certificate = load_certificate(der)
    require_supported(certificate.public_key())
    return certificate


def _of_certificate(certificate: x509.Certificate) -> str:
    return _base64(certificate.public_bytes(Encoding.DER))


def _of_public_key(content: bytes) -> str:
    key = load_public_key(unwrap(content, *_PUBLIC_KEY_LABELS))
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode("ascii")


def _of_key_set(content: bytes) -> ClientKey:
    require_at_most(len(content), MAX_DOCUMENT_BYTES, "Document size in bytes")
    document = orjson.loads(content)
    keys = document["keys"] if isinstance(document, dict) and "keys" in document else None
    if not isinstance(keys, list) or not 0 < len(keys) <= MAX_KEYS_IN_SET:
        raise UnusableSetting(_NOT_FOUND)
    if any(not isinstance(key, dict) or PRIVATE_MEMBERS & key.keys() for key in keys):
        raise UnusableSetting("A key set must hold public keys alone")
    first, *_ = [load_public_jwk(key) for key in keys]
    der = first.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    kid = keys[0].get("kid")
    return ClientKey(
        public_key=_base64(der),
        kid=kid if isinstance(kid, str) else None,
        key_set=content.decode("utf-8"),
    )


def _of_archive(content: bytes, alias: str, password: Secret) -> str:
    found = [one for one in read_archive(content, password.reveal()) if one.alias == alias]
    if len(found) != 1:
        raise UnusableSetting(_NOT_FOUND)
    return _of_certificate(_usable(found[0].der))


class CertificatesOfKeySets:
    """RegisteredCertificates by value, or at a client's URL."""

    def __init__(self, documents: RemoteDocuments) -> None:
        self._key_sets = ClientKeySets(documents)

    async def holds(self, client: Client, leaf: PresentedCertificate) -> bool:
        registered = client.verification_keys
        wanted = {leaf.digest, leaf.key_digest}
        if not registered.uses_key_set_url:
            return not wanted.isdisjoint(_digests(registered))
        if not wanted.isdisjoint(_set_digests(await self._key_sets.fetch(client))):
            return True
        # The client may have a new certificate since.
        return not wanted.isdisjoint(_set_digests(await self._key_sets.fetch(client, OFTEN)))


def _digests(registered: VerificationKeys) -> frozenset[bytes]:
    if registered.uses_key_set:
        return _set_digests(registered.key_set)
    try:
        if registered.certificate:
            return frozenset({_digest(_unwrapped(registered.certificate, CERTIFICATE_LABELS))})
        if registered.public_key:
            key = load_public_key(_unwrapped(registered.public_key, _PUBLIC_KEY_LABELS))
            return frozenset({_key_digest(key)})
    except UNREADABLE as error:
        raise NoUsableKey("the client's certificate cannot be read") from error
    return frozenset()


@cached(1024 * 1024)
def _set_digests(key_set: str) -> frozenset[bytes]:
    """Return the digests of certificates and keys in a set; unreadable entries are skipped."""
    return frozenset(digest for jwk in keys_of(key_set) for digest in _of_key(jwk))


def _of_key(jwk: Mapping[str, Any]) -> Iterator[bytes]:
    chain = jwk.get("x5c")
    if jwk.get("use", "sig") != "sig":
        return
    try:
        if chain is None:
            yield _key_digest(load_public_jwk(jwk))
        elif isinstance(chain, list) and chain and isinstance(chain[0], str):
            yield _digest(_unwrapped(chain[0], CERTIFICATE_LABELS))
    except UNREADABLE:
        return


def _unwrapped(text: str, labels: tuple[bytes, ...]) -> bytes:
    require_at_most(len(text), 2 * MAX_CERTIFICATE_BYTES, "Certificate in characters")
    return unwrap(text.encode("ascii"), *labels)


def _digest(der: bytes) -> bytes:
    return hashlib.sha256(der).digest()


def _key_digest(key: PublicKey) -> bytes:
    return _digest(key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))


@dataclass(frozen=True, slots=True)
class JweEncrypter:
    """The Encrypter of the product."""

    key: jwe.EncryptionKey = field(repr=False)
    kid: str | None
    encryption: TokenEncryption

    def encrypt(self, content: str, content_type: str | None = None) -> str:
        raw = content.encode("utf-8")
        return jwe.encrypt(raw, self.key, self.encryption, kid=self.kid, content_type=content_type)


class RegisteredClientEncrypters:
    """The ClientEncrypters of the product: keys by value or at a URL."""

    def __init__(self, documents: RemoteDocuments) -> None:
        self._key_sets = ClientKeySets(documents)

    async def encrypter(self, client: Client, encryption: TokenEncryption) -> Encrypter:
        registered = client.verification_keys
        try:
            if registered.uses_key_set_url:
                text = await self._key_sets.fetch(client)
                found = _first(text, encryption)
                if found is None:  # The client may have published one since.
                    text = await self._key_sets.fetch(client, OFTEN)
                    found = _first(text, encryption)
            else:
                found = _first(registered.key_set, encryption) if registered.uses_key_set else None
        except NoUsableKey as error:
            raise NoEncryptionKey(str(error)) from error
        if found is None:
            raise NoEncryptionKey(
                f"the client's key set has no key with the use enc for {encryption.algorithm}"
            )
        return found


def _first(key_set: str, encryption: TokenEncryption) -> JweEncrypter | None:
    for jwk in keys_of(key_set):
        if _may_be(jwk, encryption.algorithm):
            try:
                key = load_public_jwk(_without_algorithm(jwk))
            except UNREADABLE:
                continue
            if isinstance(key, jwe.EncryptionKey) and jwe.fits(key, encryption.algorithm):
                kid = jwk.get("kid")
                return JweEncrypter(key, kid if isinstance(kid, str) else None, encryption)
    return None


def _may_be(jwk: Mapping[str, Any], algorithm: KeyManagement) -> bool:
    return jwk.get("use") == "enc" and jwk.get("alg", algorithm) == algorithm


def _without_algorithm(jwk: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the key as the library reads it, which knows algorithms of signatures alone."""
    return {name: value for name, value in jwk.items() if name != "alg"}
