"""Which chains of authorities are believed; openssl, as nginx uses it, is the second opinion."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from gateway.crypto.x509.authorities import AuthorityBundle, parse_authorities
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.crypto.x509.path_search import LONGEST_PATH, PathSearch, require_client
from gateway.domain.certificates import CertificateRefused

NOW = datetime.now(UTC).replace(microsecond=0)
DAY = timedelta(days=1)
CA = (x509.BasicConstraints(ca=True, path_length=None), True)


def ca(path_length: int) -> tuple[x509.ExtensionType, bool]:
    return x509.BasicConstraints(ca=True, path_length=path_length), True


def usage(*, cert_sign: bool) -> tuple[x509.ExtensionType, bool]:
    flags = dict.fromkeys(
        ("content_commitment", "key_encipherment", "data_encipherment", "key_agreement"), False
    )
    return (
        x509.KeyUsage(
            digital_signature=True,
            key_cert_sign=cert_sign,
            crl_sign=True,
            encipher_only=False,
            decipher_only=False,
            **flags,
        ),
        True,
    )


def purposes(*oids: x509.ObjectIdentifier) -> tuple[x509.ExtensionType, bool]:
    return x509.ExtendedKeyUsage(oids), False


@dataclass(frozen=True)
class Node:
    """One certificate with its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def parsed(self) -> ParsedCertificate:
        """The certificate as the checks see it."""
        return parse_certificate(self.certificate.public_bytes(Encoding.DER))


def issue(
    subject: str,
    issuer: Node | None,
    *extensions: tuple[x509.ExtensionType, bool],
    days: tuple[int, int] = (-1, 1),
    key: ec.EllipticCurvePrivateKey | None = None,
    digest: hashes.SHA224 | hashes.SHA256 | None = None,
) -> Node:
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer.certificate.subject if issuer else name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(NOW + days[0] * DAY)
        .not_valid_after(NOW + days[1] * DAY)
    )
    for extension, critical in extensions:
        builder = builder.add_extension(extension, critical=critical)
    return Node(builder.sign(issuer.key if issuer else key, digest or hashes.SHA256()), key)


def judge(leaf: Node, *bundle: Node) -> str:
    """Return `path` and its length, `stranger`, or the reason of a refusal."""
    authorities = AuthorityBundle(node.parsed for node in bundle)
    found = PathSearch(authorities, (), frozenset(), NOW).run(leaf.parsed)
    if found.refusal is not None:
        return found.refusal
    path = found.path
    if path is None:
        return "stranger"
    return f"path of {len(path.certificates)}" if path.holds_at(NOW) else "out of time"


def openssl_accepts(folder: Path, leaf: Node, *bundle: Node) -> bool:
    (folder / "bundle.pem").write_bytes(_pem(*bundle))
    (folder / "leaf.pem").write_bytes(_pem(leaf))
    result = subprocess.run(
        ["openssl", "verify", "-purpose", "sslclient", "-CAfile", "bundle.pem", "leaf.pem"],
        cwd=folder,
        capture_output=True,
        check=False,
        timeout=20,
    )
    return result.returncode == 0


def _pem(*nodes: Node) -> bytes:
    return b"".join(node.certificate.public_bytes(Encoding.PEM) for node in nodes)


def _chains() -> Mapping[str, tuple[str, Node, tuple[Node, ...]]]:
    root = issue("root", None, CA)
    middle = issue("middle", root, CA)
    leaf = issue("leaf", middle)

    def below(
        *extensions: tuple[x509.ExtensionType, bool], days: tuple[int, int] = (-1, 1)
    ) -> Node:
        return issue("middle", root, *extensions, days=days)

    def case(expected: str, authority: Node) -> tuple[str, Node, tuple[Node, ...]]:
        return expected, issue("leaf", authority), (authority, root)

    one_level = issue("root", None, ca(0))
    two_levels = issue("root", None, ca(1))
    under_one, under_two = issue("middle", one_level, CA), issue("middle", two_levels, CA)
    twin = issue("middle", root, CA)
    renewed_root = issue("root", None, CA, days=(-1, 2), key=root.key)
    expired_root = issue("root", None, CA, days=(-3, -2), key=root.key)
    device = issue("device", None, (x509.BasicConstraints(ca=False, path_length=None), True))
    return {
        "issued by the root": ("path of 2", issue("leaf", root), (root,)),
        "issued below the root": ("path of 3", leaf, (middle, root)),
        "order of the bundle does not count": ("path of 3", leaf, (root, middle)),
        "unrelated authority beside": ("path of 3", leaf, (issue("x", None, CA), middle, root)),
        "root renewed with the same key": ("path of 3", leaf, (expired_root, middle, renewed_root)),
        "self-signed certificate itself in the bundle": ("path of 1", device, (device,)),
        "self-signed certificate not in the bundle": ("stranger", device, (root,)),
        "no authority of that name": ("stranger", leaf, (root,)),
        "the root is missing": ("no path leads", leaf, (middle,)),
        "same name, other key": ("no path leads", leaf, (twin, root)),
        "root expired": ("out of time", leaf, (middle, expired_root)),
        "authority expired": case("out of time", below(CA, days=(-3, -2))),
        "authority not valid yet": case("out of time", below(CA, days=(1, 2))),
        "issuer is an end entity": case("is no authority", below()),
        "issuer says CA:FALSE": case(
            "is no authority", below((x509.BasicConstraints(ca=False, path_length=None), True))
        ),
        "issuer may not sign certificates": case(
            "may not sign certificates", below(CA, usage(cert_sign=False))
        ),
        "issuer may sign certificates": case("path of 3", below(CA, usage(cert_sign=True))),
        "issuer is for servers only": case(
            "extended key usage", below(CA, purposes(ExtendedKeyUsageOID.SERVER_AUTH))
        ),
        "issuer is for clients": case(
            "path of 3", below(CA, purposes(ExtendedKeyUsageOID.CLIENT_AUTH))
        ),
        "issuer has an unknown critical extension": case(
            "critical extension",
            below(CA, (x509.UnrecognizedExtension(x509.ObjectIdentifier("1.2.3"), b"\5\0"), True)),
        ),
        "path length 0 under an authority": (
            "fewer authorities",
            issue("leaf", under_one),
            (under_one, one_level),
        ),
        "path length 0 under the root": ("path of 2", issue("leaf", one_level), (one_level,)),
        "path length 1 under an authority": (
            "path of 3",
            issue("leaf", under_two),
            (under_two, two_levels),
        ),
        "purpose: any": (
            "extended key usage",
            issue("leaf", root, purposes(ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)),
            (root,),
        ),
    }


