"""Certificates: parsing, authorities, revocation; locks of devices, by names in certificates.

Methods of the locks raise StoreUnavailable("redis"): no token is issued or accepted without the
answer.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Final, Protocol

from gateway.domain.certificates import (
    AnchorOrigin,
    Authority,
    AuthorityDescription,
    CertificateFacts,
    CertificationPath,
    PathResult,
    PresentedCertificate,
    RegisteredAuthorities,
)
from gateway.domain.distinguished_names import DistinguishedName

if TYPE_CHECKING:
    # The supervisor loads the lookups of certificates, and realms for no reason.
    from gateway.domain.realm import Realm


class MalformedCertificate(Exception):
    """The bytes are not one well-formed X.509 certificate; `str()` says why, for logs."""


class CertificateParser(Protocol):
    """Parses the certificate that the proxy forwards."""

    def parse_certificate(self, der: bytes) -> PresentedCertificate:
        """Parse exactly one certificate; raises MalformedCertificate."""


class CertificateInspector(Protocol):
    """Reads certificates as people have them."""

    def split(self, data: bytes) -> tuple[bytes, ...]:
        """Return the DER of each certificate of PEM, or of one in URL-escaped PEM or DER.

        Raises MalformedCertificate where there is none.
        """

    def describe_key(self, der: bytes) -> str:
        """Return kind and size of the public key; raises MalformedCertificate."""


class Authorities(Protocol):
    """The trust anchors and intermediates for one realm or client."""

    @property
    def edition(self) -> Hashable:
        """A value that changes when the authorities change, and that no others have."""

    def find_path(
        self,
        leaf: PresentedCertificate,
        chain: Sequence[bytes],
        policies: frozenset[str],
        now: datetime,
    ) -> PathResult:
        """Search a path from `leaf` to an anchor, over own intermediates and those of `chain`.

        The path must be valid for one of `policies`, where any are given. `chain` is DER from the
        TLS client, in any order; what cannot be parsed is ignored. The number of signatures that
        are checked is bounded. A path that is valid now is preferred. A leaf whose purpose, key or
        signature does not suit a client certificate is refused.
        """

    def shared_names(self) -> Sequence[DistinguishedName]:
        """Return the names that authorities of different keys have, in order."""


@dataclass(frozen=True, slots=True)
class SelectedAuthorities:
    """The authorities that count, and the internal ids of clients for which others count."""

    authorities: Authorities
    clients_with_anchors: frozenset[str] = frozenset()


class AuthoritySelection(Protocol):
    """Chooses the authorities that count."""

    async def select(self, realm: "Realm", client: str | None) -> SelectedAuthorities:
        """Return those of a realm or of a client by internal id; raises StoreUnavailable."""


class AuthorityStore(Protocol):
    """The registered authorities as they are committed now."""

    async def registered(self, realm_id: str) -> RegisteredAuthorities:
        """Return those of the realm and of its clients; raises StoreUnavailable."""


class AuthorityFactory(Protocol):
    """Prepares authorities for the search of paths."""

    async def gateway(self) -> Authorities:
        """Return the authorities of the settings as they are now."""

    async def prepare(
        self, entries: Sequence[Authority], origin: AnchorOrigin, *, with_gateway: bool
    ) -> Authorities:
        """Return the entries, and those of the settings `with_gateway`, for `origin`."""


class AuthorityParser(Protocol):
    """Parses the certificates of registered authorities."""

    def parse_authority(self, pem: str) -> AuthorityDescription:
        """Return a description; raises MalformedCertificate, CertificateRefused (weak, no CA)."""

    def describe_authority(self, der: bytes) -> AuthorityDescription:
        """Return what a registered certificate says; raises MalformedCertificate."""


class CertificateReader(Protocol):
    """Reads certificates as realms and clients have stored them."""

    def read_certificates(self, content: str) -> tuple[CertificateFacts, ...]:
        """Return the readable certificates of PEM, base64 of DER, or a JWKS with `x5c`."""


class DeniedCertificates(Protocol):
    """The deny lists of realms."""

    async def denies(self, realm: "Realm", identity: str, now: datetime) -> bool:
        """Return whether the realm denies a certificate; raises StoreUnavailable.

        `identity` is its `x5t#S256`, or the digest of its issuer and serial number.
        """


OF_AN_AUTHORITY: Final = "it is an authority's certificate"
"""The beginning of a refusal of a leaf with CA:TRUE."""
UNKNOWN_ISSUER: Final = "is not known"
"""The end of a refusal for want of an authority."""
NO_LIST: Final = "there is no revocation list"
"""The beginning of a refusal for want of a list of an authority."""
WAS_REVOKED: Final = "was revoked"
"""The end of a refusal by a list; other refusals by lists are about the time of the list."""


class ForwardedChains(Protocol):
    """What the proxy passes on of the certificates that a caller sends with its own."""

    @property
    def name(self) -> str:
        """The id of the certificate lookup."""
        ...

    @property
    def passes_chain(self) -> bool:
        """Whether the proxy can pass certificates beside the leaf on."""
        ...

    def limit_chain(self, leaf: bytes, others: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return the certificates beside the leaf; raises MalformedCertificate for too many."""
        ...


class Revocations(Protocol):
    """Which certificates were revoked."""

    async def refusal(self, path: CertificationPath, realm: "Realm", now: datetime) -> str | None:
        """Return why a certificate of the path counts as revoked in the realm, else None.

        The path must come from the current authorities. Raises StoreUnavailable.
        """


class ListedRevocations(Revocations, Protocol):
    """Revocations by lists of authorities."""

    def covering(
        self, path: CertificationPath, realm: "Realm"
    ) -> Iterable[tuple[str, datetime, datetime]]:
        """Return authorities of a path with a list in the last `refusal`, its issue and its end."""


MOST_LISTED: Final = 1000


class LockCause(StrEnum):
    """Why a device is locked. One lock does not shorten the other."""

    ADMINISTRATOR = "administrator"
    FAILURES = "failures"


@dataclass(frozen=True, slots=True)
class DeviceLock:
    """A lock of one device of a client."""

    device: str
    cause: LockCause
    until: datetime


class DeviceLocks(Protocol):
    """The locks of the devices of each client; `client` is its internal id."""

    async def is_locked(self, realm_id: str, client: str, device: str, now: datetime) -> bool:
        """Return whether the device is locked."""

    async def lock_device(
        self, realm_id: str, client: str, lock: DeviceLock, now: datetime
    ) -> None:
        """Lock a device until an instant, at most `LONGEST_DEVICE_LOCK` from now."""

    async def unlock_device(self, realm_id: str, client: str, device: str) -> bool:
        """Remove every lock and the counted failures of a device; return whether it had a lock."""

    async def list_locks(self, realm_id: str, client: str, now: datetime) -> tuple[DeviceLock, ...]:
        """Return at most `MOST_LISTED` locks of each cause, those that end first before others."""

    async def count_failure(
        self, realm_id: str, client: str, device: str, window: timedelta
    ) -> int:
        """Count a refused token request; return how many there were in the window."""
