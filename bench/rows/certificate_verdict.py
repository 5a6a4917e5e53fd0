"""The verdict on a client certificate: known, new, and after a change of a thousand anchors."""

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from bench.context import Bench
from bench.figures import Figure, Result, at_most
from gateway.certificates import AnchoredTrust, CertificateTrust, RegisteredAuthoritySelection
from gateway.crypto.der import CERTIFICATE_LABELS, pem_blocks
from gateway.crypto.revocation.revocation_decision import RevocationLists
from gateway.crypto.x509.authorities import AuthorityFile
from gateway.crypto.x509.reader import X509AuthorityFactory, X509CertificateParser
from gateway.domain.certificates import (
    Authority,
    AuthorityKind,
    CertificateEvidence,
    ProxyVerdict,
    RegisteredAuthorities,
)
from gateway.domain.realm import Realm

TITLE = "Certificate verdict"
HOW = (
    "The rule of trust of a worker without HTTP and stores: the bundle and the revocation lists of"
    " `realmgate certs init`, a device whose verdict is known, and the same device of a new chain"
    " each time. Then a realm registers 1,000 anchors of one name: the pauses of the event loop"
    " until the first verdict over them. All are processor time of the thread."
)
_ROUNDS: Final = 20_000
_ANCHORS: Final = 1_000
_DAY: Final = timedelta(days=1)
_SETTLED: Final = timedelta(seconds=3)
_REALM: Final = Realm(id="bench", name="bench")


class _Registered:
    """The registered authorities of the realm, in memory."""

    def __init__(self) -> None:
        self.current = RegisteredAuthorities()

    async def registered(self, realm_id: str) -> RegisteredAuthorities:  # noqa: ARG002
        return self.current


def measure(bench: Bench) -> Result:
    """Measure the verdicts in this process."""
    return Result(asyncio.run(_measure(bench.site.certificates)), HOW)


async def _measure(certificates: Path) -> tuple[Figure, ...]:
    store, parser, bundle = (
        _Registered(),
        X509CertificateParser(),
        AuthorityFile(certificates / "ca.crt"),
    )
    selection = RegisteredAuthoritySelection(store, X509AuthorityFactory(bundle, parser))
    trust = AnchoredTrust(selection, RevocationLists(certificates / "ca.crl", bundle))
    (der,) = pem_blocks((certificates / "device-1.crt").read_bytes(), *CERTIFICATE_LABELS)
    device = CertificateEvidence(parser.parse_certificate(der), ProxyVerdict.VERIFIED, "nginx")
    await _verdict(trust, device)
    # Files that were written a moment ago are read again, as times are not exact.
    await asyncio.sleep(_SETTLED.total_seconds())
    await _verdict(trust, device)
    known = await _seconds(trust, [device] * _ROUNDS)
    new = await _seconds(
        trust,
        [
            CertificateEvidence(device.leaf, device.verdict, "nginx", chain=(bytes([n % 256]) * n,))
            for n in range(1, 300)
        ],
    )
    anchors, leaf = _anchors()
    store.current = RegisteredAuthorities.of(anchors)
    presented = CertificateEvidence(parser.parse_certificate(leaf), ProxyVerdict.FAILED, "nginx")
    pause = await _longest_pause(trust, presented)
    return (
        Figure("known certificate", known * 1e6, "µs", at_most(8, 4)),
        Figure("new certificate, known authorities", new * 1e6, "µs"),
        Figure("longest pause, 1,000 new anchors of one name", pause * 1e3, "ms", at_most(50, 25)),
    )


async def _verdict(trust: CertificateTrust, evidence: CertificateEvidence) -> None:
    await trust.evaluate(evidence, _REALM, datetime.now(UTC))


async def _seconds(trust: CertificateTrust, presented: Sequence[CertificateEvidence]) -> float:
    now = datetime.now(UTC)
    begin = time.thread_time()
    for evidence in presented:
        await trust.evaluate(evidence, _REALM, now)
    return (time.thread_time() - begin) / len(presented)


async def _longest_pause(trust: CertificateTrust, evidence: CertificateEvidence) -> float:
    task = asyncio.create_task(_verdict(trust, evidence))
    longest = 0.0
    while not task.done():
        begin = time.thread_time()
        await asyncio.sleep(0)
        longest = max(longest, time.thread_time() - begin)
    await task
    return longest


def _anchors() -> tuple[tuple[Authority, ...], bytes]:
    """Return anchors of one name, and a certificate of the last of them."""
    keys = [ec.generate_private_key(ec.SECP256R1()) for _ in range(_ANCHORS)]
    certificates = [_certificate("anchor", key, key, authority=True) for key in keys]
    leaf = _certificate("device", keys[0], keys[-1], authority=False)
    return (
        tuple(
            Authority(item.fingerprint(hashes.SHA256()).hex(), AuthorityKind.ANCHOR, _der(item))
            for item in certificates
        ),
        _der(leaf),
    )


def _certificate(
    subject: str,
    key: ec.EllipticCurvePrivateKey,
    issuer_key: ec.EllipticCurvePrivateKey,
    *,
    authority: bool,
) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "anchor")]))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .sign(issuer_key, hashes.SHA256())
    )


def _der(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(Encoding.DER)
