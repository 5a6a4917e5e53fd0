"""Name constraints, policies and the bounds of the search; openssl is the second opinion.

Attacks A8, A14. Spec: RFC 5280 §6.1
"""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.crypto.x509 import path_search
from gateway.crypto.x509.authorities import AuthorityBundle, RegisteredBundle
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.crypto.x509.path_search import MOST_SIGNATURE_CHECKS, PathSearch
from gateway.domain.certificates import AnchorOrigin, PathResult
from tests.support.chains import CA, DAY, KEYS, NOW, Node, common_name, issue, openssl_refusal

ROOT = issue("root", None, CA)
POLICY, OTHER = x509.ObjectIdentifier("1.3.6.1.4.1.55555.1"), x509.ObjectIdentifier("1.3.6.1.4.5")
ANY = x509.ObjectIdentifier("2.5.29.32.0")
UPN = x509.ObjectIdentifier("1.3.6.1.4.1.311.20.2.3")
ACCEPTED, REFUSED = True, False
STRICTER = "openssl accepts what two readers may read differently"


def parsed(node: Node) -> ParsedCertificate:
    return parse_certificate(node.der)


def search(
    leaf: Node,
    roots: Iterable[Node],
    sent: Iterable[Node] = (),
    policies: frozenset[str] = frozenset(),
) -> PathResult:
    bundle = AuthorityBundle(map(parsed, roots))
    return PathSearch(bundle, tuple(map(parsed, sent)), policies, NOW).run(parsed(leaf))


def accepts(result: PathResult) -> bool:
    return result.path is not None and result.path.holds_at(NOW)


def dns(*names: str) -> list[x509.GeneralName]:
    return [x509.DNSName(name) for name in names]


def mail(*names: str) -> list[x509.GeneralName]:
    return [x509.RFC822Name(name) for name in names]


def uri(*names: str) -> list[x509.GeneralName]:
    return [x509.UniformResourceIdentifier(name) for name in names]


def directory(**attributes: str) -> x509.Name:
    oids = {"o": NameOID.ORGANIZATION_NAME, "cn": NameOID.COMMON_NAME}
    return x509.Name([x509.NameAttribute(oids[name], text) for name, text in attributes.items()])


def other(text: bytes) -> list[x509.GeneralName]:
    return [x509.OtherName(UPN, b"\x0c" + bytes([len(text)]) + text)]


def addresses(*texts: str) -> list[x509.GeneralName]:
    return [x509.IPAddress(ip_address(text)) for text in texts]


def networks(*texts: str) -> list[x509.GeneralName]:
    return [x509.IPAddress(ip_network(text)) for text in texts]


@dataclass(frozen=True, slots=True)
class Named:
    """Constraints of an authority, and the names of a leaf below it."""

    accepted: bool
    names: list[x509.GeneralName] = field(default_factory=list)
    permitted: list[x509.GeneralName] | None = None
    excluded: list[x509.GeneralName] | None = None
    subject: x509.Name = field(default_factory=lambda: common_name("leaf"))
    openssl: bool | None = None
    """What openssl says where it differs."""


