"""What the gateway says about a certificate is what it does with it: admin API and command line."""

import json
import secrets
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID

from gateway.crypto.x509.development_pki import ClientOrder, issue_client, revoke_certificate
from gateway.http.certificate_lookup import LOOKUPS
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.chains import CA, Node, issue
from tests.support.gateway_process import until
from tests.support.tokens import claims_of
from tests.support.wire import device

ACCEPTED, REFUSED, BAD = 0, 1, 2
BAD_REQUEST, FORBIDDEN = 400, 403
EXPLAIN: Final = "certificates/explain"
GATEWAY: Final = "realmgate.certificates.gatewayAuthorities"
TEMPLATE: Final = "spiffe://plant/edge/{site}/{device}"
ROOT = issue("explained root", None, CA)
CONSTRAINTS = x509.NameConstraints([x509.DNSName("inside.example")], None)
NARROW = issue("narrow", ROOT, CA, CONSTRAINTS)
GOOD = issue("probe", ROOT)


def names(*values: x509.GeneralName) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName(values)


DEVICE = issue(
    "any", ROOT, names(x509.UniformResourceIdentifier("spiffe://plant/edge/ulm/press-7"))
)
LOCKED = issue(
    "any", ROOT, names(x509.UniformResourceIdentifier("spiffe://plant/edge/ulm/press-8"))
)
DENIED = issue("probe", ROOT)
WEAK = ec.generate_private_key(ec.SECP256K1())
KINDS: Final = {
    "expired": (issue("probe", ROOT, days=(-3, -2)), "probe", "validity", "it expired at"),
    "not yet": (issue("probe", ROOT, days=(1, 2)), "probe", "validity", "is not valid before"),
    "other authority": (
        issue("probe", issue("other", None, CA)),
        "probe",
        "path",
        "CN=other is not",
    ),
    "look-alike authority": (
        *(issue("probe", issue("explained root", None, CA)), "probe", "path"),
        "no path leads over CN=explained root",
    ),
    "for servers": (
        issue("probe", ROOT, x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])),
        *("probe", "path", "does not allow client authentication"),
    ),
    "weak key": (issue("probe", ROOT, key=WEAK), "probe", "path", "its key is weak"),
    "authority": (issue("probe", ROOT, CA), "probe", "path", "it is an authority's certificate"),
    "outside of the names": (
        *(issue("probe", NARROW, names(x509.DNSName("outside.example"))), "probe", "path"),
        "outside.example",
    ),
    "denied": (DENIED, "probe", "revocation", "it is on the deny list"),
    "another's": (issue("other", ROOT), "probe", "client", "subject is not the one registered"),
    "no device": (GOOD, "fleet", "client", f"{TEMPLATE}, compared with its uri names: it has none"),
    "locked device": (LOCKED, "fleet", "client", "is locked"),
    "disabled client": (GOOD, "off", "client", "the client is disabled"),
    "unknown client": (GOOD, "nobody", "client", "no such client"),
    "secret": (GOOD, "viewer", "client", ""),
}
"""Certificate, client, the step that fails and a part of the reason."""


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    roles = {"viewer": ["view-realm", "view-clients"], "half": ["view-realm"]}
    template = {
        "realmgate.certificate.template": TEMPLATE,
        "tls.client.certificate.bound.access.tokens": "true",
        "x509.subjectdn": "",
    }
    clients = [
        device("probe", "CN=probe"),
        {**device("off", "CN=probe"), "enabled": False},
        {**device("fleet", "", **template), "id": "fleet-id"},
        device("revoked", "CN=explained,OU=Devices,O=Realmgate Demonstration"),
    ]
    with administered_realm(administration, "of-explanations", roles, clients=clients) as made:
        for authority in (ROOT, NARROW):
            made.change("POST", "certificates/authorities", {"certificate": authority.pem})
        made.change("POST", "certificates/denied", {"thumbprint": DENIED.sha256})
        made.change("PUT", "", {"attributes": {**made.get("")["attributes"], GATEWAY: "true"}})
        made.administration.command(
            *("certs", "device", "lock", "spiffe://plant/edge/ulm/press-8"),
            *("--client", "fleet", "--realm", made.name, "--seconds", "600"),
        )
        yield made


