"""Making realms over the admin API. Keycloak: 7.1 (POST realms), 9 (`create-realm`)."""

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest

from gateway.admin.access.rights import AdminRole
from tests.support.administration import ELLIPTIC, PASSWORD, SECRET, Administration
from tests.support.made_realms import (
    CHEAP,
    CREATED,
    DONE,
    OK,
    clients_of,
    import_realm,
    make,
    shown,
    told,
)

UNREADABLE = "unable to read contents from stream"


def test_a_new_realm_has_a_location_and_an_id_and_is_off(administration: Administration) -> None:
    made = administration.ask("POST", "", document={"realm": "plain-new", **CHEAP})
    assert made.status_code == CREATED
    assert made.headers["location"] == "https://gateway.test/admin/realms/plain-new"
    assert made.content == b""
    found = shown(administration, "plain-new")
    assert str(UUID(found["id"])) == found["id"]
    assert (found["enabled"], found["accessTokenLifespan"]) == (False, 300)
    role = found["defaultRole"]
    assert role.pop("id") != found["id"]
    assert role == {
        "name": "default-roles-plain-new",
        "description": "${role_default-roles}",
        "composite": True,
        "clientRole": False,
        "containerId": found["id"],
    }
    order = list(found)
    assert order[order.index("defaultRole") + 1] == "requiredCredentials"
    assert "https://gateway.test/admin/realms/" not in administration.ask("GET", "").text
    assert administration.ask("DELETE", "plain-new").status_code == DONE


def test_a_realm_brings_its_users_clients_roles_and_groups(
    administration: Administration,
) -> None:
    make(
        administration,
        "whole",
        id="an-id-of-its-own",
        clients=[{"clientId": "shop", "secret": SECRET, "serviceAccountsEnabled": True}],
        roles={"realm": [{"name": "buyer"}], "client": {"shop": [{"name": "seller"}]}},
        groups=[{"name": "staff", "realmRoles": ["buyer"]}],
        users=[
            {
                "username": "mia",
                "enabled": True,
                "credentials": [{"type": "password", "value": PASSWORD}],
                "clientRoles": {"shop": ["seller"]},
                "groups": ["/staff"],
            }
        ],
    )
    assert shown(administration, "whole")["id"] == "an-id-of-its-own"
    assert administration.sign_in("mia", realm="whole") == OK
    assert administration.fresh_token("shop", "whole")
    assert administration.ask("DELETE", "whole").status_code == DONE


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({"realm": "acme"}, 409, "Realm acme already exists"),
        ({"realm": "free", "id": "acme"}, 409, "Realm with id acme already exists"),
        ({"realm": ""}, 400, "Realm name cannot be empty"),
        ({"realm": None}, 400, "Realm name cannot be empty"),
        ({}, 400, "Realm name cannot be empty"),
        ([], 400, UNREADABLE),
        ({"realm": "bad", "colour": 1}, 400, 'Unrecognized field "colour"'),
        ({"realm": "bad", "colour": None}, 400, 'Unrecognized field "colour"'),
        ({"realm": "bad", "users": [{"hat": 1}]}, 400, 'UserRepresentation. Unrecognized field "h'),
        ({"realm": "bad", "clients": [{"clientId": "a", "hat": 1}]}, 400, "ClientRepresentation"),
        ({"realm": "bad", "enabled": "perhaps"}, 400, "enabled"),
        ({"realm": "bad", "accessTokenLifespan": 2**70}, 400, UNREADABLE),
        ({"realm": "bad", "accessTokenLifespan": -1}, 400, "accessTokenLifespan"),
        ({"realm": "bad", "attributes": []}, 400, "attributes"),
        ({"realm": "a/b"}, 400, "realm"),
        ({"realm": "x" * 256}, 400, "realm"),
        ({"realm": ["x"]}, 400, "realm"),
        ({"realm": "bad", "passwordPolicy": "foo(3)"}, 400, "passwordPolicy"),
        ({"realm": "bad", "clients": [{"clientId": "a"}, {"clientId": "a"}]}, 409, "twice"),
        ({"realm": "bad", "users": [{"username": "a", "clientRoles": {"no": ["r"]}}]}, 400, "no"),
        (
            {"realm": "bad", "users": [{"id": "1", "username": "a"}, {"id": "1", "username": "b"}]},
            409,
            "exists",
        ),
        ({"realm": "bad", "displayName": "nul\0"}, 400, UNREADABLE),
    ],
)
def test_a_realm_that_cannot_be_created_leaves_no_trace(
    administration: Administration, document: object, status: int, text: str
) -> None:
    before = administration.ask("GET", "?briefRepresentation=true").json()
    response = administration.ask("POST", "", document=document)
    code, said = told(response)
    assert code == status
    assert text in said
    assert administration.ask("GET", "?briefRepresentation=true").json() == before
    assert administration.ask("GET", "bad").status_code == 404
    assert "bad-realm" not in clients_of(administration, "master")


