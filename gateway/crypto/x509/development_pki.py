"""The development PKI: a root, an issuing authority, and what a demonstration needs below them.

nginx checks revocation for every link of a chain, so one file holds the lists of both authorities.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from gateway.crypto.x509.description import load_certificate
from gateway.crypto.x509.issuing import (
    Authority,
    KeyAlgorithm,
    PkiRefused,
    PrivateKey,
    Purpose,
    Validity,
    generate_authority_key,
    generate_key,
    host_name,
    issue_authority,
    issue_end_entity,
    issue_root,
    name,
    uri_name,
)
from gateway.crypto.x509.pki_directory import (
    DEVICE_1,
    DEVICE_2,
    ISSUING,
    PAIRS,
    PRIVATE_DIRECTORY,
    RESERVED_NAMES,
    REVOCATION_LISTS,
    ROOT,
    SERVER,
    TRUST_BUNDLE,
    USER,
    certificate_name,
    key_name,
    key_pem,
    locked,
    pem,
    read_authority,
    write_files,
)
from gateway.crypto.x509.pki_revocation import first_revocation_lists

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
    """Make a whole PKI in `directory` and return the names of its files.

    Raises PkiRefused, changing nothing, when there is one already and `force` is not given.
    """
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
    directory: Path,
    client: str,
    order: ClientOrder,
    *,
    now: datetime,
    force: bool = False,
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
    """Issue the server certificate again with a new key, `names` and the names that it has.

    With `if_expiring_within`, one that has all `names` and lasts longer than that is left alone.
    Return when the new certificate expires, None where nothing was done.
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
        pair = _server_pair(issuer, _algorithm_of(current), (*kept, *missing), now)
        write_files(directory, pair)
    return now + END_ENTITY_LIFETIME


def _make_all(
    now: datetime, server_names: Sequence[x509.GeneralName], algorithm: KeyAlgorithm
) -> dict[str, bytes]:
    root = issue_root(
        name("Realmgate Development Root CA"),
        generate_authority_key(),
        Validity.starting(now, ROOT_LIFETIME),
    )
    issuing = issue_authority(
        root,
        name("Realmgate Development Issuing CA"),
        generate_authority_key(),
        Validity.starting(now, AUTHORITY_LIFETIME),
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
    issuer: Authority, algorithm: KeyAlgorithm, names: Sequence[x509.GeneralName], now: datetime
) -> dict[str, bytes]:
    key = generate_key(algorithm)
    certificate = issue_end_entity(
        issuer,
        name("localhost"),
        key.public_key(),
        Validity.starting(now, END_ENTITY_LIFETIME),
        purpose=Purpose.SERVER,
        alternative_names=names,
    )
    return _pair(SERVER, key, certificate, issuer.certificate)


def _client_pair(
    issuer: Authority, algorithm: KeyAlgorithm, client: str, order: ClientOrder, now: datetime
) -> dict[str, bytes]:
    key = generate_key(algorithm)
    certificate = issue_end_entity(
        issuer,
        name(order.common_name, order.unit),
        key.public_key(),
        Validity.starting(now, order.lifetime),
        purpose=Purpose.CLIENT,
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
        return load_certificate(path.read_bytes())
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
