"""One client for thousands of devices: a template of names in their certificates, no secret.

Through the real nginx. Attacks A14, A15, A19.
"""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from gateway.domain.realm import DPOP_NONCE
from tests.support.certificate_clients import CertificateClients, client
from tests.support.chains import CA, Node, issue
from tests.support.dpop import ProofKey
from tests.support.forked_gateway import run_command
from tests.support.gateway_process import until
from tests.support.list_server import list_of
from tests.support.spec_stack import Stack, protocol
from tests.support.wire import BOUND, audience, claims_of, device

DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code"
URIS = "spiffe://{trust_domain}/edge/{site}/{device}"
CLIENTS: tuple[dict[str, Any], ...] = (
    client(
        "edge",
        template=URIS,
        template_claims='{"device": "device_id", "trust_domain": "domain"}',
        **BOUND,
    )
    | {"protocolMappers": [audience("edge")]},
    client("named", template="{device}.{site}.edge.example", **BOUND),
    client(
        "by-name",
        template="cn:sensor-{device}",
        template_claims='{"device": "sensor"}',
        device_quota="3",
        **BOUND,
    ),
    client("slow", template="urn://slow/{device}", device_quota="2", **BOUND),
    client("vendor", template="urn://vendor/{device}", device_quota="1", **BOUND),
    client(
        "strict",
        template="urn://strict/{device}",
        device_failures="2",
        **BOUND,
        **{"oauth2.device.authorization.grant.enabled": "true"},
    ),
)


@pytest.fixture(scope="module")
def fleet(spec: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CertificateClients]:
    """Make a realm of clients with templates, and devices one and two of the first."""
    with ExitStack() as open_ones:
        folder = tmp_path_factory.mktemp("fleet")
        made = CertificateClients.make(spec, "fleet", folder, CLIENTS, open_ones)
        assert made.admin("PUT", "events/config", {"eventsEnabled": True}).is_success
        for number in ("one", "two"):
            made.issue(number, f"uri:{_device(number)}")
        yield made


def _device(number: str) -> str:
    return f"spiffe://acme.example/edge/berlin/{number}"


def _token(fleet: CertificateClients, certificate: str, client_id: str = "edge") -> str:
    answer = fleet.token(certificate, client_id, scope="openid")
    assert answer.status_code == httpx2.codes.OK, answer.text
    return str(answer.json()["access_token"])


def _userinfo(fleet: CertificateClients, certificate: str, token: str) -> httpx2.Response:
    url = f"{fleet.stack.nginx.mtls}{protocol(fleet.name)}/userinfo"
    return fleet.http(certificate).get(url, headers={"Authorization": f"Bearer {token}"})


def test_each_device_gets_tokens_with_its_own_claims(fleet: CertificateClients) -> None:
    """`sub` is the service account's, as in Keycloak; tokens are bound to the certificate."""
    first, second = (_token(fleet, number) for number in ("one", "two"))
    one, two = claims_of(first), claims_of(second)
    expected = {
        "domain": "acme.example",
        "site": "berlin",
        "device_id": "one",
        "realmgate_device": _device("one"),
    }
    assert {name: one[name] for name in expected} == expected
    assert (one["sub"], one["azp"]) == (two["sub"], "edge")
    assert (two["device_id"], one["cnf"] == two["cnf"]) == ("two", False)
    described = fleet.post("token/introspect", "one", {"client_id": "edge", "token": first}).json()
    shown = _userinfo(fleet, "one", first).json()
    for document in (described, shown):
        assert {name: document.get(name) for name in expected} == expected
    assert _userinfo(fleet, "two", first).status_code == 401