def explain(realm: AdministeredRealm, pem: str, client: str | None = None) -> dict[str, Any]:
    document = {"certificate": pem} | ({} if client is None else {"client": client})
    answer = realm.ask("POST", EXPLAIN, document, by="viewer")
    assert answer.status_code == httpx2.codes.OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


def ask_for_token(
    realm: AdministeredRealm, pem: str, client: str | None
) -> tuple[httpx2.Response, str | None]:
    """Return the answer to a real token request, and the reason in the log."""
    request_id = secrets.token_hex(16)
    form = {"grant_type": "client_credentials"} | ({} if client is None else {"client_id": client})
    answer = realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/token",
        data=form,
        headers={
            "X-Forwarded-Proto": "https",
            "X-Request-Id": request_id,
            "ssl-client-cert": quote(pem, safe=""),
            "ssl-client-verify": "SUCCESS",
        },
    )
    log = realm.administration.gateway.log
    (line,) = until(
        lambda: [line for line in log() if line.get("request_id") == request_id],
        "the request is not in the log",
    )
    return answer, line["reason"].partition(": ")[2] if "reason" in line else None


def test_the_first_failing_step_is_the_reason_of_the_refusal(
    realm: AdministeredRealm,
) -> None:
    for kind, (node, client, step, part) in KINDS.items():
        found = explain(realm, node.pem, client)
        answer, reason = ask_for_token(realm, node.pem, client)
        assert not answer.is_success, kind
        assert found["decision"] == "refused", kind
        assert (found["failedStep"], found["reason"]) == (step, reason), kind
        assert part in (reason or ""), kind
        assert found["token"] is None, kind


def test_a_certificate_of_a_revocation_list_names_the_list(
    realm: AdministeredRealm, pki: Path
) -> None:
    now = datetime.now(UTC)
    issue_client(pki, "explained", ClientOrder("explained"), now=now, force=True)
    pem = (pki / "explained.crt").read_text()
    accepted = explain(realm, pem, "revoked")
    assert (accepted["decision"], accepted["path"]["anchorOf"]) == ("accepted", "settings")
    revoke_certificate(pki, x509.load_pem_x509_certificate(pem.encode()), now=now)
    found = explain(realm, pem, "revoked")
    _, reason = ask_for_token(realm, pem, "revoked")
    assert (found["failedStep"], found["reason"]) == ("revocation", reason)
    states = [(each["source"], each["state"]) for each in found["revocation"]]
    assert states == [
        ("deny list", "not revoked"),
        ("revocation list", "refused"),
        ("list of the realm", "not asked"),
        ("distribution point", "not asked"),
        ("OCSP", "not asked"),
    ]
    assert found["revocation"][1]["lists"][0]["issued"] <= now.isoformat()


def without_instance(claims: dict[str, Any]) -> dict[str, Any]:
    """Return the claims without those that differ between two tokens."""
    differing = {"iss", "iat", "exp", "jti", "clientHost", "clientAddress"}
    return {name: value for name, value in claims.items() if name not in differing}


@pytest.mark.parametrize("named", [True, False], ids=["named", "inferred"])
def test_an_accepted_certificate_has_the_claims_of_its_token(
    realm: AdministeredRealm, *, named: bool
) -> None:
    for node, client in ((GOOD, "probe"), (DEVICE, "fleet")):
        # Two clients have the subject of GOOD, one of which is disabled.
        found = explain(realm, node.pem, client if named else None)
        assert found["decision"] == "accepted", found
        assert found["match"]["client"] == client
        answer, _ = ask_for_token(realm, node.pem, client if named else None)
        token = dict(claims_of(answer.json()["access_token"]))
        assert without_instance(found["token"]) == without_instance(token)
        assert found["token"]["iss"] == token["iss"]
    assert found["match"]["rule"] == {"kind": "template", "value": TEMPLATE}
    assert found["match"]["device"]["variables"] == {"site": "ulm", "device": "press-7"}
    assert found["path"]["anchorOf"] == "realm"
    # The lists of the settings have none of an authority of the realm.
    states = {each["source"]: each["state"] for each in found["revocation"]}
    assert states["deny list"] == "not revoked"
    assert states["revocation list"] == "no list of its authorities"
    assert found["certificate"]["sha256"] == DEVICE.sha256


