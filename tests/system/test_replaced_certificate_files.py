"""Authorities and revocation lists count from the next request on, however they are replaced.

Through nginx, without a restart of the gateway: nginx itself keeps the list that it started with,
so it is the gateway that refuses. Attacks A9, S4.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import httpx2
import pytest
from cryptography import x509

from gateway.crypto.x509.development_pki import create_pki, revoke_certificate
from tests.support.edge_certificates import EdgeCertificates
from tests.support.nginx import make_prefix
from tests.support.replaced_files import WAYS, make_mount
from tests.support.spec_stack import Stack, start_stack
from tests.support.wire import BOUND, DEVICE_SUBJECT, device

REALM = {"realm": "r", "enabled": True, "clients": [device("device-1", DEVICE_SUBJECT, **BOUND)]}
GRANT = {"grant_type": "client_credentials", "client_id": "device-1"}
LIST, BUNDLE = "ca.crl", "ca.crt"
ways = pytest.mark.parametrize("way", WAYS)


@dataclass(frozen=True, slots=True)
class Mounted:
    """A gateway behind nginx whose certificate files are in a folder that tests change."""

    stack: Stack
    folder: Path
    lists: tuple[bytes, bytes]
    """Without and with device-1, of the same size."""
    bundles: tuple[bytes, bytes]
    """Of the authorities of device-1, and of others, of the same size."""

    def ask(self) -> tuple[int, str]:
        """Ask for a token as device-1; return status and error."""
        url = f"{self.stack.nginx.mtls}/realms/r/protocol/openid-connect/token"
        with self.stack.nginx.client("device-1") as http:
            answer: httpx2.Response = http.post(url, data=GRANT)
        return answer.status_code, answer.json().get("error", "")


def _padded(*contents: bytes) -> tuple[bytes, bytes]:
    size = max(map(len, contents))
    first, second = (content.ljust(size, b"\n") for content in contents)
    return first, second


@pytest.fixture(scope="module")
def mounted(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Mounted]:
    """Run nginx and a gateway; nginx has files of its own, which nobody replaces."""
    folder = make_prefix(tmp_path_factory.mktemp("mounted"))
    revoking = shutil.copytree(edge_certificates.folder, folder / "revoking")
    certificate = x509.load_pem_x509_certificate((revoking / "device-1.crt").read_bytes())
    revoke_certificate(revoking, certificate, now=datetime.now(UTC))
    create_pki(folder / "others", now=datetime.now(UTC))
    lists = _padded((edge_certificates.folder / LIST).read_bytes(), (revoking / LIST).read_bytes())
    bundles = _padded(
        (edge_certificates.folder / BUNDLE).read_bytes(), (folder / "others" / BUNDLE).read_bytes()
    )
    mount = make_mount(folder / "mount", {LIST: lists[0], BUNDLE: bundles[0]})
    with start_stack(
        folder,
        edge_certificates,
        realms=[REALM],
        client_ca_file=mount / BUNDLE,
        client_crl_file=mount / LIST,
    ) as stack:
        yield Mounted(stack, mount, lists, bundles)


@ways
def test_a_revoked_certificate_is_refused_in_any_replacement(mounted: Mounted, way: str) -> None:
    without, with_device = mounted.lists
    for _ in range(2):
        assert mounted.ask() == (200, "")
        WAYS[way](mounted.folder, LIST, with_device)
        assert mounted.ask() == (401, "invalid_client")
        WAYS[way](mounted.folder, LIST, without)
    assert mounted.ask() == (200, "")


@ways
def test_an_authority_that_was_taken_away_is_trusted_no_longer(mounted: Mounted, way: str) -> None:
    own, others = mounted.bundles
    for _ in range(2):
        assert mounted.ask() == (200, "")
        WAYS[way](mounted.folder, BUNDLE, others)
        assert mounted.ask() == (401, "invalid_client")
        WAYS[way](mounted.folder, BUNDLE, own)
    assert mounted.ask() == (200, "")


def test_an_unreadable_bundle_keeps_the_authorities_in_force(mounted: Mounted) -> None:
    """A half-written file must not stop every client; the log says so once."""
    own, _ = mounted.bundles
    WAYS["rename"](mounted.folder, BUNDLE, own[:-200])
    assert [mounted.ask() for _ in range(2)] == [(200, "")] * 2
    lines = [line for one in mounted.stack.gateways for line in one.log()]
    told = [line for line in lines if line["event"] == "client authorities not renewed"]
    assert len(told) == 1
    WAYS["rename"](mounted.folder, BUNDLE, own)
    assert mounted.ask() == (200, "")
