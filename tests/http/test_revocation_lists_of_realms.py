"""Revocation lists at URLs that a realm names: they count in this realm, once downloaded.

attacks A10, A12: without a list a certificate is refused, and only a trusted one causes a download.
"""

import asyncio
import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from structlog.testing import capture_logs

from gateway.crypto.revocation.realm_lists import CHECK_INTERVAL, RealmRevocationLists
from gateway.crypto.x509.development_pki import ISSUING, ROOT, read_authority
from gateway.crypto.x509.issuing import IssuingAuthority, ValidityPeriod, issue_revocation_list
from gateway.crypto.x509.parse import parse_certificate
from gateway.crypto.x509.reader import X509CertificateParser
from gateway.domain.certificates import CertificationPath
from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.domain.realm import (
    REVOCATION_LIST_URLS,
    REVOCATION_POLICY,
    Realm,
    are_revocation_list_urls,
)
from tests.support.certificates import Zoo
from tests.support.client_documents import serving_documents
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.set_clock import SetClock
from tests.support.wire import device, protocol

DAY = timedelta(days=1)
NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
SUBJECT = "OU=Devices,O=Realmgate Demonstration"


def _list(authority: IssuingAuthority, now: datetime, *serials: int) -> bytes:
    entries = [
        x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(now).build()
        for serial in serials
    ]
    made = issue_revocation_list(authority, entries, 1, ValidityPeriod(now - DAY, now + DAY))
    return made.public_bytes(Encoding.DER)


def _serial(zoo: Zoo, name: str) -> int:
    content = (zoo.directory / f"{name}.crt").read_bytes()
    return x509.load_pem_x509_certificate(content).serial_number


def _realm(name: str, **attributes: str) -> dict[str, Any]:
    clients = [device(each, f"CN={each},{SUBJECT}") for each in ("device-1", "device-2")]
    return {
        "realm": name,
        "enabled": True,
        "sslRequired": "none",
        "clients": clients,
        "attributes": attributes,
    }


@contextmanager
def _gateway(zoo: Zoo, folder: Path, *realms: dict[str, Any], networks: str) -> Iterator[Gateway]:
    (folder / "realm.json").write_text(json.dumps(realms))
    with start_gateway(
        folder,
        import_realm=folder / "realm.json",
        client_ca_file=zoo.directory / "ca.crt",
        client_crl_file=zoo.directory / "ca.crl",
        fetch_networks=networks,
    ) as gateway:
        yield gateway


def _status(gateway: Gateway, zoo: Zoo, realm: str, client_id: str) -> int:
    certificate = quote((zoo.directory / f"{client_id}.crt").read_text())
    form = {"grant_type": "client_credentials", "client_id": client_id}
    shown = {"ssl-client-cert": certificate, "ssl-client-verify": "SUCCESS"}
    with gateway.client(**shown) as http:
        return http.post(protocol(realm, "token"), data=form).status_code


def test_lists_count_in_the_realm_that_names_them(certificate_zoo: Zoo, tmp_path: Path) -> None:
    """Where one could not be downloaded, the realm's policy decides."""
    now = datetime.now(UTC).replace(microsecond=0)
    issuing = read_authority(certificate_zoo.directory, ISSUING)
    with serving_documents() as server:
        server.documents["/a.crl"] = _list(issuing, now, _serial(certificate_zoo, "device-1"))
        listed = {REVOCATION_LIST_URLS: f"{server.url}/a.crl"}
        missing = {REVOCATION_LIST_URLS: f"{server.url}/none.crl"}
        realms = (
            _realm("listed", **listed),
            _realm("other"),
            _realm("hard", **missing),
            _realm("soft", **missing, **{REVOCATION_POLICY: "soft"}),
        )
        with _gateway(certificate_zoo, tmp_path, *realms, networks="127.0.0.0/8") as gateway:
            found = {
                realm["realm"]: [
                    _status(gateway, certificate_zoo, realm["realm"], client_id)
                    for client_id in ("device-1", "device-2")
                ]
                for realm in realms
            }
            checks = {each["name"]: each for each in gateway.health()[1]["checks"]}
            metrics = gateway.metrics()
    assert found == {
        "listed": [401, 200],
        "other": [200, 200],
        "hard": [401, 401],
        "soft": [200, 200],
    }
    assert f"{server.url}/none.crl" in str(checks["revocation-lists"]["data"])
    assert 'realmgate_realm_revocation_list_seconds_left{realm="listed"}' in metrics