CORP = directory(o="Corp")
MAILED = x509.Name([x509.NameAttribute(NameOID.EMAIL_ADDRESS, "ada@evil.example")])
NAMED = {
    "a host below": Named(ACCEPTED, dns("a.b.example.org"), dns("example.org")),
    "the host itself, in capitals": Named(ACCEPTED, dns("EXAMPLE.org"), dns("example.org")),
    "another host": Named(REFUSED, dns("example.com"), dns("example.org")),
    "a host that ends alike": Named(REFUSED, dns("evilexample.org"), dns("example.org")),
    "one of two hosts": Named(REFUSED, dns("example.org", "example.com"), dns("example.org")),
    "a host with a dot before": Named(ACCEPTED, dns("a.example.org"), dns(".example.org")),
    "no label before the dot": Named(REFUSED, dns("example.org"), dns(".example.org")),
    "an excluded host": Named(REFUSED, dns("a.example.org"), None, dns("example.org")),
    "excluded wins": Named(REFUSED, dns("a.b.org"), dns("b.org"), dns("a.b.org")),
    "a host that is not excluded": Named(ACCEPTED, dns("a.org"), None, dns("b.org")),
    "every host is excluded": Named(REFUSED, dns("a.org"), None, dns("")),
    "no name of the constrained kind": Named(ACCEPTED, uri("urn:x"), dns("example.org")),
    "a host with a dot at the end": Named(
        REFUSED, dns("b.org."), None, dns("b.org"), openssl=ACCEPTED
    ),
    "a common name like a host": Named(
        REFUSED, [], dns("example.org"), subject=common_name("pay.example.com")
    ),
    "a common name within": Named(
        ACCEPTED, [], dns("example.org"), subject=common_name("pay.example.org")
    ),
    "a mailbox": Named(ACCEPTED, mail("ada@example.org"), mail("ada@example.org")),
    "another mailbox": Named(REFUSED, mail("bob@example.org"), mail("ada@example.org")),
    "a mailbox in capitals": Named(REFUSED, mail("Ada@example.org"), mail("ada@example.org")),
    "a mailbox of the host": Named(ACCEPTED, mail("ada@Example.org"), mail("example.org")),
    "a mailbox below the host": Named(REFUSED, mail("ada@a.example.org"), mail("example.org")),
    "a mailbox of the domain": Named(ACCEPTED, mail("ada@a.example.org"), mail(".example.org")),
    "an excluded mailbox": Named(REFUSED, mail("ada@b.org"), None, mail("b.org")),
    "an address in the subject": Named(REFUSED, [], None, mail("evil.example"), MAILED),
    "a URI of the host": Named(ACCEPTED, uri("spiffe://acme.org/edge/1"), uri("acme.org")),
    "a URI below the host": Named(REFUSED, uri("spiffe://a.acme.org/x"), uri("acme.org")),
    "a URI of the domain": Named(ACCEPTED, uri("https://a.acme.org:8443/x"), uri(".acme.org")),
    "a URI of another host": Named(REFUSED, uri("spiffe://evil.org/x"), uri("acme.org")),
    "a URI without a host": Named(REFUSED, uri("urn:acme.org"), uri("acme.org")),
    "a URI with a user that looks like the host": Named(
        REFUSED, uri("https://acme.org:x@evil.org/"), uri("acme.org"), openssl=ACCEPTED
    ),
    "an excluded URI": Named(REFUSED, uri("spiffe://acme.org/x"), None, uri("acme.org")),
    "an address of the network": Named(ACCEPTED, addresses("10.1.2.3"), networks("10.0.0.0/8")),
    "an address beside it": Named(REFUSED, addresses("11.1.2.3"), networks("10.0.0.0/8")),
    "an address of another family": Named(REFUSED, addresses("::1"), networks("10.0.0.0/8")),
    "an excluded address": Named(REFUSED, addresses("fd00::1"), None, networks("fd00::/8")),
    "a name below": Named(
        ACCEPTED, [], [x509.DirectoryName(CORP)], subject=directory(o="Corp", cn="leaf")
    ),
    "a name below, in other case": Named(
        ACCEPTED, [], [x509.DirectoryName(CORP)], subject=directory(o="cORP ", cn="leaf")
    ),
    "another name": Named(
        REFUSED, [], [x509.DirectoryName(CORP)], subject=directory(o="Corporation", cn="leaf")
    ),
    "the same attributes in another order": Named(
        REFUSED, [], [x509.DirectoryName(CORP)], subject=directory(cn="leaf", o="Corp")
    ),
    "an excluded name, in other case": Named(
        REFUSED, [], None, [x509.DirectoryName(CORP)], directory(o="corp", cn="leaf")
    ),
    "an excluded alternative name": Named(
        REFUSED,
        [x509.DirectoryName(directory(o="Corp", cn="x"))],
        None,
        [x509.DirectoryName(CORP)],
    ),
    "a kind without a rule": Named(REFUSED, other(b"a@b"), None, other(b"c@d")),
}


def test_issuers_obey_name_constraints_and_openssl_agrees(tmp_path: Path) -> None:
    """RFC 5280 §4.2.1.10."""
    wrong = {}
    for kind, case in NAMED.items():
        constraints = x509.NameConstraints(case.permitted, case.excluded)
        authority = issue("constrained", ROOT, CA, constraints, key=KEYS[0])
        names = [x509.SubjectAlternativeName(case.names)] if case.names else []
        leaf = issue(case.subject, authority, *names, key=KEYS[2])
        result = search(leaf, [ROOT], [authority])
        refusal = openssl_refusal(tmp_path, leaf, [ROOT], [authority])
        expected = case.accepted if case.openssl is None else case.openssl
        if accepts(result) is not case.accepted or (refusal is None) is not expected:
            wrong[kind] = (result.refusal, refusal)
        if not case.accepted:
            assert "authority" in (result.refusal or "") or "constraint" in (result.refusal or "")
    assert wrong == {}


