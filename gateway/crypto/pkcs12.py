"""Reading the certificates of a PKCS#12 archive without the library's reader of archives.

That reader holds the interpreter lock for as long as the archive demands: each part has its own
iteration count, some visible only after decryption. Here all counts are read first, and their sum
is bounded. Private keys are skipped and never decrypted.
Supported: MACs with SHA-1 and SHA-2, PBES2 (PBKDF2 with AES-CBC or 3DES) and PBE with 3DES; DER.
Spec: RFC 7292 §4, §B; RFC 8018 §6.2, §A; RFC 5652 §8
"""

import hashlib
import hmac
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final

from cryptography.hazmat.decrepit.ciphers.algorithms import TripleDES
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from gateway.crypto.der import (
    BMP_STRING,
    CONTEXT_0,
    EXPLICIT_0,
    INTEGER,
    OCTET_STRING,
    SEQUENCE,
    SET,
    DerReader,
)
from gateway.domain.limits.input_sizes import (
    MAX_ARCHIVE_BAGS,
    MAX_ARCHIVE_CONTENTS,
    MAX_ARCHIVE_ITERATIONS,
    MAX_DOCUMENT_BYTES,
    MAX_SALT_BYTES,
    LimitExceeded,
    require_at_most,
)

_DATA: Final = bytes.fromhex("2a864886f70d010701")
_ENCRYPTED_DATA: Final = bytes.fromhex("2a864886f70d010706")
_PBES2: Final = bytes.fromhex("2a864886f70d01050d")
_PBKDF2: Final = bytes.fromhex("2a864886f70d01050c")
_PBE_3DES: Final = bytes.fromhex("2a864886f70d010c0103")
_PBE_RC2: Final = frozenset(bytes.fromhex(f"2a864886f70d010c01{last}") for last in ("05", "06"))
_DIGESTS: Final = {
    bytes.fromhex("2b0e03021a"): "sha1",
    bytes.fromhex("608648016503040201"): "sha256",
    bytes.fromhex("608648016503040202"): "sha384",
    bytes.fromhex("608648016503040203"): "sha512",
}
_PSEUDORANDOM: Final = {
    bytes.fromhex("2a864886f70d0207"): "sha1",
    bytes.fromhex("2a864886f70d0209"): "sha256",
    bytes.fromhex("2a864886f70d020a"): "sha384",
    bytes.fromhex("2a864886f70d020b"): "sha512",
}
_CIPHERS: Final = {
    bytes.fromhex("60864801650304012a"): (algorithms.AES, 32),
    bytes.fromhex("608648016503040116"): (algorithms.AES, 24),
    bytes.fromhex("608648016503040102"): (algorithms.AES, 16),
    bytes.fromhex("2a864886f70d0307"): (TripleDES, 24),
}
_CERTIFICATE_BAG: Final = bytes.fromhex("2a864886f70d010c0a0103")
_NESTED_BAGS: Final = bytes.fromhex("2a864886f70d010c0a0106")
_X509: Final = bytes.fromhex("2a864886f70d01091601")
_FRIENDLY_NAME: Final = bytes.fromhex("2a864886f70d010914")
_VERSION: Final = 3
_INTEGER_BITS: Final = 32
_ENCRYPTION, _VECTOR, _MAC = 1, 2, 3
"""Purposes of derived keys (RFC 7292 §B.3)."""
_LONG_BLOCK: Final = frozenset({"sha384", "sha512"})


@dataclass(frozen=True, slots=True)
class ArchivedCertificate:
    """A certificate of an archive: its alias, None where it has none, and its DER."""

    alias: str | None
    der: bytes


@dataclass(frozen=True, slots=True)
class _Mac:
    """How the archive is authenticated."""

    digest: str
    value: bytes
    salt: bytes
    iterations: int


@dataclass(frozen=True, slots=True)
class _Content:
    """A part of the archive; `decrypt` takes the password, None for a part in clear."""

    data: bytes = field(repr=False)
    iterations: int = 0
    decrypt: Callable[[bytes, str], bytes] | None = None


def read_archive(archive: bytes, password: str) -> tuple[ArchivedCertificate, ...]:
    """Return the certificates; raises ValueError, LimitExceeded among it, before it computes."""
    require_at_most(len(archive), MAX_DOCUMENT_BYTES, "Archive size in bytes")
    outer = DerReader(archive)
    container = outer.enter(SEQUENCE)
    outer.end()
    if container.unsigned(_INTEGER_BITS, "Archive version") != _VERSION:
        raise ValueError("not version 3 of PKCS#12")
    authenticated = _data(container.enter(SEQUENCE))
    mac = _mac(container.enter(SEQUENCE))
    container.end()
    contents = _contents(authenticated)
    _require_affordable(mac.iterations + sum(content.iterations for content in contents))
    _authenticate(mac, authenticated, password)
    return tuple(_certificates(contents, password))


