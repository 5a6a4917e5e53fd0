"""One revocation list, parsed without an object for each of its entries.

The entries are read from the DER in place, everything else by the library, from a copy without
them. Meant for a thread: a million entries take a second or two, in which other threads run. Serial
numbers take about 24 bytes each; a `set` of a million would take 100 MB, and sorting it blocks the
interpreter for a second.

An issuer that has too many certificates for one list divides them: by kind, or by the address of
the list that each certificate names. Spec: RFC 5280 §5.1 to §5.3, §6.3.3 (b) (2); X.690 §8, §10
"""

import hashlib
import time
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from gateway.crypto.der import EXPLICIT_0, INTEGER, SEQUENCE
from gateway.crypto.public_keys import load_revocation_list
from gateway.crypto.x509.parse import UNREADABLE, ParsedCertificate
from gateway.crypto.x509.path_search import HASHES
from gateway.domain.limits.caches import size_of


@dataclass(frozen=True, slots=True)
class ListScope:
    """The certificates of a list, which name the point by one of `names`; None: all.

    `unusable` says why the list can be used for no certificate.
    """

    names: frozenset[x509.GeneralName] | None = field(default=None, repr=False)
    users_only: bool = False
    authorities_only: bool = False
    unusable: str | None = None

    def covers(self, names: frozenset[x509.GeneralName], *, authority: bool) -> bool:
        """Return whether the list is about a certificate, or `authority`, with these names."""
        if (authority and self.users_only) or (not authority and self.authorities_only):
            return False
        return self.names is None or not self.names.isdisjoint(names)


def scope_of(header: x509.CertificateRevocationList) -> ListScope | None:
    """Return the scope of a list, None for all; raises an error of `parse.UNREADABLE`."""
    try:
        point = header.extensions.get_extension_for_class(x509.IssuingDistributionPoint).value
    except x509.ExtensionNotFound:
        return None
    return ListScope(
        None if point.full_name is None else frozenset(point.full_name),
        users_only=point.only_contains_user_certs,
        authorities_only=point.only_contains_ca_certs,
        unusable=_unusable_point(point),
    )


def _unusable_point(point: x509.IssuingDistributionPoint) -> str | None:
    if point.indirect_crl:
        return "it is indirect"
    if point.only_some_reasons is not None:
        return "it names only what was revoked for some reasons"
    if point.only_contains_attribute_certs:
        return "it is about attribute certificates"
    if point.relative_name is not None:
        return "its distribution point has a name relative to its issuer"
    return None


LONGEST_SERIAL: Final = 21
"""Bytes of a DER integer: 20, and a zero before the highest bit. Spec: RFC 5280 §4.1.2.2"""
SLOT: Final = LONGEST_SERIAL + 1
"""The length of a number, and its bytes filled up with zeros."""
_IN_A_BUCKET: Final = 64
_MOST_BUCKETS: Final = 1 << 18


