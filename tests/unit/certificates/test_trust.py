"""Which trust_level each kind of certificate gets, and that nothing is remembered too long."""

import asyncio
import gc
import time
import tracemalloc
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.certificates.trust import REFUSED_BYTES, REMEMBERED_BYTES
from gateway.crypto.revocation.revocation_decision import RevocationLists
from gateway.crypto.x509.authorities import AuthorityBundle, AuthorityFile
from gateway.crypto.x509.development_pki import TRUST_BUNDLE, revoke_certificate
from gateway.crypto.x509.parse import parse_certificate
from gateway.crypto.x509.reader import REMEMBERED_BYTES as PARSED_BYTES
from gateway.crypto.x509.reader import (
    UNPROVEN_BYTES,
    X509Authorities,
    X509AuthorityFactory,
    X509CertificateParser,
)
from gateway.domain.certificates import (
    AnchorOrigin,
    Authority,
    AuthorityKind,
    PathResult,
    TrustLevel,
)
from gateway.domain.limits.caches import size_of
from gateway.domain.ports.certificates import MalformedCertificate
from tests.support.certificates import Zoo, make_zoo
from tests.support.chains import CA, DAY, NOW, Node, issue
from tests.support.evaluated_certificates import EvaluatedCertificates
from tests.support.set_clock import SetClock

TRUSTED, UNTRUSTED, REFUSED = TrustLevel.TRUSTED, TrustLevel.UNTRUSTED, TrustLevel.REFUSED

MATRIX = {
    # kind: (trust_level when the proxy said SUCCESS, when it did not, part of the reason)
    "valid": (TRUSTED, UNTRUSTED, "the proxy did not verify it"),
    "valid without extensions": (TRUSTED, UNTRUSTED, "the proxy did not verify it"),
    "valid Ed25519": (TRUSTED, UNTRUSTED, "the proxy did not verify it"),
    "huge 13 kB": (TRUSTED, UNTRUSTED, "the proxy did not verify it"),
    "huge 25 kB": (TRUSTED, UNTRUSTED, "the proxy did not verify it"),
    "expired": (REFUSED, REFUSED, "it expired at"),
    "not yet valid": (REFUSED, REFUSED, "it is not valid before"),
    "wrong EKU": (REFUSED, REFUSED, "extended key usage"),
    "key usage without signing": (REFUSED, REFUSED, "digital signatures"),
    "CA:TRUE": (REFUSED, REFUSED, "authority's certificate"),
    "unknown critical extension": (REFUSED, REFUSED, "critical extension 1.2.3.4"),
    "weak key": (REFUSED, REFUSED, "weak"),
    "weak curve": (REFUSED, REFUSED, "weak"),
    "revoked": (REFUSED, REFUSED, "was revoked"),
    "unknown CA": (UNTRUSTED, UNTRUSTED, "CN=Stranger CA,O=Realmgate Demonstration is not known"),
    "unknown CA, server EKU": (REFUSED, REFUSED, "extended key usage"),
    "same-named CA with another key": (REFUSED, REFUSED, "no path"),
    "self-signed": (UNTRUSTED, UNTRUSTED, "is not known"),
    "self-signed CA:TRUE": (REFUSED, REFUSED, "authority's certificate"),
    "self-signed expired": (REFUSED, REFUSED, "it expired at"),
}
MALFORMED = {"huge 91 kB"}


def reader_of(zoo: Zoo, clock: SetClock | None = None) -> EvaluatedCertificates:
    bundle = AuthorityFile(zoo.directory / TRUST_BUNDLE)
    lists = RevocationLists(zoo.directory / "ca.crl", bundle)
    return EvaluatedCertificates(bundle, lists, clock or SetClock(datetime.now(UTC)))


@pytest.fixture
def reader(certificate_zoo: Zoo) -> EvaluatedCertificates:
    return reader_of(certificate_zoo)


@pytest.fixture
def own_zoo(tmp_path: Path) -> Zoo:
    """Make a zoo that the test may change."""
    return make_zoo(tmp_path, datetime.now(UTC))


def test_the_matrix_names_every_kind_of_the_zoo(certificate_zoo: Zoo) -> None:
    kinds = {kind for kind in certificate_zoo if not kind.startswith("subject ")}
    assert kinds == {*MATRIX, *MALFORMED}


