"""OCSP: what a responder may say, who may say it, and what counts when it says nothing.

attacks A12: a responder that is down, slow or unsigned neither stops the gateway nor lets it trust.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp
from cryptography.x509.oid import AuthorityInformationAccessOID, ExtendedKeyUsageOID, ExtensionOID
from structlog.testing import capture_logs

from gateway.bootstrap.outgoing import point_lists, realm_revocation_lists, responder_client
from gateway.crypto.revocation.ocsp import (
    LONGEST_ASK,
    LONGEST_USE,
    OF_A_REALM,
    OUTAGE_PAUSE,
    OcspRevocations,
)
from gateway.crypto.revocation.point_lists import PointRevocations
from gateway.crypto.x509.parse import parse_certificate
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.certificates import CertificationPath
from gateway.domain.realm import (
    DISTRIBUTION_POINTS,
    OCSP,
    OCSP_NONCE,
    OCSP_SCOPE,
    OCSP_URL,
    REVOCATION_LIST_URLS,
    Realm,
)
from gateway.settings import load_settings
from tests.support.certificates import with_other_signature
from tests.support.chains import Node
from tests.support.list_server import list_of, points, serving_lists
from tests.support.loopback_server import serving
from tests.support.set_clock import SetClock

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAY = timedelta(days=1)
HARD = Realm(id="r", name="r", attributes={OCSP: "hard"})
SOFT = Realm(id="r", name="r", attributes={OCSP: "soft"})
UNKNOWN: Final = "its revocation could not be checked with its authority (OCSP)"
REVOKED: Final = "CN=device was revoked"
_SLOW: Final = 6.0
_X400_ADDRESS: Final = b"\x30\x04\xa3\x02\x30\x00"
"""A subjectAltName of a kind that the library does not read."""
_NO_DIRECTORY: Final[Any] = None
"""Realms are looked up again after a minute."""
_SHA1: Final = hashes.SHA1()  # noqa: S303 - a name, and no signature
_SHA256: Final = hashes.SHA256()


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, text)])


@dataclass(frozen=True)
class _Signer:
    """A certificate and its key."""

    key: Any
    certificate: x509.Certificate

    @classmethod
    def authority(cls, key: Any) -> "_Signer":
        return cls(key, _certificate("authority", key, "authority", key, 1, ca=True))

    def issue(
        self, name: str, serial: int, *more: x509.ExtensionType, end: datetime = NOW + DAY
    ) -> "_Signer":
        key = ec.generate_private_key(ec.SECP256R1())
        issued = _certificate(name, key, "authority", self.key, serial, *more, end=end)
        return _Signer(key, issued)


def _certificate(
    name: str,
    key: Any,
    issuer: str,
    issuer_key: Any,
    serial: int,
    *more: Any,
    ca: bool = False,
    end: datetime = NOW + DAY,
) -> x509.Certificate:
    validity = NOW - DAY, end
    builder = x509.CertificateBuilder(
        _name(issuer), _name(name), key.public_key(), serial, *validity
    ).add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
    for extension in more:
        builder = builder.add_extension(extension, critical=False)
    plain = isinstance(issuer_key, ed25519.Ed25519PrivateKey)
    return builder.sign(issuer_key, None if plain else _SHA256)


@dataclass
class Responder:
    """A responder on the loopback interface; `respond` makes the body, or raises its status."""

    url: str = ""
    respond: Callable[[bytes], bytes] = bytes
    asked: list[str] = field(default_factory=list)


class _Status(Exception):
    """The status of an answer without a response."""


@contextmanager
def _responding() -> Iterator[Responder]:
    responder = Responder()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = self.rfile.read(int(self.headers["Content-Length"]))
            responder.asked.append(self.path)
            try:
                status, body = 200, responder.respond(request)
            except _Status as failure:
                status, body = int(str(failure)), b""
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

    with serving(Handler) as url:
        responder.url = f"{url}/ocsp"
        yield responder


@dataclass
class Setup:
    """A device of an authority whose responder the test controls."""

    authority: _Signer
    device: _Signer
    responder: Responder
    revocations: OcspRevocations

    @property
    def path(self) -> CertificationPath:
        leaf = X509CertificateParser().parse_certificate(
            self.device.certificate.public_bytes(Encoding.DER)
        )
        issuer = parse_certificate(self.authority.certificate.public_bytes(Encoding.DER))
        return CertificationPath.of(leaf, issuer)

    async def refusal(self, realm: Realm = HARD, now: datetime = NOW) -> str | None:
        return await self.revocations.refusal(self.path, realm, now)

    def says(
        self,
        status: ocsp.OCSPCertStatus = ocsp.OCSPCertStatus.GOOD,
        *,
        about: _Signer | None = None,
        signer: _Signer | None = None,
        encoding: ocsp.OCSPResponderEncoding = ocsp.OCSPResponderEncoding.HASH,
        delegated: bool = False,
        begin: datetime = NOW - HOUR,
        end: datetime | None = NOW + 6 * HOUR,
        nonce: Callable[[bytes], bytes] | None = None,
    ) -> None:
        """Let the responder say this."""
        signer = signer or self.authority
        is_revoked = status is ocsp.OCSPCertStatus.REVOKED
        builder = (
            ocsp.OCSPResponseBuilder()
            .add_response(
                cert=(about or self.device).certificate,
                issuer=self.authority.certificate,
                algorithm=_SHA1,
                cert_status=status,
                this_update=begin,
                next_update=end,
                revocation_time=begin if is_revoked else None,
                revocation_reason=None,
            )
            .responder_id(encoding, signer.certificate)
        )
        if delegated:
            builder = builder.certificates([signer.certificate])
        plain = isinstance(signer.key, ed25519.Ed25519PrivateKey)

        def respond(request: bytes) -> bytes:
            made = builder
            if nonce is not None:
                sent = ocsp.load_der_ocsp_request(request).extensions
                asked = sent.get_extension_for_class(x509.OCSPNonce).value.nonce
                made = made.add_extension(x509.OCSPNonce(nonce(asked)), critical=False)
            return made.sign(signer.key, None if plain else _SHA256).public_bytes(Encoding.DER)

        self.responder.respond = respond


def _settings(monkeypatch: pytest.MonkeyPatch, folder: Path, networks: str) -> OcspRevocations:
    monkeypatch.setenv("REALMGATE_STATE_DIR", str(folder))
    monkeypatch.setenv("REALMGATE_FETCH_NETWORKS", networks)
    return OcspRevocations(responder_client(load_settings()))


@pytest.fixture
def setup(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Setup]:
    with _responding() as responder:
        authority = _Signer.authority(ec.generate_private_key(ec.SECP256R1()))
        yield Setup(
            authority,
            _device(authority, responder.url),
            responder,
            _settings(monkeypatch, tmp_path, "127.0.0.0/8"),
        )


def _device(authority: _Signer, url: str) -> _Signer:
    location = x509.UniformResourceIdentifier(url)
    access = x509.AccessDescription(AuthorityInformationAccessOID.OCSP, location)
    return authority.issue("device", 77, x509.AuthorityInformationAccess([access]))


async def _both(setup: Setup) -> tuple[str | None, str | None]:
    """Return the refusals under `hard` and `soft`, of responses that were not cached."""
    found = []
    for realm in (HARD, SOFT):
        setup.device = _device(setup.authority, setup.responder.url)
        found.append(await setup.refusal(realm))
    return found[0], found[1]


pytestmark = pytest.mark.anyio


async def test_a_certificate_is_good_or_revoked_as_its_issuer_says(setup: Setup) -> None:
    for key in (
        ec.generate_private_key(ec.SECP384R1()),
        rsa.generate_private_key(65537, 2048),
        ed25519.Ed25519PrivateKey.generate(),
    ):
        setup.authority = _Signer.authority(key)
        for status, expected in (
            (ocsp.OCSPCertStatus.GOOD, None),
            (ocsp.OCSPCertStatus.REVOKED, REVOKED),
        ):
            setup.device = _device(setup.authority, setup.responder.url)
            setup.says(status)
            assert [await setup.refusal(realm) for realm in (HARD, SOFT)] == [expected] * 2


async def test_an_authorized_responder_answers_for_the_issuer(setup: Setup) -> None:
    """Spec: RFC 6960 §4.2.2.2."""
    signing = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING])
    client = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
    stranger = _Signer.authority(ec.generate_private_key(ec.SECP256R1()))
    for responder, expected in (
        (setup.authority.issue("responder", 8, signing), None),
        (setup.authority.issue("responder", 8, client), UNKNOWN),
        (setup.authority.issue("responder", 8), UNKNOWN),
        (setup.authority.issue("responder", 8, signing, end=NOW - HOUR), UNKNOWN),
        (stranger.issue("responder", 8, signing), UNKNOWN),
    ):
        setup.device = _device(setup.authority, setup.responder.url)
        setup.says(signer=responder, delegated=True)
        assert await setup.refusal() == expected
        setup.device = _device(setup.authority, setup.responder.url)
        setup.says(signer=responder)
        assert await setup.refusal() == UNKNOWN


async def test_good_needs_a_responder_that_cannot_have_been_revoked(setup: Setup) -> None:
    """Without a list. Revoked counts from any authorized responder. Spec: RFC 6960 §4.2.2.2.1."""
    signing = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING])
    issue = setup.authority.issue
    good, revoked = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED
    lasting, short = NOW + 7 * DAY, NOW + 6 * DAY
    for responder, status, expected in (
        (issue("responder", 8, signing, end=lasting), good, (UNKNOWN, None)),
        (issue("responder", 8, signing, end=lasting), revoked, (REVOKED, REVOKED)),
        (issue("responder", 8, signing, x509.OCSPNoCheck(), end=lasting), good, (None, None)),
        (issue("responder", 8, signing, end=short), good, (None, None)),
    ):
        setup.says(status, signer=responder, delegated=True)
        assert await _both(setup) == expected


async def test_the_issuers_list_says_whether_a_responder_is_revoked(setup: Setup) -> None:
    """A configured one, and the one that its certificate names. Spec: RFC 6960 §4.2.2.2.1."""
    signing = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING])
    lasting, short, stale = NOW + 7 * DAY, NOW + DAY, NOW - 2 * HOUR
    good, revoked = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED
    issuer = Node(setup.authority.certificate, setup.authority.key)
    with serving_lists() as server:
        url = f"{server.url}/a.crl"
        for named, bad, end, status, until, expected in (
            (True, False, lasting, good, short, None),
            (False, False, lasting, good, short, None),
            (True, True, lasting, good, short, UNKNOWN),
            (False, True, lasting, good, short, UNKNOWN),
            (False, True, short, good, short, UNKNOWN),
            (False, True, lasting, revoked, short, REVOKED),
            (False, False, lasting, good, stale, UNKNOWN),
            (False, False, short, good, stale, None),
            (True, None, lasting, good, short, UNKNOWN),
        ):
            points_of = (points(url),) if named else ()
            responder = setup.authority.issue("responder", 8, signing, *points_of, end=end)
            entries = (responder.certificate,) if bad else ()
            lifetime = until - (NOW - DAY)
            listed = list_of(issuer, *entries, issued=NOW - DAY, lifetime=lifetime)
            server.documents = {} if bad is None else {"/a.crl": listed}
            attributes = {DISTRIBUTION_POINTS: "on"} if named else {REVOCATION_LIST_URLS: url}
            realm = replace(HARD, attributes={OCSP: "hard", **attributes})
            settings, clock = load_settings(), SetClock(NOW)
            lists = realm_revocation_lists(settings, clock, _NO_DIRECTORY)
            rule = PointRevocations(point_lists(settings, clock, _NO_DIRECTORY))
            setup.revocations = OcspRevocations(responder_client(settings), (lists, rule))
            setup.device = _device(setup.authority, setup.responder.url)
            setup.says(status, signer=responder, delegated=True)
            case = (named, bad, end, status, until)
            with capture_logs():
                assert await setup.refusal(realm) == expected, case
                if end is lasting and status is good:
                    assert await setup.refusal() == UNKNOWN, "a realm without lists"
    without = OcspRevocations(responder_client(load_settings()))
    assert await without.refusal(setup.path, HARD, NOW) == UNKNOWN


async def test_response_and_responder_list_share_the_time_limit(
    setup: Setup,
) -> None:
    signing = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING])
    with serving_lists() as server:
        server.held.add("/a.crl")
        named = points(f"{server.url}/a.crl")
        responder = setup.authority.issue("responder", 8, signing, named, end=NOW + 7 * DAY)
        setup.says(signer=responder, delegated=True)
        signed = setup.responder.respond

        def respond(request: bytes) -> bytes:
            time.sleep(1.5)
            return signed(request)

        setup.responder.respond = respond
        lists = PointRevocations(point_lists(load_settings(), SetClock(NOW), _NO_DIRECTORY))
        setup.revocations = OcspRevocations(responder_client(load_settings()), (lists,))
        realm = replace(HARD, attributes={OCSP: "hard", DISTRIBUTION_POINTS: "on"})
        begun = time.monotonic()
        assert await setup.refusal(realm) == UNKNOWN
        assert time.monotonic() - begun < LONGEST_ASK.total_seconds() + 0.3
        assert server.asked == ["/a.crl"]


def _fails(status: str) -> Callable[[bytes], bytes]:
    def respond(_: bytes) -> bytes:
        raise _Status(status)

    return respond


async def test_an_unknown_status_is_refused_or_accepted_with_a_warning(
    setup: Setup,
) -> None:
    stranger = _Signer.authority(ec.generate_private_key(ec.SECP256R1()))
    other = setup.authority.issue("other", 78)
    unreadable = setup.authority.issue(
        "responder",
        79,
        x509.ExtendedKeyUsage([ExtendedKeyUsageOID.OCSP_SIGNING]),
        x509.UnrecognizedExtension(ExtensionOID.SUBJECT_ALTERNATIVE_NAME, _X400_ADDRESS),
    )
    busy = ocsp.OCSPResponseBuilder.build_unsuccessful(ocsp.OCSPResponseStatus.TRY_LATER)
    cases: dict[str, Callable[[], object]] = {
        "does not know": lambda: setup.says(ocsp.OCSPCertStatus.UNKNOWN),
        "signature is wrong": lambda: setup.says(
            signer=stranger, encoding=ocsp.OCSPResponderEncoding.NAME
        ),
        "not supported": lambda: setup.says(signer=unreadable, delegated=True),
        "neither the issuer": lambda: setup.says(signer=stranger),
        "another certificate": lambda: setup.says(about=other),
        "has expired": lambda: setup.says(end=NOW - timedelta(seconds=1)),
        "not valid yet": lambda: setup.says(begin=NOW + timedelta(minutes=1)),
        "TRY_LATER": lambda: setattr(
            setup.responder, "respond", lambda _: busy.public_bytes(Encoding.DER)
        ),
        "malformed": lambda: setattr(setup.responder, "respond", lambda _: b"unsigned"),
        "answered with 404": lambda: setattr(setup.responder, "respond", _fails("404")),
        "larger than": lambda: setattr(setup.responder, "respond", lambda _: b"x" * 100_000),
    }
    for reason, prepare in cases.items():
        prepare()
        with capture_logs() as lines:
            assert await _both(setup) == (UNKNOWN, None), reason
        assert [reason in line["reason"] for line in lines] == [True, True], (reason, lines)


async def test_a_slow_or_stopped_responder_costs_two_seconds_once(setup: Setup) -> None:
    """Soft fail accepts the certificate, hard fail refuses it. attacks: A12."""

    def wait(_: bytes) -> bytes:
        time.sleep(_SLOW)
        return b""

    setup.responder.respond = wait
    begun = time.monotonic()
    found = await asyncio.gather(*(setup.refusal(realm) for realm in (HARD, SOFT, HARD)))
    assert found == [UNKNOWN, None, UNKNOWN]
    assert time.monotonic() - begun < _SLOW - 1
    assert len(setup.responder.asked) == 1
    assert await setup.refusal(now=NOW + OUTAGE_PAUSE - timedelta(seconds=1)) == UNKNOWN
    assert len(setup.responder.asked) == 1
    setup.says()
    assert await setup.refusal(now=NOW + OUTAGE_PAUSE) is None

    stopped = replace(HARD, attributes={OCSP: "hard", OCSP_URL: "http://127.0.0.1:1/"})
    assert await setup.refusal(stopped) == UNKNOWN


async def test_a_slow_responder_of_one_realm_holds_up_no_other_realm(setup: Setup) -> None:
    """Else a realm could make those that accept silence accept revoked certificates. A12."""
    connected, busy = 0, asyncio.Event()

    async def say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connected
        connected += 1
        if connected == OF_A_REALM:
            busy.set()
        await reader.read()
        writer.close()

    setup.says(ocsp.OCSPCertStatus.REVOKED)
    device = setup.device
    slow = await asyncio.start_server(say_nothing, "127.0.0.1", 0, backlog=2 * OF_A_REALM)
    async with slow:
        url = f"http://127.0.0.1:{slow.sockets[0].getsockname()[1]}/"
        hostile = Realm(id="hostile", name="hostile", attributes={OCSP: "soft", OCSP_URL: url})
        waiting = []
        for _ in range(OF_A_REALM + 3):
            setup.device = _device(setup.authority, setup.responder.url)
            asked = setup.revocations.refusal(setup.path, hostile, NOW)
            waiting.append(asyncio.ensure_future(asked))
        async with asyncio.timeout(_SLOW):
            await busy.wait()
        setup.device = device
        with capture_logs():
            assert await setup.refusal(SOFT) == REVOKED
            assert (connected, [each.done() for each in waiting].count(True)) == (OF_A_REALM, 0)
            await asyncio.gather(*waiting)


async def test_a_failed_check_in_one_realm_means_nothing_in_another(setup: Setup) -> None:
    """The lists that a realm waits for, and its slots, are its own."""
    other = replace(SOFT, id="other")
    setup.responder.respond = bytes
    with capture_logs():
        assert await setup.refusal(SOFT) is None
    setup.says(ocsp.OCSPCertStatus.REVOKED)
    assert await setup.refusal(other) == REVOKED


async def test_revoked_certificates_stay_so_without_the_responder(
    setup: Setup,
) -> None:
    """Else who can stop the requests to a responder undoes what it has said."""
    setup.says(ocsp.OCSPCertStatus.REVOKED, end=NOW + timedelta(minutes=10))
    assert await setup.refusal(SOFT) == REVOKED
    setup.responder.respond = bytes
    later = NOW + timedelta(minutes=11)
    with capture_logs():
        for _ in range(2):
            assert await setup.refusal(SOFT, now=later) == REVOKED
            later += OUTAGE_PAUSE
        device = setup.device
        setup.device = _Signer(device.key, with_other_signature(device.certificate))
        assert await setup.refusal(SOFT, now=later) == REVOKED, "with its other signature"
        setup.device, later = device, later + OUTAGE_PAUSE
    setup.says()
    assert await setup.refusal(SOFT, now=later) is None


async def test_a_response_counts_until_it_ends_and_for_an_hour_at_most(setup: Setup) -> None:
    setup.says(end=NOW + timedelta(minutes=10))
    assert await setup.refusal() is None
    setup.says(ocsp.OCSPCertStatus.REVOKED)
    assert await setup.refusal(now=NOW + timedelta(minutes=9)) is None
    assert len(setup.responder.asked) == 1
    assert "was revoked" in (await setup.refusal(now=NOW + timedelta(minutes=10)) or "")
    setup.says()
    later = NOW + timedelta(minutes=10) + LONGEST_USE
    assert await setup.refusal(now=later - timedelta(seconds=1)) is not None
    assert await setup.refusal(now=later) is None


async def test_only_trusted_paths_of_realms_with_ocsp_cause_requests(
    setup: Setup, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A private address has to be allowed by the operator; the realm may name the responder."""
    setup.says()
    assert await setup.refusal(Realm(id="r", name="r")) is None
    alone = CertificationPath.of(setup.path.certificates[0])
    assert await setup.revocations.refusal(alone, HARD, NOW) is None
    assert setup.responder.asked == []
    named = replace(HARD, attributes={OCSP: "hard", OCSP_URL: f"{setup.responder.url}/realm"})
    assert await setup.refusal(named) is None
    assert setup.responder.asked == ["/ocsp/realm"]
    setup.revocations = _settings(monkeypatch, tmp_path, "")
    assert await setup.refusal() == UNKNOWN
    assert len(setup.responder.asked) == 1


