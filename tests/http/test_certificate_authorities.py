"""Certificate authorities of realms and clients over the admin API, and whom they trust.

Attacks A6, A8, A14: a proxy that reports FAILED, a look-alike authority, the wrong authority.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from cryptography import x509

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.certificates import with_other_signature
from tests.support.chains import CA, Node, issue
from tests.support.made_realms import exported
from tests.support.wire import BOUND, SECRET, audience, claims_of, client, device, user

BAD, UNAUTHORIZED, FORBIDDEN, MISSING, CONFLICT = 400, 401, 403, 404, 409
AUTHORITIES, DENIED = "certificates/authorities", "certificates/denied"
OF_CLIENT = f"clients/own-id/{AUTHORITIES}"
OF_PINNED = f"clients/pinned-id/{AUTHORITIES}"
CASUBJECT = "x509.casubjectdn"
OF_SECRET = f"clients/secret-id/{AUTHORITIES}"
GATEWAY, POLICIES = "realmgate.certificates.gatewayAuthorities", "realmgate.certificates.policies"
POLICY, OTHER_POLICY = "1.3.6.1.4.1.55555.1", "1.3.6.1.4.1.55555.2"
FAILED = "FAILED:unable to verify the first certificate"


ROOT = issue("realm root", None, CA)
ISSUING = issue("realm issuing", ROOT, CA)
LEAF = issue("probe", ISSUING)
OF_ROOT = issue("probe", ROOT)
OTHER_ROOT = issue("client root", None, CA)
OTHER_LEAF = issue("probe", OTHER_ROOT)
NAMESAKE = issue("realm root", None, CA)
LOOK_ALIKE = issue("probe", NAMESAKE)
TWIN = Node(with_other_signature(LEAF.certificate), LEAF.key)
FORGED = issue("realm root", OTHER_ROOT, CA)
OF_FORGED = issue("probe", FORGED)

_GRANTS = {"serviceAccountsEnabled": True, "directAccessGrantsEnabled": True}
USERS_BY_CERTIFICATE: dict[str, Any] = {
    "authenticationFlows": [
        {
            "alias": "certificate",
            "providerId": "basic-flow",
            "topLevel": True,
            "authenticationExecutions": [
                {
                    "authenticator": "direct-grant-auth-x509-username",
                    "requirement": "REQUIRED",
                    "authenticatorConfig": "by name",
                }
            ],
        }
    ],
    "authenticatorConfig": [
        {
            "alias": "by name",
            "config": {
                "x509-cert-auth.mapping-source-selection": "Subject's Common Name",
                "x509-cert-auth.mapper-selection": "Username or Email",
            },
        }
    ],
    "directGrantFlow": "certificate",
}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    roles = {
        "viewer": ["view-realm"],
        "manager": ["manage-realm"],
        "chief": ["realm-admin"],
        "clerk": ["manage-clients", "view-clients"],
    }
    clients = [
        {**device("probe", "CN=probe"), "id": "probe-id"},
        {
            **device("own", "CN=probe", **BOUND),
            "id": "own-id",
            "protocolMappers": [audience("own"), audience("secret")],
        },
        {**device("pinned", "CN=probe", **{CASUBJECT: "CN=realm root"}), "id": "pinned-id"},
        {**client("secret", attributes=BOUND, **_GRANTS), "id": "secret-id"},
        {**device("installed", "CN=device-1,OU=Devices,O=Realmgate Demonstration"), "id": "i"},
    ]
    fields = {"clients": clients, "users": [user("alice")], **USERS_BY_CERTIFICATE}
    with administered_realm(administration, "of-authorities", roles, **fields) as made:
        yield made


@pytest.fixture(autouse=True)
def _no_authorities(realm: AdministeredRealm) -> Iterator[None]:
    yield
    for path in (AUTHORITIES, OF_CLIENT, OF_SECRET, OF_PINNED):
        for each in realm.get(path):
            realm.change("DELETE", f"{path}/{each['sha256']}")
    attributes = {**realm.get("")["attributes"], GATEWAY: "", POLICIES: ""}
    realm.change("PUT", "", {"attributes": attributes})


def add(realm: AdministeredRealm, *nodes: Node, path: str = AUTHORITIES, **fields: str) -> None:
    for node in nodes:
        realm.change("POST", path, {"certificate": node.pem, **fields})


def token(
    realm: AdministeredRealm,
    leaf: Node | str,
    client: str = "probe",
    verified: str = FAILED,
    **form: str,
) -> httpx2.Response:
    """Ask for a token with a certificate that the proxy does not know."""
    asked = {"grant_type": "client_credentials", "client_id": client, **form}
    return request(realm, "token", leaf, asked, verified)


def request(
    realm: AdministeredRealm,
    path: str,
    leaf: Node | str,
    form: dict[str, str],
    verified: str = FAILED,
) -> httpx2.Response:
    pem = leaf if isinstance(leaf, str) else leaf.pem
    return realm.administration.http.post(
        f"/realms/{realm.name}/protocol/openid-connect/{path}",
        data=form,
        headers={
            "X-Forwarded-Proto": "https",
            "ssl-client-cert": quote(pem, safe=""),
            "ssl-client-verify": verified,
        },
    )


def admits(realm: AdministeredRealm, leaf: Node | str, client: str = "probe", **how: str) -> bool:
    answer = token(realm, leaf, client, **how)
    assert answer.status_code in {httpx2.codes.OK, UNAUTHORIZED}, answer.text
    return answer.status_code == httpx2.codes.OK


def test_a_certificate_of_an_anchor_counts_despite_the_proxy(
    realm: AdministeredRealm,
) -> None:
    """Attacks A6, A14: the gateway's own check decides, over an intermediate of the store."""
    assert not admits(realm, LEAF)
    add(realm, ROOT)
    assert not admits(realm, LEAF)
    add(realm, ISSUING)
    assert admits(realm, LEAF)
    assert [each["kind"] for each in realm.get(AUTHORITIES)].count("anchor") == 1
    realm.change("DELETE", f"{AUTHORITIES}/{ROOT.sha256}")
    assert not admits(realm, LEAF)