@pytest.mark.parametrize("kind", MATRIX)
def test_each_kind_of_certificate_has_its_standing(
    certificate_zoo: Zoo, reader: EvaluatedCertificates, kind: str
) -> None:
    """Attacks A6, A7, A8; RFC 8705 §7.5: both the proxy's word and our own checks decide."""
    der = certificate_zoo[kind].der
    with_word, without_word, reason = MATRIX[kind]
    for _first_then_remembered in range(2):
        verified = reader.read(der, verified_by_proxy=True)
        unverified = reader.read(der, verified_by_proxy=False)
        assert (verified.trust_level, unverified.trust_level) == (with_word, without_word)
        assert reason in (unverified.reason or "")
    assert (verified.reason is None) is (with_word is TRUSTED)


@pytest.mark.parametrize("kind", ["device-1", "device-2", "user"])
def test_what_certs_init_makes_is_trusted(pki: Path, kind: str) -> None:
    bundle = AuthorityFile(pki / TRUST_BUNDLE)
    reader = EvaluatedCertificates(
        bundle, RevocationLists(pki / "ca.crl", bundle), SetClock(datetime.now(UTC))
    )
    certificate = reader.read(_der(pki / f"{kind}.crt"), verified_by_proxy=True)
    assert certificate.trust_level is TRUSTED
    server = reader.read(_der(pki / "server.crt"), verified_by_proxy=True)
    assert server.trust_level is REFUSED


def test_an_authority_does_not_pass_for_a_client(pki: Path) -> None:
    """Attack A7: neither our own root nor the issuing authority."""
    bundle = AuthorityFile(pki / TRUST_BUNDLE)
    reader = EvaluatedCertificates(bundle, None, SetClock(datetime.now(UTC)))
    for name in ("root.crt", "issuing.crt"):
        assert reader.read(_der(pki / name), verified_by_proxy=True).trust_level is REFUSED


def test_without_authorities_nothing_is_trusted(certificate_zoo: Zoo) -> None:
    """Attack A14: the proxy's word alone identifies nobody."""
    reader = EvaluatedCertificates(AuthorityBundle(), None, SetClock(datetime.now(UTC)))
    standings = {
        kind: reader.read(certificate_zoo[kind].der, verified_by_proxy=True).trust_level
        for kind in MATRIX
    }
    assert standings["valid"] is UNTRUSTED
    assert TRUSTED not in standings.values()


def test_the_facts_of_a_certificate_are_those_of_its_encoding(
    certificate_zoo: Zoo, reader: EvaluatedCertificates
) -> None:
    """RFC 8705 §3.1: x5t#S256 is base64url of SHA-256 over DER, without padding."""
    der = certificate_zoo["valid"].der
    certificate = reader.read(der, verified_by_proxy=True)
    parsed = x509.load_der_x509_certificate(der)
    assert str(certificate.leaf.subject) == "CN=device-1,OU=Devices,O=Realmgate Demonstration"
    assert certificate.leaf.serial == parsed.serial_number
    assert certificate.leaf.der == der
    assert len(certificate.thumbprint) == 43
    assert "der=" not in repr(certificate)


def test_time_is_judged_on_each_use(certificate_zoo: Zoo) -> None:
    """Attack A8: a certificate that was remembered as good expires all the same."""
    clock = SetClock(datetime.now(UTC))
    reader = reader_of(certificate_zoo, clock)

    def trust_level() -> TrustLevel:
        return reader.read(certificate_zoo["valid"].der, verified_by_proxy=True).trust_level

    assert trust_level() is TRUSTED
    clock.advance(timedelta(days=2))
    assert trust_level() is REFUSED
    clock.advance(timedelta(days=-4))
    assert trust_level() is REFUSED
    clock.advance(timedelta(days=2))
    assert trust_level() is TRUSTED


def test_revocation_takes_effect_on_the_next_use(own_zoo: Zoo) -> None:
    """Attack A9: no restart, no reload, and no resumed TLS session gets around it."""
    reader = reader_of(own_zoo)
    der = own_zoo["valid"].der
    assert reader.read(der, verified_by_proxy=True).trust_level is TRUSTED
    revoke_certificate(
        own_zoo.directory, x509.load_der_x509_certificate(der), now=datetime.now(UTC)
    )
    refused = reader.read(der, verified_by_proxy=True)
    assert refused.trust_level is REFUSED
    assert refused.reason == "CN=device-1,OU=Devices,O=Realmgate Demonstration was revoked"


