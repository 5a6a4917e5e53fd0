"""Encrypting tokens and responses for a client. Spec: RFC 7516, OpenID Connect Core §10.2."""

from typing import Protocol

from gateway.domain.clients import Client
from gateway.domain.errors import RealmgateError
from gateway.domain.keys import TokenEncryption


class NoEncryptionKey(RealmgateError):
    """The client has no key to encrypt for; `str()` is the reason, for logs."""


class Encrypter(Protocol):
    """Encrypts for one client, with the key and the algorithms that were found for it."""

    def encrypt(self, content: str, content_type: str | None = None) -> str:
        """Return the compact JWE; `content_type` is the header's `cty`, JWT for a nested one."""


class ClientEncrypters(Protocol):
    """Finds the encryption keys of clients."""

    async def encrypter(self, client: Client, encryption: TokenEncryption) -> Encrypter:
        """Return what encrypts with the key of the client's key set, by value or at its URL.

        The key has the use `enc`, and fits the algorithm. Raises NoEncryptionKey.
        """