def test_constraints_bind_all_below_until_the_leaf(tmp_path: Path) -> None:
    """RFC 5280 §6.1.4 (g): of every authority, the anchor included, and none widens them."""
    narrow, wide = (x509.NameConstraints(dns(name), None) for name in ("a.org", "org"))
    root = issue("narrow", None, CA, narrow)
    for above in ([root], [ROOT, issue("narrow", ROOT, CA, narrow)]):
        middle = issue("middle", above[-1], CA, wide)
        for host, accepted in (("x.a.org", ACCEPTED), ("b.org", REFUSED)):
            leaf = issue("leaf", middle, x509.SubjectAlternativeName(dns(host)))
            sent = [*above[1:], middle]
            assert accepts(search(leaf, above[:1], sent)) is accepted
            assert (openssl_refusal(tmp_path, leaf, above[:1], sent) is None) is accepted


def test_the_names_of_authorities_are_constrained_too(tmp_path: Path) -> None:
    constraints = x509.NameConstraints([x509.DirectoryName(CORP)], None)
    upper = issue("upper", ROOT, CA, constraints, key=KEYS[0])
    for name, accepted in (("Corp", ACCEPTED), ("Other", REFUSED)):
        lower = issue(directory(o=name, cn="lower"), upper, CA, key=KEYS[1])
        leaf = issue(directory(o="Corp", cn="leaf"), lower, key=KEYS[2])
        assert accepts(search(leaf, [ROOT], [upper, lower])) is accepted
        assert (openssl_refusal(tmp_path, leaf, [ROOT], [upper, lower]) is None) is accepted


def policies(*listed: x509.ObjectIdentifier) -> x509.CertificatePolicies:
    return x509.CertificatePolicies([x509.PolicyInformation(oid, None) for oid in listed])


EXPLICIT = x509.PolicyConstraints(require_explicit_policy=0, inhibit_policy_mapping=None)
LATER = x509.PolicyConstraints(require_explicit_policy=3, inhibit_policy_mapping=None)
NO_ANY = x509.InhibitAnyPolicy(0)
REQUIRED = frozenset({POLICY.dotted_string})
NONE: frozenset[str] = frozenset()
POLICIES: dict[
    str, tuple[bool, frozenset[str], list[x509.ExtensionType], list[x509.ExtensionType]]
] = {
    # kind: (accepted, required, extensions of the authority, extensions of the leaf)
    "none is asked for": (ACCEPTED, NONE, [], []),
    "the policy all the way": (ACCEPTED, REQUIRED, [policies(POLICY)], [policies(POLICY)]),
    "any policy above": (ACCEPTED, REQUIRED, [policies(ANY)], [policies(POLICY)]),
    "any policy below": (ACCEPTED, REQUIRED, [policies(POLICY)], [policies(ANY)]),
    "any policy, inhibited": (REFUSED, REQUIRED, [policies(POLICY), NO_ANY], [policies(ANY)]),
    "another policy": (REFUSED, REQUIRED, [policies(OTHER)], [policies(OTHER)]),
    "another policy above": (REFUSED, REQUIRED, [policies(OTHER)], [policies(POLICY)]),
    "no policy at the leaf": (REFUSED, REQUIRED, [policies(POLICY)], []),
    "no policy above": (REFUSED, REQUIRED, [], [policies(POLICY)]),
    "one of several": (ACCEPTED, REQUIRED, [policies(OTHER, POLICY)], [policies(POLICY)]),
    "explicit, and there is one": (ACCEPTED, NONE, [policies(OTHER), EXPLICIT], [policies(OTHER)]),
    "explicit, and there is none": (REFUSED, NONE, [policies(OTHER), EXPLICIT], []),
    "explicit, and they differ": (REFUSED, NONE, [policies(OTHER), EXPLICIT], [policies(POLICY)]),
    "explicit later": (ACCEPTED, NONE, [policies(OTHER), LATER], []),
}


def test_a_path_is_valid_for_a_policy_and_openssl_agrees(tmp_path: Path) -> None:
    """RFC 5280 §6.1.2 to §6.1.5."""
    wrong = {}
    for kind, (accepted, required, above, below) in POLICIES.items():
        authority = issue("policed", ROOT, CA, *above, key=KEYS[0])
        leaf = issue("leaf", authority, *below, key=KEYS[2])
        options = ["-policy", ANY.dotted_string]
        if required:
            options = ["-policy", POLICY.dotted_string, "-explicit_policy"]
        refusal = openssl_refusal(
            tmp_path, leaf, [ROOT], [authority], "-policy_check", "-inhibit_map", *options
        )
        result = search(leaf, [ROOT], [authority], required)
        if accepts(result) is not accepted or (refusal is None) is not accepted:
            wrong[kind] = (result.refusal, refusal)
        if not accepted:
            assert "policy" in (result.refusal or "")
    assert wrong == {}


