"""Revocation lists: whose they are, how fresh, and what happens when the file changes."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from structlog.testing import capture_logs

from gateway.crypto.revocation import revocation_decision
from gateway.crypto.revocation.downloaded_lists import parse_revocation_lists
from gateway.crypto.revocation.revocation_decision import RevocationLists, RevocationStatus
from gateway.crypto.x509.authorities import (
    AuthorityBundle,
    AuthorityFile,
    parse_authorities,
)
from gateway.crypto.x509.development_pki import (
    ISSUING,
    ROOT,
    create_pki,
    pem,
    read_authority,
    renew_revocation_lists,
    revoke_certificate,
)
from gateway.crypto.x509.issuing import (
    IssuingAuthority,
    KeyAlgorithm,
    ValidityPeriod,
    generate_key,
    issue_revocation_list,
    issue_root,
)
from gateway.crypto.x509.parse import parse_certificate
from gateway.crypto.x509.path_search import PathSearch
from gateway.domain.certificates import CertificationPath
from gateway.domain.realm import REVOCATION_POLICY
from tests.support.evaluated_certificates import REALM

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)


def refusal_of(lists: RevocationLists, path: CertificationPath, now: datetime) -> str | None:
    return asyncio.run(lists.refusal(path, REALM, now))


def status_of(lists: RevocationLists, now: datetime) -> RevocationStatus:
    asyncio.run(lists.renew())
    return lists.status(now)


class Pki:
    """A PKI whose revocation lists the test writes."""

    def __init__(self, directory: Path) -> None:
        create_pki(directory, now=NOW)
        self.directory, self.file = directory, directory / "ca.crl"
        self.issuing = read_authority(directory, ISSUING)
        self.root = read_authority(directory, ROOT)
        self.bundle = AuthorityFile(directory / "ca.crt")
        self.device = x509.load_pem_x509_certificate((directory / "device-1.crt").read_bytes())

    @property
    def path(self) -> CertificationPath:
        """The path of device-1."""
        leaf = parse_certificate(self.device.public_bytes(Encoding.DER))
        path = PathSearch(self.bundle, (), frozenset(), NOW).run(leaf).path
        assert path is not None
        return path

    def write(self, *lists: x509.CertificateRevocationList) -> RevocationLists:
        """Put the lists into the file, and read them."""
        self.file.write_bytes(pem(*lists))
        return RevocationLists(self.file, self.bundle)

    def list_of(
        self,
        authority: IssuingAuthority,
        *revoked: x509.Certificate,
        issued: datetime = NOW - DAY,
        next_update: datetime = NOW + DAY,
    ) -> x509.CertificateRevocationList:
        """Issue a list of the authority."""
        entries = [_entry(certificate) for certificate in revoked]
        return issue_revocation_list(authority, entries, 1, ValidityPeriod(issued, next_update))


def _entry(certificate: x509.Certificate) -> x509.RevokedCertificate:
    return (
        x509.RevokedCertificateBuilder()
        .serial_number(certificate.serial_number)
        .revocation_date(NOW)
        .build()
    )


@pytest.fixture
def own_pki(tmp_path: Path) -> Pki:
    return Pki(tmp_path / "certs")


def test_a_certificate_on_no_list_is_not_revoked(own_pki: Pki) -> None:
    lists = own_pki.write(own_pki.list_of(own_pki.issuing), own_pki.list_of(own_pki.root))
    assert refusal_of(lists, own_pki.path, NOW) is None


def test_every_link_of_the_path_is_checked(own_pki: Pki) -> None:
    """RFC 5280 §6.3: a revoked authority takes all it issued with it."""
    lists = own_pki.write(
        own_pki.list_of(own_pki.issuing),
        own_pki.list_of(own_pki.root, own_pki.issuing.certificate),
    )
    refusal = refusal_of(lists, own_pki.path, NOW)
    assert refusal == "CN=Realmgate Development Issuing CA,O=Realmgate Demonstration was revoked"


@pytest.mark.parametrize("missing", [ISSUING, ROOT])
def test_an_authority_without_a_list_refuses_its_certificates(own_pki: Pki, missing: str) -> None:
    """Attack A10: as in nginx, where lists are configured a missing one fails closed."""
    present = own_pki.root if missing == ISSUING else own_pki.issuing
    refusal = refusal_of(own_pki.write(own_pki.list_of(present)), own_pki.path, NOW)
    assert (refusal or "").startswith("there is no revocation list of CN=Realmgate Development")


@pytest.mark.parametrize(
    ("issued", "next_update", "reason"),
    [
        (NOW - 2 * DAY, NOW - timedelta(seconds=1), "is stale"),
        (NOW - 2 * DAY, NOW, None),
        (NOW + timedelta(seconds=1), NOW + DAY, "is not valid yet"),
    ],
)
def test_a_list_outside_its_time_refuses_its_certificates(
    own_pki: Pki, issued: datetime, next_update: datetime, reason: str | None
) -> None:
    """Attack A10: past its next update a list cannot say what was revoked since."""
    dated = own_pki.list_of(own_pki.issuing, issued=issued, next_update=next_update)
    refusal = refusal_of(own_pki.write(dated, own_pki.list_of(own_pki.root)), own_pki.path, NOW)
    assert refusal is None if reason is None else reason in (refusal or "")


def test_a_list_signed_with_another_key_does_not_count(own_pki: Pki) -> None:
    """Whoever can write the file cannot unrevoke: the name on a list proves nothing."""
    impostor = issue_root(
        own_pki.issuing.certificate.subject,
        generate_key(KeyAlgorithm.ECDSA),
        ValidityPeriod(NOW - DAY, NOW + DAY),
    )
    lists = own_pki.write(own_pki.list_of(impostor), own_pki.list_of(own_pki.root))
    assert "there is no revocation list" in (refusal_of(lists, own_pki.path, NOW) or "")


def test_a_list_of_another_name_of_the_same_key_does_not_count(own_pki: Pki) -> None:
    """RFC 5280 §6.3.3 (b): two authorities of one key number their certificates separately."""
    validity = ValidityPeriod(NOW - DAY, NOW + DAY)
    alias = issue_root(own_pki.root.certificate.subject, own_pki.issuing.key, validity)
    lists = own_pki.write(own_pki.list_of(alias), own_pki.list_of(own_pki.root))
    assert "there is no revocation list" in (refusal_of(lists, own_pki.path, NOW) or "")


def test_the_newest_of_several_lists_counts(own_pki: Pki) -> None:
    old = own_pki.list_of(own_pki.issuing, own_pki.device, issued=NOW - 3 * DAY)
    new = own_pki.list_of(own_pki.issuing, issued=NOW - DAY)
    root = own_pki.list_of(own_pki.root)
    assert refusal_of(own_pki.write(old, root, new), own_pki.path, NOW) is None
    assert refusal_of(own_pki.write(new, root, old), own_pki.path, NOW) is None


def test_a_partial_list_does_not_count(own_pki: Pki) -> None:
    """RFC 5280 §5.2.4: a delta names what changed, not what is revoked."""
    delta = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(own_pki.issuing.certificate.subject)
        .last_update(NOW)
        .next_update(NOW + DAY)
        .add_extension(x509.DeltaCRLIndicator(1), critical=True)
        .sign(own_pki.issuing.key, hashes.SHA256())
    )
    lists = own_pki.write(delta, own_pki.list_of(own_pki.root))
    assert "there is no revocation list" in (refusal_of(lists, own_pki.path, NOW) or "")


def test_a_list_signed_over_a_weak_hash_does_not_count(own_pki: Pki) -> None:
    """A collision would let a caller exchange the list for one without its certificate."""
    weak = (
        x509.CertificateRevocationListBuilder()
        .issuer_name(own_pki.issuing.certificate.subject)
        .last_update(NOW)
        .next_update(NOW + DAY)
        .sign(own_pki.issuing.key, hashes.SHA224())
    )
    lists = own_pki.write(weak, own_pki.list_of(own_pki.root))
    assert "there is no revocation list" in (refusal_of(lists, own_pki.path, NOW) or "")


def test_an_authority_that_may_not_sign_lists_has_none(tmp_path: Path) -> None:
    """RFC 5280 §6.3.3 (f): key usage cRLSign."""
    key = generate_key(KeyAlgorithm.ECDSA)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "signs certificates only")])
    usage = x509.KeyUsage(
        digital_signature=False,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=True,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1, NOW - DAY, NOW + DAY)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    authority = IssuingAuthority(certificate, key)
    bundle = AuthorityBundle(parse_authorities(pem(certificate)))
    file = tmp_path / "ca.crl"
    file.write_bytes(
        pem(issue_revocation_list(authority, (), 1, ValidityPeriod(NOW - DAY, NOW + DAY)))
    )
    assert status_of(RevocationLists(file, bundle), NOW).problem == "no list of a known authority"


def test_a_changed_file_is_read_without_a_restart(own_pki: Pki) -> None:
    """Attack A9: a revocation counts from the next request on, whoever replaced the file."""
    lists = RevocationLists(own_pki.file, own_pki.bundle)
    assert refusal_of(lists, own_pki.path, NOW) is None
    revoke_certificate(own_pki.directory, own_pki.device, now=NOW)
    assert "was revoked" in (refusal_of(lists, own_pki.path, NOW) or "")


def test_a_replaced_file_of_the_same_size_and_age_is_noticed(own_pki: Pki) -> None:
    """A list renewed within the clock's resolution stands in another inode."""

    def pad() -> None:
        content = own_pki.file.read_bytes()
        own_pki.file.write_bytes(content + b"\n" * (4096 - len(content)))
        os.utime(own_pki.file, (NOW.timestamp(), NOW.timestamp()))

    pad()
    lists = RevocationLists(own_pki.file, own_pki.bundle)
    renew_revocation_lists(own_pki.directory, now=NOW + DAY)
    pad()
    assert status_of(lists, NOW).next_update == NOW + 31 * DAY