@pytest.mark.parametrize("content", [b"", b"{", b'{"realm":"\xff"}', b'{"a":1,"a":}', b"[" * 99])
def test_a_body_that_is_no_json_is_refused(administration: Administration, content: bytes) -> None:
    response = administration.ask("POST", "", content=content)
    assert told(response) == (400, UNREADABLE)


def test_a_body_without_a_type_is_taken_for_json(administration: Administration) -> None:
    untyped = administration.ask("POST", "", content=b"{}", headers={"Content-Type": ""})
    assert told(untyped)[0] == 400
    assert told(untyped) == told(administration.ask("POST", "", content=b"{}"))


def test_a_body_of_another_type_or_too_large_is_refused(administration: Administration) -> None:
    text = administration.ask("POST", "", content=b"{}", headers={"Content-Type": "text/plain"})
    assert text.status_code == 415
    large = administration.ask("POST", "", content=b" " * (32 * 1024 * 1024 + 1))
    assert large.status_code == 413


def test_an_id_that_is_taken_is_a_conflict(administration: Administration, made_realm: str) -> None:
    known = shown(administration, made_realm)["id"]
    response = administration.ask("POST", "", document={"realm": f"{made_realm}-new", "id": known})
    assert response.status_code == 409
    assert administration.ask("GET", f"{made_realm}-new").status_code == 404


def test_of_two_who_make_the_same_realm_one_succeeds(administration: Administration) -> None:
    token = administration.token()
    document = {"realm": "contested", **ELLIPTIC}

    def create(_: int) -> int:
        return administration.ask("POST", "", token, document=document).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(create, range(4)))
    assert sorted(statuses) == [CREATED, 409, 409, 409]
    assert administration.ask("DELETE", "contested").status_code == DONE


def test_realms_are_made_by_those_alone_who_have_the_role(administration: Administration) -> None:
    for role in (*AdminRole, "nobody"):
        for home in ("acme", "master"):
            token = administration.token(role, home)
            answer = administration.ask("POST", "", token, document={"realm": "not-by-you"})
            assert answer.status_code == 403
    assert administration.ask("GET", "not-by-you").status_code == 404


def test_the_creator_of_a_realm_gets_all_rights_over_it(
    administration: Administration,
) -> None:
    account = {"realmRoles": ["create-realm"], "serviceAccountClientId": "founder"}
    client = {"clientId": "founder", "secret": SECRET, "serviceAccountsEnabled": True}
    grown = {"clients": [client], "users": [{"username": "service-account-founder", **account}]}
    import_realm(administration, {"realm": "master", **grown})
    token = administration.token("founder")
    assert administration.ask("GET", "", token).status_code == 403
    made = administration.ask("POST", "", token, document={"realm": "founded", **ELLIPTIC})
    assert made.status_code == CREATED
    fresh = administration.fresh_token("founder")
    assert [found["realm"] for found in administration.ask("GET", "", fresh).json()] == ["founded"]
    assert administration.ask("PUT", "founded", fresh, document={}).status_code == DONE
    assert administration.ask("GET", "acme", fresh).status_code == 403
    assert administration.ask("DELETE", "founded", fresh).status_code == DONE


def test_the_administration_client_cannot_precede_its_realm(
    administration: Administration,
) -> None:
    import_realm(administration, {"realm": "master", "clients": [{"clientId": "trap-realm"}]})
    answer = administration.ask("POST", "", document={"realm": "trap"})
    assert told(answer) == (409, "Client trap-realm already exists")
    assert administration.ask("GET", "trap").status_code == 404


def test_a_role_of_that_name_in_another_realm_makes_no_realms(
    administration: Administration, made_realm: str
) -> None:
    roles = {"realm": [{"name": "create-realm"}, {"name": "admin"}]}
    client = {"clientId": "poser", "secret": SECRET, "serviceAccountsEnabled": True}
    account = {"username": "service-account-poser", "serviceAccountClientId": "poser"}
    grown = {"roles": roles, "clients": [client]}
    grown["users"] = [{**account, "realmRoles": ["create-realm", "admin"]}]
    import_realm(administration, {"realm": made_realm, "enabled": True, **grown})
    token = administration.token("poser", made_realm)
    answer = administration.ask("POST", "", token, document={"realm": "posed"})
    assert answer.status_code == 403
    assert administration.ask("GET", "posed").status_code == 404