def _require_affordable(iterations: int) -> None:
    require_at_most(iterations, MAX_ARCHIVE_ITERATIONS, "Iterations of the archive's keys")


def _data(content: DerReader) -> bytes:
    if content.object_identifier() != _DATA:
        raise ValueError("the archive is not protected by a password")
    return _explicit_octets(content)


def _explicit_octets(content: DerReader) -> bytes:
    explicit = content.enter(EXPLICIT_0)
    content.end()
    octets = explicit.content(OCTET_STRING)
    explicit.end()
    return octets


def _mac(reader: DerReader) -> _Mac:
    info = reader.enter(SEQUENCE)
    digest = _algorithm(info.enter(SEQUENCE), _DIGESTS)
    value = info.content(OCTET_STRING)
    info.end()
    salt = _salt(reader)
    iterations = _iterations(reader) if reader.tag == INTEGER else 1
    reader.end()
    return _Mac(digest, value, salt, iterations)


def _algorithm(identifier: DerReader, known: dict[bytes, str]) -> str:
    name = known.get(identifier.object_identifier())
    identifier.null()
    identifier.end()
    if name is None:
        raise ValueError("an algorithm of the archive is not supported")
    return name


def _salt(reader: DerReader) -> bytes:
    salt = reader.content(OCTET_STRING)
    require_at_most(len(salt), MAX_SALT_BYTES, "Salt in bytes")
    return salt


def _iterations(reader: DerReader) -> int:
    iterations = reader.unsigned(_INTEGER_BITS, "Iteration count")
    if iterations == 0:
        raise ValueError("no iterations")
    return iterations


def _contents(authenticated: bytes) -> tuple[_Content, ...]:
    outer = DerReader(authenticated)
    parts = outer.enter(SEQUENCE)
    outer.end()
    contents: list[_Content] = []
    while parts.tag is not None:
        contents.append(_content(parts.enter(SEQUENCE)))
        require_at_most(len(contents), MAX_ARCHIVE_CONTENTS, "Parts of the archive")
    return tuple(contents)


def _content(info: DerReader) -> _Content:
    kind = info.object_identifier()
    if kind == _DATA:
        return _Content(_explicit_octets(info))
    if kind != _ENCRYPTED_DATA:
        raise ValueError("a part of the archive is not protected by a password")
    explicit = info.enter(EXPLICIT_0)
    info.end()
    encrypted = explicit.enter(SEQUENCE)
    explicit.end()
    encrypted.unsigned(_INTEGER_BITS, "Version")
    part = encrypted.enter(SEQUENCE)
    encrypted.end()
    if part.object_identifier() != _DATA:
        raise ValueError("a part of the archive does not hold data")
    iterations, decrypt = _encryption(part.enter(SEQUENCE))
    data = part.content(CONTEXT_0)
    part.end()
    return _Content(data, iterations, decrypt)


def _encryption(identifier: DerReader) -> tuple[int, Callable[[bytes, str], bytes]]:
    kind = identifier.object_identifier()
    if kind in _PBE_RC2:
        raise LimitExceeded("RC2 is not supported: write the archive with AES or 3DES")
    parameters = identifier.enter(SEQUENCE)
    identifier.end()
    if kind == _PBES2:
        return _pbes2(parameters)
    if kind != _PBE_3DES:
        raise ValueError("an algorithm of the archive is not supported")
    salt, iterations = _salt(parameters), _iterations(parameters)
    parameters.end()

    def decrypt(data: bytes, password: str) -> bytes:
        text = _bmp(password)
        key = _derived("sha1", text, (salt, iterations), _ENCRYPTION, 24)
        vector = _derived("sha1", text, (salt, iterations), _VECTOR, 8)
        return _decrypted(Cipher(TripleDES(key), modes.CBC(vector)), 64, data)

    return iterations, decrypt