NO_DEVICES: tuple[tuple[str, ...], ...] = (
    ("uri:spiffe://acme.example/edge/berlin",),
    ("uri:spiffe://acme.example/edge/berlin/one/more",),
    ("uri:spiffe://acme.example/Edge/berlin/one",),
    ("uri:spiffe://acme.example/edge//one",),
    ("uri:spiffe://acme.example/edge/../one",),
    ("uri:spiffe://acme.example/edge/berlin/on%65",),
    ("uri:spiffe://acme.example/edge/berlin/one?x",),
    ("uri:SPIFFE://acme.example/edge/berlin/one",),
    (f"uri:spiffe://acme.example/edge/berlin/{'a' * 65}",),
    ("dns:spiffe://acme.example/edge/berlin/one",),
    # Two names of the template: which device would it be?
    ("uri:spiffe://acme.example/edge/berlin/one", "uri:spiffe://acme.example/edge/berlin/two"),
    ("dns:*.berlin.edge.example",),
    ("dns:one.berlin.edge.example.evil",),
    ("dns:one\0.berlin.edge.example",),
    (),
)


def test_a_name_that_does_not_fit_exactly_is_no_device(fleet: CertificateClients) -> None:
    """Attacks A15: placeholders are whole segments, everything else is compared as written."""
    for number, written in enumerate(NO_DEVICES):
        certificate = fleet.issue(f"none {number}", *written)
        for client_id in ("edge", "named"):
            assert not fleet.admitted(certificate, client_id), (client_id, written)
    named = claims_of(_token(fleet, fleet.issue("dns", "dns:One.Berlin.EDGE.example"), "named"))
    assert (named["device"], named["site"]) == ("one", "berlin")


def _subject(*relative_names: dict[str, str]) -> x509.Name:
    oids = {"CN": NameOID.COMMON_NAME, "OU": NameOID.ORGANIZATIONAL_UNIT_NAME}
    return x509.Name(
        [
            x509.RelativeDistinguishedName(
                x509.NameAttribute(oids[keyword], value) for keyword, value in rdn.items()
            )
            for rdn in relative_names
        ]
    )


NO_SUBJECTS: tuple[tuple[dict[str, str], ...], ...] = (
    ({"CN": "sensor-7"}, {"CN": "sensor-8"}),
    ({"CN": "sensor-7"}, {"CN": "anna"}),
    ({"CN": "sensor-7", "OU": "fleet"},),
    ({"OU": "sensor-7"},),
    ({"CN": "Sensor-7"},),
    ({"CN": "sensor-7-8"},),
    ({"CN": "sensor-7 "},),
    ({"CN": "sensor-7,OU=fleet"},),
    ({"CN": "sensor-\u0667"},),
    ({"CN": "sensor-"},),
)


def test_a_common_name_alone_is_a_device(fleet: CertificateClients) -> None:
    """Claims, quota and lock as for names of the alternative kinds; the rest may be anything."""
    for number in ("7", "8"):
        subject = _subject({"OU": f"line {number}"}, {"CN": f"sensor-{number}"})
        fleet.issue(f"sensor {number}", subject=subject)
    claims = claims_of(_token(fleet, "sensor 7", "by-name"))
    assert (claims["sensor"], claims["realmgate_device"]) == ("7", "sensor-7")
    path = f"clients/{fleet.id_of('by-name')}/device-locks"
    locked = {"device": "sensor-8", "seconds": 60}
    assert fleet.admin("POST", path, {**locked, "device": "anna"}).status_code == 400
    assert fleet.admin("POST", path, locked).is_success
    refused = fleet.token("sensor 8", "by-name")
    assert fleet.reason(refused) == "invalid_client: the device sensor-8 is locked"
    answers = [fleet.token("sensor 7", "by-name").status_code for _ in range(3)]
    assert answers == [200, 200, 429]


def test_an_unclear_subject_is_no_device(fleet: CertificateClients) -> None:
    """Attacks A15: which of two common names an authority has verified is not known."""
    for number, relative_names in enumerate(NO_SUBJECTS):
        kind = fleet.issue(f"unclear {number}", subject=_subject(*relative_names))
        assert not fleet.admitted(kind, "by-name"), relative_names
    fleet.issue("dns of a sensor", "dns:sensor-7", subject=_subject({"CN": "other"}))
    assert not fleet.admitted("dns of a sensor", "by-name")
    answer = fleet.token("unclear 0", "by-name")
    assert "the subject has cn several times" in fleet.reason(answer)


