"""Whether a certificate was revoked, by lists in a file that is read again when it changes.

As with nginx, every authority of the path needs a list, and a list past its next update refuses all
certificates of its authority. When the file becomes unreadable, the lists read before stay in force
until they are stale. Authorities that a realm registers have no list here.
Spec: RFC 5280 §5, §6.3; attacks A9, A10
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

import structlog
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from gateway.crypto.x509.authorities import AuthorityBundle
from gateway.crypto.x509.parse import ParsedCertificate
from gateway.crypto.x509.requirements import HASHES
from gateway.crypto.x509.revocation_pem import load_revocation_lists
from gateway.crypto.x509.watched_file import WatchedFile
from gateway.domain.certificates import AnchorOrigin, CertificateFacts, CertificationPath
from gateway.domain.realm import Realm

KEYS = (rsa.RSAPublicKey, ec.EllipticCurvePublicKey, ed25519.Ed25519PublicKey)


@dataclass(frozen=True, slots=True)
class RevocationStatus:
    """What health reports: the age of the oldest list, and when the first one expires.

    `problem` is the reason why the present file cannot be used.
    """

    age: timedelta | None
    next_update: datetime | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class _List:
    issued: datetime
    next_update: datetime
    serials: frozenset[int]


class RevocationLists:
    """The revocation lists of one file, for the authorities of one bundle."""

    def __init__(self, file: Path, bundle: AuthorityBundle) -> None:
        """Read the file; raises OSError or ValueError when it cannot be used at the start."""
        self._file = WatchedFile(file)
        self._bundle = bundle
        self._edition = bundle.edition
        self._lists = _parse(self._file.read(), bundle)
        self._problem: str | None = None

    async def refusal(
        self,
        path: CertificationPath,
        realm: Realm,  # noqa: ARG002 - the lists of the settings count in every realm
        now: datetime,
    ) -> str | None:
        self._read_again_when_changed()
        if path.origin is not AnchorOrigin.SETTINGS:
            return None
        for certificate, issuer in path.links:
            refusal = self._refusal(certificate, issuer, now)
            if refusal is not None:
                return refusal
        return None

    def status(self, now: datetime) -> RevocationStatus:
        self._bundle.renew()
        self._read_again_when_changed()
        lists = self._lists.values()
        next_update = min((item.next_update for item in lists), default=None)
        problem = self._problem
        if problem is None and (next_update is None or next_update < now):
            problem = "no list of a known authority" if next_update is None else "a list is stale"
        return RevocationStatus(
            age=max((now - item.issued for item in lists), default=None),
            next_update=next_update,
            problem=problem,
        )

    def _refusal(
        self, certificate: CertificateFacts, issuer: CertificateFacts, now: datetime
    ) -> str | None:
        revocation_list = self._lists.get(issuer.digest)
        if revocation_list is None:
            return f"there is no revocation list of {issuer.subject}"
        if now > revocation_list.next_update:
            return f"the revocation list of {issuer.subject} is stale"
        if now < revocation_list.issued:
            return f"the revocation list of {issuer.subject} is not valid yet"
        if certificate.serial in revocation_list.serials:
            return f"{certificate.subject} was revoked"
        return None

    def _read_again_when_changed(self) -> None:
        try:
            content = self._file.read_if_changed()
            if content is None and self._bundle.edition != self._edition:
                content = self._file.read()
            # Before parsing: what is broken stays so until a file changes.
            self._edition = self._bundle.edition
            if content is not None:
                self._lists = _parse(content, self._bundle)
                self._problem = None
        except (OSError, ValueError) as error:
            self._report(error)

    def _report(self, error: Exception) -> None:
        problem = f"{self._file.path} cannot be read: {error}"
        if problem != self._problem:
            self._problem = problem
            structlog.get_logger().error("revocation lists not renewed", reason=problem)


def _parse(content: bytes, bundle: AuthorityBundle) -> Mapping[bytes, _List]:
    lists = load_revocation_lists(content)
    found = {authority.digest: _newest(lists, authority) for authority in bundle}
    return {digest: newest for digest, newest in found.items() if newest is not None}


def _newest(
    lists: Iterable[x509.CertificateRevocationList], authority: ParsedCertificate
) -> _List | None:
    usable = [
        _List(item.last_update_utc, item.next_update_utc, frozenset(e.serial_number for e in item))
        for item in lists
        if item.next_update_utc is not None and _is_complete_list_of(item, authority)
    ]
    return max(usable, key=lambda item: item.issued, default=None)


def _is_complete_list_of(
    revocation_list: x509.CertificateRevocationList, authority: ParsedCertificate
) -> bool:
    # A critical extension marks a delta or a partial list: it does not name all that is revoked.
    if any(extension.critical for extension in revocation_list.extensions):
        return False
    key = authority.certificate.public_key()
    try:
        return (
            isinstance(key, KEYS)
            and revocation_list.issuer == authority.certificate.subject
            and isinstance(revocation_list.signature_hash_algorithm, (*HASHES, type(None)))
            and _may_sign_lists(authority)
            and revocation_list.is_signature_valid(key)
        )
    except UnsupportedAlgorithm:
        return False


def _may_sign_lists(authority: ParsedCertificate) -> bool:
    key_usage = authority.extension(x509.KeyUsage)
    return key_usage is None or key_usage.crl_sign
