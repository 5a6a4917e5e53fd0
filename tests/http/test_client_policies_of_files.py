"""Client policies judge the clients of partial imports and of whole realms.

Keycloak 26.7 judges none of them. The operator's files are stored, and refusals reported.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.http.test_client_policies_of_clients import CONFIGURED, REFUSED, SECURE
from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import ELLIPTIC, SECRET, Administration
from tests.support.client_policies import ANY_CLIENT, POLICIES, policies_of, policy

BUILT_IN: Final = ("account", "account-console", "admin-cli", "broker", "security-admin-console")


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with callers who may import clients."""
    administrators = {
        "clerk": ["manage-realm", "manage-clients"],
        "boss": ["manage-realm", "manage-clients", "manage-users"],
    }
    with administered_realm(administration, "judged-files", administrators) as made:
        yield made


def client(client_id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    wanted = {"clientId": client_id, "secret": SECRET, "redirectUris": [f"{SECURE}/cb"], **fields}
    return {name: value for name, value in wanted.items() if value is not None}


def holds(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    attributes = wanted.get("attributes", {})
    rest = {name: value for name, value in wanted.items() if name != "attributes"}
    return rest.items() <= found.items() and attributes.items() <= found["attributes"].items()


def with_policy(
    name: str,
    executor: str,
    configuration: Mapping[str, Any],
    *clients: Mapping[str, Any],
    conditions: Mapping[str, Mapping[str, Any]] = ANY_CLIENT,
) -> dict[str, Any]:
    """Return a realm file with clients and a policy of one executor."""
    entry = {"executor": executor, "configuration": dict(configuration)}
    return {
        "realm": name,
        **ELLIPTIC,
        "clientProfiles": {"profiles": [{"name": "own", "executors": [entry]}]},
        "clientPolicies": {"policies": [policy("own", conditions=conditions)]},
        "clients": list(clients),
    }


def test_a_partial_import_adds_no_client_that_a_policy_forbids(realm: AdministeredRealm) -> None:
    for place, (executor, configuration, fields, error, text) in enumerate(REFUSED):
        made = realm.change("POST", "clients", client(f"old-{place}", fields))
        before = realm.get(f"clients/{made}")
        with policies_of(realm, {executor: configuration}):
            for name, mode in ((f"new-{place}", "FAIL"), (f"old-{place}", "OVERWRITE")):
                sent = {"ifResourceExists": mode, "clients": [client(name, fields)]}
                explained = f"clients[{name}]: {text}"
                refusal = (400, {"error": error, "error_description": explained})
                assert realm.refused("POST", "partialImport", sent, by="clerk") == refusal, executor
            skipped = {"ifResourceExists": "SKIP", "clients": [client(f"old-{place}", fields)]}
            realm.change("POST", "partialImport", skipped, by="clerk")
        assert realm.get(f"clients?clientId=new-{place}") == []
        assert realm.get(f"clients/{made}") == before
        realm.change("DELETE", f"clients/{made}")


def test_a_partial_import_is_refused_as_a_whole(realm: AdministeredRealm) -> None:
    bad = {"clientId": "bad", "directAccessGrantsEnabled": True}
    sent = {"clients": [{"clientId": "good"}, bad]}
    with policies_of(realm, {"reject-ropc-grant": {}}):
        assert realm.refused("POST", "partialImport", sent)[0] == 400
    assert realm.get("clients?clientId=good") == []


def test_a_partial_import_gives_clients_what_policies_demand(realm: AdministeredRealm) -> None:
    for place, (executor, configuration, fields, wanted) in enumerate(CONFIGURED):
        sent = {"clients": [client(f"made-{place}", fields)]}
        with policies_of(realm, {executor: configuration}):
            realm.change("POST", "partialImport", sent, by="clerk")
        [made] = realm.get(f"clients?clientId=made-{place}")
        assert holds(made, wanted), executor
        realm.change("DELETE", f"clients/{made['id']}")


def test_a_partial_import_is_judged_as_that_of_its_caller(realm: AdministeredRealm) -> None:
    of_chiefs = {"client-updater-source-roles": {"roles": ["realm-management.manage-users"]}}
    with policies_of(realm, {"reject-request": {}}, of_chiefs):
        sent = {"clients": [{"clientId": "imported"}]}
        assert realm.refused("POST", "partialImport", sent, by="boss")[0] == 400
        realm.change("POST", "partialImport", sent, by="clerk")
    of_roles = {"client-roles": {"roles": ["payments"]}}
    with policies_of(realm, {"reject-request": {}}, of_roles):
        roles = {"client": {"paying": [{"name": "payments"}]}}
        paying = {"clients": [{"clientId": "paying"}], "roles": roles}
        assert realm.refused("POST", "partialImport", paying, by="clerk")[0] == 400
        other = {"clients": [{"clientId": "paying"}, {"clientId": "other"}]}
        realm.change("POST", "partialImport", other, by="clerk")


def test_no_realm_is_created_with_a_client_that_is_forbidden(
    administration: Administration,
) -> None:
    for executor, configuration, fields, error, text in REFUSED:
        document = with_policy("forbidding", executor, configuration, client("new", fields))
        answer = administration.ask("POST", "", document=document)
        refusal = {"error": error, "error_description": f"clients[new]: {text}"}
        assert (answer.status_code, answer.json()) == (400, refusal), executor
        assert administration.ask("GET", "forbidding").status_code == 404


def test_a_new_realm_gives_clients_what_its_policies_demand(
    administration: Administration,
) -> None:
    for executor, configuration, fields, wanted in CONFIGURED:
        document = with_policy(
            "of-policies-in-files", executor, configuration, client("new", fields)
        )
        made = administration.ask("POST", "", document=document)
        assert made.status_code == 201, made.text
        realm = AdministeredRealm(administration, "of-policies-in-files")
        [found] = realm.get("clients?clientId=new")
        assert holds(found, wanted), executor
        realm.change("DELETE", "")


def test_the_clients_of_every_realm_may_stand_in_a_file(administration: Administration) -> None:
    """They are made without policies, so an export with them would never be taken back."""
    listed = [{"clientId": name} for name in BUILT_IN]
    document = with_policy("listing", "reject-request", {}, *listed)
    made = administration.ask("POST", "", document=document)
    assert made.status_code == 201, made.text
    AdministeredRealm(administration, "listing").change("DELETE", "")


def test_files_of_the_operator_are_stored_and_refusals_reported(
    administration: Administration, tmp_path: Path
) -> None:
    conditions = {"client-access-type": {"type": ["public"]}}
    document = with_policy(
        *("reported", "reject-ropc-grant", {}),
        *(
            {"clientId": name, "publicClient": public, "directAccessGrantsEnabled": True}
            for name, public in (("open", True), ("closed", False))
        ),
        conditions=conditions,
    )
    file = tmp_path / "realm.json"
    file.write_text(json.dumps(document))
    refused = "clients[open]: a client policy of the realm refuses the client"
    planned = administration.command("realm", "plan", str(file))
    assert refused in planned.output
    for _ in range(2):
        done = administration.command("realm", "import", str(file))
        assert (done.exit_code, refused in done.output) == (0, True), done.output
        assert "clients[closed]" not in done.output
    administration.tokens.pop(("root", "master"), None)
    realm = AdministeredRealm(administration, "reported")
    [found] = realm.get("clients?clientId=open")
    assert found["directAccessGrantsEnabled"] is True
    realm.change("PUT", POLICIES, {"policies": []})
    realm.change("DELETE", "")