def test_an_administrator_locks_a_device_everywhere_at_once(fleet: CertificateClients) -> None:
    """For token, userinfo and introspection; the other devices of the client go on."""
    token, other = _token(fleet, "one"), _token(fleet, "two")
    path = f"clients/{fleet.id_of('edge')}/device-locks"
    locked = fleet.admin("POST", path, {"device": _device("one"), "seconds": 3600})
    assert (locked.status_code, locked.json()["cause"]) == (200, "administrator"), locked.text
    try:
        refused = fleet.token("one", "edge")
        assert refused.json()["error"] == "invalid_client"
        assert fleet.reason(refused) == f"invalid_client: the device {_device('one')} is locked"
        assert _userinfo(fleet, "one", token).status_code == 401
        asked = {"client_id": "edge", "token": token}
        assert fleet.post("token/introspect", "two", asked).json() == {"active": False}
        assert _userinfo(fleet, "two", other).status_code == 200
        assert fleet.admin("GET", path).json() == [locked.json()]
    finally:
        unlocked = fleet.stack.http.delete(
            f"{fleet.stack.nginx.https}/admin/realms/{fleet.name}/{path}",
            params={"device": _device("one")},
            headers={"Authorization": f"Bearer {fleet.stack.administrator()}"},
        )
    assert unlocked.status_code == 204
    assert _device("one") not in fleet.admin("GET", path).text
    assert _userinfo(fleet, "one", token).status_code == 200


SITE = {
    "name": "edge",
    "hosts": ["edge.example.test"],
    "rules": [{"name": "devices", "paths": ["/*"], "clients": ["edge"]}],
}


def _at_site(
    fleet: CertificateClients,
    certificate: str,
    token: str = "",
    *,
    host: str = "edge.example.test",
    verify: str = "SUCCESS",
    path: str = "/status",
) -> tuple[int, str]:
    """Ask the gateway as nginx does for a protected site, with a certificate by name or in PEM."""
    pem = certificate
    if not pem.startswith("-----"):
        pem = fleet.keeper.animals[certificate].certificate.read_text()
    headers = {
        "X-Original-Request": f"GET {path} HTTP/1.1",
        "X-Forwarded-Host": host,
        "X-Realmgate-Server": host,
        "X-Forwarded-Proto": "https",
        "X-Forwarded-For": "203.0.113.9",
        "ssl-client-cert": quote(pem, safe=""),
        "ssl-client-verify": verify,
    }
    if token:
        headers["Authorization"] = f"Bearer {token}"
    with fleet.stack.gateways[0].client() as http:
        answer = http.get("/.realmgate/guard/nginx", headers=headers)
    return answer.status_code, answer.headers.get("X-Realmgate-Reason", "")


def _is_refused(fleet: CertificateClients, certificate: str, token: str, reason: str) -> bool:
    return _at_site(fleet, certificate, token) == (401, reason)


def test_a_locked_device_reaches_no_protected_site(fleet: CertificateClients) -> None:
    """Neither with its token nor with its certificate alone; another device does."""
    made = fleet.admin("POST", "guard/sites", SITE)
    assert made.status_code == 201, made.text
    fleet.issue("at-site", f"uri:{_device('at-site')}")
    fleet.issue("no-device", "uri:urn:other")
    token = _token(fleet, "at-site")
    assert _at_site(fleet, "at-site") == _at_site(fleet, "at-site", token) == (200, "")
    assert _at_site(fleet, "no-device")[0] == 403
    path = f"clients/{fleet.id_of('edge')}/device-locks"
    lock = fleet.admin("POST", path, {"device": _device("at-site"), "seconds": 60})
    assert lock.status_code == 200
    for sent, reason in ((token, "invalid_token"), ("", "untrusted_certificate")):
        refused = partial(_is_refused, fleet, "at-site", sent, reason)
        # An identity is kept for half a second.
        until(refused, f"the device still passes: {reason}", deadline=2)
    assert _at_site(fleet, "one")[0] == 200


SUBJECT = "CN=twofold,O=Realmgate Demonstration"
OTHER_HOST = "names.example.test"
OTHER_SITE = {
    "name": "names",
    "hosts": [OTHER_HOST],
    "rules": [
        {"name": "client", "paths": ["/client/*"], "clients": ["twofold"]},
        {
            "name": "name",
            "paths": ["/*"],
            "certificates": [f"subject:{SUBJECT}"],
            "accepts": ["certificate"],
        },
    ],
}
DEVICES_OF_ONE_CERTIFICATE = {
    "one name": [_device("locked")],
    "two names": [_device("locked"), _device("free")],
    "many names": [_device("locked"), *(f"urn:name:{number}" for number in range(80))],
}


