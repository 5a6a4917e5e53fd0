"""Trust in client certificates: a path to an authority that counts in the realm, and no revocation.

The search for the path is done once for a certificate, the authorities and what was sent with it;
the result is cached until it changes. Revocation is checked at each use: sources that ask servers
come last, because an address in a certificate is followed only where no other source refuses it.

| anchors | authorities that count |
|---|---|
| the client has some | the client's |
| the realm has some | the realm's, and those of the settings where a setting of the realm says so |
| neither | those of the settings, unless a setting of the realm says no |

Intermediates of the realm complete paths to all of them.
Spec: RFC 8705 §2, §3, §7.4; attacks A6 to A10, A14, A17; decision 0020
"""

import hashlib
import sys
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Protocol

from gateway.domain import base64url
from gateway.domain.certificates import (
    AnchorOrigin,
    Authority,
    AuthorityKind,
    CertificateEvidence,
    CertificateFacts,
    CertificationPath,
    ClientCertificate,
    DeniedIdentity,
    IssuedSerial,
    PathResult,
    ProxyVerdict,
    RegisteredAuthorities,
    TrustLevel,
)
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.limits.caches import SizedCache, size_of
from gateway.domain.ports.certificates import (
    UNKNOWN_ISSUER,
    Authorities,
    AuthorityFactory,
    AuthoritySelection,
    AuthorityStore,
    Revocations,
    SelectedAuthorities,
)
from gateway.domain.realm import Realm

_PREPARED_BYTES: Final = 64 * 1024 * 1024
_PARSED_FACTOR: Final = 12
"""A parsed certificate takes so many times the memory of its encoding."""
_SelectionKey = tuple[str, str | None, bool | None]


@dataclass(frozen=True, slots=True)
class _Prepared:
    """The authorities that were prepared from `registered`."""

    registered: RegisteredAuthorities
    selected: SelectedAuthorities = field(repr=False)
    der_bytes: int


class RegisteredAuthoritySelection:
    """AuthoritySelection by what administrators registered, and by the settings."""

    def __init__(self, store: AuthorityStore, factory: AuthorityFactory) -> None:
        self._store = store
        self._factory = factory
        self._prepared: SizedCache[_SelectionKey, _Prepared] = SizedCache(
            _PREPARED_BYTES, _weigh_selection
        )
        self._of_settings: SelectedAuthorities | None = None

    async def select(self, realm: Realm, client: str | None) -> SelectedAuthorities:
        gateway = await self._factory.gateway()
        registered = await self._store.registered(realm.id)
        wants_gateway = realm.certificates.trust.gateway_authorities
        if not registered.authorities and wants_gateway is not False:
            if self._of_settings is None or self._of_settings.authorities is not gateway:
                self._of_settings = SelectedAuthorities(gateway)
            return self._of_settings
        owner = client if client in registered.clients_with_anchors else None
        key = (realm.id, owner, wants_gateway)
        known = self._prepared.get(key)
        if known is None or known.registered is not registered:
            known = await self._prepare(registered, owner, wants_gateway=wants_gateway)
            self._prepared.put(key, known)
        return known.selected

    async def _prepare(
        self, registered: RegisteredAuthorities, owner: str | None, *, wants_gateway: bool | None
    ) -> _Prepared:
        entries = tuple(_entries_for(registered.authorities, owner))
        if owner is not None:
            origin, with_gateway = AnchorOrigin.CLIENT, False
        else:
            origin = AnchorOrigin.REALM
            with_gateway = (
                all(entry.kind is not AuthorityKind.ANCHOR for entry in entries)
                if wants_gateway is None
                else wants_gateway
            )
        authorities = await self._factory.prepare(entries, origin, with_gateway=with_gateway)
        selected = SelectedAuthorities(authorities, registered.clients_with_anchors)
        return _Prepared(registered, selected, sum(len(entry.der) for entry in entries))


def _entries_for(registered: Iterable[Authority], owner: str | None) -> Iterable[Authority]:
    for entry in registered:
        if entry.client == owner or (
            entry.client is None and entry.kind is AuthorityKind.INTERMEDIATE
        ):
            yield entry


def _weigh_selection(_key: _SelectionKey, prepared: _Prepared) -> int:
    return prepared.der_bytes * _PARSED_FACTOR


class CombinedRevocations:
    """Revocations of several sources, asked in their order: the cheapest should come first."""

    def __init__(self, sources: Iterable[Revocations], of_realms: Iterable[Revocations]) -> None:
        """Take `of_realms`, the servers that the settings of a realm name or allow."""
        self._sources = tuple(sources)
        self._of_realms = tuple(of_realms)

    async def refusal(self, path: CertificationPath, realm: Realm, now: datetime) -> str | None:
        for source in self._sources:
            refusal = await source.refusal(path, realm, now)
            if refusal is not None:
                return refusal
        if not realm.certificates.revocation.asks_servers:
            return None
        for source in self._of_realms:
            refusal = await source.refusal(path, realm, now)
            if refusal is not None:
                return refusal
        return None