def test_an_anchor_is_a_key_and_not_a_name(realm: AdministeredRealm) -> None:
    """Attack A8: a look-alike is refused, the same key in a new certificate is not."""
    add(realm, ROOT)
    assert not admits(realm, LOOK_ALIKE)
    realm.change("DELETE", f"{AUTHORITIES}/{ROOT.sha256}")
    add(realm, issue("realm root", None, CA, key=ROOT.key))
    assert admits(realm, OF_ROOT)


def test_an_authoritys_name_that_another_one_has_proves_nothing(
    realm: AdministeredRealm,
) -> None:
    """x509.casubjectdn, by an anchor or by an authority that another anchor has named so."""
    add(realm, ROOT)
    assert admits(realm, OF_ROOT, "pinned")
    reason = "several authorities may be named CN=realm root"
    for others, leaf in (((NAMESAKE,), LOOK_ALIKE), ((OTHER_ROOT, FORGED), OF_FORGED)):
        add(realm, *others)
        for each in (leaf, OF_ROOT):
            answer = token(realm, each, "pinned")
            assert (answer.status_code, reason in answer.text) == (UNAUTHORIZED, True), answer.text
            assert admits(realm, each), "a client that names no authority"
        asked = {"certificate": leaf.pem, "client": "pinned"}
        explained = realm.ask("POST", "certificates/explain", asked).json()
        assert reason in explained["reason"], explained
        add(realm, ROOT, path=OF_PINNED)
        assert (admits(realm, OF_ROOT, "pinned"), admits(realm, leaf, "pinned")) == (True, False)
        realm.change("DELETE", f"{OF_PINNED}/{ROOT.sha256}")
        for other in others:
            realm.change("DELETE", f"{AUTHORITIES}/{other.sha256}")
        assert admits(realm, OF_ROOT, "pinned")
    add(realm, issue("realm root", None, CA, key=ROOT.key))
    assert admits(realm, OF_ROOT, "pinned"), "the same key in another certificate"


def test_a_denied_certificate_is_refused_with_another_signature(realm: AdministeredRealm) -> None:
    """Anybody can compute the other ECDSA signature, and the thumbprint is another one then.

    A resource server that introspects a bound token sends no certificate. Spec: SEC 1 §4.1.4
    """
    add(realm, ROOT, ISSUING)
    assert admits(realm, TWIN)
    granted = token(realm, TWIN, "own").json()["access_token"]

    def active() -> bool:
        asked = {"client_id": "secret", "client_secret": SECRET, "token": granted}
        path = f"/realms/{realm.name}/protocol/openid-connect/token/introspect"
        return bool(realm.administration.http.post(path, data=asked).json()["active"])

    assert active()
    for denied in (LEAF, ISSUING):
        entry = realm.change("POST", DENIED, {"thumbprint": denied.sha256})
        assert (admits(realm, LEAF), admits(realm, TWIN)) == (False, False)
        assert not active() or denied is ISSUING
        realm.change("DELETE", f"{DENIED}/{entry}")
    assert admits(realm, TWIN)
    assert active()