def test_a_removed_authority_takes_its_certificates_with_it(own_zoo: Zoo, tmp_path: Path) -> None:
    """A certificate that was found trusted is checked again after the bundle is replaced."""
    bundle = own_zoo.directory / TRUST_BUNDLE
    reader = EvaluatedCertificates(AuthorityFile(bundle), None, SetClock(datetime.now(UTC)))
    der = own_zoo["valid"].der
    assert reader.read(der, verified_by_proxy=True).trust_level is TRUSTED
    other = make_zoo(tmp_path / "other", datetime.now(UTC)).directory / TRUST_BUNDLE
    other.replace(bundle)
    assert reader.read(der, verified_by_proxy=True).trust_level is REFUSED


def test_a_stale_list_refuses_every_certificate_of_its_authority(certificate_zoo: Zoo) -> None:
    """Attack A10: fail closed; certificates of strangers are not concerned."""
    clock = SetClock(datetime.now(UTC))
    zoo_certificate = _der(certificate_zoo.directory / "device-2.crt")
    reader = reader_of(certificate_zoo, clock)
    clock.advance(timedelta(days=31))
    refused = reader.read(zoo_certificate, verified_by_proxy=True)
    assert refused.trust_level is REFUSED
    assert "is stale" in (refused.reason or "")


def test_a_certificate_over_64_kb_is_malformed(
    certificate_zoo: Zoo, reader: EvaluatedCertificates
) -> None:
    """Attack A17: the documented maximum."""
    with pytest.raises(MalformedCertificate, match="65536 are allowed"):
        reader.read(certificate_zoo["huge 91 kB"].der, verified_by_proxy=True)


def test_a_huge_certificate_is_not_kept(certificate_zoo: Zoo) -> None:
    """Attack A17: it would take the place of many others."""
    parser = X509CertificateParser(unproven_bytes=64 * 1024)

    def is_remembered(kind: str) -> bool:
        der = certificate_zoo[kind].der
        return parser.parse_certificate(der) is parser.parse_certificate(der)

    assert all(map(is_remembered, ("valid", "wrong EKU", "weak key", "self-signed")))
    assert not is_remembered("huge 13 kB")


def test_a_certificate_of_many_names_is_weighed_by_them() -> None:
    """Five hundred of them must not take a hundred times the memory of usual ones."""
    key = ec.generate_private_key(ec.SECP256R1())
    sent = [_with_many_names(key, number) for number in range(100)]
    reader = EvaluatedCertificates(AuthorityBundle(), None, SetClock(datetime.now(UTC)))
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        while sent:
            # Of bytes of its own, as a request has them: what keeps them is measured too.
            reader.read(bytes(bytearray(sent.pop())), verified_by_proxy=False)
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert grown <= 1.2 * reader.remembered_bytes


def test_ten_thousand_certificates_in_use_are_remembered(pki: Path) -> None:
    """Performance: thousands of devices at the cost of one, within the bytes that are allowed.

    Half of a cache holds what is in use.
    """
    clock = SetClock(datetime.now(UTC))
    reader = EvaluatedCertificates(AuthorityFile(pki / TRUST_BUNDLE), None, clock)
    assert reader.read(_der(pki / "device-1.crt"), verified_by_proxy=True).identifies
    assert 10_000 * reader.parser.remembered_bytes <= PARSED_BYTES / 2
    assert 10_000 * reader.rule.remembered_bytes <= REMEMBERED_BYTES / 2


def test_made_up_certificates_evict_no_trusted_ones(pki: Path) -> None:
    """Attack A17: each is one that no other request had, signed by no authority."""
    device = _der(pki / "device-1.crt")
    clock = SetClock(datetime.now(UTC))
    reader = EvaluatedCertificates(AuthorityFile(pki / TRUST_BUNDLE), None, clock)
    assert reader.read(device, verified_by_proxy=True).identifies
    known, trusted = reader.parser.parse_certificate(device), reader.remembered_bytes
    made_up = (device[-4:-2] + number.to_bytes(2) for number in range(4_001))
    # One of them can be the signature of the authority.
    for signature in [each for each in made_up if each != device[-4:]][:4_000]:
        assert not reader.read(device[:-4] + signature, verified_by_proxy=True).identifies
    assert reader.parser.parse_certificate(device) is known
    assert reader.remembered_bytes - trusted <= UNPROVEN_BYTES + REFUSED_BYTES < 8 * 1024 * 1024