CHAINS = _chains()
ROOT = issue("root", None, CA)


@pytest.mark.parametrize("kind", CHAINS)
def test_a_path_is_believed_as_rfc_5280_says_and_openssl_agrees(kind: str, tmp_path: Path) -> None:
    """RFC 5280 §6.1; attacks A8, A14: signature, time, CA flag, path length, purposes."""
    expected, leaf, bundle = CHAINS[kind]
    assert expected in judge(leaf, *bundle)
    assert openssl_accepts(tmp_path, leaf, *bundle) is expected.startswith("path of")


def test_of_two_namesake_authorities_the_key_decides() -> None:
    """An authority that changed its key stands in the bundle twice; openssl needs key ids here."""
    root = issue("root", None, CA)
    old, new = issue("middle", root, CA), issue("middle", root, CA)
    for leaf in (issue("leaf", old), issue("leaf", new)):
        assert judge(leaf, old, new, root) == "path of 3"


def test_a_circle_of_authorities_leads_nowhere() -> None:
    """Cross-signed authorities must not be walked for ever."""
    key_a, key_b = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    a = issue("a", issue("b", None, CA, key=key_b), CA, key=key_a)
    b = issue("b", a, CA, key=key_b)
    assert "no path leads" in judge(issue("leaf", a), a, b)


def test_a_signature_over_sha_1_is_refused(tmp_path: Path) -> None:
    """SHA-1 collisions can be bought: whoever has one has two certificates with one signature."""
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-sha1", "-newkey", "ec", "-nodes", "-subj", "/CN=old"),
            *("-pkeyopt", "ec_paramgen_curve:P-256", "-keyout", "key.pem", "-out", "old.pem"),
            *("-addext", "basicConstraints=critical,CA:FALSE"),
        ],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        timeout=20,
    )
    certificate = x509.load_pem_x509_certificate((tmp_path / "old.pem").read_bytes())
    parsed = parse_certificate(certificate.public_bytes(Encoding.DER))
    with pytest.raises(CertificateRefused, match="sha1"):
        require_client(parsed)


def test_a_weakly_signed_authority_is_refused_unless_an_anchor() -> None:
    """An anchor is trusted because it was configured; the signature of a link is all there is."""
    weak_root = issue("root", None, CA, digest=hashes.SHA224())
    weak_link = issue("middle", weak_root, CA, digest=hashes.SHA224())
    assert "sha224" in judge(issue("leaf", weak_link), weak_link, weak_root)
    link = issue("middle", weak_root, CA)
    assert judge(issue("leaf", link), link, weak_root) == "path of 3"


def test_a_weak_key_is_refused_in_a_link_and_in_the_anchor() -> None:
    """SP 800-131A: a key that can be computed issues certificates for anyone."""
    weak_link = issue("middle", ROOT, CA, key=ec.generate_private_key(ec.SECP192R1()))
    assert "weak" in judge(issue("leaf", weak_link), weak_link, ROOT)
    weak_root = issue("root", None, CA, key=ec.generate_private_key(ec.SECP192R1()))
    assert "weak" in judge(issue("leaf", weak_root), weak_root)


def test_a_path_has_at_most_eight_certificates() -> None:
    """The work for one certificate is bounded, whatever the bundle contains."""
    authorities = [ROOT]
    for number in range(LONGEST_PATH - 1):
        authorities.append(issue(f"authority {number}", authorities[-1], CA))
    accepted, refused = (issue("leaf", authority) for authority in authorities[-2:])
    assert judge(accepted, *authorities) == f"path of {LONGEST_PATH}"
    assert "no path leads" in judge(refused, *authorities)


def test_a_bundle_that_is_no_pem_is_refused() -> None:
    with pytest.raises(ValueError, match="PEM"):
        parse_authorities(b"nothing")
