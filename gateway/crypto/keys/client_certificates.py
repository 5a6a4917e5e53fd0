"""Finding a certificate among the certificates and keys that its client has registered.

Compared are digests, so a key set is parsed once for as long as it is kept in memory.
Spec: RFC 8705 §2.2.2, RFC 7517 §4.7 (x5c)
"""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gateway.crypto.keys.client_key_sets import OFTEN, UNREADABLE, ClientKeySets, keys_of
from gateway.crypto.pem import CERTIFICATE_LABELS, unwrap
from gateway.crypto.public_keys import PublicKey, load_public_jwk, load_public_key
from gateway.domain.certificates import PresentedCertificate
from gateway.domain.clients import Client, VerificationKeys
from gateway.domain.limits.caches import cached
from gateway.domain.limits.key_documents import MAX_CERTIFICATE_BYTES, require_at_most
from gateway.domain.ports.client_signatures import NoUsableKey
from gateway.domain.ports.outgoing.remote_documents import RemoteDocuments

_PUBLIC_KEY_LABELS: Final = (b"PUBLIC KEY", b"RSA PUBLIC KEY")


class CertificatesOfKeySets:
    """RegisteredCertificates by value, or at a client's URL."""

    def __init__(self, documents: RemoteDocuments) -> None:
        self._key_sets = ClientKeySets(documents)

    async def holds(self, client: Client, leaf: PresentedCertificate) -> bool:
        registered = client.verification_keys
        wanted = {leaf.digest, leaf.key_digest}
        if not registered.uses_key_set_url:
            return not wanted.isdisjoint(_digests(registered))
        known = await self._key_sets.fetch(client)
        if not wanted.isdisjoint(_set_digests(known)):
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
    """Return the digests of certificates and keys in a set; what cannot be read is left out."""
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