def test_a_cached_path_is_searched_again_if_another_may_count() -> None:
    """Both anchors have the same key; the second one begins before the first one ends."""
    old = issue("root", None, CA, days=(-9, 2))
    new = issue("root", None, CA, key=old.key, days=(1, 9))
    leaf = issue("leaf", old, days=(-3, 9))
    clock = SetClock(NOW)
    reader = EvaluatedCertificates(
        AuthorityBundle(parse_certificate(root.der) for root in (old, new)), None, clock
    )
    for _ in range(4):
        assert reader.read(leaf.der, verified_by_proxy=True).identifies
        clock.advance(DAY)
    assert clock.now() > NOW + 3 * DAY
    clock.advance(-4 * DAY)
    assert reader.read(leaf.der, verified_by_proxy=True).identifies


def test_results_weigh_their_texts_and_what_was_sent_with_them() -> None:
    """Whoever issues certificates chooses how long names and chains are."""
    clock = SetClock(NOW)
    reader = EvaluatedCertificates(AuthorityBundle(), None, clock)
    name = "n" * 50
    unknown = issue(name, issue(name, None, CA))
    for count in range(1, 20):
        assert not reader.read(
            unknown.der, verified_by_proxy=True, chain=[unknown.der] * count
        ).path
        assert reader.rule.remembered_bytes >= count * 600
    root = issue(f"root {name}", None, CA)
    links = [root]
    for number in range(4):
        links.append(issue(f"{number} {name}", links[-1], CA))
    leaf = issue("leaf", links[-1])
    trusting = EvaluatedCertificates(AuthorityBundle([parse_certificate(root.der)]), None, clock)
    sent = [link.der for link in links[1:]]
    found = trusting.read(leaf.der, verified_by_proxy=True, chain=sent)
    assert found.path is not None
    assert trusting.rule.remembered_bytes >= size_of(found.path.certificates[1:])
    refused = issue("leaf", root, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]))
    before = trusting.rule.remembered_bytes
    reason = trusting.read(refused.der, verified_by_proxy=True).reason or ""
    assert trusting.rule.remembered_bytes - before >= 600 + len(reason)


def test_a_remembered_certificate_is_not_parsed_again(
    certificate_zoo: Zoo, reader: EvaluatedCertificates
) -> None:
    """Performance: parsing and signatures cost a hundred times the look-up."""
    first = reader.read(certificate_zoo["valid"].der, verified_by_proxy=True)
    for verified in (True, False):
        again = reader.read(certificate_zoo["valid"].der, verified_by_proxy=verified)
        assert again.leaf is first.leaf


@pytest.mark.parametrize("kind", ["valid", "wrong EKU", "unknown CA"])
def test_a_remembered_certificate_is_not_evaluated_again(
    certificate_zoo: Zoo, reader: EvaluatedCertificates, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = reader.read(certificate_zoo[kind].der, verified_by_proxy=True)

    def find_path(self: X509Authorities, *given: object) -> PathResult:
        raise AssertionError((self, given))

    monkeypatch.setattr(X509Authorities, "find_path", find_path)
    again = reader.read(certificate_zoo[kind].der, verified_by_proxy=True)
    assert (again.trust_level, again.reason) == (first.trust_level, first.reason)


@pytest.mark.parametrize(
    ("kind", "subject"),
    [
        ("subject two CNs", "CN=admin,CN=bob,"),
        ("subject CN with slash", "CN=bob/CN\\=admin,"),
        ("subject CN with comma", "CN=bob\\,CN\\=admin,"),
        ("subject multi-valued", "OU=Devices+CN=bob,"),
        ("subject two CNs in one", "CN=admin+CN=bob,"),
        ("subject newline", "CN=bob\\0ACN\\=admin,"),
        ("subject NUL", "CN=device-1\\00.evil,"),
        ("subject Cyrillic", "CN=\u0430dmin,"),
        ("subject 1 kB", f"CN={'b' * 1024},"),
        ("subject empty", ""),
    ],
)
def test_odd_subjects_are_read_from_the_encoding(
    certificate_zoo: Zoo, reader: EvaluatedCertificates, kind: str, subject: str
) -> None:
    """Attack A15: nothing is lost, and nothing poses as more than it is."""
    certificate = reader.read(certificate_zoo[kind].der, verified_by_proxy=True)
    organization = "O=Realmgate Demonstration" if subject else ""
    written = str(certificate.leaf.subject)
    if "+" in subject:
        written = ",".join("+".join(sorted(rdn.split("+"))) for rdn in written.split(","))
        subject = ",".join("+".join(sorted(rdn.split("+"))) for rdn in subject.split(","))
    assert written == subject + organization


def _der(path: Path) -> bytes:
    return x509.load_pem_x509_certificates(path.read_bytes())[0].public_bytes(Encoding.DER)


def _with_many_names(key: ec.EllipticCurvePrivateKey, number: int) -> bytes:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"device-{number}")])
    names = [x509.DNSName(f"name-{place}.example") for place in range(440)]
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(number + 1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.DER)


