"""Client certificates: evidence of the proxy, the decision about it, authorities, deny lists.

The edge reports evidence (`CertificateEvidence`), `gateway/certificates` decides about it
(`ClientCertificate`). A trust anchor is pinned by its name and key, so a certificate issued again
for the same key stays an anchor and another authority of the same name is none. The deny list of
the realm master counts in every realm. Spec: RFC 8705 §2, §3; RFC 5280 §4.1, §6.1, §6.1.1 (d)
"""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from textwrap import wrap
from typing import Final, NamedTuple

from gateway.domain import base64url
from gateway.domain.distinguished_names import DistinguishedName, subject_matches
from gateway.domain.events import Detail
from gateway.domain.limits.caches import cached
from gateway.domain.resources import StoredKind

_NOT_DESCRIBABLE: Final = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")
_LONGEST_REASON: Final = 200
_OTHER_AUTHORITY: Final = "no authority of the certificate is the one registered for the client"
_AMBIGUOUS: Final = (
    "several authorities may be named {}, add the authority of the client to its own anchors"
)


def reason_for_caller(reason: str) -> str:
    """Return a reason in the characters of an `error_description`. Spec: RFC 6749 §5.2."""
    return _NOT_DESCRIBABLE.sub("?", reason)[:_LONGEST_REASON]


class CertificateRefused(Exception):
    """The certificate must not be used at all; `str()` is the reason, for logs and callers."""


@dataclass(frozen=True, slots=True)
class CertificateFacts:
    """What every check asks of a certificate; `digest` is the SHA-256 of its encoding.

    `twin_digest` is that of the same certificate with the other ECDSA signature that verifies too:
    anybody can compute it. It is empty where the signature has no other form.
    """

    issuer: DistinguishedName
    subject: DistinguishedName
    serial: int
    not_before: datetime
    not_after: datetime
    digest: bytes
    twin_digest: bytes = field(default=b"", kw_only=True)

    @property
    def thumbprint(self) -> str:
        """The digest in base64url, the value of `x5t#S256`. Spec: RFC 8705 §3.1."""
        return base64url.encode(self.digest)

    @property
    def form_digest(self) -> bytes:
        """One digest for both forms of the signature."""
        return min(self.digest, self.twin_digest) if self.twin_digest else self.digest


KEY_USAGES: Final = (
    "digitalSignature",
    "nonRepudiation",
    "keyEncipherment",
    "dataEncipherment",
    "keyAgreement",
    "keyCertSign",
    "cRLSign",
    "encipherOnly",
    "decipherOnly",
)
"""The names of the bits, in their order. Spec: RFC 5280 §4.2.1.3"""


@dataclass(frozen=True, slots=True)
class CertificateUsage:
    """What a certificate is issued for, by its extensions.

    `key_usages` are of KEY_USAGES, None without the extension; `extended` and `policies` are
    object identifiers of extended key usages and of certificate policies.
    """

    key_usages: tuple[str, ...] | None = None
    extended: tuple[str, ...] = ()
    policies: tuple[str, ...] = ()


_NO_USAGE: Final = CertificateUsage()


@dataclass(frozen=True, slots=True)
class PresentedCertificate(CertificateFacts):
    """The certificate of a TLS client.

    `key_digest` is the SHA-256 of its SubjectPublicKeyInfo. `emails`, `principal_names` (UPN),
    `dns_names`, `uris` and `ip_addresses` (as RFC 5952 writes them) are its subject's alternative
    names. `names_digest` is the SHA-256 of its subject and all alternative names, empty where it
    has neither.
    `issued_serial` is the digest of its issuer and serial number as deny lists have it,
    `legacy_subject` and `legacy_issuer` are the names as events have them: each request needs them.
    """

    der: bytes = field(repr=False)
    issued_serial: str
    legacy_subject: str = field(repr=False)
    legacy_issuer: str = field(repr=False)
    emails: tuple[str, ...] = ()
    principal_names: tuple[str, ...] = ()
    dns_names: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()
    ip_addresses: tuple[str, ...] = ()
    key_digest: bytes = b""
    usage: CertificateUsage = _NO_USAGE
    names_digest: bytes = b""
    event_details: Mapping[str, str] = field(init=False, repr=False, compare=False)
    """Serial number, subject and issuer, the names in Keycloak's form."""
    _thumbprint: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Write once what each token, event and log line has."""
        names = {Detail.X509_SUBJECT: self.legacy_subject, Detail.X509_ISSUER: self.legacy_issuer}
        details = {Detail.X509_SERIAL: serial_text(self.serial), **names}
        object.__setattr__(self, "event_details", details)
        object.__setattr__(self, "_thumbprint", base64url.encode(self.digest))

    @property
    def thumbprint(self) -> str:
        return self._thumbprint


def serial_text(serial: int) -> str:
    """Return a serial number as commands, events, pages and deny lists have it: hexadecimal."""
    return f"{serial:x}"


class ProxyVerdict(StrEnum):
    """The result of the proxy's own verification of the certificate."""

    VERIFIED = "verified"
    """It leads to an authority that the proxy trusts."""
    FAILED = "failed"
    """The proxy's verification failed; the proxy passed the request on all the same."""
    NONE = "none"
    """The proxy reports none, or none that its dialect defines."""


