"""Lists at the distribution points that certificates name: followed for trusted ones alone.

The addresses are those of whoever issued the certificate, so the guarded fetcher decides where they
may lead. Spec: RFC 5280 §4.2.1.13, §6.3.3; attacks A10, C21
"""

import json
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
import pytest
from cryptography import x509

from gateway.domain.realm import DISTRIBUTION_POINTS, OCSP, REVOCATION_POLICY
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import ADMIN_PASSWORD, Administration, master
from tests.support.chains import CA, DAY, NOW, Node, issue
from tests.support.gateway_process import start_gateway, until
from tests.support.list_server import (
    ListServer,
    list_of,
    points,
    responder_at,
    scope,
    serving_lists,
)
from tests.support.wire import device

ROOT = issue("pointed root", None, CA)
STRANGER = issue("pointed root", None, CA)
"""An authority of the same name, which the realms do not trust."""
HARD, SOFT, OFF = "points-hard", "points-soft", "points-off"
_PART: Final = x509.RelativeDistinguishedName(
    [x509.NameAttribute(x509.NameOID.COMMON_NAME, "part")]
)
_INTERMEDIATE: Final = {"kind": "intermediate"}
_BOUND: Final = 1.0
_ALLOWANCE: Final = 0.9
"""Seconds for the rest of a request on a busy machine."""


@dataclass(frozen=True)
class Realms:
    """Realms that trust ROOT and follow points, with either policy, and one that follows none."""

    by_name: dict[str, AdministeredRealm]

    def ask(self, realm: str, node: Node) -> tuple[int, str]:
        """Ask for a token with a certificate; return the status, and the reason in the log."""
        request_id, gateway = secrets.token_hex(16), self.by_name[realm].administration
        found = gateway.http.post(
            f"/realms/{realm}/protocol/openid-connect/token",
            data={"grant_type": "client_credentials", "client_id": "probe"},
            headers={
                "X-Request-Id": request_id,
                "ssl-client-cert": quote(node.pem, safe=""),
                "ssl-client-verify": "SUCCESS",
            },
        )
        if found.is_success:
            return found.status_code, ""
        (line,) = until(
            lambda: [
                each
                for each in gateway.gateway.log()
                if each.get("request_id") == request_id and each["event"] == "request"
            ],
            "the request is not in the log",
        )
        return found.status_code, str(line.get("reason"))

    def statuses(self, node: Node) -> list[int]:
        """Return the status under `hard` and under `soft`."""
        return [self.ask(realm, node)[0] for realm in (HARD, SOFT)]


@contextmanager
def realms_of(administration: Administration) -> Iterator[Realms]:
    """Make the realms."""
    followed = {DISTRIBUTION_POINTS: "on"}
    attributes = {HARD: followed, SOFT: {**followed, REVOCATION_POLICY: "soft"}, OFF: {}}
    with ExitStack() as stack:
        made = {
            name: stack.enter_context(
                administered_realm(
                    administration,
                    name,
                    {"viewer": ["view-realm", "view-clients"]},
                    clients=[device("probe", "CN=probe")],
                    attributes=own,
                )
            )
            for name, own in attributes.items()
        }
        for realm in made.values():
            realm.change("POST", "certificates/authorities", {"certificate": ROOT.pem})
        yield Realms(made)


@pytest.fixture(scope="module")
def realms(administration: Administration) -> Iterator[Realms]:
    with realms_of(administration) as made:
        yield made


@pytest.fixture
def server() -> Iterator[ListServer]:
    with serving_lists() as served:
        yield served


def probe(*urls: str, issuer: Node = ROOT, **fields: Any) -> Node:
    """Return a certificate of the client that names these addresses."""
    return issue("probe", issuer, points(*urls, **fields))


def test_the_list_named_by_a_trusted_certificate_counts_if_set(
    realms: Realms, server: ListServer
) -> None:
    """A certificate that names no list needs none."""
    good, bad = (probe(f"{server.url}/a.crl") for _ in range(2))
    server.documents["/a.crl"] = list_of(ROOT, bad.certificate)
    assert [realms.ask(OFF, each)[0] for each in (good, bad)] == [200, 200]
    assert server.asked == []
    assert realms.statuses(good) == [200, 200]
    assert realms.statuses(bad) == [401, 401]
    assert "CN=probe was revoked" in realms.ask(HARD, bad)[1]
    assert server.asked == ["/a.crl"] * 2, "once for each realm"
    assert realms.statuses(issue("probe", ROOT)) == [200, 200]


