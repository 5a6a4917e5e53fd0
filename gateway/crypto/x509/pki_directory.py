"""The files of a development PKI: their names, how they are written, read and locked.

Keys are readable by their owner only. A file is written beside its place and moved there.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from gateway.crypto.certificates import load_stored_certificate
from gateway.crypto.keys import load_own_private_key
from gateway.crypto.x509.issuing import Authority, PkiRefused, PrivateKey

ROOT, ISSUING, SERVER = "root", "issuing", "server"
DEVICE_1, DEVICE_2, USER = "device-1", "device-2", "user"
TRUST_BUNDLE, REVOCATION_LISTS = "ca.crt", "ca.crl"
PAIRS = (ROOT, ISSUING, SERVER, DEVICE_1, DEVICE_2, USER)
RESERVED_NAMES = frozenset({ROOT, ISSUING, SERVER, "ca"})

PRIVATE, PUBLIC, PRIVATE_DIRECTORY = 0o600, 0o644, 0o700


def certificate_name(name: str) -> str:
    """Return the file name of the certificate called `name`."""
    return f"{name}.crt"


def key_name(name: str) -> str:
    """Return the file name of the private key called `name`."""
    return f"{name}.key"


def pem(*items: x509.Certificate | x509.CertificateRevocationList) -> bytes:
    """Return the items as PEM, one after another."""
    return b"".join(item.public_bytes(Encoding.PEM) for item in items)


def key_pem(key: PrivateKey) -> bytes:
    """Return a private key as unencrypted PKCS#8 PEM."""
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Hold the directory for one change at a time; raises PkiRefused when there is none."""
    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except (FileNotFoundError, NotADirectoryError) as error:
        raise PkiRefused(f"{directory} is not a directory with a PKI") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def write_files(directory: Path, files: Mapping[str, bytes]) -> None:
    """Write all files: made in a temporary folder first, then moved to their places."""
    directory.chmod(PRIVATE_DIRECTORY)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=directory) as temporary:
        for file_name, content in files.items():
            _write(Path(temporary, file_name), content)
        for file_name in files:
            Path(temporary, file_name).replace(directory / file_name)


def _write(path: Path, content: bytes) -> None:
    mode = PRIVATE if path.suffix == ".key" else PUBLIC
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        # The umask may have taken readers away from a public file; nginx may be one of them.
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def read_authority(directory: Path, name: str) -> Authority:
    """Read an authority of the PKI; raises PkiRefused when there is none."""
    try:
        certificate = load_stored_certificate(
            (directory / certificate_name(name)).read_text("ascii")
        )
        key = load_own_private_key((directory / key_name(name)).read_bytes())
    except FileNotFoundError as error:
        raise PkiRefused(f"no PKI in {directory}: {error.filename} is missing") from error
    except ValueError as error:
        raise PkiRefused(f"the {name} authority in {directory} cannot be read: {error}") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey):
        raise PkiRefused(f"the {name} authority in {directory} has a key of another kind")
    return Authority(certificate, key)