class SerialNumbers:
    """The content of DER integers: `add` those of a list, then ask for numbers."""

    __slots__ = ("_buckets", "_count", "_mask")

    def __init__(self, expected: int) -> None:
        buckets = 1 << max(0, expected // _IN_A_BUCKET).bit_length()
        self._buckets = [bytearray() for _ in range(min(buckets, _MOST_BUCKETS))]
        self._mask = len(self._buckets) - 1
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """The bytes that the numbers take in memory."""
        return size_of(self._buckets[:1]) * len(self._buckets) + SLOT * self._count

    def add_number(self, encoded: bytes) -> None:
        """Add a number, given as its length in one byte and the content of its DER integer."""
        slot = encoded.ljust(SLOT, b"\0")
        self._buckets[hash(slot) & self._mask] += slot
        self._count += 1

    def __contains__(self, serial: int) -> bool:
        content = serial.to_bytes(serial.bit_length() // 8 + 1, "big", signed=True)
        if len(content) > LONGEST_SERIAL:
            return False
        slot = (bytes((len(content),)) + content).ljust(SLOT, b"\0")
        bucket = self._buckets[hash(slot) & self._mask]
        found = bucket.find(slot)
        while found >= 0 and found % SLOT:
            found = bucket.find(slot, found + 1)
        return found >= 0


LARGEST_LIST: Final = 64 * 1024 * 1024
"""Bytes of DER; a list of a million entries has about 40 MB."""
_LARGEST_IN_ONE_PIECE: Final = 8 * 1024 * 1024
"""Ed25519 verifies all bytes in one call that blocks the interpreter."""
_UTC_TIME: Final = 0x17
_GENERALIZED_TIME: Final = 0x18
_SHORT: Final = 0x80
_LONGEST_LENGTH: Final = 4
_SHORTEST_ENTRY: Final = 20
_SLICE: Final = 256
"""Entries between two moments in which another thread may run."""
_REMEMBERED: Final = 1_000
_MOST_ASKED: Final = 1_000
"""Serial numbers whose answers are kept."""
_ASKED_BYTES: Final = 100
_OBJECTS: Final = 4096
"""Bytes that the parsed parts of a list take besides their encoding."""
_CUT_SHORT: Final = "a revocation list is cut short"
_DATES: Final = frozenset({b"\x17\x0d", b"\x18\x0f"})
"""Tag and length of UTCTime and GeneralizedTime. Spec: RFC 5280 §5.1.2.6"""
_CRITICAL: Final = b"\x01\x01\xff"
_CERTIFICATE_ISSUER: Final = b"\x06\x03\x55\x1d\x1d"


@dataclass(frozen=True, slots=True, eq=False)
class RevocationList:
    """A list of an issuer; its signature is unverified before `is_signed_by`.

    `unusable` says why it can be used for no certificate. A partial list has a `scope`: it names
    only revoked certificates within it.
    """

    issuer: x509.Name
    issued: datetime
    next_update: datetime | None
    serials: SerialNumbers = field(repr=False)
    unusable: str | None
    scope: ListScope | None
    _header: x509.CertificateRevocationList = field(repr=False)
    _header_bytes: int
    _signed: bytes = field(repr=False)
    """The digest of the signed bytes; all of them for Ed25519."""
    _asked: dict[int, bool] = field(default_factory=dict, repr=False)

    @property
    def is_complete(self) -> bool:
        """Return whether the list names everything that its issuer has revoked."""
        return self.unusable is None and self.scope is None

    @property
    def incomplete(self) -> str | None:
        """Why the list does not name everything that its issuer has revoked."""
        partial = "it is partial, which counts only where a certificate names its address"
        return self.unusable or (None if self.scope is None else partial)

    @property
    def size(self) -> int:
        """About the bytes that the list takes in memory."""
        encoded = self._header_bytes + len(self._signed)
        return self.serials.size + encoded + _OBJECTS + _ASKED_BYTES * len(self._asked)

    def revokes(self, serial: int) -> bool:
        """Return whether the list names the serial number; the last answers are kept."""
        known = self._asked.get(serial)
        if known is None:
            if len(self._asked) >= _MOST_ASKED:
                self._asked.clear()
            known = self._asked[serial] = serial in self.serials
        return known

    def clears(self, serial: int, now: datetime) -> bool:
        """Return whether the list is in force at `now` and does not name the serial number."""
        end = self.next_update
        return end is not None and self.issued <= now <= end and not self.revokes(serial)

    def is_signed_by(self, authority: ParsedCertificate) -> bool:
        """Return whether the authority has that name, signed the list, and may sign lists."""
        usage = authority.extension(x509.KeyUsage)
        if self.issuer != authority.certificate.subject or not (usage is None or usage.crl_sign):
            return False
        try:
            return self._verifies(authority)
        except (InvalidSignature, UnsupportedAlgorithm, ValueError, TypeError):
            return False

    def _verifies(self, authority: ParsedCertificate) -> bool:
        key, signature = authority.certificate.public_key(), self._header.signature
        hash_algorithm = self._header.signature_hash_algorithm
        parameters = self._header.signature_algorithm_parameters
        if isinstance(key, ed25519.Ed25519PublicKey):
            key.verify(signature, self._signed)
            return hash_algorithm is None
        if not isinstance(hash_algorithm, HASHES):
            return False
        hashed = Prehashed(hash_algorithm)
        if isinstance(key, rsa.RSAPublicKey) and isinstance(
            parameters, padding.PKCS1v15 | padding.PSS
        ):
            key.verify(signature, self._signed, parameters, hashed)
            return True
        if isinstance(key, ec.EllipticCurvePublicKey) and isinstance(parameters, ec.ECDSA):
            key.verify(signature, self._signed, ec.ECDSA(hashed))
            return True
        return False


def parse_revocation_list(der: bytes) -> RevocationList:
    """Parse one list; raises ValueError with the reason."""
    if len(der) > LARGEST_LIST:
        raise ValueError(f"a revocation list has more than {LARGEST_LIST} bytes")
    tag, begin, end = _element(der, 0, len(der))
    if tag != SEQUENCE or end != len(der):
        raise ValueError("not a DER revocation list")
    tag, signed_begin, signed_end = _element(der, begin, end)
    if tag != SEQUENCE:
        raise ValueError("not a DER revocation list")
    entries_at, entries_begin, entries_end = _find_entries(der, signed_begin, signed_end)
    signed = der[signed_begin:entries_at] + der[entries_end:signed_end]
    rest = der[signed_end:end]
    try:
        header_bytes = _sequence(_sequence(signed) + rest)
        header = load_revocation_list(header_bytes)
    except x509.InvalidVersion as error:
        raise ValueError("a revocation list has an unknown version") from error
    try:
        unusable, scope = _unusable(header), scope_of(header)
        algorithm = header.signature_hash_algorithm
    except (*UNREADABLE, UnsupportedAlgorithm) as error:
        raise ValueError(f"a revocation list cannot be read: {error}") from error
    if scope is not None:
        unusable = unusable or scope.unusable
    reader = _Entries(der, entries_begin, entries_end)
    return RevocationList(
        issuer=header.issuer,
        issued=header.last_update_utc,
        next_update=header.next_update_utc,
        serials=reader.read_serials(),
        unusable=unusable or reader.unusable,
        scope=scope,
        _header=header,
        _header_bytes=len(header_bytes),
        _signed=_digest(memoryview(der)[begin:signed_end], algorithm),
    )


def _unusable(header: x509.CertificateRevocationList) -> str | None:
    if header.next_update_utc is None:
        return "it does not say when the next one comes"
    for extension in header.extensions:
        match extension.value:
            case x509.DeltaCRLIndicator():
                return "it is a delta list, which names only what has changed"
            case x509.IssuingDistributionPoint():
                continue  # the scope of the list
            case _ if extension.critical:
                return f"its extension {extension.oid.dotted_string} is critical"
    return None


def _digest(signed: memoryview, algorithm: hashes.HashAlgorithm | None) -> bytes:
    if algorithm is None:
        if len(signed) > _LARGEST_IN_ONE_PIECE:
            most = _LARGEST_IN_ONE_PIECE
            raise ValueError(f"a revocation list under Ed25519 has more than {most} bytes")
        return bytes(signed)
    # Without the interpreter's lock, as the data is large.
    return hashlib.new(algorithm.name, signed).digest()


def _find_entries(der: bytes, begin: int, end: int) -> tuple[int, int, int]:
    """Return begin, content and end of `revokedCertificates`. Spec: RFC 5280 §5.1.2."""
    at = begin
    tag, _, after = _element(der, at, end)
    if tag == INTEGER:
        at = after
    for _ in range(2):  # signature, issuer
        _, _, at = _element(der, at, end)
    _, _, at = _element(der, at, end)  # thisUpdate
    if at < end and der[at] in {_UTC_TIME, _GENERALIZED_TIME}:
        _, _, at = _element(der, at, end)
    if at < end and der[at] == SEQUENCE:
        _, content, after = _element(der, at, end)
        return at, content, after
    if at < end and der[at] != EXPLICIT_0:
        raise ValueError("a revocation list has an unknown part")
    return at, at, at


class _Entries:
    """Reads the entries of a list one after another."""

    def __init__(self, der: bytes, begin: int, end: int) -> None:
        self._der, self._begin, self._end = der, begin, end
        self._harmless: set[bytes] = set()
        """Encoded extensions that were read before: most entries repeat one of a few."""
        self.unusable: str | None = None

    def read_serials(self) -> SerialNumbers:
        """Return the serial numbers; raises ValueError."""
        der, at, end = self._der, self._begin, self._end
        serials = SerialNumbers((end - at) // _SHORTEST_ENTRY // 2)
        add, yield_at = serials.add_number, _SLICE
        while at < end:
            serial = at + 4
            if end - at > _SHORTEST_ENTRY and der[at + 1] < _SHORT and der[at + 3] < _SHORT:
                # Nearly every entry: lengths of one byte, read without a call.
                after, date = at + 2 + der[at + 1], serial + der[at + 3]
                if date + 1 >= after or after > end:
                    raise ValueError(_CUT_SHORT)
                is_number = der[at] == SEQUENCE and der[at + 2] == INTEGER
            else:
                tag, begin, after = _element(der, at, end)
                tag_of_serial, serial, date = _element(der, begin, after)
                is_number = tag == SEQUENCE and tag_of_serial == INTEGER
            if not is_number or serial == date:
                raise ValueError("an entry of a revocation list has no serial number")
            if date - serial <= LONGEST_SERIAL:
                # With the byte before it, which is its length.
                add(der[serial - 1 : date])
            if der[date : date + 2] in _DATES:
                extensions = date + 2 + der[date + 1]
                if extensions > after:
                    raise ValueError(_CUT_SHORT)
            else:
                raise ValueError("an entry of a revocation list has no date")
            if extensions != after:
                self._check_extensions(der[extensions:after])
            at = after
            yield_at -= 1
            if not yield_at:
                yield_at = _SLICE
                time.sleep(0)
        return serials

    def _check_extensions(self, extensions: bytes) -> None:
        """Note a critical extension: no entry of such a list may be read without knowing it."""
        if extensions in self._harmless:
            return
        tag, at, end = _element(extensions, 0, len(extensions))
        if tag != SEQUENCE or end != len(extensions):
            raise ValueError("an entry of a revocation list has an unknown part")
        while at < end:
            _, begin, at = _element(extensions, at, end)
            _, _, value = _element(extensions, begin, at)
            if extensions[value : value + len(_CRITICAL)] == _CRITICAL:
                indirect = extensions[begin:value] == _CERTIFICATE_ISSUER
                kind = "it is indirect" if indirect else "an entry has a critical extension"
                self.unusable = self.unusable or kind
        if len(self._harmless) < _REMEMBERED:
            self._harmless.add(extensions)


def _element(der: bytes, at: int, end: int) -> tuple[int, int, int]:
    """Return tag, begin and end of the content of the element at `at`; raises ValueError."""
    if at + 2 > end:
        raise ValueError(_CUT_SHORT)
    length = der[at + 1]
    begin = at + 2
    if length >= _SHORT:
        size = length - _SHORT
        begin += size
        length = int.from_bytes(der[at + 2 : begin], "big")
        if not 0 < size <= _LONGEST_LENGTH or length < _SHORT or der[at + 2] == 0:
            raise ValueError("a revocation list is not DER")
    after = begin + length
    if after > end:
        raise ValueError(_CUT_SHORT)
    return der[at], begin, after


def _sequence(content: bytes) -> bytes:
    length = len(content)
    if length < _SHORT:
        return bytes((SEQUENCE, length)) + content
    encoded = length.to_bytes((length.bit_length() + 7) // 8, "big")
    return bytes((SEQUENCE, _SHORT | len(encoded))) + encoded + content