def test_a_denied_authority_is_refused_with_another_signature(
    realm: AdministeredRealm, tmp_path: Path
) -> None:
    """A client sends it with its certificate; an intermediate is not registered."""
    add(realm, ROOT)
    file = tmp_path / "chained.pem"
    file.write_text(LEAF.pem + Node(with_other_signature(ISSUING.certificate), ISSUING.key).pem)
    command = ("certs", "explain", str(file), "--realm", realm.name, "--client", "probe", "--json")
    # A proxy that passes the chain on.
    passing = {"REALMGATE_CERTIFICATE_LOOKUP": "rfc9440"}

    def explained() -> dict[str, Any]:
        done = realm.administration.command(*command, variables=passing)
        return dict(json.loads(done.output))

    assert explained()["decision"] == "accepted"
    entry = realm.change("POST", DENIED, {"thumbprint": ISSUING.sha256})
    found = explained()
    realm.change("DELETE", f"{DENIED}/{entry}")
    assert "is on the deny list" in found["reason"], found


def test_an_intermediate_may_be_pinned_as_an_anchor(realm: AdministeredRealm) -> None:
    add(realm, ISSUING, kind="anchor")
    assert admits(realm, LEAF)
    assert not admits(realm, OF_ROOT)


def test_the_anchors_of_a_client_replace_those_of_its_realm(realm: AdministeredRealm) -> None:
    add(realm, ROOT)
    assert (admits(realm, OF_ROOT, "own"), admits(realm, OTHER_LEAF, "own")) == (True, False)
    add(realm, OTHER_ROOT, path=OF_CLIENT)
    assert (admits(realm, OF_ROOT, "own"), admits(realm, OTHER_LEAF, "own")) == (False, True)
    assert (admits(realm, OF_ROOT), admits(realm, OTHER_LEAF)) == (True, False)


def test_a_bound_token_is_used_under_the_anchors_of_its_client(
    realm: AdministeredRealm,
) -> None:
    """The realm has another anchor of that name, which alone would refuse the certificate."""
    add(realm, issue("client root", None, CA))
    add(realm, OTHER_ROOT, path=OF_CLIENT)
    granted = token(realm, OTHER_LEAF, "own", scope="openid").json()["access_token"]

    def used(leaf: Node) -> tuple[int, object]:
        asked = {"client_id": "own", "token": granted}
        introspected = request(realm, "token/introspect", leaf, asked)
        userinfo = request(realm, "userinfo", leaf, {"access_token": granted})
        return userinfo.status_code, introspected.json().get("active")

    assert used(OTHER_LEAF) == (200, True)
    assert used(LOOK_ALIKE) == (UNAUTHORIZED, None)
    realm.change("DELETE", f"{OF_CLIENT}/{OTHER_ROOT.sha256}")
    assert used(OTHER_LEAF) == (UNAUTHORIZED, None)


def test_a_secrets_token_binds_to_what_the_clients_anchors_trust(
    realm: AdministeredRealm,
) -> None:
    """The realm has another anchor of that name, which alone would refuse the certificate."""
    add(realm, issue("client root", None, CA))
    refused = token(realm, OTHER_LEAF, "secret", client_secret=SECRET)
    assert (refused.status_code, refused.json()["error"]) == (BAD, "invalid_request")
    add(realm, OTHER_ROOT, path=OF_SECRET)
    granted = token(realm, OTHER_LEAF, "secret", client_secret=SECRET)
    assert "x5t#S256" in claims_of(granted.json()["access_token"])["cnf"]


def test_the_anchors_of_a_client_name_no_users(realm: AdministeredRealm) -> None:
    """Who issues the certificates of a client does not issue those of the realm's users."""
    certificate = issue("alice", OTHER_ROOT)
    form = {"grant_type": "password", "client_id": "secret", "client_secret": SECRET}
    add(realm, OTHER_ROOT, path=OF_SECRET)
    refused = request(realm, "token", certificate, form)
    assert refused.status_code == UNAUTHORIZED, refused.text
    assert "CN=client root is not known" in refused.json()["error_description"]
    add(realm, OTHER_ROOT)
    granted = request(realm, "token", certificate, form)
    assert granted.status_code == httpx2.codes.OK, granted.text
    assert claims_of(granted.json()["access_token"])["preferred_username"] == "alice"