_ENTRY_BYTES: Final = 400

_Until = datetime | None
"""None: without an end."""


class DenyList:
    """The entries of one realm, each of a size that does not depend on the names in it."""

    __slots__ = ("_by_digest", "_by_issued", "_serials")

    def __init__(self, entries: Iterable[DeniedIdentity] = ()) -> None:
        self._by_digest: dict[bytes, _Until] = {}
        self._by_issued: dict[bytes, _Until] = {}
        self._serials: set[int] = set()
        """The serial numbers of the entries in `_by_issued`; few other certificates have one."""
        for entry in entries:
            if entry.serial is None:
                self._by_digest[_decode_thumbprint(entry.id)] = entry.expires_at
            else:
                self._by_issued[_decode_thumbprint(entry.id)] = entry.expires_at
                self._serials.add(entry.serial)

    @property
    def is_empty(self) -> bool:
        return not self._by_digest and not self._by_issued

    @property
    def size(self) -> int:
        """About the bytes that the list takes in memory."""
        return _ENTRY_BYTES * (1 + len(self._by_digest) + len(self._by_issued))

    def denies(self, certificate: CertificateFacts, now: datetime) -> bool:
        """Return whether an entry names the certificate and has not expired."""
        if self._denies_digest(certificate.digest, now):
            return True
        if self._denies_digest(certificate.twin_digest, now):
            return True
        if certificate.serial not in self._serials:
            return False
        named = IssuedSerial(certificate.issuer, certificate.serial)
        return _is_in(self._by_issued, _decode_thumbprint(named.digest), now)

    def denies_id(self, identity: str, now: datetime) -> bool:
        """Return whether an entry has that id and has not expired."""
        digest = _decode_thumbprint(identity)
        return self._denies_digest(digest, now) or _is_in(self._by_issued, digest, now)

    def _denies_digest(self, digest: bytes, now: datetime) -> bool:
        return _is_in(self._by_digest, digest, now)


def _is_in(entries: Mapping[bytes, _Until], digest: bytes, now: datetime) -> bool:
    return digest in entries and _counts(entries[digest], now)


def _counts(until: _Until, now: datetime) -> bool:
    return until is None or now < until


def _decode_thumbprint(thumbprint: str) -> bytes:
    return base64url.decode(thumbprint)


REMEMBERED_BYTES: Final = 16 * 1024 * 1024
"""Memory of a worker for paths: those of 10,000 certificates in use, and as many old ones."""
REFUSED_BYTES: Final = 2 * 1024 * 1024
"""Memory of a worker for searches without a path: callers can generate any number."""
_RESULT_BYTES: Final = 600
"""Bytes of a result with its key, without texts and what authorities share."""
_PathKey = tuple[bytes, Hashable, frozenset[str], bytes]
"""Digest of the leaf, edition of the authorities, policies of the realm, digest of the chain."""