def test_a_locked_device_passes_by_no_other_name(fleet: CertificateClients) -> None:
    """Neither as another client that owns the certificate, nor by a name of the rule."""
    assert fleet.admin("POST", "clients", device("twofold", SUBJECT)).status_code == 201
    assert fleet.admin("POST", "guard/sites", OTHER_SITE).status_code == 201
    path = f"clients/{fleet.id_of('edge')}/device-locks"
    assert fleet.admin("POST", path, {"device": _device("locked"), "seconds": 60}).is_success
    fleet.issue("unlocked", f"uri:{_device('free')}", cn="twofold")
    passed = {}
    for kind, uris in DEVICES_OF_ONE_CERTIFICATE.items():
        fleet.issue(kind, *(f"uri:{uri}" for uri in uris), cn="twofold")
    for kind in ("unlocked", *DEVICES_OF_ONE_CERTIFICATE):
        for target in ("/client/", "/"):
            passed[kind, target] = _at_site(fleet, kind, host=OTHER_HOST, path=target)[0]
    assert passed == {each: 200 if "unlocked" in each else 401 for each in passed}


def test_the_command_line_locks_and_unlocks(fleet: CertificateClients) -> None:
    (gateway,) = fleet.stack.gateways
    on = ("--realm", fleet.name, "--client", "edge")
    device = ("certs", "device")
    said = fleet.stack.command(gateway, *device, "lock", _device("one"), *on, "--seconds", "60")
    assert said.startswith(f"device {_device('one')}: locked until 20")
    assert fleet.token("one", "edge").status_code == 401
    assert _device("one") in fleet.stack.command(gateway, *device, "list", *on)
    assert "unlocked" in fleet.stack.command(gateway, *device, "unlock", _device("one"), *on)
    assert fleet.token("one", "edge").status_code == 200
    fleet.stack.command(gateway, *device, "unlock", _device("one"), *on, code=1)
    fleet.stack.command(gateway, *device, "lock", "spiffe://acme.example/no", *on, code=2)


def _listed(fleet: CertificateClients, *options: str) -> list[dict[str, Any]]:
    (gateway,) = fleet.stack.gateways
    command = ("certs", "device", "list", "--all", "--realm", fleet.name, "--output", "json")
    found: list[dict[str, Any]] = json.loads(fleet.stack.command(gateway, *command, *options))
    return found