@dataclass(frozen=True, slots=True)
class CertificateEvidence:
    """What the proxy reports about the client's certificate; nothing here is a decision.

    `chain` holds the DER of the certificates that were sent besides the leaf. `reason` is what the
    proxy gives for a verdict that is not VERIFIED. `lookup` names the dialect of the report.
    """

    leaf: PresentedCertificate
    verdict: ProxyVerdict
    lookup: str
    reason: str | None = None
    chain: tuple[bytes, ...] = field(default=(), repr=False)


class AnchorOrigin(StrEnum):
    """Who trusts the anchor at the end of a path."""

    SETTINGS = "settings"
    """The operator, by the bundle of the settings."""
    REALM = "realm"
    """An administrator, for one realm."""
    CLIENT = "client"
    """An administrator, for one client of a realm."""


class CertificationPath(NamedTuple):
    """Certificates from the leaf to the anchor, each issued by the next.

    It holds from `begin` to `end`, the time in which all of them are valid. `origin` says who
    trusts the last one, `issuer_key` is the SHA-256 of the public key that has signed the leaf.
    `ambiguous_names` are names of its authorities that do not tell which authority it is.
    """

    certificates: tuple[CertificateFacts, ...]
    begin: datetime
    end: datetime
    origin: AnchorOrigin = AnchorOrigin.SETTINGS
    issuer_key: bytes = b""
    ambiguous_names: frozenset[DistinguishedName] = frozenset()

    @classmethod
    def of(
        cls,
        *certificates: CertificateFacts,
        origin: AnchorOrigin = AnchorOrigin.SETTINGS,
        reissued: bool = False,
        issuer_key: bytes = b"",
        ambiguous_names: frozenset[DistinguishedName] = frozenset(),
    ) -> "CertificationPath":
        """Return the path; `reissued`: the last but one says how long the anchor is used."""
        dated = certificates[:-1] if reissued else certificates
        return cls(
            certificates,
            begin=max(item.not_before for item in dated),
            end=min(item.not_after for item in dated),
            origin=origin,
            issuer_key=issuer_key,
            ambiguous_names=ambiguous_names,
        )

    @property
    def links(self) -> Iterable[tuple[CertificateFacts, CertificateFacts]]:
        return pairwise(self.certificates)

    def holds_at(self, instant: datetime) -> bool:
        """Tell whether all certificates are valid at `instant`."""
        return self.begin <= instant <= self.end


@dataclass(frozen=True, slots=True)
class PathResult:
    """What the search for a certification path has found.

    `path` may be outside of its time, where none is that holds. Without a path, `refusal` says why
    a known issuer does not allow one; None for both: the issuer is unknown. The same search has
    the same result from `since` until before `until`.
    """

    path: CertificationPath | None
    refusal: str | None
    since: datetime
    until: datetime

    def holds_at(self, instant: datetime) -> bool:
        """Tell whether a search at `instant` has this result."""
        return self.since <= instant < self.until


class TrustLevel(StrEnum):
    """What a presented certificate may be used for."""

    TRUSTED = "trusted"
    """It leads to a trusted anchor and all checks agree: it may identify a client."""
    UNTRUSTED = "untrusted"
    """Possession of the key is proved, the issuer is unknown: it may bind a token, no more."""
    REFUSED = "refused"
    """Expired, revoked, wrong purpose, weak or malformed: as if none had been sent."""


@dataclass(frozen=True, slots=True)
class ClientCertificate:
    """The certificate of the TLS client with what it may be used for in one realm.

    `reason` says why the trust_level is not TRUSTED: for logs, and as `reason_for_caller`. `path`
    leads to the trusted root; None unless the trust_level is TRUSTED. `clients_with_anchors` are
    the internal ids of clients of the realm for which it is evaluated by their own anchors instead.
    """

    evidence: CertificateEvidence
    trust_level: TrustLevel
    reason: str | None = None
    path: CertificationPath | None = field(default=None, repr=False)
    clients_with_anchors: frozenset[str] = field(default=frozenset(), repr=False)

    @property
    def reason_for_caller(self) -> str:
        """The reason in the characters of an `error_description`."""
        return reason_for_caller(self.reason or "")

    @property
    def leaf(self) -> PresentedCertificate:
        return self.evidence.leaf

    @property
    def thumbprint(self) -> str:
        return self.evidence.leaf.thumbprint

    @property
    def identifies(self) -> bool:
        """Tell whether it may authenticate a client or a user."""
        return self.trust_level is TrustLevel.TRUSTED

    @property
    def binds(self) -> bool:
        """Tell whether a token may be bound to it."""
        return self.trust_level is not TrustLevel.REFUSED

    @property
    def authorities(self) -> tuple[DistinguishedName, ...]:
        """The names of the authorities from its issuer to the root; empty unless TRUSTED."""
        if self.path is None:
            return ()
        return tuple(authority.subject for authority in self.path.certificates[1:])

    def authority_problem(self, expected: str) -> str | None:
        """Return why no authority of the path has the name, or it is ambiguous; else None."""
        found = next((each for each in self.authorities if _is_named(each, expected)), None)
        if self.path is None or found is None:
            return _OTHER_AUTHORITY
        if found in self.path.ambiguous_names:
            return _AMBIGUOUS.format(found)
        return None