def _pbes2(parameters: DerReader) -> tuple[int, Callable[[bytes, str], bytes]]:
    derivation, scheme = parameters.enter(SEQUENCE), parameters.enter(SEQUENCE)
    parameters.end()
    if derivation.object_identifier() != _PBKDF2:
        raise ValueError("a key derivation of the archive is not supported")
    function = derivation.enter(SEQUENCE)
    derivation.end()
    salt, iterations = _salt(function), _iterations(function)
    cipher = _CIPHERS.get(scheme.object_identifier())
    vector = scheme.content(OCTET_STRING)
    scheme.end()
    if cipher is None:
        raise ValueError("a cipher of the archive is not supported")
    algorithm, size = cipher
    if function.tag == INTEGER and function.unsigned(_INTEGER_BITS, "Key length") != size:
        raise ValueError("the key length does not fit the cipher")
    digest = "sha1"
    if function.tag is not None:
        digest = _algorithm(function.enter(SEQUENCE), _PSEUDORANDOM)
    function.end()

    def decrypt(data: bytes, password: str) -> bytes:
        block = algorithm(hashlib.pbkdf2_hmac(digest, password.encode(), salt, iterations, size))
        return _decrypted(Cipher(block, modes.CBC(vector)), block.block_size, data)

    return iterations, decrypt


def _decrypted(cipher: Cipher[modes.CBC], block_bits: int, data: bytes) -> bytes:
    decryptor = cipher.decryptor()
    padding = PKCS7(block_bits).unpadder()
    return padding.update(decryptor.update(data) + decryptor.finalize()) + padding.finalize()


def _authenticate(mac: _Mac, data: bytes, password: str) -> None:
    """Raise ValueError for a wrong password, or an archive that was altered."""
    size = hashlib.new(mac.digest, usedforsecurity=False).digest_size
    # An empty password is written in two ways.
    for text in (_bmp(password), *([] if password else [b""])):
        key = _derived(mac.digest, text, (mac.salt, mac.iterations), _MAC, size)
        if hmac.compare_digest(hmac.digest(key, data, mac.digest), mac.value):
            return
    raise ValueError("the password is wrong, or the archive was altered")


def _bmp(password: str) -> bytes:
    return password.encode("utf-16-be") + b"\0\0"


def _derived(
    digest: str, password: bytes, cost: tuple[bytes, int], purpose: int, size: int
) -> bytes:
    """Derive `size` bytes; Python's own loop lets other threads go on. Spec: RFC 7292 §B.2."""
    salt, iterations = cost
    block = 128 if digest in _LONG_BLOCK else 64
    diversifier = bytes((purpose,)) * block
    filled = bytearray(_repeated(salt, block) + _repeated(password, block))
    derived = b""
    while True:
        value = hashlib.new(digest, diversifier + filled, usedforsecurity=False).digest()
        for _ in range(iterations - 1):
            value = hashlib.new(digest, value, usedforsecurity=False).digest()
        derived += value
        if len(derived) >= size:
            return derived[:size]
        increment = int.from_bytes(_repeated(value, block)[:block]) + 1
        for start in range(0, len(filled), block):
            number = int.from_bytes(filled[start : start + block]) + increment
            filled[start : start + block] = (number % (1 << 8 * block)).to_bytes(block)


def _repeated(text: bytes, block: int) -> bytes:
    if not text:
        return b""
    size = block * -(-len(text) // block)
    return (text * -(-size // len(text)))[:size]


def _certificates(contents: tuple[_Content, ...], password: str) -> Iterator[ArchivedCertificate]:
    count = 0
    for content in contents:
        data = content.data if content.decrypt is None else content.decrypt(content.data, password)
        outer = DerReader(data)
        bags = outer.enter(SEQUENCE)
        outer.end()
        while bags.tag is not None:
            count += 1
            require_at_most(count, MAX_ARCHIVE_BAGS, "Entries of the archive")
            bag = bags.enter(SEQUENCE)
            kind = bag.object_identifier()
            if kind == _NESTED_BAGS:
                raise ValueError("nested bags are not supported")
            if kind == _CERTIFICATE_BAG:
                yield from _certificate(bag)


def _certificate(bag: DerReader) -> Iterator[ArchivedCertificate]:
    explicit = bag.enter(EXPLICIT_0)
    held = explicit.enter(SEQUENCE)
    explicit.end()
    if held.object_identifier() != _X509:
        return
    der = _explicit_octets(held)
    attributes = bag.enter(SET) if bag.tag is not None else DerReader(b"")
    bag.end()
    yield ArchivedCertificate(_alias(attributes), der)


def _alias(attributes: DerReader) -> str | None:
    while attributes.tag is not None:
        attribute = attributes.enter(SEQUENCE)
        if attribute.object_identifier() == _FRIENDLY_NAME:
            return attribute.enter(SET).content(BMP_STRING).decode("utf-16-be")
    return None
