"""A revocation list of any length, and what a process notices that reads it."""

import asyncio
import os
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from bench.processes import proportional_bytes
from gateway.crypto.revocation.revocation_decision import RevocationLists
from gateway.crypto.x509.authorities import AuthorityBundle, parse_authorities
from gateway.domain.certificates import CertificationPath
from gateway.domain.realm import Realm

_DATE: Final = b"\x17\x0d261123000000Z"
_REASON: Final = bytes.fromhex("300c300a0603551d1504030a0101")
_SERIAL_BYTES: Final = 16
_SETTLED: Final = timedelta(seconds=3)
_LOOKUPS: Final = 20_000
_REALM: Final = Realm(id="bench", name="bench")


@dataclass(frozen=True, slots=True)
class Reading:
    """`pause` is the longest time in which the event loop did nothing; `growth` is in bytes."""

    seconds: float
    processor_seconds: float
    pause: float
    growth: float
    look_up: float
    """Seconds for a certificate that is not on the list."""


def write_lists(folder: Path, entries: int) -> None:
    """Write a new authority, an empty list of it, and one with so many entries."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "large list")])
    validity = now - timedelta(days=1), now + timedelta(days=1)
    authority = (
        x509.CertificateBuilder(name, name, key.public_key(), 1, *validity)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    empty = x509.CertificateRevocationListBuilder(name, *validity).sign(key, hashes.SHA256())
    (folder / "ca.crt").write_bytes(authority.public_bytes(Encoding.PEM))
    (folder / "empty.crl").write_bytes(empty.public_bytes(Encoding.PEM))
    signed = empty.tbs_certlist_bytes
    content = signed[2:] if signed[1] < 0x80 else signed[2 + signed[1] - 0x80 :]  # noqa: PLR2004 - DER
    listed = b"".join(_entry() for _ in range(entries))
    # The entries are the last part of a list without extensions.
    tbs = _element(0x30, content + _element(0x30, listed))
    algorithm = _element(0x30, _element(0x06, bytes.fromhex("2a8648ce3d040302")))
    signature = _element(0x03, b"\0" + key.sign(tbs, ec.ECDSA(hashes.SHA256())))
    (folder / "large.crl").write_bytes(_element(0x30, tbs + algorithm + signature))


def read_lists(folder: Path) -> Reading:
    """Replace the empty list by the large one; for a process of its own."""
    return asyncio.run(_read(folder))


async def _read(folder: Path) -> Reading:
    bundle = AuthorityBundle(parse_authorities((folder / "ca.crt").read_bytes()))
    lists = RevocationLists(folder / "empty.crl", bundle)
    (authority,) = bundle
    path = CertificationPath.of(authority, authority)
    ticks: list[float] = []
    ticking = asyncio.create_task(_tick(ticks))
    before = proportional_bytes(os.getpid())
    (folder / "large.crl").replace(folder / "empty.crl")
    began, used = time.monotonic(), time.process_time()
    while not lists.serials_of(authority):
        await lists.renew()
    seconds, processor = time.monotonic() - began, time.process_time() - used
    ticking.cancel()
    growth = proportional_bytes(os.getpid()) - before
    # A file that was written a moment ago is read again, as times are not exact.
    await asyncio.sleep(_SETTLED.total_seconds())
    await lists.refusal(path, _REALM, datetime.now(UTC))
    began = time.perf_counter()
    for _ in range(_LOOKUPS):
        await lists.refusal(path, _REALM, datetime.now(UTC))
    look_up = (time.perf_counter() - began) / _LOOKUPS
    pause = max(after - earlier for earlier, after in pairwise(ticks))
    return Reading(seconds, processor, pause, growth, look_up)


async def _tick(ticks: list[float]) -> None:
    while True:
        ticks.append(time.monotonic())
        await asyncio.sleep(0.001)


def _entry() -> bytes:
    serial = b"\x01" + secrets.token_bytes(_SERIAL_BYTES - 1)
    return _element(0x30, _element(0x02, serial) + _DATE + _REASON)


def _element(tag: int, content: bytes) -> bytes:
    length = len(content)
    if length < 0x80:  # noqa: PLR2004 - X.690 §8.1.3
        return bytes((tag, length)) + content
    encoded = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((tag, 0x80 | len(encoded))) + encoded + content