def test_a_certificate_that_is_refused_before_causes_no_request(
    realms: Realms, server: ListServer
) -> None:
    """Nor does one of an authority that was revoked: its addresses are followed last."""
    named = points(f"{server.url}/leaf.crl"), responder_at(f"{server.url}/ocsp")
    denied, misused = issue("probe", ROOT, *named), issue("probe", ROOT, CA, *named)
    below = issue("below", ROOT, CA, points(f"{server.url}/root.crl"))
    server.documents["/root.crl"] = list_of(ROOT, below.certificate)
    hard = realms.by_name[HARD]
    hard.change("POST", "certificates/denied", {"thumbprint": denied.sha256})
    attributes = hard.get("")["attributes"]
    hard.change("PUT", "", {"attributes": {**attributes, OCSP: "hard"}})
    refused = (
        issue("probe", STRANGER, *named),
        issue("probe", None, *named),
        issue("probe", issue("unknown", None, CA), *named),
        issue("probe", ROOT, *named, days=(-3, -2)),
        issue("probe", ROOT, *named, days=(1, 2)),
        denied,
        misused,
    )
    assert [realms.ask(HARD, each)[0] for each in refused] == [401] * len(refused)
    assert server.asked == []
    hard.change("POST", "certificates/authorities", {"certificate": below.pem} | _INTERMEDIATE)
    status, reason = realms.ask(HARD, issue("probe", below, *named))
    assert (status, "CN=below was revoked" in reason) == (401, True)
    assert server.asked == ["/root.crl"]
    server.documents["/leaf.crl"] = list_of(ROOT)
    assert realms.ask(HARD, issue("probe", ROOT, *named))[0] == 401
    assert server.asked == ["/root.crl", "/leaf.crl", "/ocsp"], "a trusted one causes them all"
    hard.change("PUT", "", {"attributes": {**attributes, OCSP: "off"}})


def test_without_a_list_the_policy_of_the_realm_decides(realms: Realms, server: ListServer) -> None:
    url, others = f"{server.url}/none.crl", f"{server.url}/other.crl"
    server.documents["/text.crl"] = b"no list"
    server.documents["/other.crl"] = list_of(STRANGER)
    server.documents["/stale.crl"] = list_of(ROOT, issued=NOW - 2 * DAY)
    issuers = [x509.DirectoryName(STRANGER.certificate.subject)]
    reasons = frozenset({x509.ReasonFlags.key_compromise})
    cases = (
        (probe(url), "it could not be downloaded"),
        (probe(f"{server.url}/text.crl"), "it could not be downloaded"),
        (probe(others), "it is not signed by the issuer"),
        (probe(f"{server.url}/stale.crl"), "is stale"),
        (probe("ldap://127.0.0.1/cn=list"), "no http address"),
        (probe("file:///etc/passwd"), "no http address"),
        (probe(url, crl_issuer=issuers), "leads to an indirect list"),
        (probe(url, reasons=reasons), "revoked for some reasons"),
    )
    for node, expected in cases:
        status, reason = realms.ask(HARD, node)
        assert (status, expected in reason) == (401, True), (expected, reason)
        assert url not in reason
        assert realms.ask(SOFT, node)[0] == 200, expected
    log = realms.by_name[HARD].administration.gateway.log()
    warned = [line for line in log if line.get("realm") == SOFT and line["level"] == "warning"]
    assert any("cannot be used: it could not be downloaded" in line["reason"] for line in warned)


def test_a_list_of_more_than_8_mb_is_not_read(realms: Realms, server: ListServer) -> None:
    """Whoever issues certificates chooses it, and what is read takes memory until it is parsed."""
    server.documents["/huge.crl"] = bytes(8 * 1024 * 1024 + 1)
    server.documents["/large.crl"] = bytes(8 * 1024 * 1024)
    for name in ("large", "huge"):
        assert realms.ask(HARD, probe(f"{server.url}/{name}.crl"))[0] == 401
    log = realms.by_name[HARD].administration.gateway.log()
    reasons = [each["reason"] for each in log if each["event"] == "revocation list not downloaded"]
    assert any("/huge.crl cannot be used: larger than 8388608 bytes" in each for each in reasons)
    assert not any("/large.crl cannot be used: larger than" in each for each in reasons)


