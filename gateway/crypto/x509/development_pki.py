"""The development PKI: a root, an issuing authority, and certificates for a demonstration.

Keys are readable by their owner only. A file is written beside its place and moved there. nginx
refuses all certificates of an authority whose list is missing or past its next update, and checks
every link of a chain, so one file holds the revocation lists of both authorities.
Spec: RFC 5280 §5.1, §5.2.3 (the number always increases); RFC 7468 §6
"""

import fcntl
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gateway.crypto.private_keys import load_own_private_key
from gateway.crypto.public_keys import load_revocation_list, load_stored_certificate
from gateway.crypto.x509.issuing import (
    CertificatePurpose,
    IssuingAuthority,
    KeyAlgorithm,
    PkiRefused,
    PrivateKey,
    ValidityPeriod,
    generate_authority_key,
    generate_key,
    host_name,
    issue_authority,
    issue_end_entity,
    issue_revocation_list,
    issue_root,
    name,
    uri_name,
)
from gateway.crypto.x509.parse import load_any_certificate

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
    """Lock the directory for one change at a time; raises PkiRefused when there is none."""
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
            _write_file(Path(temporary, file_name), content)
        for file_name in files:
            Path(temporary, file_name).replace(directory / file_name)


def _write_file(path: Path, content: bytes) -> None:
    mode = PRIVATE if path.suffix == ".key" else PUBLIC
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        # The umask may have taken readers away from a public file, such as nginx.
        os.fchmod(descriptor, mode)
        file.write(content)
        file.flush()
        os.fsync(descriptor)


def read_authority(directory: Path, name: str) -> IssuingAuthority:
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
    return IssuingAuthority(certificate, key)


BLOCK = re.compile(rb"-----BEGIN X509 CRL-----[^-]*-----END X509 CRL-----")
ARMOUR = b"-----"


def load_revocation_lists(data: bytes) -> tuple[x509.CertificateRevocationList, ...]:
    """Return all lists of the file; raises ValueError for none, and for a block cut short."""
    blocks = BLOCK.findall(data)
    if not blocks or ARMOUR in BLOCK.sub(b"", data):
        raise ValueError("not a file of whole PEM revocation lists")
    return tuple(map(load_revocation_list, blocks))


LIFETIME = timedelta(days=30)

Entries = Sequence[x509.RevokedCertificate]


def first_revocation_lists(
    issuing: IssuingAuthority, root: IssuingAuthority, now: datetime
) -> bytes:
    """Return empty lists of both authorities."""
    validity = ValidityPeriod.starting(now, LIFETIME)
    return pem(*(issue_revocation_list(issuer, (), 1, validity) for issuer in (issuing, root)))


def revoke_certificate(directory: Path, certificate: x509.Certificate, *, now: datetime) -> bool:
    """Put a certificate on the issuing authority's list; False when it stood there already."""
    with locked(directory):
        issuer = read_authority(directory, ISSUING)
        _require_issued_by(certificate, issuer)
        current = _current_list(directory, issuer)
        if current.get_revoked_certificate_by_serial_number(certificate.serial_number):
            return False
        entry = (
            x509.RevokedCertificateBuilder()
            .serial_number(certificate.serial_number)
            .revocation_date(now.replace(microsecond=0))
            .build()
        )
        _issue_again(directory, {ISSUING: (entry,)}, now)
    return True


def renew_revocation_lists(directory: Path, *, now: datetime) -> datetime:
    """Issue both lists again with the same entries; return when the new ones expire."""
    with locked(directory):
        _issue_again(directory, {}, now)
        return revocation_lists_expire(directory)


def revocation_lists_expire(directory: Path) -> datetime:
    """Return the instant at which the first of the lists expires."""
    lists = _read_lists(directory)
    if not lists:
        raise PkiRefused(f"{directory / REVOCATION_LISTS} has no list")
    # A list without an end counts as due: this PKI never issues one.
    return min(item.next_update_utc or item.last_update_utc for item in lists)


def _require_issued_by(certificate: x509.Certificate, issuer: IssuingAuthority) -> None:
    try:
        certificate.verify_directly_issued_by(issuer.certificate)
    except (InvalidSignature, ValueError, TypeError) as error:
        raise PkiRefused("the certificate is not of this PKI's issuing authority") from error


