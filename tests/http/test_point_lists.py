"""How long the lists of distribution points are kept, when they are downloaded, and what they take.

attacks A10, C21: who issues certificates chooses the addresses, so that everything is bounded.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from structlog.testing import capture_logs

from gateway.bootstrap import outgoing
from gateway.bootstrap.outgoing import point_lists
from gateway.crypto.revocation.downloaded_lists import INTERVAL, RETRY
from gateway.crypto.revocation.point_lists import (
    IDLE,
    MOST_WAITING,
    OF_A_REALM,
    OF_A_SERVER,
    POINT_BYTES,
    TOO_MANY,
    PointLists,
    PointRevocations,
)
from gateway.crypto.revocation.realm_lists import CHECK_INTERVAL
from gateway.crypto.x509.parse import parse_certificate
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.certificates import CertificateFacts, CertificationPath
from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.domain.realm import DISTRIBUTION_POINTS, OCSP, REVOCATION_POLICY, Realm
from gateway.settings import load_settings
from tests.support.chains import CA, DAY, NOW, Node, issue
from tests.support.list_server import ListServer, list_of, points, scope, serving_lists
from tests.support.set_clock import SetClock

ROOT = issue("listed root", None, CA)
SECOND = timedelta(seconds=1)


def _realm(name: str, policy: str = "hard") -> Realm:
    attributes = {DISTRIBUTION_POINTS: "on", REVOCATION_POLICY: policy}
    return Realm(id=name, name=name, attributes=attributes)


ONE, OTHER = _realm("one"), _realm("other")


@dataclass(frozen=True)
class _Entry:
    """What the directory says of a realm."""

    realm: Realm


@dataclass
class _Directory:
    """The realms that exist."""

    realms: dict[str, Realm] = field(default_factory=lambda: {"one": ONE, "other": OTHER})

    async def realm(self, name: str) -> _Entry | None:
        found = self.realms.get(name)
        return None if found is None else _Entry(found)


@dataclass
class Followed:
    """What a worker keeps, at a time that the test sets."""

    server: ListServer
    clock: SetClock
    directory: _Directory
    lists: PointLists
    rule: PointRevocations

    def probe(self, path: str) -> Node:
        return issue("probe", ROOT, points(f"{self.server.url}{path}"), days=(-1, 30))

    async def refusal(self, node: Node, realm: Realm = ONE) -> str | None:
        now = self.clock.now()
        return await self.rule.refusal(path_of(node), realm, now)

    def status(self) -> tuple[str, str | None]:
        (found,) = self.lists.statuses(self.clock.now())
        return found.realm, found.problem


def path_of(node: Node, issuer: Node = ROOT) -> CertificationPath:
    leaf: CertificateFacts = X509CertificateParser().parse_certificate(node.der)
    return CertificationPath.of(leaf, parse_certificate(issuer.der))


@pytest.fixture
def followed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Followed]:
    monkeypatch.setenv("REALMGATE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("REALMGATE_FETCH_NETWORKS", "127.0.0.0/8")
    clock, directory = SetClock(NOW), _Directory()
    with serving_lists() as server:
        lists = point_lists(load_settings(), clock, directory)  # type: ignore[arg-type]
        yield Followed(server, clock, directory, lists, PointRevocations(lists))


pytestmark = pytest.mark.anyio


async def test_a_list_in_use_is_prefetched_and_kept_until_it_ends(followed: Followed) -> None:
    good, bad = followed.probe("/a.crl"), followed.probe("/a.crl")
    served = followed.server.documents
    served["/a.crl"] = list_of(ROOT, issued=NOW, lifetime=2 * DAY)
    assert await followed.refusal(bad) is None
    served["/a.crl"] = list_of(ROOT, bad.certificate, issued=NOW + INTERVAL, lifetime=DAY)
    followed.clock.advance(INTERVAL - SECOND)
    await followed.refusal(good)
    await followed.lists.refresh()
    assert len(followed.server.asked) == 1
    followed.clock.advance(SECOND)
    await followed.lists.refresh()
    assert len(followed.server.asked) == 2
    assert await followed.refusal(bad) == "CN=probe was revoked"
    served.clear()
    with capture_logs():
        for _ in range(23):
            followed.clock.advance(INTERVAL)
            await followed.lists.refresh()
            assert await followed.refusal(good) is None
        for _ in range(2):
            assert await followed.refusal(good) is None
            followed.clock.advance(IDLE - SECOND)
        await followed.lists.refresh()
        assert await followed.refusal(good) == "the revocation list of CN=listed root is stale"
    name, problem = followed.status()
    assert (name, "cannot be used: the server answered with 404" in (problem or "")) == (
        "one",
        True,
    )


async def test_a_point_that_fails_is_asked_again_after_a_pause(followed: Followed) -> None:
    node = followed.probe("/a.crl")
    for _ in range(3):
        assert "it could not be downloaded" in (await followed.refusal(node) or "")
    followed.server.documents["/a.crl"] = list_of(ROOT)
    followed.clock.advance(RETRY - SECOND)
    await followed.lists.refresh()
    assert await followed.refusal(node) is not None
    assert len(followed.server.asked) == 1
    followed.clock.advance(SECOND)
    await followed.lists.refresh()
    assert await followed.refusal(node) is None
    assert len(followed.server.asked) == 2


async def test_what_others_send_does_not_replace_the_list_in_force(followed: Followed) -> None:
    """Lists come over http: a former one, one of another partition and a forged one are refused."""
    url = f"{followed.server.url}/a.crl"
    bad = followed.probe("/a.crl")
    here, elsewhere = scope(url), scope("http://ca.example/b.crl")
    served = followed.server.documents
    served["/a.crl"] = list_of(ROOT, bad.certificate, extensions=(here,), lifetime=3 * DAY)
    assert await followed.refusal(bad) == "CN=probe was revoked"
    stranger = issue("listed root", None, CA)
    for sent in (
        list_of(ROOT, extensions=(here,), issued=NOW - DAY, lifetime=3 * DAY),
        list_of(ROOT, extensions=(elsewhere,), issued=NOW, lifetime=3 * DAY),
        list_of(stranger, extensions=(here,), issued=NOW, lifetime=3 * DAY),
    ):
        served["/a.crl"] = sent
        followed.clock.advance(INTERVAL)
        count = len(followed.server.asked)
        assert await followed.refusal(bad, replace(ONE, attributes=_realm("", "soft").attributes))
        await followed.lists.refresh()
        assert len(followed.server.asked) == count + 1
        assert await followed.refusal(bad) == "CN=probe was revoked"
    served["/a.crl"] = list_of(ROOT, extensions=(here,), issued=NOW, lifetime=3 * DAY)
    followed.clock.advance(INTERVAL)
    await followed.lists.refresh()
    assert await followed.refusal(bad) is None


async def test_a_replayed_former_list_does_not_count(
    followed: Followed,
) -> None:
    """Also where no certificate is used between two downloads: the key is remembered."""
    bad = followed.probe("/a.crl")
    served = followed.server.documents
    served["/a.crl"] = list_of(ROOT, bad.certificate, lifetime=9 * DAY)
    assert await followed.refusal(bad) == "CN=probe was revoked"
    served["/a.crl"] = list_of(ROOT, issued=NOW - DAY, lifetime=9 * DAY)
    in_force = followed.lists.known(ONE, f"{followed.server.url}/a.crl")
    assert in_force is not None
    for count in (2, 3, 4):
        followed.clock.advance(INTERVAL)
        await in_force.renew()
        assert len(followed.server.asked) == count
    assert await followed.refusal(bad) == "CN=probe was revoked"


async def test_a_former_list_does_not_replace_one_that_has_ended(
    followed: Followed,
) -> None:
    """Even if it ends later: the authority has issued it before."""
    bad = followed.probe("/a.crl")
    served = followed.server.documents
    served["/a.crl"] = list_of(ROOT, bad.certificate, issued=NOW, lifetime=DAY)
    assert await followed.refusal(bad) == "CN=probe was revoked"
    served["/a.crl"] = list_of(ROOT, issued=NOW - DAY, lifetime=9 * DAY)
    for _ in range(2):
        followed.clock.advance(DAY)
        await followed.lists.current(ONE, [f"{followed.server.url}/a.crl"], followed.clock.now())
        await followed.lists.refresh()
    assert await followed.refusal(bad) == "the revocation list of CN=listed root is stale"
    with capture_logs():
        assert await followed.refusal(bad, _realm("one", "soft")) == "CN=probe was revoked"
    served["/a.crl"] = list_of(ROOT, issued=NOW + DAY, lifetime=9 * DAY)
    followed.clock.advance(INTERVAL)
    await followed.lists.refresh()
    assert await followed.refusal(bad) is None


async def test_forged_lists_do_not_crowd_out_the_list_in_force(followed: Followed) -> None:
    """Only some lists of a name are verified, and anyone may write newer ones of that name."""
    bad = followed.probe("/a.crl")
    served = followed.server.documents
    served["/a.crl"] = list_of(ROOT, bad.certificate, lifetime=9 * DAY)
    assert await followed.refusal(bad) == "CN=probe was revoked"
    stranger = issue("listed root", None, CA)
    served["/a.crl"] = b"".join(
        x509.load_der_x509_crl(list_of(stranger, issued=NOW + number * SECOND)).public_bytes(
            Encoding.PEM
        )
        for number in range(40)
    )
    for _ in range(2):
        followed.clock.advance(INTERVAL)
        await followed.lists.refresh()
        assert await followed.refusal(bad) == "CN=probe was revoked"


async def test_a_predecessors_facts_alone_leave_its_points_unknown(
    followed: Followed,
) -> None:
    """The facts of a renewed certificate's predecessor have its digest, and no points."""
    bad = followed.probe("/a.crl")
    followed.server.documents["/a.crl"] = list_of(ROOT, bad.certificate)
    presented = path_of(bad)
    facts = CertificationPath.of(parse_certificate(bad.der).facts, *presented.certificates[1:])
    soft = replace(ONE, attributes=_realm("", "soft").attributes)
    for _ in range(2):
        with capture_logs():
            assert await followed.rule.refusal(facts, soft, NOW) is None
        refusal = await followed.rule.refusal(facts, ONE, NOW) or ""
        assert refusal.endswith("its distribution points are not known")
        for realm in (soft, ONE):
            assert await followed.rule.refusal(presented, realm, NOW) == "CN=probe was revoked"