def test_a_list_decides_only_about_certificates_in_its_scope(
    realms: Realms, server: ListServer
) -> None:
    """Spec: RFC 5280 §5.2.5, §6.3.3 (b) (2)."""
    reasons = frozenset({x509.ReasonFlags.key_compromise})
    here, other = "{here}", f"{server.url}/elsewhere.crl"
    complete, partial = "", "it is about other certificates"
    cases: tuple[tuple[str, tuple[str, ...], dict[str, Any], str], ...] = (
        ("own address", (here,), {}, complete),
        ("one of two addresses", (other, here), {}, complete),
        ("users", (), {"only_contains_user_certs": True}, complete),
        ("other address", (other,), {}, partial),
        ("authorities", (), {"only_contains_ca_certs": True}, partial),
        ("authorities here", (here,), {"only_contains_ca_certs": True}, partial),
        ("indirect", (here,), {"indirect_crl": True}, "it is indirect"),
        ("some reasons", (here,), {"only_some_reasons": reasons}, "revoked for some reasons"),
        ("attributes", (), {"only_contains_attribute_certs": True}, "attribute certificates"),
        ("relative name", (), {"relative_name": _PART}, "a name relative to its issuer"),
    )
    for number, (name, urls, fields, expected) in enumerate(cases):
        url = f"{server.url}/{number}.crl"
        good, bad = probe(url), probe(url)
        named = [each.format(here=url) for each in urls]
        made = list_of(ROOT, bad.certificate, extensions=(scope(*named, **fields),))
        server.documents[f"/{number}.crl"] = made
        if expected:
            assert realms.statuses(good) == realms.statuses(bad) == [401, 200], name
            assert expected in realms.ask(HARD, bad)[1], name
        else:
            assert realms.statuses(good) == [200, 200], name
            assert realms.statuses(bad) == [401, 401], name
    delta = x509.DeltaCRLIndicator(3)
    server.documents["/delta.crl"] = list_of(ROOT, extensions=(delta,))
    status, reason = realms.ask(HARD, probe(f"{server.url}/delta.crl"))
    assert (status, "it is a delta list" in reason) == (401, True)


def test_a_list_of_users_says_nothing_of_an_authority(realms: Realms, server: ListServer) -> None:
    url = f"{server.url}/users.crl"
    middle = issue("middle", ROOT, CA, points(url))
    server.documents["/users.crl"] = list_of(
        ROOT, extensions=(scope(only_contains_user_certs=True),)
    )
    for realm, expected in ((HARD, 401), (SOFT, 200)):
        realms.by_name[realm].change(
            "POST", "certificates/authorities", {"certificate": middle.pem} | _INTERMEDIATE
        )
        assert realms.ask(realm, issue("probe", middle))[0] == expected


def test_redirects_are_not_followed(realms: Realms, server: ListServer) -> None:
    with serving_lists("127.0.0.2") as private:
        private.documents["/a.crl"] = list_of(ROOT)
        server.redirects["/a.crl"] = f"{private.url}/a.crl"
        assert realms.statuses(probe(f"{server.url}/a.crl")) == [401, 200]
        assert private.asked == []


def test_a_few_addresses_of_a_certificate_are_followed(realms: Realms, server: ListServer) -> None:
    """One list of several is enough."""
    server.documents["/2.crl"] = list_of(ROOT)
    urls = [f"{server.url}/{number}.crl" for number in range(9)]
    assert realms.ask(HARD, probe("ldap://127.0.0.1/", *urls))[0] == 200
    assert sorted(server.asked) == ["/0.crl", "/1.crl", "/2.crl"]