def test_an_explanation_changes_nothing(realm: AdministeredRealm) -> None:
    """Not the quota of the device, not its failures, no events of the admin API."""
    client = realm.get("clients/fleet-id")
    limits = {"device.quota": "1", "device.failures": "1", "device.lock": "60"}
    attributes = {f"realmgate.certificate.{name}": value for name, value in limits.items()}
    realm.change(
        "PUT", "clients/fleet-id", {**client, "attributes": {**client["attributes"], **attributes}}
    )
    before = realm.events()
    for _ in range(3):
        assert explain(realm, DEVICE.pem, "fleet")["decision"] == "accepted"
    assert realm.events() == before
    assert ask_for_token(realm, DEVICE.pem, "fleet")[0].is_success
    realm.change("PUT", "clients/fleet-id", client)


@pytest.mark.parametrize(
    "name",
    [
        "it is not known",
        "it is an authority's certificate",
        "there is no revocation list",
        "the issuer is not known",
    ],
)
def test_a_hint_belongs_to_the_reason_and_to_no_name(realm: AdministeredRealm, name: str) -> None:
    """A name of a certificate may have the words of another reason."""
    root = issue(name, None, CA)
    realm.change("POST", "certificates/authorities", {"certificate": root.pem})
    refused = explain(realm, issue("probe", issue(name, None, CA)).pem, "probe")
    assert refused["reason"].endswith(f"no path leads over CN={name} to a trusted root")
    assert refused["note"] is None
    strange = explain(realm, issue("probe", issue(f"{name} here", None, CA)).pem, "probe")
    assert strange["reason"].endswith(f"the issuer CN={name} here is not known")
    assert "realmgate certs authority add" in strange["note"]


def test_input_that_is_no_certificate_is_refused(realm: AdministeredRealm) -> None:
    inputs: tuple[object, ...] = (
        {},
        {"certificate": 1},
        {"certificate": "x" * 65_537},
        {"certificate": "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----"},
        {"certificate": GOOD.pem, "client": ""},
        {"certificate": GOOD.pem, "realm": "master"},
    )
    for document in inputs:
        assert realm.refused("POST", EXPLAIN, document, by="viewer")[0] == BAD_REQUEST, document
    broken = "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----"
    assert explain(realm, broken)["failedStep"] == "certificate"


def test_the_claims_of_clients_need_the_right_to_see_clients(realm: AdministeredRealm) -> None:
    status, _ = realm.refused("POST", EXPLAIN, {"certificate": GOOD.pem}, by="half")
    assert status == FORBIDDEN


def test_the_command_says_what_the_admin_api_says(realm: AdministeredRealm, tmp_path: Path) -> None:
    def run(node: Node, *options: str) -> tuple[int, str]:
        file = tmp_path / "leaf.der"
        file.write_bytes(node.der)
        command = ("certs", "explain", str(file), "--realm", realm.name, *options)
        done = realm.administration.command(*command)
        return done.exit_code, done.output

    code, text = run(DEVICE, "--json")
    assert code == ACCEPTED
    of_command, of_api = json.loads(text), explain(realm, DEVICE.pem)
    assert without_instance(of_command.pop("token")) == without_instance(of_api.pop("token"))
    # The shell of the test has not the gateway's setting of revocation lists.
    assert of_command.pop("revocation")[0] == of_api.pop("revocation")[0]
    assert of_command == of_api
    code, text = run(DENIED, "--client", "probe")
    assert code == REFUSED
    assert "reason    the client certificate is not trusted: it is on the deny list" in text
    assert run(DEVICE, "--realm", "no-such-realm")[0] == BAD


BELOW: Final = issue("not registered", ROOT, CA)
CHAINED: Final = issue("probe", BELOW)
LOOKUPS_IN_FORCE: Final[tuple[tuple[dict[str, str], bool], ...]] = (
    ({}, False),
    ({"CERTIFICATE_LOOKUP": "nginx"}, False),
    ({"CERTIFICATE_LOOKUP": "haproxy"}, False),
    ({"CERTIFICATE_LOOKUP": "haproxy", "CERTIFICATE_CHAIN_HEADER": "x-chain"}, True),
    ({"CERTIFICATE_LOOKUP": "apache"}, False),
    ({"CERTIFICATE_LOOKUP": "apache", "CERTIFICATE_CHAIN_PREFIX": "x-chain"}, True),
    ({"CERTIFICATE_LOOKUP": "envoy"}, True),
    ({"CERTIFICATE_LOOKUP": "traefik"}, True),
    ({"CERTIFICATE_LOOKUP": "rfc9440"}, True),
)
"""Settings, and whether the proxy can pass the certificates beside the leaf on."""