def test_anchors_need_no_verdict_of_the_proxy_but_the_sent_chain(
    certificate_zoo: Zoo,
) -> None:
    """Attacks A6, A14; decision 0020."""
    root = issue("root", None, CA)
    link = issue("link", root, CA)
    leaf = issue("leaf", link)
    anchor = Authority(root.sha256, AuthorityKind.ANCHOR, root.der)
    reader = EvaluatedCertificates(
        AuthorityFile(certificate_zoo.directory / TRUST_BUNDLE),
        None,
        SetClock(datetime.now(UTC)),
        anchor,
    )

    def judge(*sent: bytes) -> TrustLevel:
        return reader.read(leaf.der, verified_by_proxy=False, chain=sent).trust_level

    assert (judge(), judge(b"garbage"), judge(b"x" * 70_000, link.der)) == (UNTRUSTED,) * 3
    assert judge(b"garbage", link.der) is TRUSTED
    assert judge() is UNTRUSTED
    path = reader.read(leaf.der, verified_by_proxy=False, chain=[link.der]).path
    assert path is not None
    assert path.origin is AnchorOrigin.REALM
    reader.registered.replace()
    assert judge(link.der) is UNTRUSTED


def test_a_changed_file_of_authorities_is_parsed_beside_requests(tmp_path: Path) -> None:
    """Between two turns the event loop itself does a small part of the work."""
    first = issue("first", None, CA)
    second = issue("second", None, CA)
    file = tmp_path / "ca.crt"
    file.write_text(first.pem)
    factory = X509AuthorityFactory(AuthorityFile(file), X509CertificateParser())
    file.write_text(second.pem * 4_000)

    async def longest_work() -> tuple[float, X509Authorities]:
        task, longest = asyncio.create_task(factory.gateway()), 0.0
        while not task.done():
            begin = time.thread_time()
            await asyncio.sleep(0)
            longest = max(longest, time.thread_time() - begin)
        return longest, await factory.gateway()

    def is_found(authorities: X509Authorities, node: Node) -> bool:
        leaf = X509CertificateParser().parse_certificate(issue("leaf", node).der)
        return authorities.find_path(leaf, (), frozenset(), datetime.now(UTC)).path is not None

    async def read() -> None:
        begin = time.process_time()
        longest, authorities = await longest_work()
        assert longest < (time.process_time() - begin) / 4
        assert [is_found(authorities, node) for node in (first, second)] == [False, True]

    asyncio.run(read())


def test_a_thousand_anchors_are_prepared_without_a_stall(certificate_zoo: Zoo) -> None:
    """Other requests go on while a changed realm is prepared."""
    root = issue("root", None, CA)
    link = issue("link", root, CA)
    bundle = AuthorityFile(certificate_zoo.directory / TRUST_BUNDLE)
    entries = [Authority(link.sha256, AuthorityKind.INTERMEDIATE, link.der)] * 1_000
    factory = X509AuthorityFactory(bundle, X509CertificateParser())
    turns = 0

    async def prepare() -> None:
        nonlocal turns
        task = asyncio.create_task(factory.prepare(entries, AnchorOrigin.REALM, with_gateway=False))
        while not task.done():
            await asyncio.sleep(0)
            turns += 1

    begin = time.perf_counter()
    asyncio.run(prepare())
    assert turns > (time.perf_counter() - begin) / 0.05