def _of_another_request(nonce: bytes) -> bytes:
    return bytes(len(nonce))


async def test_a_response_with_another_nonce_is_refused(setup: Setup) -> None:
    """Spec: RFC 6960 §4.4.1. One without a nonce is refused where the realm requires it."""
    cases: tuple[tuple[str, Callable[[bytes], bytes] | None, str | None], ...] = (
        ("sent", bytes, None),
        ("sent", None, None),
        ("sent", _of_another_request, UNKNOWN),
        ("required", bytes, None),
        ("required", None, UNKNOWN),
        ("required", _of_another_request, UNKNOWN),
        # What cannot be read is refused where it is written; else the strictest value counts.
        ("always", bytes, None),
        ("always", None, UNKNOWN),
    )
    for choice, nonce, expected in cases:
        realm = Realm(id="r", name="r", attributes={OCSP: "hard", OCSP_NONCE: choice})
        setup.device = _device(setup.authority, setup.responder.url)
        setup.says(nonce=nonce)
        assert await setup.refusal(realm) == expected, (choice, nonce)


async def test_authorities_of_a_path_are_checked_if_the_realm_says_so(
    setup: Setup,
) -> None:
    """Here the leaf is below an authority that its root has revoked."""
    location = x509.UniformResourceIdentifier(setup.responder.url)
    access = x509.AccessDescription(AuthorityInformationAccessOID.OCSP, location)
    below = setup.authority.issue("below", 9, x509.AuthorityInformationAccess([access]))
    root, middle = (
        parse_certificate(each.certificate.public_bytes(Encoding.DER))
        for each in (setup.authority, below)
    )
    path = CertificationPath.of(setup.path.certificates[0], middle, root)
    setup.says(ocsp.OCSPCertStatus.REVOKED, about=below)
    for scope, expected in (("chain", "CN=below was revoked"), ("leaf", None)):
        realm = Realm(id="r", name="r", attributes={OCSP: "soft", OCSP_SCOPE: scope})
        assert await setup.revocations.refusal(path, realm, NOW) == expected


async def test_an_authority_of_unknown_status_is_refused_if_strict(
    setup: Setup,
) -> None:
    """Its leaf is good, and it names no responder."""
    setup.says()
    path = CertificationPath.of(*setup.path.certificates, setup.path.certificates[1])
    for policy, expected in (("hard", UNKNOWN), ("soft", None)):
        realm = Realm(id="r", name="r", attributes={OCSP: policy, OCSP_SCOPE: "chain"})
        with capture_logs():
            assert await setup.revocations.refusal(setup.path, realm, NOW) is None
            assert await setup.revocations.refusal(path, realm, NOW) == expected
