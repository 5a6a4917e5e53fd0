"""What is refused of a sent client, with what it says, and that nothing is written of it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

EXACT = {"x509.allow.regex.pattern.comparison": "false"}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with one client."""
    client = {"id": "known-id", "clientId": "known", "enabled": True}
    with administered_realm(
        administration, "of-client-input", {"manager": ["manage-clients"]}, clients=[client]
    ) as made:
        yield made


def refused(realm: AdministeredRealm, fields: dict[str, Any]) -> Any:
    """Send fields of a new and of a known client; return the status and text of both refusals."""
    before = realm.get("clients")
    found = realm.refused("POST", "clients", {"clientId": "refused", **fields})
    assert realm.refused("PUT", "clients/known-id", fields) == found
    assert realm.get("clients") == before
    return found


@pytest.mark.parametrize(
    ("attributes", "allowed"),
    [
        (
            {"x509.subjectdn": "CN=a", "x509.allow.regex.pattern.comparison": "maybe"},
            'attributes.x509.allow.regex.pattern.comparison: "maybe" given, "true" or "false"',
        ),
        (
            {"x509.subjectdn": "CN", **EXACT},
            "a distinguished name such as CN=device-1,O=Example expected",
        ),
        ({"x509.subjectdn": "((("}, "a regular expression, or"),
        ({"x509.subjectdn": "(a+)+"}, "may match for hours"),
        (
            {"x509.subjectdn": "CN=a", "x509.casubjectdn": "Device CA"},
            "a distinguished name such as CN=Device CA,O=Example expected",
        ),
    ],
)
def test_an_invalid_subject_of_a_certificate_client_is_explained(
    realm: AdministeredRealm, attributes: dict[str, str], allowed: str
) -> None:
    fields = {"clientAuthenticatorType": "client-x509", "attributes": attributes}
    status, document = refused(realm, fields)
    assert (status, list(document)) == (400, ["errorMessage"])
    assert allowed in document["errorMessage"]


def test_a_slip_that_would_leave_tokens_unbound_is_told(realm: AdministeredRealm) -> None:
    fields = {"attributes": {"tls.client.certificate.bound.access.tokens": "yes"}}
    status, document = refused(realm, fields)
    assert status == 400
    assert document["errorMessage"] == (
        'attributes.tls.client.certificate.bound.access.tokens: "yes" given,'
        ' "true" or "false" expected'
    )


def test_addresses_are_refused_in_keycloaks_words(realm: AdministeredRealm) -> None:
    """attacks: C2."""
    fields = {
        "redirectUris": ["http://a/b#c", "javascript:x"],
        "rootUrl": "data:s",
        "attributes": {"logoUri": "no url"},
    }
    texts = (
        "Root URL uses an illegal scheme; Logo URL is not a valid URL;"
        " A redirect URI must not contain an URL fragment; A redirect URI uses an illegal scheme"
    )
    assert refused(realm, fields) == (400, {"error": "invalid_input", "error_description": texts})


def test_an_address_that_was_wrong_before_is_no_hindrance(administration: Administration) -> None:
    client = {"id": "old-id", "clientId": "old", "redirectUris": ["a#b"], "enabled": True}
    with administered_realm(administration, "of-old-clients", {}, clients=[client]) as realm:
        realm.change("PUT", "clients/old-id", realm.get("clients/old-id"))
        realm.change("PUT", "clients/old-id", {"name": "new"})
        assert realm.refused("PUT", "clients/old-id", {"redirectUris": ["a#b", "c:#d"]})[0] == 400


def test_a_blank_name_is_refused(realm: AdministeredRealm) -> None:
    refusal = {"error": "invalid_input", "error_description": "Client ID cannot be blank"}
    assert refused(realm, {"clientId": ""}) == (400, refusal)