@pytest.mark.anyio
async def test_only_trusted_paths_and_current_urls_cause_downloads(
    certificate_zoo: Zoo,
) -> None:
    issuing = read_authority(certificate_zoo.directory, ISSUING)
    issuer = parse_certificate(issuing.certificate.public_bytes(Encoding.DER))
    root = read_authority(certificate_zoo.directory, ROOT).certificate
    parsed_root = parse_certificate(root.public_bytes(Encoding.DER))
    leaf = x509.load_pem_x509_certificate((certificate_zoo.directory / "device-1.crt").read_bytes())
    presented = X509CertificateParser().parse_certificate(leaf.public_bytes(Encoding.DER))
    path = CertificationPath.of(presented, issuer, parsed_root)
    clock, asked = SetClock(NOW), list[str]()
    named: dict[str, Realm] = {}
    served: dict[str, bytes] = {"http://a.example/": _list(issuing, NOW)}

    async def fetch(url: str) -> bytes:
        asked.append(url)
        if url not in served:
            raise DocumentUnavailable("gone")
        return served[url]

    async def find_realm(name: str) -> Realm | None:
        return named.get(name)

    lists = RealmRevocationLists(fetch, clock, find_realm)
    realm = Realm(id="r", name="r", attributes={REVOCATION_LIST_URLS: "http://a.example/"})
    named["r"] = realm
    assert await lists.refusal(CertificationPath.of(presented), realm, NOW) is None
    assert await lists.refusal(path, Realm(id="o", name="o"), NOW) is None
    assert asked == []
    assert await lists.refusal(path, realm, NOW) is None
    assert asked == ["http://a.example/"]

    served["http://a.example/"] = _list(issuing, NOW + timedelta(hours=1), presented.serial)
    clock.advance(timedelta(hours=1))
    await lists.refresh()
    assert await lists.refusal(path, realm, clock.now()) == f"{presented.subject} was revoked"
    served.clear()
    clock.advance(2 * DAY)
    with capture_logs():
        await lists.refresh()
    assert "is stale" in (await lists.refusal(path, realm, clock.now()) or "")

    named.clear()
    count = len(asked)
    clock.advance(CHECK_INTERVAL)
    await lists.refresh()
    clock.advance(timedelta(hours=2))
    await lists.refresh()
    assert (list(lists.statuses(clock.now())), len(asked)) == ([], count)


@pytest.mark.anyio
async def test_a_realm_holds_up_no_list_that_another_realm_names_too(
    certificate_zoo: Zoo,
) -> None:
    """Its slow servers take its own downloads, also where it named the URL before the other."""
    issuing = read_authority(certificate_zoo.directory, ISSUING)
    issuer = parse_certificate(issuing.certificate.public_bytes(Encoding.DER))
    leaf = x509.load_pem_x509_certificate((certificate_zoo.directory / "device-1.crt").read_bytes())
    presented = X509CertificateParser().parse_certificate(leaf.public_bytes(Encoding.DER))
    path, release = CertificationPath.of(presented, issuer), asyncio.Event()
    shared, slow = "http://a.example/", [f"http://slow.example/{number}" for number in range(3)]

    async def fetch(url: str) -> bytes:
        if url != shared:
            await release.wait()
        return _list(issuing, NOW, presented.serial)

    async def find_realm(name: str) -> Realm | None:
        raise AssertionError(name)

    lists = RealmRevocationLists(fetch, SetClock(NOW), find_realm)
    urls = " ".join((*slow, shared))
    hostile = Realm(id="h", name="h", attributes={REVOCATION_LIST_URLS: urls})
    assert "could not be downloaded" in (await lists.refusal(path, hostile, NOW) or "")
    realm = Realm(id="r", name="r", attributes={REVOCATION_LIST_URLS: shared})
    revoked = f"{presented.subject} was revoked"
    async with asyncio.timeout(30):
        while await lists.refusal(path, realm, NOW) != revoked:
            await lists.refresh()  # which waits for the download
    release.set()


def test_urls_are_bounded_and_lead_to_the_web() -> None:
    urls = [f"http://a.example/{number}.crl" for number in range(21)]
    assert are_revocation_list_urls("")
    assert are_revocation_list_urls(" ".join(urls[:20]))
    for wrong in (" ".join(urls), f"{urls[0]} {urls[0]}", "ldap://a.example/", "a.crl"):
        assert not are_revocation_list_urls(wrong)