def _issue_again(directory: Path, additions: Mapping[str, Entries], now: datetime) -> None:
    validity = ValidityPeriod.starting(now, LIFETIME)
    lists = []
    for authority in (ISSUING, ROOT):
        issuer = read_authority(directory, authority)
        current = _current_list(directory, issuer)
        entries = (*current, *additions.get(authority, ()))
        lists.append(issue_revocation_list(issuer, entries, _number(current) + 1, validity))
    write_files(directory, {REVOCATION_LISTS: pem(*lists)})


def _current_list(directory: Path, issuer: IssuingAuthority) -> x509.CertificateRevocationList:
    subject = issuer.certificate.subject
    for revocation_list in _read_lists(directory):
        if revocation_list.issuer == subject:
            return revocation_list
    raise PkiRefused(f"{directory / REVOCATION_LISTS} has no list of {subject.rfc4514_string()}")


def _number(revocation_list: x509.CertificateRevocationList) -> int:
    return revocation_list.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number


def _read_lists(directory: Path) -> tuple[x509.CertificateRevocationList, ...]:
    path = directory / REVOCATION_LISTS
    try:
        return load_revocation_lists(path.read_bytes())
    except FileNotFoundError as error:
        raise PkiRefused(f"no PKI in {directory}: {path} is missing") from error
    except ValueError as error:
        raise PkiRefused(f"{path} cannot be read: {error}") from error


ROOT_LIFETIME = timedelta(days=3650)
AUTHORITY_LIFETIME = timedelta(days=1825)
END_ENTITY_LIFETIME = timedelta(days=397)
"""Longer-lived server certificates are refused by browsers."""

ALWAYS_NAMED = ("localhost", "127.0.0.1", "::1")
DEVICES, PEOPLE = "Devices", "People"
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)


@dataclass(frozen=True, slots=True)
class ClientOrder:
    """The names of a client certificate: `CN=common_name,OU=unit,O=...` and alternative ones."""

    common_name: str
    unit: str = DEVICES
    dns: tuple[str, ...] = ()
    uris: tuple[str, ...] = ()
    lifetime: timedelta = END_ENTITY_LIFETIME


DEMONSTRATION_CLIENTS = {
    DEVICE_1: ClientOrder(DEVICE_1),
    DEVICE_2: ClientOrder(
        DEVICE_2,
        dns=("device-2.demo.realmgate.test",),
        uris=("spiffe://demo.realmgate.test/device-2",),
    ),
    USER: ClientOrder("alice", PEOPLE),
}


def create_pki(
    directory: Path,
    *,
    now: datetime,
    names: Sequence[str] = (),
    algorithm: KeyAlgorithm = KeyAlgorithm.ECDSA,
    force: bool = False,
) -> tuple[str, ...]:
    """Make a whole PKI and return its file names; raises PkiRefused before it replaces one."""
    server_names = tuple(map(host_name, dict.fromkeys((*ALWAYS_NAMED, *names))))
    if not force:
        _refuse_overwriting(directory, _all_files())
    files = _make_all(now, server_names, algorithm)
    directory.mkdir(mode=PRIVATE_DIRECTORY, parents=True, exist_ok=True)
    with locked(directory):
        if not force:
            _refuse_overwriting(directory, _all_files())
        write_files(directory, files)
    return tuple(files)


def issue_client(
    directory: Path, client: str, order: ClientOrder, *, now: datetime, force: bool = False
) -> tuple[str, str]:
    """Issue a client certificate with a new key; return the names of its two files."""
    if not FILE_NAME.fullmatch(client) or client in RESERVED_NAMES:
        raise PkiRefused(
            f"{client!r} cannot name a client certificate: letters, digits, '.', '_' and '-' can, "
            f"and {', '.join(sorted(RESERVED_NAMES))} are taken"
        )
    with locked(directory):
        files = (certificate_name(client), key_name(client))
        if not force:
            _refuse_overwriting(directory, files)
        issuer = read_authority(directory, ISSUING)
        if now + order.lifetime > issuer.certificate.not_valid_after_utc:
            raise PkiRefused("the certificate would outlive its issuing authority")
        pair = _client_pair(
            issuer, _algorithm_of(_server_certificate(directory)), client, order, now
        )
        write_files(directory, pair)
    return files