def test_every_device_that_was_seen_is_listed_with_its_state(
    fleet: CertificateClients, tmp_path: Path
) -> None:
    """Name, numbers and times; good, denied, locked or revoked, by command and admin API."""
    for number in ("listed", "barred", "stopped"):
        fleet.issue(number, f"uri:{_device(number)}")
        _token(fleet, number)
    parsed = x509.load_pem_x509_certificate(fleet.keeper.animals["listed"].certificate.read_bytes())
    kept = until(
        lambda: (
            {each.get("device") for each in _listed(fleet, "--client", "edge")}
            >= {_device("listed"), _device("barred"), _device("stopped")}
        ),
        "the devices are not stored",
        deadline=30,
    )
    assert kept
    (shown,) = _listed(fleet, "--search", "edge/berlin/listed")
    assert {name: shown[name] for name in ("device", "client", "spiffeId", "serial", "state")} == {
        "device": _device("listed"),
        "client": "edge",
        "spiffeId": _device("listed"),
        "serial": f"{parsed.serial_number:x}",
        "state": "good",
    }
    assert {"subject", "issuer", "firstSeen", "lastSeen", "lastToken", "notAfter"} <= shown.keys()
    (barred,) = _listed(fleet, "--search", "edge/berlin/barred")
    denied = {"issuer": barred["issuer"], "serial": barred["serial"]}
    assert fleet.admin("POST", "certificates/denied", denied).is_success
    path = f"clients/{fleet.id_of('edge')}/device-locks"
    locked = {"device": _device("stopped"), "seconds": 60}
    assert fleet.admin("POST", path, locked).is_success
    states = {
        each.get("device"): each["state"]
        for each in fleet.admin("GET", "certificates/devices").json()
    }
    expected = {"listed": "good", "barred": "denied", "stopped": "locked"}
    assert {name: states[_device(name)] for name in expected} == expected
    assert [each["device"] for each in _listed(fleet, "--state", "denied")] == [_device("barred")]
    assert fleet.admin("GET", "certificates/devices?state=bad").status_code == 400
    lists = tmp_path / "ca.crl"
    issuing = fleet.keeper.issuing
    revoked = list_of(
        Node(issuing.certificate, issuing.key),
        parsed,
        issued=datetime.now(UTC) - timedelta(hours=1),
    )
    lists.write_bytes(x509.load_der_x509_crl(revoked).public_bytes(Encoding.PEM))
    (gateway,) = fleet.stack.gateways
    command = ("certs", "device", "list", "--all", "--realm", fleet.name)
    newest = {
        "PATH": os.environ["PATH"],
        **fleet.stack.settings[gateway.pid],
        "REALMGATE_CLIENT_CA_FILE": str(fleet.stack.certificates.folder / "ca.crt"),
        "REALMGATE_CLIENT_CRL_FILE": str(lists),
    }
    done = run_command((*command, "--state", "revoked"), cwd=tmp_path, env=newest, timeout=30)
    assert done.returncode == 0, done.stderr
    assert [line.split()[:2] for line in done.stdout.splitlines()[1:]] == [
        [_device("listed"), "revoked"]
    ]
    heads = fleet.stack.command(gateway, *command).splitlines()[0]
    assert heads.startswith("DEVICE ")