def test_the_chain_counts_only_where_the_proxy_passes_it(
    realm: AdministeredRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "chained.pem"
    file.write_text(CHAINED.pem + BELOW.pem)
    command = ("certs", "explain", str(file), "--realm", realm.name, "--client", "probe")
    for settings, passes in LOOKUPS_IN_FORCE:
        with monkeypatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(f"REALMGATE_{name}", value)
            done = realm.administration.command(*command)
            document = json.loads(realm.administration.command(*command, "--json").output)
        lookup = settings.get("CERTIFICATE_LOOKUP", "nginx")
        assert document["lookup"] == lookup
        assert document["ignoredCertificates"] == (0 if passes else 1), settings
        assert done.exit_code == (ACCEPTED if passes else REFUSED), (settings, done.output)
        dropped = f"proxy     {lookup} passes the certificate alone: 1 further certificate of the"
        assert (dropped in done.output) is not passes, done.output
    assert LOOKUPS.keys() == {each["CERTIFICATE_LOOKUP"] for each, _ in LOOKUPS_IN_FORCE[1:]}


def test_a_longer_chain_than_requests_may_have_is_refused(
    realm: AdministeredRealm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "chained.pem"
    file.write_text(CHAINED.pem + BELOW.pem + ROOT.pem)
    monkeypatch.setenv("REALMGATE_CERTIFICATE_LOOKUP", "traefik")
    done = realm.administration.command("certs", "explain", str(file), "--realm", realm.name)
    assert done.exit_code == REFUSED
    assert "chain of 2 certificates, 1 are allowed" in done.output


SELF_SIGNED: Final = issue("probe", None)
SELF_SIGNED_AUTHORITY: Final = issue("probe", None, CA)
NAMED: Final = issue(
    "stranger",
    ROOT,
    names(x509.DNSName("x.example"), x509.UniformResourceIdentifier("spiffe://plant/other")),
)
WITHOUT_CLIENT: Final = {
    "unknown": (NAMED, "no client owns the certificate: tried subject CN=stranger; DNS name x.ex"),
    "self-signed": (SELF_SIGNED, "its certificate is not trusted: it is self-signed: the issuer"),
    "CA:TRUE": (SELF_SIGNED_AUTHORITY, "it is an authority's certificate: self-signed with CA:TR"),
    "other": (KINDS["other authority"][0], "is not trusted: the issuer CN=other is not known"),
    "denied": (DENIED, "its certificate is not trusted: it is on the deny list"),
    "expired": (KINDS["expired"][0], "its certificate is not trusted: it expired at"),
}
"""Certificate, and a part of the reason."""


def test_without_client_id_the_log_says_why_no_client_was_found(
    realm: AdministeredRealm,
) -> None:
    for kind, (node, part) in WITHOUT_CLIENT.items():
        answer, reason = ask_for_token(realm, node.pem, None)
        assert answer.status_code == httpx2.codes.UNAUTHORIZED, kind
        assert (reason or "").startswith("the request names no client, and "), (kind, reason)
        assert part in (reason or ""), (kind, reason)
        # Names are for the log: callers learn no more than before.
        assert "stranger" not in answer.text
        explained = explain(realm, node.pem)["reason"].rpartition("not trusted: ")[2]
        assert (reason or "").endswith(explained), kind


def test_an_authority_is_told_how_a_client_certificate_is_made(realm: AdministeredRealm) -> None:
    found = explain(realm, SELF_SIGNED_AUTHORITY.pem, "probe")
    assert found["reason"].endswith("it is an authority's certificate: self-signed with CA:TRUE")
    assert "-addext basicConstraints=critical,CA:FALSE" in found["note"]
    assert explain(realm, NAMED.pem, "probe")["note"] is None