def renew_server(
    directory: Path,
    *,
    now: datetime,
    names: Sequence[str] = (),
    if_expiring_within: timedelta | None = None,
) -> datetime | None:
    """Issue the server certificate again with a new key, `names` and its present names.

    `if_expiring_within` keeps a certificate that has all names and lasts longer. Returns the new
    end, or None.
    """
    added = tuple(map(host_name, names))
    with locked(directory):
        issuer = read_authority(directory, ISSUING)
        current = _server_certificate(directory)
        present = _alternative_names(current)
        missing = [each for each in added if each not in present]
        if (
            if_expiring_within is not None
            and not missing
            and current.not_valid_after_utc > now + if_expiring_within
        ):
            return None
        if now + END_ENTITY_LIFETIME > issuer.certificate.not_valid_after_utc:
            raise PkiRefused("the certificate would outlive its issuing authority")
        kept = present or tuple(map(host_name, ALWAYS_NAMED))
        write_files(directory, _server_pair(issuer, _algorithm_of(current), (*kept, *missing), now))
    return now + END_ENTITY_LIFETIME


def _make_all(
    now: datetime, server_names: Sequence[x509.GeneralName], algorithm: KeyAlgorithm
) -> dict[str, bytes]:
    root = issue_root(
        name("Realmgate Development Root CA"),
        generate_authority_key(),
        ValidityPeriod.starting(now, ROOT_LIFETIME),
    )
    issuing = issue_authority(
        root,
        name("Realmgate Development Issuing CA"),
        generate_authority_key(),
        ValidityPeriod.starting(now, AUTHORITY_LIFETIME),
    )
    clients: dict[str, bytes] = {}
    for client, order in DEMONSTRATION_CLIENTS.items():
        clients |= _client_pair(issuing, algorithm, client, order, now)
    return {
        **_pair(ROOT, root.key, root.certificate),
        **_pair(ISSUING, issuing.key, issuing.certificate),
        **_server_pair(issuing, algorithm, server_names, now),
        **clients,
        TRUST_BUNDLE: pem(issuing.certificate, root.certificate),
        REVOCATION_LISTS: first_revocation_lists(issuing, root, now),
    }


def _server_pair(
    issuer: IssuingAuthority,
    algorithm: KeyAlgorithm,
    names: Sequence[x509.GeneralName],
    now: datetime,
) -> dict[str, bytes]:
    key = generate_key(algorithm)
    certificate = issue_end_entity(
        issuer,
        name("localhost"),
        key.public_key(),
        ValidityPeriod.starting(now, END_ENTITY_LIFETIME),
        purpose=CertificatePurpose.SERVER,
        alternative_names=names,
    )
    return _pair(SERVER, key, certificate, issuer.certificate)


def _client_pair(
    issuer: IssuingAuthority,
    algorithm: KeyAlgorithm,
    client: str,
    order: ClientOrder,
    now: datetime,
) -> dict[str, bytes]:
    key = generate_key(algorithm)
    certificate = issue_end_entity(
        issuer,
        name(order.common_name, order.unit),
        key.public_key(),
        ValidityPeriod.starting(now, order.lifetime),
        purpose=CertificatePurpose.CLIENT,
        alternative_names=(*map(uri_name, order.uris), *map(host_name, order.dns)),
    )
    return _pair(client, key, certificate)


def _pair(file_name: str, key: PrivateKey, *chain: x509.Certificate) -> dict[str, bytes]:
    return {certificate_name(file_name): pem(*chain), key_name(file_name): key_pem(key)}


def _all_files() -> tuple[str, ...]:
    pairs = (file for pair in PAIRS for file in (certificate_name(pair), key_name(pair)))
    return (*pairs, TRUST_BUNDLE, REVOCATION_LISTS)


def _refuse_overwriting(directory: Path, files: Sequence[str]) -> None:
    existing = [file for file in files if (directory / file).exists()]
    if existing:
        raise PkiRefused(f"{directory} already has {', '.join(existing)}; --force replaces them")


def _server_certificate(directory: Path) -> x509.Certificate:
    path = directory / certificate_name(SERVER)
    try:
        return load_any_certificate(path.read_bytes())
    except FileNotFoundError as error:
        raise PkiRefused(f"no PKI in {directory}: {path} is missing") from error
    except ValueError as error:
        raise PkiRefused(f"{path} holds no certificate") from error


def _alternative_names(certificate: x509.Certificate) -> tuple[x509.GeneralName, ...]:
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return ()
    return tuple(found.value)


def _algorithm_of(server: x509.Certificate) -> KeyAlgorithm:
    is_rsa = isinstance(server.public_key(), rsa.RSAPublicKey)
    return KeyAlgorithm.RSA if is_rsa else KeyAlgorithm.ECDSA
