"""Keys of clients: generated, read from files, written as archives, and found by a certificate.

No private key is stored. Keycloak: clients/{id}/certificates
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from gateway.domain.certificates import PresentedCertificate
from gateway.domain.clients import Client
from gateway.domain.secrets import Secret


class KeyFile(StrEnum):
    """Formats of files with a client's key, by Keycloak's names."""

    CERTIFICATE = "Certificate PEM"
    PUBLIC_KEY = "Public Key PEM"
    KEY_SET = "JSON Web Key Set"
    PKCS12 = "PKCS12"


@dataclass(frozen=True, slots=True)
class ClientKey:
    """The public part of a client's key, in one of three forms.

    `certificate` is base64 of DER, `public_key` PEM or base64 of DER, `key_set` the JSON of a JWKS.
    """

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

    def read(self, kind: KeyFile, content: bytes, alias: str, password: Secret) -> ClientKey:
        """Return the public part of the key in a file; raises UnusableSetting.

        `alias` and `password` are of an archive.
        """

    def archive(
        self,
        password: Secret,
        certificates: Sequence[NamedCertificate],
        private_key: Secret | None = None,
    ) -> bytes:
        """Return a PKCS#12 archive; the private key is that of the first certificate.

        Raises UnusableSetting.
        """


class RegisteredCertificates(Protocol):
    """Finds a certificate among those of a client."""

    async def holds(self, client: Client, leaf: PresentedCertificate) -> bool:
        """Return whether the certificate, or its key, is one of the client's. RFC 8705 §2.2.

        A key of a set with `x5c` allows that very certificate, one without for each certificate
        of the key. Several may be registered, so that a new one works before the old one goes.
        Raises NoUsableKey where the client's keys cannot be read or fetched.
        """