@pytest.mark.parametrize("damage", ["", "garbage", "cut", None])
def test_a_file_turned_unreadable_keeps_its_lists_until_stale(
    own_pki: Pki, damage: str | None
) -> None:
    """A half-written file must neither unrevoke nor stop everybody; health tells of it."""
    revoke_certificate(own_pki.directory, own_pki.device, now=NOW)
    lists = RevocationLists(own_pki.file, own_pki.bundle)
    good = own_pki.file.read_bytes()
    if damage is None:
        own_pki.file.unlink()
    else:
        own_pki.file.write_bytes(good[:-20] if damage == "cut" else damage.encode())
    assert "was revoked" in (refusal_of(lists, own_pki.path, NOW) or "")
    assert "cannot be read" in (status_of(lists, NOW).problem or "")
    assert "is stale" in (refusal_of(lists, own_pki.path, NOW + 31 * DAY) or "")
    own_pki.file.write_bytes(good)
    assert status_of(lists, NOW).problem is None


def test_a_broken_file_is_parsed_once_and_reported_once(
    own_pki: Pki, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsing it for each request would let whoever broke it slow everybody down."""
    lists = RevocationLists(own_pki.file, own_pki.bundle)
    own_pki.file.write_bytes(b"garbage")
    parsed: list[bytes] = []

    def counted(data: bytes) -> object:
        parsed.append(data)
        return parse_revocation_lists(data)

    monkeypatch.setattr(revocation_decision, "parse_revocation_lists", counted)
    with capture_logs() as lines:
        for _ in range(3):
            assert refusal_of(lists, own_pki.path, NOW) is None
            assert "cannot be read" in (status_of(lists, NOW).problem or "")
    assert parsed == [b"garbage"]
    assert [line["log_level"] for line in lines] == ["error"]
    assert str(own_pki.file) in lines[0]["reason"]


def test_a_file_that_is_back_as_it_was_is_read_again(own_pki: Pki, tmp_path: Path) -> None:
    """Neither time nor size tells that a file could not be opened for a while."""
    lists = RevocationLists(own_pki.file, own_pki.bundle)
    aside = own_pki.file.rename(tmp_path / "aside")
    with capture_logs() as lines:
        for _ in range(2):
            assert "cannot be read" in (status_of(lists, NOW).problem or "")
    assert len(lines) == 1
    aside.rename(own_pki.file)
    assert status_of(lists, NOW).problem is None


@pytest.mark.parametrize("content", [b"garbage", b"", b"-----BEGIN X509 CRL-----\nAAAA\n"])
def test_at_the_start_a_file_that_cannot_be_used_is_an_error(own_pki: Pki, content: bytes) -> None:
    own_pki.file.write_bytes(content)
    with pytest.raises(ValueError, match="revocation list"):
        RevocationLists(own_pki.file, own_pki.bundle)
    own_pki.file.unlink()
    with pytest.raises(FileNotFoundError):
        RevocationLists(own_pki.file, own_pki.bundle)


def _lists_issued(own_pki: Pki, ages: Sequence[int], ends: Sequence[int]) -> RevocationLists:
    authorities = (own_pki.issuing, own_pki.root)
    return own_pki.write(
        *(
            own_pki.list_of(authority, issued=NOW - age * DAY, next_update=NOW + end * DAY)
            for authority, age, end in zip(authorities, ages, ends, strict=True)
        )
    )


def test_health_reports_the_oldest_list_and_the_first_to_expire(own_pki: Pki) -> None:
    """Attack A10: operators see the age before the lists go stale, and that they went."""
    lists = _lists_issued(own_pki, ages=(2, 5), ends=(3, 9))
    status = status_of(lists, NOW)
    assert (status.age, status.next_update, status.problem) == (5 * DAY, NOW + 3 * DAY, None)
    assert status_of(lists, NOW + 4 * DAY).problem == "a list is stale"


def test_a_request_does_not_wait_for_a_slow_file(own_pki: Pki) -> None:
    """Until it was read, the lists before count; they are current until they are stale."""
    lists = RevocationLists(own_pki.file, own_pki.bundle)
    revoke_certificate(own_pki.directory, own_pki.device, now=NOW)
    content = own_pki.file.read_bytes()
    own_pki.file.unlink()
    os.mkfifo(own_pki.file)

    async def ask() -> tuple[str | None, str | None]:
        before = await lists.refusal(own_pki.path, REALM, NOW)
        own_pki.file.write_bytes(content)
        return before, await lists.refusal(own_pki.path, REALM, NOW)

    before, after = asyncio.run(ask())
    assert before is None
    assert "was revoked" in (after or "")


def test_an_authority_that_is_not_of_the_settings_needs_no_list(own_pki: Pki) -> None:
    """Where it has one, the list counts, although the settings do not name the authority."""
    root = AuthorityBundle(parse_authorities(pem(own_pki.root.certificate)))
    own_pki.file.write_bytes(pem(own_pki.list_of(own_pki.root)))
    assert refusal_of(RevocationLists(own_pki.file, root), own_pki.path, NOW) is None
    own_pki.file.write_bytes(
        pem(own_pki.list_of(own_pki.root), own_pki.list_of(own_pki.issuing, own_pki.device))
    )
    refusal = refusal_of(RevocationLists(own_pki.file, root), own_pki.path, NOW)
    assert "was revoked" in (refusal or "")


def test_a_realm_may_accept_what_no_current_list_speaks_of(own_pki: Pki) -> None:
    """Attack A10: one warning a minute says so; what a stale list revokes stays refused."""
    soft = replace(REALM, attributes={REVOCATION_POLICY: "soft"})
    stale = own_pki.list_of(own_pki.issuing, issued=NOW - 2 * DAY, next_update=NOW - DAY)
    for lists in (own_pki.write(stale, own_pki.list_of(own_pki.root)), own_pki.write(stale)):
        assert refusal_of(lists, own_pki.path, NOW) is not None
        with capture_logs() as lines:
            for _ in range(3):
                assert asyncio.run(lists.refusal(own_pki.path, soft, NOW)) is None
        assert {line["log_level"] for line in lines} == {"warning"}
        assert any("is stale" in line["reason"] for line in lines)
        assert len(lines) == len({line["reason"] for line in lines})
    revoking = own_pki.list_of(
        own_pki.issuing, own_pki.device, issued=NOW - 2 * DAY, next_update=NOW - DAY
    )
    refusal = asyncio.run(own_pki.write(revoking).refusal(own_pki.path, soft, NOW))
    assert "was revoked" in (refusal or "")
