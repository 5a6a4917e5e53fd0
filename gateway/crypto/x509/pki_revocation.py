"""The revocation lists of the development PKI: revoking, and issuing again before they expire.

nginx refuses all certificates of an authority whose list is missing or past its next update, so one
file holds the lists of both authorities. Spec: RFC 5280 §5.1, §5.2.3 (the number always increases)
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from gateway.crypto.x509.issuing import Authority, PkiRefused, Validity, issue_revocation_list
from gateway.crypto.x509.pki_directory import (
    ISSUING,
    REVOCATION_LISTS,
    ROOT,
    locked,
    pem,
    read_authority,
    write_files,
)
from gateway.crypto.x509.revocation_pem import load_revocation_lists

LIFETIME = timedelta(days=30)

Entries = Sequence[x509.RevokedCertificate]


def first_revocation_lists(issuing: Authority, root: Authority, now: datetime) -> bytes:
    """Return empty lists of both authorities."""
    validity = Validity.starting(now, LIFETIME)
    return pem(*(issue_revocation_list(issuer, (), 1, validity) for issuer in (issuing, root)))


def revoke(directory: Path, certificate: x509.Certificate, *, now: datetime) -> bool:
    """Put a certificate on the issuing authority's list; False when it stood there already."""
    with locked(directory):
        issuer = read_authority(directory, ISSUING)
        _require_issued_by(certificate, issuer)
        current = _current_list(directory, issuer)
        if current.get_revoked_certificate_by_serial_number(certificate.serial_number):
            return False
        entry = (
            x509.RevokedCertificateBuilder()
            .serial_number(certificate.serial_number)
            .revocation_date(now.replace(microsecond=0))
            .build()
        )
        _issue_again(directory, {ISSUING: (entry,)}, now)
    return True


def renew_revocation_lists(directory: Path, *, now: datetime) -> datetime:
    """Issue both lists again with the same entries; return when the new ones expire."""
    with locked(directory):
        _issue_again(directory, {}, now)
        return revocation_lists_expire(directory)


def revocation_lists_expire(directory: Path) -> datetime:
    """Return the instant at which the first of the lists expires."""
    lists = _read(directory)
    if not lists:
        raise PkiRefused(f"{directory / REVOCATION_LISTS} has no list")
    # A list without an end counts as due: this PKI never issues one.
    return min(item.next_update_utc or item.last_update_utc for item in lists)


def _require_issued_by(certificate: x509.Certificate, issuer: Authority) -> None:
    try:
        certificate.verify_directly_issued_by(issuer.certificate)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise PkiRefused("the certificate is not of this PKI's issuing authority") from error


def _issue_again(directory: Path, additions: Mapping[str, Entries], now: datetime) -> None:
    validity = Validity.starting(now, LIFETIME)
    lists = []
    for name in (ISSUING, ROOT):
        issuer = read_authority(directory, name)
        current = _current_list(directory, issuer)
        entries = (*current, *additions.get(name, ()))
        lists.append(issue_revocation_list(issuer, entries, _number(current) + 1, validity))
    write_files(directory, {REVOCATION_LISTS: pem(*lists)})


def _current_list(directory: Path, issuer: Authority) -> x509.CertificateRevocationList:
    subject = issuer.certificate.subject
    for revocation_list in _read(directory):
        if revocation_list.issuer == subject:
            return revocation_list
    raise PkiRefused(f"{directory / REVOCATION_LISTS} has no list of {subject.rfc4514_string()}")


def _number(revocation_list: x509.CertificateRevocationList) -> int:
    return revocation_list.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def _read(directory: Path) -> tuple[x509.CertificateRevocationList, ...]:
    path = directory / REVOCATION_LISTS
    try:
        return load_revocation_lists(path.read_bytes())
    except FileNotFoundError as error:
        raise PkiRefused(f"no PKI in {directory}: {path} is missing") from error
    except ValueError as error:
        raise PkiRefused(f"{path} cannot be read: {error}") from error