def test_mapped_policies_are_refused() -> None:
    mappings = x509.UnrecognizedExtension(x509.ObjectIdentifier("2.5.29.33"), b"\x30\x00")
    authority = issue("mapped", ROOT, CA, mappings)
    assert "2.5.29.33" in (search(issue("leaf", authority), [ROOT], [authority]).refusal or "")


def registered(*anchors: Node) -> RegisteredBundle:
    certificates = tuple(map(parsed, anchors))
    digests = frozenset(item.digest for item in certificates)
    return RegisteredBundle(certificates, digests, AnchorOrigin.REALM, None)


def test_a_new_certificate_of_an_expired_anchors_key_counts() -> None:
    """The key is pinned. Only that key can have signed the new certificate."""
    old = issue("root", None, CA, days=(-9, -3))
    new = issue("root", None, CA, key=old.key)
    forged = issue("root", Node(old.certificate, KEYS[0]), CA, key=old.key)
    leaf = issue("leaf", old)

    def judge(*sent: Node) -> bool:
        found = PathSearch(registered(old), tuple(map(parsed, sent)), frozenset(), NOW)
        return accepts(found.run(parsed(leaf)))

    assert (judge(), judge(forged), judge(new)) == (False, False, True)


def test_self_issued_certificates_do_not_count_for_path_length(tmp_path: Path) -> None:
    """RFC 5280 §4.2.1.9, §6.1.4 (l)."""
    one = x509.BasicConstraints(ca=True, path_length=0)
    top = issue("authority", ROOT, one, x509.SubjectKeyIdentifier(b"top"))
    by_top = x509.AuthorityKeyIdentifier(b"top", None, None)
    renewed = issue("authority", top, one, by_top, x509.SubjectKeyIdentifier(b"new"))
    by_new = x509.AuthorityKeyIdentifier(b"new", None, None)
    below = issue("below", renewed, CA, by_new)
    for leaf, sent, accepted in (
        (issue("leaf", renewed, by_new), [top, renewed], ACCEPTED),
        (issue("leaf", below), [top, renewed, below], REFUSED),
    ):
        assert accepts(search(leaf, [ROOT], sent)) is accepted
        assert (openssl_refusal(tmp_path, leaf, [ROOT], sent) is None) is accepted


