"""Revocation lists at URLs: in force once downloaded, renewed in time, kept while unavailable.

attacks A10: without a current list a certificate is refused, and health says why.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_network
from pathlib import Path
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from structlog.testing import capture_logs

from gateway.bootstrap.outgoing import revocation_downloads
from gateway.crypto.revocation.downloaded_lists import INTERVAL, RETRY, DownloadedLists
from gateway.crypto.x509.development_pki import ISSUING, ROOT, read_authority
from gateway.crypto.x509.issuing import IssuingAuthority, ValidityPeriod, issue_revocation_list
from gateway.crypto.x509.parse import ParsedCertificate, parse_certificate
from gateway.domain.realm import OCSP, OCSP_URL
from gateway.settings import load_settings
from tests.support.certificates import Zoo
from tests.support.client_documents import ClientDocuments, serving_documents
from tests.support.gateway_process import Gateway, start_gateway
from tests.support.set_clock import SetClock
from tests.support.wire import device, protocol

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
DAY = timedelta(days=1)
PATH = "/ca.crl"


@pytest.fixture
def server() -> Iterator[ClientDocuments]:
    with serving_documents() as served:
        yield served


def _der(
    authority: IssuingAuthority, *serials: int, issued: datetime = NOW, end: datetime = NOW + DAY
) -> bytes:
    entries = [
        x509.RevokedCertificateBuilder().serial_number(serial).revocation_date(NOW).build()
        for serial in serials
    ]
    made = issue_revocation_list(authority, entries, 1, ValidityPeriod(issued, end))
    return made.public_bytes(Encoding.DER)


@dataclass
class _Downloads:
    """What a worker downloads, at a time that the test sets."""

    server: ClientDocuments
    clock: SetClock
    lists: DownloadedLists
    issuer: IssuingAuthority

    async def serve(self, content: bytes | None) -> None:
        """Let the server have this list, or none, and download what is due."""
        self.server.documents.clear()
        if content is not None:
            self.server.documents[PATH] = content
        await self.lists.refresh()

    def revoked(self, serial: int) -> bool | None:
        """Tell whether the list in force has the number; None without a list."""
        certificate = self.issuer.certificate.public_bytes(Encoding.DER)
        authority: ParsedCertificate = parse_certificate(certificate)
        return next((serial in found.serials for found in self.lists.find_lists(authority)), None)


@pytest.fixture
def downloads(
    server: ClientDocuments, certificate_zoo: Zoo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> _Downloads:
    monkeypatch.setenv("REALMGATE_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("REALMGATE_FETCH_NETWORKS", "127.0.0.0/8")
    monkeypatch.setenv("REALMGATE_CLIENT_CRL_URLS", f"{server.url}{PATH}")
    settings, clock = load_settings(), SetClock(NOW)
    assert settings.fetch_networks == (ip_network("127.0.0.0/8"),)
    lists = revocation_downloads(settings, clock)
    assert lists is not None
    return _Downloads(server, clock, lists, read_authority(certificate_zoo.directory, ISSUING))


@pytest.mark.anyio
async def test_a_document_with_an_older_list_is_kept_once(downloads: _Downloads) -> None:
    """Else each download of it would leave a copy of the newer list. CWE-770."""
    older = _der(downloads.issuer, 5, issued=NOW - DAY)
    newer = _der(downloads.issuer, 6, issued=NOW)
    document = b"".join(
        x509.load_der_x509_crl(each).public_bytes(Encoding.PEM) for each in (older, newer)
    )
    sizes = set()
    for _ in range(3):
        await downloads.serve(document)
        assert downloads.revoked(6)
        sizes.add(downloads.lists.size)
        downloads.clock.advance(DAY / 2 - RETRY)
    assert len(sizes) == 1


@pytest.mark.anyio
async def test_a_list_is_downloaded_again_before_it_ends(downloads: _Downloads) -> None:
    await downloads.serve(_der(downloads.issuer, 5))
    assert (downloads.revoked(5), downloads.revoked(6)) == (True, False)
    later = _der(downloads.issuer, 5, 6, issued=NOW + RETRY)
    downloads.clock.advance(INTERVAL - RETRY)
    await downloads.serve(later)
    assert (downloads.revoked(6), len(downloads.server.asked)) == (False, 1)
    downloads.clock.advance(RETRY)
    await downloads.serve(later)
    assert downloads.revoked(6)

    brief = _der(downloads.issuer, issued=NOW + INTERVAL, end=NOW + INTERVAL + 4 * RETRY)
    downloads.clock.advance(INTERVAL)
    await downloads.serve(brief)
    downloads.clock.advance(RETRY)
    await downloads.serve(_der(downloads.issuer, 7, issued=NOW + 2 * INTERVAL))
    assert downloads.revoked(7)


@pytest.mark.anyio
async def test_a_list_stays_in_force_while_there_is_no_better_one(downloads: _Downloads) -> None:
    """A former list, which anyone may keep and send again, does not replace a newer one."""
    await downloads.serve(_der(downloads.issuer, 5))
    assert downloads.revoked(5)
    with capture_logs() as lines:
        for content in (None, None, b"no list", b"no list"):
            downloads.clock.advance(INTERVAL)
            await downloads.serve(content)
            assert downloads.revoked(5)
            assert f"{downloads.server.url}{PATH} cannot be used" in (downloads.lists.problem or "")
    assert len(lines) == 2
    downloads.clock.advance(RETRY)
    await downloads.serve(_der(downloads.issuer, issued=NOW - DAY))
    assert (downloads.revoked(5), downloads.lists.problem) == (True, None)


@pytest.mark.anyio
async def test_a_private_address_has_to_be_allowed(
    downloads: _Downloads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("REALMGATE_FETCH_NETWORKS")
    lists = revocation_downloads(load_settings(), downloads.clock)
    assert lists is not None
    await lists.refresh()
    assert "no address that is allowed: see REALMGATE_FETCH_NETWORKS" in (lists.problem or "")
    assert downloads.server.asked == []


def test_a_gateway_refuses_what_a_downloaded_list_revokes(
    server: ClientDocuments, certificate_zoo: Zoo, tmp_path: Path
) -> None:
    """In two realms a responder has to agree, which answers no request."""
    folder = certificate_zoo.directory
    now = datetime.now(UTC).replace(microsecond=0)
    issuing, root = (read_authority(folder, name) for name in (ISSUING, ROOT))
    revoked = x509.load_pem_x509_certificate((folder / "device-1.crt").read_bytes()).serial_number
    server.documents["/root.crl"] = _der(root, issued=now - DAY, end=now + DAY)
    server.documents[PATH] = _der(issuing, revoked, issued=now - DAY, end=now + DAY)
    clients = [
        device(name, f"CN={name},OU=Devices,O=Realmgate Demonstration")
        for name in ("device-1", "device-2")
    ]
    realm = {"realm": "r", "enabled": True, "sslRequired": "none", "clients": clients}
    asking = [
        realm | {"realm": policy, "attributes": {OCSP: policy, OCSP_URL: f"{server.url}/none"}}
        for policy in ("hard", "soft")
    ]
    (tmp_path / "realm.json").write_text(json.dumps([realm, *asking]))
    with start_gateway(
        tmp_path,
        import_realm=tmp_path / "realm.json",
        client_ca_file=folder / "ca.crt",
        client_crl_urls=f"{server.url}{PATH},{server.url}/root.crl",
        fetch_networks="127.0.0.0/8",
    ) as gateway:
        found = [_status(gateway, folder, client["clientId"]) for client in clients]
        by_ocsp = [_status(gateway, folder, "device-2", realm) for realm in ("hard", "soft")]
        checks = gateway.health()[1]["checks"]
        metrics = gateway.metrics()
    (check,) = [each for each in checks if each["name"] == "revocation-lists"]
    assert (found, check["status"]) == ([401, 200], "UP")
    assert by_ocsp == [401, 200]
    assert check["data"]["age_seconds"] >= DAY.total_seconds()
    assert "realmgate_revocation_list_seconds_left" in metrics


def _status(gateway: Gateway, folder: Path, client_id: str, realm: str = "r") -> int:
    certificate = quote((folder / f"{client_id}.crt").read_text())
    shown = {"ssl-client-cert": certificate, "ssl-client-verify": "SUCCESS"}
    form = {"grant_type": "client_credentials", "client_id": client_id}
    with gateway.client(**shown) as http:
        return http.post(protocol(realm, "token"), data=form).status_code