def test_a_realm_says_whether_the_anchors_of_the_settings_count(
    realm: AdministeredRealm, pki: Path
) -> None:
    """Decision 0020: with them, the proxy's verdict counts too."""
    installed = (pki / "device-1.crt").read_text()

    def counts(verified: str = "SUCCESS") -> bool:
        return admits(realm, installed, "installed", verified=verified)

    def say(value: str) -> None:
        attributes = realm.get("")["attributes"]
        realm.change("PUT", "", {"attributes": {**attributes, GATEWAY: value}})

    assert counts()
    say("false")
    assert not counts()
    add(realm, ROOT)
    say("")
    assert not counts()
    say("true")
    assert (counts(), counts(FAILED), admits(realm, OF_ROOT)) == (True, False, True)


def test_a_realm_requires_policies_of_certificates(realm: AdministeredRealm) -> None:
    """RFC 5280 §6.1.1 (c): the user-initial-policy-set."""
    information = x509.PolicyInformation(x509.ObjectIdentifier(POLICY), None)
    leaf = issue("probe", ROOT, x509.CertificatePolicies([information]))
    add(realm, ROOT)

    def require(policies: str) -> None:
        attributes = realm.get("")["attributes"]
        realm.change("PUT", "", {"attributes": {**attributes, POLICIES: policies}})

    require(f"{OTHER_POLICY} {POLICY}")
    assert (admits(realm, leaf), admits(realm, OF_ROOT)) == (True, False)
    require(OTHER_POLICY)
    assert not admits(realm, leaf)


def test_a_setting_that_cannot_be_read_is_refused(realm: AdministeredRealm) -> None:
    attributes = {**realm.get("")["attributes"], GATEWAY: "maybe", POLICIES: "any policy"}
    status, answer = realm.refused("PUT", "", {"attributes": attributes})
    assert status == BAD
    assert all(name in answer["errorMessage"] for name in (GATEWAY, POLICIES))


def test_only_one_certificate_of_an_authority_is_registered(realm: AdministeredRealm) -> None:
    allowed = "one certificate of an authority in PEM"
    for wrong, reason in (
        ("no certificate", "not one certificate in PEM"),
        (ROOT.pem + ISSUING.pem, "not one certificate in PEM"),
        (LEAF.pem, "is no authority"),
    ):
        status, answer = realm.refused("POST", AUTHORITIES, {"certificate": wrong})
        assert (status, reason in answer["errorMessage"]) == (BAD, True), answer
        assert allowed in answer["errorMessage"]
    status, answer = realm.refused("POST", AUTHORITIES, {"kind": "root", "other": 1})
    assert status == BAD
    assert all(name in answer["errorMessage"] for name in ("kind", "other", "certificate"))
    add(realm, ROOT)
    answer = realm.refused("POST", AUTHORITIES, {"certificate": ROOT.pem})
    assert answer == (CONFLICT, {"errorMessage": f"Authority {ROOT.sha256} already exists"})
    assert realm.refused("GET", f"{AUTHORITIES}/{LEAF.sha256}")[0] == MISSING
    assert realm.refused("DELETE", f"{AUTHORITIES}/{LEAF.sha256}")[0] == MISSING
    assert realm.refused("GET", f"clients/none/{AUTHORITIES}")[0] == MISSING


def test_an_authority_is_shown_with_what_its_certificate_says(realm: AdministeredRealm) -> None:
    add(realm, ROOT)
    shown = realm.get(f"{AUTHORITIES}/{ROOT.sha256}")
    assert shown["certificate"] == ROOT.pem
    assert (shown["subject"], shown["kind"]) == ("CN=realm root", "anchor")
    realm.change("DELETE", f"{AUTHORITIES}/{ROOT.sha256}")
    realm.change("POST", AUTHORITIES, shown)
    assert realm.get(AUTHORITIES) == [shown]
    operations = [event[:3] for event in realm.events() if event[2] and ROOT.sha256 in event[2]]
    assert operations[-1] == ("CREATE", "CUSTOM", f"{AUTHORITIES}/{ROOT.sha256}")