def test_a_slow_server_delays_its_own_certificates_one_second(
    realms: Realms, server: ListServer
) -> None:
    """The list counts once it comes, while no further certificate has waited for it."""
    server.held |= {f"/slow-{number}.crl" for number in range(6)}
    slow = [probe(f"{server.url}/slow-{number}.crl") for number in range(6)]
    with serving_lists() as quick:
        quick.documents["/quick.crl"] = list_of(ROOT)
        begun = time.monotonic()
        assert realms.ask(HARD, slow[0])[0] == 401
        assert _BOUND <= time.monotonic() - begun < _BOUND + _ALLOWANCE
        begun = time.monotonic()
        assert realms.ask(HARD, slow[0])[0] == 401
        assert time.monotonic() - begun < _BOUND
        for each in slow[1:]:
            assert realms.ask(HARD, each)[0] == 401
        begun = time.monotonic()
        assert realms.ask(HARD, probe(f"{quick.url}/quick.crl"))[0] == 200
        assert time.monotonic() - begun < _BOUND
    assert len(server.asked) == 2, "two downloads from a server at the same time"
    server.documents["/slow-0.crl"] = list_of(ROOT)
    server.release.set()
    until(lambda: realms.ask(HARD, slow[0])[0] == 200, "the list does not count")


def test_a_configured_list_suffices_if_a_point_has_none(realms: Realms, server: ListServer) -> None:
    node, bad = (probe(f"{server.url}/none.crl") for _ in range(2))
    hard = realms.by_name[HARD]
    attributes = hard.get("")["attributes"]
    server.documents["/configured.crl"] = list_of(ROOT, bad.certificate)
    urls = {"realmgate.certificates.crl.urls": f"{server.url}/configured.crl"}
    hard.change("PUT", "", {"attributes": {**attributes, **urls}})
    assert [realms.ask(HARD, each)[0] for each in (node, bad)] == [200, 401]
    hard.change("PUT", "", {"attributes": {**attributes, "realmgate.certificates.crl.urls": ""}})
    assert realms.ask(HARD, node)[0] == 401


def test_operators_see_the_lists(realms: Realms, server: ListServer) -> None:
    node = probe(f"{server.url}/seen.crl")
    server.documents["/seen.crl"] = list_of(ROOT)
    hard = realms.by_name[HARD]
    answer = hard.ask("POST", "certificates/explain", {"certificate": node.pem}, by="viewer")
    (finding,) = (
        each for each in answer.json()["revocation"] if each["source"] == "distribution point"
    )
    assert finding["state"] == "not revoked"
    assert [each["issuer"] for each in finding["lists"]] == ["CN=pointed root"]
    assert realms.ask(HARD, node)[0] == 200
    metrics = hard.administration.gateway.metrics()
    for name in ("age_seconds", "seconds_left"):
        assert f'realmgate_point_revocation_list_{name}{{realm="{HARD}"}}' in metrics
    assert "realmgate_point_revocation_list_bytes" in metrics
    missing = probe(f"{server.url}/not-there.crl")
    assert realms.ask(HARD, missing)[0] == 401
    checks = hard.administration.gateway.health()[1]["checks"]
    (lists,) = (each for each in checks if each["name"] == "revocation-lists")
    assert lists["status"] == "DOWN"
    assert "cannot be used: the server answered with 404" in lists["data"]["reason"]


def test_an_unknown_choice_is_refused(realms: Realms) -> None:
    hard = realms.by_name[HARD]
    status, document = hard.refused("PUT", "", {"attributes": {DISTRIBUTION_POINTS: "true"}})
    assert (status, DISTRIBUTION_POINTS in str(document)) == (httpx2.codes.BAD_REQUEST, True)


def test_a_private_address_has_to_be_allowed_by_the_operator(tmp_path: Path) -> None:
    """Neither a list nor a responder of a trusted certificate is asked there."""
    (tmp_path / "realms.json").write_text(json.dumps([master()]))
    with (
        serving_lists() as server,
        start_gateway(
            tmp_path,
            import_realm=tmp_path / "realms.json",
            public_url="https://gateway.test",
            admin_password=ADMIN_PASSWORD,
        ) as gateway,
        gateway.client() as http,
        realms_of(Administration(gateway, http)) as realms,
    ):
        server.documents["/a.crl"] = list_of(ROOT)
        private = (
            server.url,
            server.url.replace("127.0.0.1", "localhost"),
            "http://169.254.169.254",
        )
        for url in private:
            node = issue("probe", ROOT, points(f"{url}/a.crl"), responder_at(f"{url}/ocsp"))
            status, reason = realms.ask(HARD, node)
            assert (status, "it could not be downloaded" in reason) == (401, True)
            assert realms.ask(SOFT, node)[0] == 200
        assert server.asked == []
