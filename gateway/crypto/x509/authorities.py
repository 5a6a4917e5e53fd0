"""The trusted authorities, and the path from a certificate up to one of them.

As with nginx, a path must end at a self-signed certificate of the bundle. Names only propose an
issuer, the signature decides: an authority of the same name with another key is another authority.
Spec: RFC 5280 §6.1; attacks A8, A14
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path

import structlog
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

from gateway.crypto.pem import CERTIFICATE_LABELS, pem_blocks
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.crypto.x509.requirements import require_authority, require_strong_signature
from gateway.crypto.x509.watched_file import WatchedFile
from gateway.domain.certificates import CertificateRefused, CertificationPath
from gateway.domain.distinguished_names import DistinguishedName
from gateway.domain.ports.certificates import MalformedCertificate

LONGEST_PATH = 8


class AuthorityBundle:
    """The configured authorities. `edition` changes when these change."""

    edition = 0

    def __init__(self, authorities: Iterable[ParsedCertificate] = ()) -> None:
        self._by_subject: dict[DistinguishedName, list[ParsedCertificate]] = {}
        self._anchors: set[bytes] = set()
        for authority in authorities:
            self._by_subject.setdefault(authority.subject, []).append(authority)
            if is_issued_by(authority, authority):
                self._anchors.add(authority.digest)

    def renew(self) -> None:
        """Read the authorities again where they come from a file that was replaced."""

    def __iter__(self) -> Iterator[ParsedCertificate]:
        return (item for authorities in self._by_subject.values() for item in authorities)

    def path(self, leaf: ParsedCertificate, now: datetime) -> CertificationPath | None:
        """Return a path from `leaf`, one that holds now if there is any; None: issuer unknown.

        Raises CertificateRefused when the issuer is known, and its certificate does not allow it.
        """
        paths: list[CertificationPath] = []
        refusal: CertificateRefused | None = None
        for chain in self._chains((leaf,)):
            try:
                _require_authorities(chain)
            except CertificateRefused as reason:
                refusal = reason
            else:
                paths.append(CertificationPath.of(leaf.facts, *chain[1:]))
        if paths:
            return next((path for path in paths if path.holds_at(now)), paths[0])
        if refusal is None and leaf.issuer in self._by_subject:
            refusal = CertificateRefused(f"no path leads over {leaf.issuer} to a trusted root")
        if refusal is not None:
            raise refusal
        return None

    def _chains(
        self, chain: tuple[ParsedCertificate, ...]
    ) -> Iterator[tuple[ParsedCertificate, ...]]:
        last = chain[-1]
        if last.digest in self._anchors:
            yield chain
        elif len(chain) < LONGEST_PATH:
            known = {item.digest for item in chain}
            for issuer in self._by_subject.get(last.issuer, ()):
                if issuer.digest not in known and is_issued_by(last, issuer):
                    yield from self._chains((*chain, issuer))


class AuthorityFile(AuthorityBundle):
    """The authorities of a PEM file, read again when it is replaced.

    A file that cannot be used leaves the authorities that were read before in force.
    """

    def __init__(self, file: Path) -> None:
        """Read the file; raises OSError, ValueError or MalformedCertificate."""
        self._file = WatchedFile(file)
        self._problem: str | None = None
        super().__init__(parse_authorities(self._file.read()))

    def renew(self) -> None:
        try:
            content = self._file.read_if_changed()
            if content is not None:
                super().__init__(parse_authorities(content))
                self.edition += 1
                self._problem = None
        except (OSError, ValueError, MalformedCertificate) as error:
            self._report(f"{self._file.path} cannot be read: {error}")

    def _report(self, problem: str) -> None:
        if problem != self._problem:
            self._problem = problem
            structlog.get_logger().error("client authorities not renewed", reason=problem)


def parse_authorities(data: bytes) -> tuple[ParsedCertificate, ...]:
    """Parse a PEM bundle; raises ValueError or MalformedCertificate."""
    certificates = pem_blocks(data, *CERTIFICATE_LABELS)
    if not certificates:
        raise ValueError("no PEM certificate")
    return tuple(map(parse_certificate, certificates))


def is_issued_by(certificate: ParsedCertificate, issuer: ParsedCertificate) -> bool:
    """Tell whether the key of `issuer` made the signature, and the names agree."""
    try:
        certificate.certificate.verify_directly_issued_by(issuer.certificate)
    except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
        return False
    return True


def _require_authorities(chain: tuple[ParsedCertificate, ...]) -> None:
    for authorities_below, authority in enumerate(chain[1:]):
        require_authority(authority, authorities_below)
    # The anchor is trusted because it is in the bundle, whatever its own signature is made with.
    for authority in chain[1:-1]:
        require_strong_signature(authority)