@cached(512 * 1024)
def _is_named(authority: DistinguishedName, expected: str) -> bool:
    """Return whether `expected` is the authority's name; a malformed one never is."""
    return subject_matches(authority, expected, regex=False)


MOST_AUTHORITIES: Final = 2_000
"""Of one realm, those of its clients included."""

_PEM_LINE: Final = 64


class AuthorityKind(StrEnum):
    """What an authority does in a certification path."""

    ANCHOR = "anchor"
    """A path may end there."""
    INTERMEDIATE = "intermediate"
    """It completes paths to an anchor and is not trusted by itself."""


@dataclass(frozen=True, slots=True)
class Authority:
    """A registered authority of a client (internal id) or of the realm; `sha256` in hexadecimal."""

    sha256: str
    kind: AuthorityKind
    der: bytes = field(repr=False)
    client: str | None = None

    @property
    def id(self) -> str:
        """The same certificate may be an authority of the realm and of each client."""
        return authority_id(self.client, self.sha256)


def authority_id(client: str | None, sha256: str) -> str:
    """Return the id of an authority in its realm; `client` is an internal id."""
    return f"{client or ''}:{sha256}"


STORED_AUTHORITIES: Final = StoredKind(
    Authority, table="authorities", columns={"der": "certificate"}
)


@dataclass(frozen=True, slots=True)
class AuthorityDescription:
    """What the certificate of an authority says; hashes, also of its public key, in hexadecimal."""

    sha256: str
    key_sha256: str
    subject: str
    issuer: str
    serial: str
    not_before: datetime
    not_after: datetime
    self_signed: bool
    der: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, eq=False)
class RegisteredAuthorities:
    """The authorities of one realm and of its clients; the same object until they change."""

    authorities: Sequence[Authority] = ()
    clients_with_anchors: frozenset[str] = frozenset()
    """Internal ids."""

    @classmethod
    def of(cls, authorities: Sequence[Authority]) -> "RegisteredAuthorities":
        return cls(
            authorities,
            frozenset(
                item.client
                for item in authorities
                if item.client is not None and item.kind is AuthorityKind.ANCHOR
            ),
        )


def certificate_pem(der: bytes) -> str:
    """Return a certificate in PEM. Spec: RFC 7468 §5."""
    text = "\n".join(wrap(b64encode(der).decode("ascii"), _PEM_LINE))
    return f"-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n"


MOST_DENIED: Final = 10_000
"""Entries of one realm; a revocation list holds more."""


@dataclass(frozen=True, slots=True)
class IssuedSerial:
    """A certificate by its issuer and the serial number that the issuer gave it."""

    issuer: DistinguishedName
    serial: int

    @property
    def digest(self) -> str:
        """The SHA-256 of both, in base64url."""
        named = f"{self.serial:x} {self.issuer}"
        hashed = hashlib.sha256(named.encode("utf-8", "surrogatepass")).digest()
        return base64url.encode(hashed)


@dataclass(frozen=True, slots=True)
class DeniedCertificate:
    """One entry: a certificate by its thumbprint, or by its issuer and serial number.

    `id` is the thumbprint (`x5t#S256`), or the digest of issuer and serial: one certificate, one
    entry. It counts until `expires_at`, without one until it is removed. `reason` is for
    administrators.
    """

    id: str
    created_at: datetime
    issuer: DistinguishedName | None = None
    serial: int | None = None
    reason: str | None = None
    expires_at: datetime | None = None

    @property
    def thumbprint(self) -> str | None:
        """The thumbprint; None for an entry of issuer and serial number."""
        return self.id if self.issuer is None else None


STORED_DENIED_CERTIFICATES: Final = StoredKind(
    DeniedCertificate,
    table="denied_certificates",
    order=("created_at", "id"),
    conflict_message="The certificate is on the deny list already",
)


@dataclass(frozen=True, slots=True)
class DeniedIdentity:
    """What a certificate is compared with. `serial` is None for an entry that is a thumbprint."""

    id: str
    serial: int | None = None
    expires_at: datetime | None = None
