"""Responders (OCSP) and lists of a realm's authorities, for certificates that nginx passes on.

nginx does not know these authorities. Which responses count is tested in tests/http/test_ocsp.py,
which lists in tests/http/test_distribution_points.py. Spec: RFC 6960, RFC 5280 §4.2.1.13
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509 import ocsp

from gateway.domain.realm import (
    DISTRIBUTION_POINTS,
    OCSP,
    OCSP_NONCE,
    RENEWAL_OVERLAP,
    REVOCATION_LIST_URLS,
    REVOCATION_POLICY,
)
from tests.support.chains import CA, NOW, Node, issue
from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import start_gateway
from tests.support.list_server import ListServer, list_of, points, responder_at, serving_lists
from tests.support.nginx import PROXY_SECRET, RunningNginx, start_nginx
from tests.support.ports import free_port
from tests.support.wire import BOUND, device, protocol

HARD, SOFT, NONCE = "ocsp-hard", "ocsp-soft", "ocsp-nonce"
POINTS, POINTS_SOFT, POINTS_LISTED = "points-hard", "points-soft", "points-listed"
_POINTS_ON: Final = {DISTRIBUTION_POINTS: "on"}
ROOT: Final = issue("asked root", None, CA)
STRANGER: Final = issue("asked root", None, CA)
UNKNOWN: Final = "its revocation could not be checked with its authority (OCSP)"
_HOUR: Final = timedelta(hours=1)
_BOUND: Final = 2.0
_ALLOWANCE: Final = 2.0
"""Seconds for the rest of a request on a busy machine."""
_SHA1: Final = hashes.SHA1()  # noqa: S303 - a name, and no signature


@dataclass
class Responder:
    """Answers about the certificates that it has issued; `revoked` are their serial numbers."""

    server: ListServer
    issuers: dict[int, tuple[Node, Node]] = field(default_factory=dict)
    revoked: set[int] = field(default_factory=set)
    signer: Node | None = None
    """The signer of all responses; None: the issuer of the certificate."""
    nonce: bool = False

    def issue(self, *, path: str = "", url: str = "", days: tuple[int, int] = (-1, 1)) -> Node:
        """Issue a certificate that names this responder."""
        named = responder_at(url or f"{self.server.url}/{path}")
        made = issue("probe", ROOT, named, days=days)
        self.issuers[made.certificate.serial_number] = made, ROOT
        return made

    def revoke(self, node: Node) -> None:
        self.revoked.add(node.certificate.serial_number)

    def respond(self, body: bytes) -> bytes:
        request = ocsp.load_der_ocsp_request(body)
        node, issuer = self.issuers[request.serial_number]
        is_revoked = request.serial_number in self.revoked
        signer = self.signer or issuer
        builder = (
            ocsp.OCSPResponseBuilder()
            .add_response(
                cert=node.certificate,
                issuer=issuer.certificate,
                algorithm=_SHA1,
                cert_status=ocsp.OCSPCertStatus.REVOKED if is_revoked else ocsp.OCSPCertStatus.GOOD,
                this_update=NOW - _HOUR,
                next_update=NOW + 6 * _HOUR,
                revocation_time=NOW - _HOUR if is_revoked else None,
                revocation_reason=None,
            )
            .responder_id(ocsp.OCSPResponderEncoding.NAME, signer.certificate)
        )
        if self.nonce:
            sent = request.extensions.get_extension_for_class(x509.OCSPNonce).value
            builder = builder.add_extension(sent, critical=False)
        return builder.sign(signer.key, hashes.SHA256()).public_bytes(Encoding.DER)


@dataclass(frozen=True)
class Asked:
    """nginx before a gateway with the realms."""

    nginx: RunningNginx
    server: ListServer
    folder: Path

    def ask(self, realm: str, node: Node) -> tuple[int, str]:
        """Ask for a token with a certificate; return the status, and the reason of a refusal."""
        answer = self._post(realm, "token", node, grant_type="client_credentials")
        return answer.status_code, answer.json().get("error_description", "")

    def uses(self, realm: str, first: Node, second: Node) -> bool:
        """Ask with the first certificate for a bound token, and use it with the second one."""
        issued = self._post(realm, "token", first, grant_type="client_credentials")
        assert issued.status_code == 200, issued.text
        token = issued.json()["access_token"]
        assert self._post(realm, "token/introspect", first, token=token).json()["active"]
        return self._post(realm, "token/introspect", second, token=token).is_success

    def _post(self, realm: str, path: str, node: Node, **form: str) -> httpx2.Response:
        pair = self.folder / "shown"
        key = node.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        pair.with_suffix(".crt").write_text(node.pem)
        pair.with_suffix(".key").write_bytes(key)
        with self.nginx.client(pair) as http:
            url = f"{self.nginx.self_signed}{protocol(realm, path)}"
            answer = http.post(url, data={**form, "client_id": "probe"})
        seen = self.nginx.log_entry(answer.headers["x-request-id"])
        assert seen["client_certificate_verify"].startswith("FAILED:unable to "), seen
        return answer

    def statuses(self, node: Node) -> list[int]:
        """Return the status under `hard` and under `soft`."""
        return [self.ask(realm, node)[0] for realm in (HARD, SOFT)]


@pytest.fixture(scope="module")
def asked(
    tmp_path_factory: pytest.TempPathFactory, edge_certificates: EdgeCertificates
) -> Iterator[Asked]:
    with serving_lists() as server:
        yield from _running(tmp_path_factory.mktemp("asked"), edge_certificates, server)


def _running(
    folder: Path, edge_certificates: EdgeCertificates, server: ListServer
) -> Iterator[Asked]:
    listed = {REVOCATION_LIST_URLS: f"{server.url}/configured.crl"}
    server.documents["/configured.crl"] = list_of(ROOT)
    own = {
        HARD: {OCSP: "hard"},
        SOFT: {OCSP: "soft"},
        NONCE: {OCSP: "hard", OCSP_NONCE: "required"},
        POINTS: _POINTS_ON,
        POINTS_SOFT: {**_POINTS_ON, REVOCATION_POLICY: "soft"},
        POINTS_LISTED: {**_POINTS_ON, **listed},
    }
    realms = [
        {
            "realm": name,
            "enabled": True,
            "attributes": {**attributes, RENEWAL_OVERLAP: str(30 * 24 * 3600)},
            "certificateAuthorities": [{"certificate": ROOT.pem}],
            "clients": [device("probe", "CN=probe", **BOUND)],
        }
        for name, attributes in own.items()
    ]
    (folder / "realms.json").write_text(json.dumps(realms))
    gateway = f"unix:{folder / 'state/run/gateway.sock'}"
    with (
        start_nginx(
            folder, edge_certificates.folder, [gateway], proxy_secret=PROXY_SECRET
        ) as nginx,
        start_gateway(
            folder,
            import_realm=folder / "realms.json",
            public_url=nginx.https,
            proxy_secret=PROXY_SECRET,
            fetch_networks="127.0.0.0/8",
        ),
    ):
        yield Asked(nginx, server, folder)


@pytest.fixture
def responder(asked: Asked) -> Responder:
    made = Responder(asked.server)
    asked.server.respond = made.respond
    asked.server.asked.clear()
    return made


def test_the_response_of_the_issuer_decides(asked: Asked, responder: Responder) -> None:
    """attacks: A12."""
    good, bad = (responder.issue() for _ in range(2))
    responder.revoke(bad)
    assert asked.statuses(good) == [200, 200]
    assert asked.statuses(bad) == [401, 401]
    assert "CN=probe was revoked" in asked.ask(HARD, bad)[1]
    count = len(responder.server.asked)
    assert asked.statuses(good) == [200, 200]
    assert len(responder.server.asked) == count, "a response is kept"


def test_without_a_response_of_the_issuer_the_realm_decides(
    asked: Asked, responder: Responder
) -> None:
    """Nothing listens, the answer is an error, or signed by another authority. attacks: A12."""
    closed = f"http://127.0.0.1:{free_port()}/"
    nodes = {
        "down": responder.issue(url=closed),
        "unsigned": responder.issue(),
        "another certificate": responder.issue(),
        "no response": responder.issue(),
    }
    responder.signer = STRANGER
    other = nodes["another certificate"].certificate.serial_number
    for kind, node in nodes.items():
        if kind == "another certificate":
            responder.signer = None
            responder.issuers[other] = issue("probe", ROOT), ROOT
        elif kind == "no response":
            responder.server.respond = lambda _: b"no response"
        status, reason = asked.ask(HARD, node)
        assert (status, UNKNOWN in reason) == (401, True), (kind, reason)
        assert closed not in reason
        assert asked.ask(SOFT, node)[0] == 200, kind


def test_a_slow_responder_costs_two_seconds_once(asked: Asked, responder: Responder) -> None:
    """attacks: A12."""
    node = responder.issue(path="slow")
    responder.server.held.add("/slow")
    for realm, expected in ((HARD, 401), (SOFT, 200)):
        begun = time.monotonic()
        assert asked.ask(realm, node)[0] == expected
        taken = time.monotonic() - begun
        begun = time.monotonic()
        assert asked.ask(realm, node)[0] == expected
        again = time.monotonic() - begun
        assert taken < _BOUND + _ALLOWANCE
        assert again < _BOUND
    assert responder.server.asked == ["/slow"] * 2, "each realm asks once"
    responder.server.release.set()


def test_a_response_without_the_nonce_of_its_request_is_refused(
    asked: Asked, responder: Responder
) -> None:
    """Where the realm requires one: a former response could be sent again. attacks: A12."""
    former, current = (responder.issue() for _ in range(2))
    assert asked.ask(NONCE, former)[0] == 401
    assert asked.ask(HARD, former)[0] == 200
    responder.nonce = True
    assert asked.ask(NONCE, current)[0] == 200


def test_a_previous_certificate_that_needs_ocsp_is_not_renewed(
    asked: Asked, responder: Responder
) -> None:
    """A token says too little of its certificate to ask. docs/trust-in-certificates.md."""
    old, new = responder.issue(days=(-2, 1)), responder.issue()
    assert [asked.uses(realm, old, new) for realm in (HARD, SOFT)] == [False, True]


def test_a_previous_certificate_naming_a_list_is_not_renewed(asked: Asked) -> None:
    """Unless the realm accepts certificates without a list, or a configured list is current."""
    named = points(f"{asked.server.url}/a.crl")
    asked.server.documents["/a.crl"] = list_of(ROOT)
    old, new = issue("probe", ROOT, named, days=(-2, 1)), issue("probe", ROOT, named)
    found = [asked.uses(realm, old, new) for realm in (POINTS, POINTS_SOFT, POINTS_LISTED)]
    assert found == [False, True, True]
