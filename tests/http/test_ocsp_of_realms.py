"""The attributes of a realm that let its responder be asked. Spec: RFC 6960; attacks A12."""

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import quote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import ocsp

from gateway.domain.realm import (
    DISTRIBUTION_POINTS,
    OCSP,
    OCSP_NONCE,
    OCSP_SCOPE,
    OCSP_URL,
    REVOCATION_LIST_URLS,
    REVOCATION_POLICY,
)
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.chains import CA, DAY, NOW, Node, issue
from tests.support.list_server import ListServer, serving_lists
from tests.support.wire import device

ROOT = issue("asked root", None, CA)
ACCEPTED, BAD, REFUSED = 200, 400, 401
_SHA1: Final = hashes.SHA1()  # noqa: S303 - a name, and no signature
_GOOD, _REVOKED = ocsp.OCSPCertStatus.GOOD, ocsp.OCSPCertStatus.REVOKED


@dataclass
class Asked:
    """A realm that trusts ROOT, and the responder of ROOT."""

    realm: AdministeredRealm
    server: ListServer
    issued: dict[int, Node] = field(default_factory=dict)
    revoked: set[int] = field(default_factory=set)

    def issue(self, name: str, *extensions: x509.ExtensionType) -> Node:
        node = issue(name, ROOT, *extensions)
        self.issued[node.certificate.serial_number] = node
        return node

    def set(self, **attributes: str) -> None:
        """Set attributes of OCSP by the end of their names; the responder is that of the realm."""
        values = {OCSP: "hard", OCSP_URL: f"{self.server.url}/ocsp", OCSP_SCOPE: "", OCSP_NONCE: ""}
        named = {
            OCSP if name == "policy" else f"{OCSP}.{name}": attributes[name] for name in attributes
        }
        known = self.realm.get("")["attributes"]
        self.realm.change("PUT", "", {"attributes": known | values | named})

    def status(self, node: Node) -> int:
        """Return what a token request with the certificate gets."""
        found = self.realm.administration.http.post(
            f"/realms/{self.realm.name}/protocol/openid-connect/token",
            data={"grant_type": "client_credentials", "client_id": "probe"},
            headers={
                "X-Request-Id": secrets.token_hex(16),
                "ssl-client-cert": quote(node.pem, safe=""),
                "ssl-client-verify": "SUCCESS",
            },
        )
        return found.status_code

    def responding(self, nonce: Callable[[bytes], bytes] | None = None) -> Callable[[bytes], bytes]:
        """Return what the responder does: it knows what ROOT has issued."""

        def respond(body: bytes) -> bytes:
            request = ocsp.load_der_ocsp_request(body)
            if request.serial_number not in self.issued:
                return b""
            is_revoked = request.serial_number in self.revoked
            made = (
                ocsp.OCSPResponseBuilder()
                .add_response(
                    cert=self.issued[request.serial_number].certificate,
                    issuer=ROOT.certificate,
                    algorithm=_SHA1,
                    cert_status=_REVOKED if is_revoked else _GOOD,
                    this_update=NOW - DAY,
                    next_update=NOW + DAY,
                    revocation_time=NOW - DAY if is_revoked else None,
                    revocation_reason=None,
                )
                .responder_id(ocsp.OCSPResponderEncoding.HASH, ROOT.certificate)
            )
            if nonce is not None:
                sent = request.extensions.get_extension_for_class(x509.OCSPNonce).value.nonce
                made = made.add_extension(x509.OCSPNonce(nonce(sent)), critical=False)
            return made.sign(ROOT.key, hashes.SHA256()).public_bytes(Encoding.DER)

        return respond


@pytest.fixture
def asked(administration: Administration) -> Iterator[Asked]:
    with (
        serving_lists() as server,
        administered_realm(
            administration,
            "asked",
            {"viewer": ["view-realm"]},
            clients=[device("probe", "CN=probe")],
        ) as realm,
    ):
        realm.change("POST", "certificates/authorities", {"certificate": ROOT.pem})
        made = Asked(realm, server)
        server.respond = made.responding()
        yield made


def test_the_responder_that_the_realm_names_is_asked(asked: Asked) -> None:
    good, bad = asked.issue("probe"), asked.issue("probe")
    asked.revoked.add(bad.certificate.serial_number)
    asked.set(policy="off")
    assert [asked.status(good), asked.status(bad)] == [ACCEPTED, ACCEPTED]
    assert asked.server.asked == []
    for policy in ("hard", "soft"):
        asked.set(policy=policy)
        assert [asked.status(good), asked.status(bad)] == [ACCEPTED, REFUSED]
    assert set(asked.server.asked) == {"/ocsp"}


def test_the_policy_decides_where_the_responder_does_not_answer(asked: Asked) -> None:
    asked.server.respond = None
    for policy, expected in (("soft", ACCEPTED), ("hard", REFUSED)):
        asked.set(policy=policy)
        assert asked.status(asked.issue("probe")) == expected


def test_the_scope_says_whether_authorities_are_asked_about(asked: Asked) -> None:
    below = asked.issue("below", CA)
    kind = {"kind": "intermediate"}
    asked.realm.change("POST", "certificates/authorities", {"certificate": below.pem} | kind)
    asked.revoked.add(below.certificate.serial_number)
    for scope, expected in (("", ACCEPTED), ("leaf", ACCEPTED), ("chain", REFUSED)):
        # The responder of the root says nothing of what another authority has issued.
        asked.set(policy="soft", scope=scope)
        assert asked.status(issue("probe", below)) == expected, scope


def test_the_realm_says_whether_responses_need_its_nonce(asked: Asked) -> None:
    for choice, nonce, expected in (
        ("sent", None, ACCEPTED),
        ("sent", bytes, ACCEPTED),
        ("required", None, REFUSED),
        ("required", bytes, ACCEPTED),
    ):
        asked.set(nonce=choice)
        asked.server.respond = asked.responding(nonce)
        assert asked.status(asked.issue("probe")) == expected, (choice, nonce)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (OCSP, "on"),
        (OCSP_URL, "ldap://ocsp.example.com"),
        (OCSP_SCOPE, "all"),
        (OCSP_NONCE, "on"),
        (REVOCATION_POLICY, "off"),
        (REVOCATION_LIST_URLS, "ldap://ca.example.com/ca.crl"),
        (DISTRIBUTION_POINTS, "true"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_is_allowed(
    asked: Asked, name: str, value: str
) -> None:
    status, document = asked.realm.refused("PUT", "", {"attributes": {name: value}})
    assert status == BAD
    assert f'{name}: "{value}" has no effect, it cannot be read; allowed: ' in str(document)
    assert name not in asked.realm.get("")["attributes"]