def test_a_device_has_its_own_quota(fleet: CertificateClients) -> None:
    busy, calm = (fleet.issue(name, f"uri:urn://slow/{name}") for name in ("busy", "calm"))
    answers = [fleet.token(busy, "slow") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[-1].json()["error"] == "slow_down"
    assert answers[-1].headers["retry-after"] == "60"
    assert fleet.token(calm, "slow").status_code == 200


def test_refused_requests_lock_a_device(fleet: CertificateClients) -> None:
    """Its own failures alone, as often as the client says."""
    bad, good = (fleet.issue(name, f"uri:urn://strict/{name}") for name in ("bad", "good"))
    refused = [fleet.token(bad, "strict", scope="no-such-scope").status_code for _ in range(2)]
    assert refused == [400, 400]
    assert fleet.token(bad, "strict").status_code == 401
    assert fleet.token(good, "strict").status_code == 200
    path = f"clients/{fleet.id_of('strict')}/device-locks"
    (lock,) = fleet.admin("GET", path).json()
    assert (lock["device"], lock["cause"]) == ("urn://strict/bad", "failures")
    query = "events?type=USER_DISABLED_BY_TEMPORARY_LOCKOUT"

    def details() -> list[dict[str, str]]:
        return [event["details"] for event in fleet.admin("GET", query).json()]

    (event,) = until(details, "the lock has no event")
    assert (event["device"], event["num_failures"]) == ("urn://strict/bad", "2")


@contextmanager
def _nonces(fleet: CertificateClients) -> Iterator[None]:
    """Let the realm require nonces of DPoP proofs."""
    attributes = fleet.stack.ask(fleet.name).json()["attributes"]
    for_each = ({**attributes, DPOP_NONCE: choice} for choice in ("true", "false"))
    assert fleet.stack.put(fleet.name, {"attributes": next(for_each)}).is_success
    try:
        yield
    finally:
        assert fleet.stack.put(fleet.name, {"attributes": next(for_each)}).is_success


def test_an_answer_that_asks_to_go_on_is_no_refusal(fleet: CertificateClients) -> None:
    """Neither the first half of a conversation with nonces nor a poll locks a device."""
    name = fleet.issue("polite", "uri:urn://strict/polite")
    url = f"{fleet.stack.nginx.mtls}{protocol(fleet.name)}/token"
    form = {"grant_type": "client_credentials", "client_id": "strict"}
    with _nonces(fleet):
        for _ in range(3):
            proof = {"DPoP": ProofKey.new().proof("POST", url)}
            answer = fleet.http(name).post(url, data=form, headers=proof)
            assert answer.json()["error"] == "use_dpop_nonce"
    for _ in range(3):
        codes = fleet.post("auth/device", name, {"client_id": "strict"}).json()
        poll = {**form, "grant_type": DEVICE_CODE, "device_code": codes["device_code"]}
        assert fleet.post("token", name, poll).json()["error"] == "authorization_pending"
    assert fleet.token(name, "strict").status_code == 200


def test_a_client_with_anchors_of_its_own_has_devices_too(fleet: CertificateClients) -> None:
    """Claims, quota and protected sites, by an authority that the realm does not trust."""
    root = issue("vendor root", None, CA)
    path = f"clients/{fleet.id_of('vendor')}/certificates/authorities"
    assert fleet.admin("POST", path, {"certificate": root.pem}).status_code == 201
    site = {
        "name": "vendor",
        "hosts": ["vendor.example.test"],
        "rules": [{"name": "devices", "paths": ["/*"], "clients": ["vendor"]}],
    }
    assert fleet.admin("POST", "guard/sites", site).status_code == 201
    uri = x509.UniformResourceIdentifier("urn://vendor/press")
    pem, other = (
        issue("press", authority, x509.SubjectAlternativeName([uri])).pem
        for authority in (root, issue("vendor root", None, CA))
    )
    headers = {"ssl-client-cert": quote(pem, safe=""), "ssl-client-verify": "FAILED:no issuer"}
    form = {"grant_type": "client_credentials", "client_id": "vendor"}
    with fleet.stack.gateways[0].client(**headers) as http:
        answers = [http.post(f"{protocol(fleet.name)}/token", data=form) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429], answers[0].text
    assert claims_of(answers[0].json()["access_token"])["device"] == "press"
    at_site = partial(_at_site, fleet, host="vendor.example.test", verify="FAILED:no issuer")
    assert (at_site(pem)[0], at_site(other)) == (200, (401, "untrusted_certificate"))


REFUSED_TEMPLATES: tuple[tuple[dict[str, str], str], ...] = (
    ({"template": "spiffe://a/{site}/{site}", **BOUND}, "each only once"),
    ({"template": "spiffe://a/edge", **BOUND}, "at least one placeholder"),
    ({"template": "spiffe://a/x-{device}", **BOUND}, "a literal or one {placeholder}"),
    ({"template": "spiffe://a/[a-z]+/{device}", **BOUND}, "a literal or one {placeholder}"),
    ({"template": "spiffe://a/{Device}", **BOUND}, "a literal or one {placeholder}"),
    ({"template": "Spiffe://a/{device}", **BOUND}, "a lower-case scheme"),
    ({"template": f"urn://{'a/' * 20}{{device}}", **BOUND}, "at most 16 segments"),
    ({"template": URIS}, "a client with tls.client.certificate.bound.access.tokens"),
    ({"template": URIS, "san_dns": "a.example", **BOUND}, "exactly one name"),
    ({"template": "urn://a/{sub}", **BOUND}, "say nothing of subject"),
    ({"template": URIS, "template_claims": '{"site": "aud"}', **BOUND}, "say nothing of subject"),
    ({"template": URIS, "template_claims": '{"site": "device"}', **BOUND}, "claims that differ"),
    ({"template": URIS, "template_claims": '{"room": "r"}', **BOUND}, "the placeholders"),
    ({"template": URIS, "template_claims": "[]", **BOUND}, "a JSON object"),
    ({"template": URIS, "device_quota": "0", **BOUND}, "a whole number from 1"),
    ({"template": URIS, "device_lock": "soon", **BOUND}, "whole seconds"),
)


def test_a_template_that_would_not_work_is_refused(fleet: CertificateClients) -> None:
    for attributes, expected in REFUSED_TEMPLATES:
        answer = fleet.admin("POST", "clients", client("wrong", **attributes))
        assert (answer.status_code, expected in answer.text) == (400, True), answer.text
