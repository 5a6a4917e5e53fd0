"""Encrypting for clients, with the key for encryption of their key sets.

The key is the first one whose `use` is `enc` and whose `alg`, if present, is the algorithm that the
client chose. Spec: OpenID Connect Core §10.2.1;
Keycloak 26.7 ignores keys without `use` too
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.crypto import jwe
from gateway.crypto.keys.client_key_sets import (
    OFTEN,
    UNREADABLE,
    ClientKeySets,
    keys_of,
)
from gateway.crypto.public_keys import load_public_jwk
from gateway.domain.clients import Client
from gateway.domain.keys import KeyManagement, TokenEncryption
from gateway.domain.ports.client_encryption import Encrypter, NoEncryptionKey
from gateway.domain.ports.client_signatures import NoUsableKey
from gateway.domain.ports.outgoing.remote_documents import RemoteDocuments


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