class CertificateTrust(Protocol):
    """Decides what a certificate may be used for in a realm."""

    async def evaluate(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> ClientCertificate:
        """Return the certificate with its trust level in `realm` at `now`; raises StoreUnavailable.

        `client` is the internal id of a client, whose anchors replace those of the realm. TRUSTED
        needs path, validity, purpose, names, policies, key strength and revocation, and the proxy's
        verdict for anchors of the settings.
        """
        ...


async def evaluate_for_client(
    trust: CertificateTrust,
    certificate: ClientCertificate,
    realm: Realm,
    client: str,
    now: datetime,
) -> ClientCertificate:
    """Return the certificate as the client's own anchors judge it; raises StoreUnavailable."""
    if client not in certificate.clients_with_anchors:
        return certificate
    return await trust.evaluate(certificate.evidence, realm, now, client=client)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A PathResult without the large leaf; `authorities` lead from issuer to anchor."""

    authorities: tuple[CertificateFacts, ...] | None
    begin: datetime
    end: datetime
    origin: AnchorOrigin
    issuer_key: bytes
    ambiguous_names: frozenset[DistinguishedName]
    refusal: str | None
    since: datetime
    until: datetime

    def path_of(self, leaf: CertificateFacts) -> CertificationPath | None:
        if self.authorities is None:
            return None
        certificates = (leaf, *self.authorities)
        dates, key = (self.begin, self.end), self.issuer_key
        return CertificationPath(certificates, *dates, self.origin, key, self.ambiguous_names)


class AnchoredTrust:
    """Evaluates certificates by the authorities of the realm and, where given, revocation."""

    def __init__(self, selection: AuthoritySelection, revocations: Revocations | None) -> None:
        """Trust what leads to anchors of `selection`; without any, no certificate is TRUSTED."""
        self._selection = selection
        self._revocations = revocations
        self._paths: SizedCache[_PathKey, _Remembered] = SizedCache(REMEMBERED_BYTES, _weigh_path)
        self._refusals: SizedCache[_PathKey, _Remembered] = SizedCache(REFUSED_BYTES, _weigh_path)

    async def evaluate(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> ClientCertificate:
        selected = await self._selection.select(realm, client)
        result = self._result(evidence, selected.authorities, realm, now)
        level, reason, path = TrustLevel.TRUSTED, result.refusal, result.path_of(evidence.leaf)
        if reason is None:
            held = CertificationPath.of(evidence.leaf) if path is None else path
            reason = None if held.begin <= now <= held.end else _time_refusal(held, now)
            if reason is None and self._revocations is not None:
                reason = await self._revocations.refusal(held, realm, now)
        if reason is not None:
            level = TrustLevel.REFUSED
        elif path is None:
            level, reason = TrustLevel.UNTRUSTED, _unknown_issuer(evidence.leaf)
        elif path.origin is AnchorOrigin.SETTINGS and evidence.verdict is not ProxyVerdict.VERIFIED:
            level, reason = TrustLevel.UNTRUSTED, "the proxy did not verify it"
        trusted = path if level is TrustLevel.TRUSTED else None
        return ClientCertificate(evidence, level, reason, trusted, selected.clients_with_anchors)

    @property
    def remembered_bytes(self) -> int:
        """About the memory that results take, paths and searches without one."""
        return self._paths.bytes + self._refusals.bytes

    async def find_path(
        self,
        evidence: CertificateEvidence,
        realm: Realm,
        now: datetime,
        *,
        client: str | None = None,
    ) -> PathResult:
        """Return the search that `evaluate` judges by; raises StoreUnavailable."""
        selected = await self._selection.select(realm, client)
        found = self._result(evidence, selected.authorities, realm, now)
        return PathResult(found.path_of(evidence.leaf), found.refusal, found.since, found.until)

    def _result(
        self, evidence: CertificateEvidence, authorities: Authorities, realm: Realm, now: datetime
    ) -> _Remembered:
        leaf, chain = evidence.leaf, evidence.chain
        policies = realm.certificates.trust.policies
        key = (leaf.digest, authorities.edition, policies, _digest_chain(chain) if chain else b"")
        known = self._paths.get(key) or self._refusals.get(key)
        if known is not None and known.since <= now < known.until:
            return known
        result = _remembered(authorities.find_path(leaf, chain, policies, now))
        # The new result replaces the earlier one, whether a path or a refusal.
        self._paths.drop(key)
        (self._refusals if result.authorities is None else self._paths).put(key, result)
        return result


def _unknown_issuer(leaf: CertificateFacts) -> str:
    reason = f"the issuer {leaf.issuer} {UNKNOWN_ISSUER}"
    return f"it is self-signed: {reason}" if leaf.issuer == leaf.subject else reason


def _remembered(found: PathResult) -> _Remembered:
    path, refusal, since, until = found.path, found.refusal, found.since, found.until
    if path is None:
        origin = AnchorOrigin.SETTINGS
        return _Remembered(None, since, until, origin, b"", frozenset(), refusal, since, until)
    others, origin = path.certificates[1:], path.origin
    dates = path.begin, path.end
    of_issuer = path.issuer_key, path.ambiguous_names
    return _Remembered(others, *dates, origin, *of_issuer, refusal, since, until)


def _digest_chain(chain: Sequence[bytes]) -> bytes:
    hashed = hashlib.sha256()
    for certificate in chain:
        hashed.update(len(certificate).to_bytes(4))
        hashed.update(certificate)
    return hashed.digest()


def _weigh_path(key: _PathKey, result: _Remembered) -> int:
    if key[-1]:
        return _RESULT_BYTES + size_of(result)
    # Without a chain the certificates of the path belong to the authorities.
    return _RESULT_BYTES + sys.getsizeof(result.refusal)


def _time_refusal(path: CertificationPath, now: datetime) -> str:
    late = next((item for item in path.certificates if item.not_after < now), None)
    if late is not None:
        return _dated(late, path, f"expired at {late.not_after}")
    early = next(item for item in path.certificates if item.not_before > now)
    return _dated(early, path, f"is not valid before {early.not_before}")


def _dated(certificate: CertificateFacts, path: CertificationPath, what: str) -> str:
    who = "it" if certificate is path.certificates[0] else f"the authority {certificate.subject}"
    return f"{who} {what}"
