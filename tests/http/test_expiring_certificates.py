"""What expires: listed by the admin API and the command line, and counted by metrics."""

import base64
import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.chains import CA, KEYS, Node, issue
from tests.support.gateway_process import until
from tests.support.wire import SECRET, client, device

BAD, FORBIDDEN, OK = 400, 403, 200
EXPIRING = "certificates/expiring"
ROOT = issue("expiry root", None, CA, key=KEYS[0], days=(-700, 25))
LEAF = issue("till", ROOT, key=KEYS[1], days=(-300, 20))
REGISTERED = issue("registered", None, key=KEYS[1], days=(-300, 10))
IN_A_SET = issue("in a set", None, key=KEYS[2], days=(-300, 5))
LATER = issue("later", None, key=KEYS[2], days=(-300, 300))
SHORT = issue("short", None, key=KEYS[2], days=(-1, 3))


def _base64(node: Node) -> str:
    return base64.b64encode(node.der).decode()


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    roles = {"viewer": ["view-realm"], "people": ["manage-users"]}
    key_set = json.dumps({"keys": [{"x5c": [_base64(node)]} for node in (IN_A_SET, LATER, SHORT)]})
    clients = [
        device("till", "CN=till"),
        client("by-certificate", attributes={"jwt.credential.certificate": _base64(REGISTERED)}),
        client("by-set", attributes={"jwks.string": key_set, "use.jwks.string": "true"}),
        client("unused", attributes={"jwks.string": key_set}),
    ]
    with administered_realm(administration, "of-expiry", roles, clients=clients) as made:
        made.change("POST", "certificates/authorities", {"certificate": ROOT.pem})
        yield made


def use_certificate(realm: AdministeredRealm, leaf: Node) -> int:
    return realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/token",
        data={"grant_type": "client_credentials", "client_id": "till"},
        headers=_certificate_headers(leaf),
    ).status_code


def _certificate_headers(leaf: Node) -> dict[str, str]:
    return {
        "X-Forwarded-Proto": "https",
        "ssl-client-cert": quote(leaf.pem, safe=""),
        "ssl-client-verify": "FAILED:unable to verify the first certificate",
    }


def test_no_token_makes_a_device_of_an_untrusted_certificate(realm: AdministeredRealm) -> None:
    """A public client gets tokens with any certificate; a trusted one is listed after them."""
    denied = issue("denied", ROOT, key=KEYS[2], days=(-300, 50))
    realm.change("POST", "certificates/denied", {"thumbprint": sha256(denied.der).hexdigest()})
    refused = [issue(f"self-made {number}", None, key=KEYS[2]) for number in range(3)]
    trusted = issue("trusted", ROOT, key=KEYS[2], days=(-300, 70))
    for leaf in (*refused, denied, trusted):
        answer = realm.administration.http.post(
            f"/realms/{realm.name}/protocol/openid-connect/token",
            data={"grant_type": "client_credentials", "client_id": "unused"}
            | {"client_secret": SECRET},
            headers=_certificate_headers(leaf),
        )
        assert answer.status_code == OK, answer.text
    presented = ("client-certificate", "CN=trusted", "client unused")
    until(lambda: presented in found(realm, "?days=3650"), "the certificate is not listed")
    listed = {subject for kind, subject, _ in found(realm, "?all=true") if kind == presented[0]}
    assert {subject for subject in listed if "self-made" in subject or "denied" in subject} == set()


def found(realm: AdministeredRealm, query: str = "") -> list[tuple[str, str, str]]:
    rows: list[dict[str, Any]] = realm.get(f"{EXPIRING}{query}", by="viewer")
    return [(each["kind"], each["subject"], each["owner"]) for each in rows]


def test_own_and_presented_certificates_are_listed_by_expiry(
    realm: AdministeredRealm,
) -> None:
    stored = [
        ("registered-certificate", "CN=in a set", "client by-set"),
        ("registered-certificate", "CN=registered", "client by-certificate"),
    ]
    root = ("authority", "CN=expiry root", "realm of-expiry")
    assert found(realm) == [*stored, root]
    stranger = issue("stranger", issue("expiry root", None, CA, key=KEYS[2]), key=KEYS[1])
    assert (use_certificate(realm, stranger), use_certificate(realm, LEAF)) == (401, OK)
    presented = ("client-certificate", "CN=till", "client till")
    until(lambda: found(realm) == [*stored, presented, root], "the certificate is not listed")
    assert found(realm, "?days=7") == stored[:1]
    assert found(realm, "?first=1&max=2") == [stored[1], presented]
    everything = found(realm, "?all=true")
    assert ("registered-certificate", "CN=later", "client by-set") in everything
    assert "CN=stranger" not in {subject for _, subject, _ in everything}
    assert "realm-key" in {kind for kind, _, _ in everything}
    entry = realm.get(f"{EXPIRING}?days=22", by="viewer")[2]
    assert entry["renewal"] == "at its issuer, CN=expiry root"
    assert entry["notAfter"] == LEAF.certificate.not_valid_after_utc.isoformat()


def test_a_refused_request_reveals_no_user_of_a_certificate(
    realm: AdministeredRealm,
) -> None:
    stray = issue("stray", ROOT, key=KEYS[2], days=(-300, 60))
    answer = realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/token/introspect",
        data={"client_id": "by-certificate", "client_secret": SECRET, "token": "no token"},
        headers=_certificate_headers(stray),
    )
    assert answer.json() == {"active": False}
    presented = ("client-certificate", "CN=stray", "not known")
    until(lambda: presented in found(realm, "?days=90"), "the certificate is not listed")


def test_days_ahead_are_bounded_and_the_list_needs_view_realm(
    realm: AdministeredRealm,
) -> None:
    for days in ("-1", "3651", "2000000000"):
        assert realm.refused("GET", f"{EXPIRING}?days={days}")[0] == BAD
    assert realm.refused("GET", EXPIRING, by="people")[0] == FORBIDDEN


def test_the_command_lists_what_is_due_and_exits_with_1(realm: AdministeredRealm) -> None:
    def run(*arguments: str, code: int) -> str:
        done = realm.administration.command("certs", "expiring", *arguments)
        assert done.exit_code == code, done.output
        return done.output

    of_realm = ("--realm", realm.name)
    heads, *lines = run(*of_realm, "--within", "2w", code=1).splitlines()
    assert heads.split() == ["EXPIRES", "IN", "REALM", "KIND", "SUBJECT", "OWNER", "RENEW"]
    names = ["in a set", "registered"]
    assert [line.split("CN=")[1].split("  ")[0] for line in lines] == names
    assert "client by-set" in lines[0]
    assert "  4 days  " in lines[0]
    assert run(*of_realm, "--within", "12h", code=0) == "nothing within 12 hours\n"
    assert run(*of_realm, "--within", "1d", code=0) == "nothing within 1 day\n"
    assert json.loads(run(*of_realm, "--within", "1d", "--output", "json", code=0)) == []
    listed = json.loads(run(*of_realm, "--within", "2w", "--output", "json", code=1))
    assert [each["subject"] for each in listed] == [f"CN={name}" for name in names]
    assert "CN=short" in run(*of_realm, "--within", "12h", "--all", code=0)
    assert "authority" in run("--all", code=1)
    for wrong in ("30", "-1d", "9999w"):
        assert "use hours, days or weeks" in run("--within", wrong, code=2)
    assert "no-such" in run("--realm", "no-such", code=2)