def test_authorities_need_the_roles_of_realm_and_client(realm: AdministeredRealm) -> None:
    document = {"certificate": ROOT.pem}
    assert realm.get(AUTHORITIES, by="viewer") == []
    of_realm = [(by, AUTHORITIES) for by in ("viewer", "clerk", "manager")]
    for by, path in (*of_realm, ("manager", OF_CLIENT)):
        assert realm.ask("POST", path, document, by=by).status_code == FORBIDDEN, (by, path)
    realm.change("POST", AUTHORITIES, document, by="chief")
    realm.change("POST", OF_CLIENT, document, by="clerk")
    for by, path in (*of_realm, ("manager", OF_CLIENT)):
        answer = realm.ask("DELETE", f"{path}/{ROOT.sha256}", by=by)
        assert answer.status_code == FORBIDDEN, (by, path)


def test_authorities_go_with_the_realm_file(realm: AdministeredRealm, tmp_path: Path) -> None:
    add(realm, ROOT, ISSUING)
    add(realm, OTHER_ROOT, path=OF_CLIENT)
    document = exported(realm.administration, realm.name)
    assert {each.get("client") for each in document["certificateAuthorities"]} == {None, "own"}
    before = [realm.get(path) for path in (AUTHORITIES, OF_CLIENT)]
    for path in (AUTHORITIES, OF_CLIENT, OF_SECRET):
        for each in realm.get(path):
            realm.change("DELETE", f"{path}/{each['sha256']}")
    file = tmp_path / "realm.json"
    file.write_text(json.dumps(document))
    done = realm.administration.command("realm", "import", str(file))
    assert done.exit_code == 0, done.output
    assert [realm.get(path) for path in (AUTHORITIES, OF_CLIENT)] == before
    assert admits(realm, LEAF)

    wrong: list[dict[str, Any]] = [{"certificate": LEAF.pem}, {"client": "none"}]
    file.write_text(json.dumps({"realm": realm.name, "certificateAuthorities": wrong}))
    refused = realm.administration.command("realm", "import", str(file))
    assert refused.exit_code == 2
    assert "certificateAuthorities[1].certificate" in refused.output


def test_an_operator_registers_authorities_on_the_command_line(
    realm: AdministeredRealm, tmp_path: Path
) -> None:
    bundle = tmp_path / "bundle.pem"
    bundle.write_text(f"{ROOT.pem}\n{ISSUING.pem}")

    def run(*arguments: str) -> str:
        done = realm.administration.command("certs", "authority", *arguments, "--realm", realm.name)
        assert done.exit_code == 0, done.output
        return done.output

    lines = run("add", str(bundle)).splitlines()
    assert sorted(line.split()[0] for line in lines) == ["Note:", "anchor", "intermediate"]
    assert admits(realm, LEAF)
    assert "CN=realm issuing" in run("list")
    assert json.loads(run("show", ROOT.sha256[:10]))["kind"] == "anchor"
    own = run("add", str(bundle), "--client", "own", "--kind", "anchor")
    assert own.count("For the client own only its own anchors count") == 1
    assert [each["kind"] for each in realm.get(OF_CLIENT)] == ["anchor", "anchor"]
    assert not admits(realm, OTHER_LEAF, "own")
    run("remove", ROOT.sha256, "--yes")
    assert not admits(realm, LEAF)
    assert admits(realm, LEAF, "own")
    assert SECRET not in run("list", "--output", "json")


def test_the_first_anchor_of_a_realm_warns_that_defaults_end(
    realm: AdministeredRealm, tmp_path: Path
) -> None:
    """The certificates of the settings' authorities are refused from then on."""

    def add_file(node: Node) -> str:
        file = tmp_path / "ca.pem"
        file.write_text(node.pem)
        arguments = ("certs", "authority", "add", str(file), "--realm", realm.name)
        return realm.administration.command(*arguments).output

    assert f'{GATEWAY}": "true"}}\'' in add_file(ROOT)
    assert "Note" not in add_file(OTHER_ROOT)
    for each in (ROOT, OTHER_ROOT):
        realm.change("DELETE", f"{AUTHORITIES}/{each.sha256}")
    attributes = realm.get("")["attributes"]
    realm.change("PUT", "", {"attributes": {**attributes, GATEWAY: "true"}})
    assert "Note" not in add_file(ROOT)
    assert "Note" not in add_file(issue("realm root", None, CA, key=ROOT.key)), "the same key"
    assert "Another authority of the realm is named CN=realm root." in add_file(NAMESAKE)