async def test_a_realm_without_points_downloads_no_list(
    followed: Followed,
) -> None:
    bad = followed.probe("/a.crl")
    followed.server.documents["/a.crl"] = list_of(ROOT, bad.certificate)
    for attributes in ({OCSP: "soft"}, {OCSP: "soft", DISTRIBUTION_POINTS: "off"}):
        assert await followed.refusal(bad, replace(ONE, attributes=attributes)) is None
    assert followed.server.asked == []


async def test_a_download_that_takes_too_long_is_given_up(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise it would keep a place of its server and of its realm."""
    assert timedelta(seconds=20) == outgoing._POINT_TIME
    monkeypatch.setattr(outgoing, "_POINT_TIME", SECOND / 5)
    directory: Any = followed.directory
    lists = outgoing.point_lists(load_settings(), followed.clock, directory)
    followed.server.held.add("/a.crl")
    with capture_logs():
        (known,) = await lists.current(ONE, [f"{followed.server.url}/a.crl"], NOW)
    assert known.is_attempted
    assert "cannot be used" in (known.problem or "")


async def test_a_url_is_downloaded_once_at_a_time(followed: Followed) -> None:
    """However many requests and realms need it."""
    followed.server.held.add("/a.crl")
    followed.server.documents["/a.crl"] = list_of(ROOT)
    nodes = [followed.probe("/a.crl") for _ in range(5)]
    found = await asyncio.gather(
        *(followed.refusal(node, realm) for node in nodes for realm in (ONE, OTHER))
    )
    assert None not in found
    assert followed.server.asked == ["/a.crl"]
    followed.server.release.set()
    for realm in (ONE, OTHER):
        (lists,) = await followed.lists.current(realm, [f"{followed.server.url}/a.crl"], NOW)
        await lists.renew()
        assert await followed.refusal(nodes[0], realm) is None
    assert followed.server.asked == ["/a.crl"]


async def test_an_unused_list_is_neither_downloaded_nor_reported(
    followed: Followed,
) -> None:
    """It counts until it ends, and is downloaded again when it is needed again."""
    node = followed.probe("/a.crl")
    followed.server.documents["/a.crl"] = list_of(ROOT, issued=NOW, lifetime=DAY)
    assert await followed.refusal(node) is None
    followed.clock.advance(IDLE)
    await followed.lists.refresh()
    assert len(followed.server.asked) == 1
    assert list(followed.lists.statuses(followed.clock.now())) == []
    revoked = list_of(ROOT, node.certificate, issued=NOW + IDLE, lifetime=DAY)
    followed.server.documents["/a.crl"] = revoked
    assert await followed.refusal(node) == "CN=probe was revoked"
    followed.server.documents.clear()
    followed.clock.advance(2 * IDLE)
    with capture_logs():
        assert await followed.refusal(node) == "CN=probe was revoked"
    assert len(followed.server.asked) == 3
    followed.clock.advance(2 * DAY)
    await followed.lists.refresh()
    assert (followed.lists.size, len(followed.server.asked)) == (0, 3)


@pytest.mark.parametrize("gone", [True, False])
async def test_a_realm_that_stops_following_points_causes_no_request(
    followed: Followed, *, gone: bool
) -> None:
    node = followed.probe("/a.crl")
    followed.server.documents["/a.crl"] = list_of(ROOT, lifetime=2 * DAY)
    for realm in (ONE, OTHER):
        assert await followed.refusal(node, realm) is None
    if gone:
        del followed.directory.realms["one"]
    else:
        followed.directory.realms["one"] = replace(ONE, attributes={})
    followed.clock.advance(CHECK_INTERVAL)
    await followed.lists.refresh()
    assert [each.realm for each in followed.lists.statuses(followed.clock.now())] == ["other"]


async def test_the_memory_of_all_lists_is_bounded(followed: Followed) -> None:
    """The realm that takes the most loses what it used least recently; others lose nothing."""
    asked: list[str] = []

    async def fetch(url: str) -> bytes:
        asked.append(url)
        return list_of(ROOT, lifetime=2 * DAY)

    async def find_realm(name: str) -> Realm | None:
        return followed.directory.realms.get(name)

    most = 32 * POINT_BYTES
    lists = PointLists(fetch, followed.clock, find_realm, most_bytes=most)
    rule = PointRevocations(lists)
    modest = path_of(issue("probe", ROOT, points("http://a.example/modest")))
    assert await rule.refusal(modest, OTHER, NOW) is None
    urls = [f"http://a.example/{number}" for number in range(100)]
    for url in urls:
        node = path_of(issue("probe", ROOT, points(url)))
        assert await rule.refusal(node, ONE, NOW) is None
        assert lists.size <= most
    known = [url for url in urls if lists.known(ONE, url) is not None]
    assert known == urls[-len(known) :]
    assert 10 < len(known) < 32
    assert lists.known(OTHER, "http://a.example/modest") is not None
    assert len(asked) == 101


async def test_a_recently_used_list_stays_when_memory_is_full(
    followed: Followed,
) -> None:
    asked: list[str] = []

    async def fetch(url: str) -> bytes:
        asked.append(url)
        return list_of(ROOT, lifetime=2 * DAY)

    async def find_realm(name: str) -> Realm | None:
        return followed.directory.realms.get(name)

    lists = PointLists(fetch, followed.clock, find_realm, most_bytes=32 * POINT_BYTES)
    urls = [f"http://a.example/{number}" for number in range(60)]
    for url in urls:
        await lists.current(ONE, [url, urls[0]], NOW)
    assert asked.count(urls[0]) == 1
    assert lists.known(ONE, urls[1]) is None


async def test_all_certificates_of_a_path_wait_for_a_second_together(followed: Followed) -> None:
    followed.server.held |= {"/leaf.crl", "/middle.crl"}
    middle = issue("middle", ROOT, CA, points(f"{followed.server.url}/middle.crl"))
    leaf = issue("probe", middle, points(f"{followed.server.url}/leaf.crl"))
    facts = [parse_certificate(each.der) for each in (leaf, middle, ROOT)]
    soft = replace(ONE, attributes=_realm("", "soft").attributes)
    begun = asyncio.get_running_loop().time()
    with capture_logs():
        assert await followed.rule.refusal(CertificationPath.of(*facts), soft, NOW) is None
    assert asyncio.get_running_loop().time() - begun < 1.7
    assert followed.server.asked[0] == "/middle.crl"


async def test_a_realm_has_a_few_downloads_at_the_same_time(followed: Followed) -> None:
    """Servers that do not answer hold up the realm that names them, and no other one."""
    waiting: list[str] = []
    release = asyncio.Event()

    async def fetch(url: str) -> bytes:
        waiting.append(url)
        if "slow" in url:
            await release.wait()
            raise DocumentUnavailable("too late")
        return list_of(ROOT, lifetime=2 * DAY)

    async def find_realm(name: str) -> Realm | None:
        return followed.directory.realms.get(name)

    lists = PointLists(fetch, followed.clock, find_realm)
    urls = [f"http://{number}.example/slow" for number in range(9)]
    await lists.current(ONE, urls, NOW)
    assert len(waiting) == OF_A_REALM
    quick = path_of(issue("probe", ROOT, points("http://a.example/quick")))
    assert await PointRevocations(lists).refusal(quick, OTHER, NOW) is None
    release.set()


async def test_few_downloads_of_a_realm_wait(followed: Followed) -> None:
    """Else the addresses of its certificates would be asked hours later, and fill the memory."""
    asked: list[str] = []
    release = asyncio.Event()

    async def fetch(url: str) -> bytes:
        asked.append(url)
        await release.wait()
        return list_of(ROOT, lifetime=2 * DAY)

    async def find_realm(name: str) -> Realm | None:
        return followed.directory.realms.get(name)

    lists = PointLists(fetch, followed.clock, find_realm)
    urls = [f"http://a.example/{number}" for number in range(MOST_WAITING + 9)]
    with capture_logs() as lines:
        found = await lists.current(ONE, urls, NOW)
        assert [line["reason"].rpartition(": ")[2] for line in lines] == [TOO_MANY] * 9
        assert len(asked) == OF_A_SERVER
        release.set()
        await asyncio.gather(*(each.renew() for each in found))
    assert len(asked) == MOST_WAITING
    followed.clock.advance(RETRY)
    await asyncio.gather(*(each.renew() for each in found))
    assert len(asked) == len(urls)