@pytest.fixture
def signature_checks(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    counted: list[int] = []
    check = path_search.is_issued_by

    def is_issued_by(certificate: ParsedCertificate, issuer: ParsedCertificate) -> bool:
        counted.append(1)
        return check(certificate, issuer)

    monkeypatch.setattr(path_search, "is_issued_by", is_issued_by)
    return counted


def test_a_thousand_namesake_authorities_cost_bounded_signatures(
    signature_checks: list[int],
) -> None:
    """Row A17: the search does not grow with what is registered."""
    right = issue("root", None, CA, x509.SubjectKeyIdentifier(b"right"))
    wrong = parsed(issue("root", None, CA, x509.SubjectKeyIdentifier(b"wrong"), key=KEYS[0]))
    identifier = x509.AuthorityKeyIdentifier(b"right", None, None)
    found, lost = issue("leaf", right, identifier), issue("leaf", right)
    namesakes = [issue("root", None, CA, key=KEYS[1 + place % 2]) for place in range(40)]
    bundle = AuthorityBundle([wrong, *map(parsed, namesakes), parsed(right)])
    many = RegisteredBundle(
        [*(wrong for _ in range(1_000)), *bundle], frozenset({parsed(right).digest}),
        AnchorOrigin.REALM, None,
    )  # fmt: skip

    begin = time.perf_counter()
    assert accepts(PathSearch(many, (), frozenset(), NOW).run(parsed(found)))
    assert len(signature_checks) == 1
    signature_checks.clear()
    refusal = PathSearch(many, (), frozenset(), NOW).run(parsed(lost)).refusal
    assert len(signature_checks) == MOST_SIGNATURE_CHECKS
    assert refusal == f"no path was found by checking {MOST_SIGNATURE_CHECKS} signatures"
    assert time.perf_counter() - begin < 1


def test_a_loop_of_cross_certificates_ends(signature_checks: list[int]) -> None:
    heads = [issue(f"head {place}", None, CA, key=key) for place, key in enumerate(KEYS)]
    crossed = [
        issue(one.certificate.subject, another, CA, key=one.key)
        for one in heads
        for another in heads
        if one is not another
    ]
    result = search(issue("leaf", heads[0]), [ROOT], crossed)
    assert not accepts(result)
    assert len(signature_checks) <= MOST_SIGNATURE_CHECKS


def test_a_result_holds_until_a_relevant_validity_changes() -> None:
    expired, current = (issue("root", None, CA, days=days) for days in ((-9, -2), (-1, 5)))
    result = search(issue("leaf", current, days=(-3, 3)), [expired, current])
    assert accepts(result)
    assert (result.since, result.until.replace(microsecond=0)) == (NOW - DAY, NOW + 3 * DAY)
    assert result.holds_at(NOW + 3 * DAY)
    assert not result.holds_at(NOW + 3 * DAY + DAY / 86_400)
    assert not result.holds_at(NOW - 2 * DAY)


@settings(max_examples=60, deadline=None)
@given(
    sent=st.lists(st.integers(0, 5), max_size=8),
    last=st.integers(0, 5),
    with_root=st.booleans(),
)
def test_every_found_path_is_a_signature_chain_to_an_anchor(
    sent: list[int], last: int, *, with_root: bool
) -> None:
    """Whatever a client sends, in whatever order and however often."""
    path = search(LEAVES[last], [ROOT] if with_root else [], [LINKS[place] for place in sent]).path
    needed = set(range(last + 1))
    assert (path is not None) is (with_root and needed <= set(sent))
    if path is not None:
        for certificate, issuer in path.links:
            assert certificate.issuer == issuer.subject
        assert path.certificates[-1].digest == parsed(ROOT).digest


LINKS: list[Node] = []
for _place in range(6):
    LINKS.append(issue(f"link {_place}", LINKS[-1] if LINKS else ROOT, CA, key=KEYS[_place % 3]))
LEAVES = [issue("leaf", link, key=KEYS[0]) for link in LINKS]


def ambiguous(result: PathResult) -> set[str]:
    assert result.path is not None
    return {name.rfc4514() for name in result.path.ambiguous_names}


def test_a_name_that_another_authority_may_have_is_ambiguous() -> None:
    """Another anchor can issue certificates of any name, which the client then sends."""
    link = issue("link", ROOT, CA)
    leaf, twin, stranger = issue("leaf", link), issue("root", None, CA), issue("other", None, CA)
    forged = issue("link", stranger, CA)
    of_forged = issue("leaf", forged)
    again = issue("root", None, CA, key=ROOT.key)
    for roots, sent, found, expected in (
        ([ROOT, link], [], leaf, set()),
        ([ROOT, again, link], [], leaf, set()),
        ([ROOT], [link], leaf, set()),
        ([ROOT, stranger, link], [], leaf, set()),
        ([ROOT, twin, link], [], leaf, {"CN=root"}),
        ([ROOT, stranger], [link], leaf, {"CN=link"}),
        ([ROOT, stranger], [forged], of_forged, {"CN=link"}),
        ([ROOT, stranger, link], [forged], of_forged, {"CN=link"}),
        ([ROOT, stranger, link], [forged], leaf, set()),
        ([ROOT, twin], [link], leaf, {"CN=root", "CN=link"}),
    ):
        assert ambiguous(search(found, roots, sent)) == expected, (len(roots), len(sent), expected)


def test_the_anchors_of_a_client_are_all_its_own() -> None:
    twin, leaf = issue("root", None, CA), issue("leaf", ROOT)
    anchors = tuple(map(parsed, (ROOT, twin)))
    digests = frozenset(anchor.digest for anchor in anchors)
    for origin, expected in (
        (AnchorOrigin.CLIENT, set()),
        (AnchorOrigin.REALM, {"CN=root"}),
    ):
        bundle = RegisteredBundle(anchors, digests, origin, None)
        found = PathSearch(bundle, (), frozenset(), NOW).run(parsed(leaf))
        assert ambiguous(found) == expected, origin
    gateway = AuthorityBundle([anchors[1]])
    bundle = RegisteredBundle(anchors[:1], digests, AnchorOrigin.REALM, gateway)
    found = PathSearch(bundle, (), frozenset(), NOW).run(parsed(leaf))
    assert ambiguous(found) == {"CN=root"}, "an authority of the settings has the name"