def test_an_unknown_field_is_named(realm: AdministeredRealm) -> None:
    status, document = refused(realm, {"bogus": 1})
    assert status == 400
    assert document["error"].startswith(
        'Invalid json representation for ClientRepresentation. Unrecognized field "bogus"'
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"clientId": []},
        {"clientId": " x"},
        {"clientId": "x" * 256},
        {"clientId": "\0"},
        {"clientId": "\ud800"},
        {"enabled": "yes"},
        {"redirectUris": "x"},
        {"redirectUris": [[]]},
        {"redirectUris": ["x" * 2001]},
        {"attributes": ["x"]},
        {"attributes": {"a": ["x"]}},
        {"attributes": {"a": "\0"}},
        {"attributes": {"a": "x" * 100_001}},
        {"name": "x" * 256},
        {"notBefore": -1},
        {"notBefore": 10**20},
        {"protocol": "foo"},
        {"clientAuthenticatorType": "foo"},
        {"secret": "x" * 4001},
        {"secret": []},
        {"protocolMappers": [{}]},
        {"protocolMappers": {"name": "m"}},
        {"registeredNodes": [1]},
        {"authenticationFlowBindingOverrides": {"browser": json.loads("[" * 40 + "]" * 40)}},
        {"webOrigins": ["x"] * 1001},
        {"client_id": "a", "clientId": "b"},
    ],
)
def test_a_value_of_another_kind_or_size_is_refused(
    realm: AdministeredRealm, fields: dict[str, Any]
) -> None:
    status, _ = refused(realm, fields)
    assert status == 400


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'"x"', 400),
        (b'{"clientId":"a","clientId":"b"}', 400),
        (b'{"clientId":"\xff"}', 400),
        (b'{"name":"' + b"x" * 1_100_000 + b'"}', 413),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("POST", "clients"), ("PUT", "clients/known-id")])
def test_a_body_that_is_no_client_is_refused(
    realm: AdministeredRealm, method: str, path: str, body: bytes, status: int
) -> None:
    before = realm.get("clients")
    url, headers = f"{realm.name}/{path}", {"Connection": "close"}
    response = realm.administration.ask(method, url, content=body, headers=headers)
    assert response.status_code == status
    assert realm.get("clients") == before


def test_changes_are_recorded_without_their_secrets(realm: AdministeredRealm) -> None:
    seen = len(realm.events())
    made = realm.change("POST", "clients", {"clientId": "recorded", "secret": "hidden"})
    path = f"clients/{made}"
    realm.change("PUT", path, {"name": "N", "secret": "hidden too"})
    realm.change("DELETE", path)
    realm.refused("DELETE", path)
    assert realm.events()[seen:] == [
        ("CREATE", "CLIENT", path, {"id": made, "clientId": "recorded", "secret": "**********"}),
        ("UPDATE", "CLIENT", path, {"name": "N", "secret": "**********"}),
        ("DELETE", "CLIENT", path, {"id": made, "clientId": "recorded"}),
    ]


def mapper(claim: str, kind: str = "oidc-hardcoded-claim-mapper") -> dict[str, Any]:
    """Return a mapper that says x."""
    config = {"claim.name": claim, "claim.value": "x", "access.token.claim": "true"}
    return {
        "name": f"says {claim}",
        "protocol": "openid-connect",
        "protocolMapper": kind,
        "config": config,
    }


@pytest.mark.parametrize("claim", ["exp", "realm_access.roles"])
def test_a_mapper_that_would_forge_what_tokens_stand_for_is_told(
    realm: AdministeredRealm, claim: str
) -> None:
    fields = {"protocolMappers": [mapper("allowed"), mapper(claim)]}
    text = (
        f'protocolMappers[1].config.claim.name: "{claim}" given,'
        " a claim that the protocol does not need for itself expected"
    )
    assert refused(realm, fields) == (400, {"errorMessage": text})


def test_mappers_of_an_unknown_kind_are_kept(realm: AdministeredRealm) -> None:
    document = {"clientId": "extended", "protocolMappers": [mapper("m", kind="oidc-own-mapper")]}
    path = f"clients/{realm.change('POST', 'clients', document)}"
    (kept,) = realm.get(path)["protocolMappers"]
    assert kept["protocolMapper"] == "oidc-own-mapper"
    added = [kept, mapper("n", kind="oidc-own-mapper-2")]
    realm.change("PUT", path, {"protocolMappers": added})
    assert len(realm.get(path)["protocolMappers"]) == 2


def test_a_mapper_that_was_there_hinders_no_change(
    realm: AdministeredRealm, tmp_path: Path
) -> None:
    old = {"id": "old-id", "clientId": "old", "protocolMappers": [mapper("exp")]}
    file = tmp_path / "realm.json"
    file.write_text(json.dumps({"realm": realm.name, "clients": [old]}))
    imported = realm.administration.command("realm", "import", str(file))
    assert imported.exit_code == 0, imported.output
    found = realm.get("clients/old-id")
    assert found["protocolMappers"][0]["config"]["claim.name"] == "exp"
    realm.change("PUT", "clients/old-id", {**found, "name": "changed"})
    assert realm.get("clients/old-id")["name"] == "changed"
    worse = {**found["protocolMappers"][0], "name": "renamed"}
    answer = realm.refused("PUT", "clients/old-id", {"protocolMappers": [worse]})
    assert answer[0] == 400
