"""Realms over the admin API: made, shown, changed, renamed and removed. Keycloak: 7.1, 8.1, 9."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import httpx2
import pytest

from gateway.admin.administration_roles import AdminRole
from tests.support.administration import ELLIPTIC, PASSWORD, SECRET, Administration

CHEAP = {
    "passwordPolicy": "hashAlgorithm(pbkdf2-sha256) and hashIterations(1000)",
    "attributes": {"userProfileEnabled": "false"},
}
UNREADABLE = "unable to read contents from stream"
SEEING_REALMS = {AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM}
SEEING_USERS = {AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS}
OK, CREATED, DONE = 200, 201, 204


def make(administration: Administration, name: str, **fields: Any) -> dict[str, Any]:
    """Make a realm; return it as GET shows it."""
    document = {"realm": name, **ELLIPTIC, **CHEAP, **fields}
    response = administration.ask("POST", "", document=document)
    assert response.status_code == CREATED, response.text
    return shown(administration, name)


def shown(administration: Administration, name: str) -> dict[str, Any]:
    response = administration.ask("GET", name)
    assert response.status_code == OK, response.text
    found: dict[str, Any] = response.json()
    return found


def put(
    administration: Administration,
    name: str,
    document: object,
    headers: dict[str, str] | None = None,
) -> int:
    return administration.ask("PUT", name, document=document, headers=headers).status_code


def told(response: httpx2.Response) -> tuple[int, str]:
    answer = response.json()
    return response.status_code, str(answer.get("errorMessage", answer.get("error")))


def clients(administration: Administration, realm: str) -> set[str]:
    found = administration.command("realm", "export", realm)
    assert found.exit_code == 0, found.output

    return {client["clientId"] for client in json.loads(found.stdout)["clients"]}


@pytest.fixture
def realm(administration: Administration, request: pytest.FixtureRequest) -> Iterator[str]:
    """Make a realm of the test's own, and remove what is left of it."""
    name = f"made-{abs(hash(request.node.name)) % 10**8}"
    make(administration, name)
    yield name
    for left in (name, f"{name}-new"):
        administration.ask("DELETE", left)


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
        ({"realm": 5}, 400, "realm"),
        ({"realm": "bad", "passwordPolicy": "foo(3)"}, 400, "passwordPolicy"),
        ({"realm": "bad", "clients": [{"clientId": "a"}, {"clientId": "a"}]}, 400, "twice"),
        ({"realm": "bad", "users": [{"username": "a", "realmRoles": ["no"]}]}, 400, "no"),
        (
            {"realm": "bad", "users": [{"id": "1", "username": "a"}, {"id": "1", "username": "b"}]},
            409,
            "exists",
        ),
        ({"realm": "bad", "displayName": "nul\0"}, 400, UNREADABLE),
    ],
)
def test_a_realm_that_cannot_be_made_is_refused_and_leaves_no_trace(
    administration: Administration, document: object, status: int, text: str
) -> None:
    before = administration.ask("GET", "?briefRepresentation=true").json()
    response = administration.ask("POST", "", document=document)
    code, said = told(response)
    assert code == status
    assert text in said
    assert administration.ask("GET", "?briefRepresentation=true").json() == before
    assert administration.ask("GET", "bad").status_code == 404
    assert "bad-realm" not in clients(administration, "master")


@pytest.mark.parametrize("content", [b"", b"{", b'{"realm":"\xff"}', b'{"a":1,"a":2}', b"[" * 99])
def test_a_body_that_is_no_json_is_refused(administration: Administration, content: bytes) -> None:
    response = administration.ask("POST", "", content=content)
    assert told(response) == (400, UNREADABLE)


def test_a_body_of_another_type_or_too_large_is_refused(administration: Administration) -> None:
    text = administration.ask("POST", "", content=b"{}", headers={"Content-Type": "text/plain"})
    assert text.status_code == 415
    large = administration.ask("POST", "", content=b" " * (32 * 1024 * 1024 + 1))
    assert large.status_code == 413


def test_an_id_that_is_taken_is_a_conflict(administration: Administration, realm: str) -> None:
    known = shown(administration, realm)["id"]
    response = administration.ask("POST", "", document={"realm": f"{realm}-new", "id": known})
    assert response.status_code == 409
    assert administration.ask("GET", f"{realm}-new").status_code == 404


def test_of_two_who_make_the_same_realm_one_succeeds(administration: Administration) -> None:
    token = administration.token()
    document = {"realm": "contested", **ELLIPTIC}

    def create(_: int) -> int:
        return administration.ask("POST", "", token, document=document).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = list(pool.map(create, range(4)))
    assert sorted(statuses) == [CREATED, 409, 409, 409]
    assert administration.ask("DELETE", "contested").status_code == DONE


@pytest.mark.parametrize("role", [*AdminRole, "nobody"])
def test_each_role_shows_as_much_of_a_realm_as_it_needs(
    administration: Administration, role: str
) -> None:
    for home in ("acme", "master"):
        token = administration.token(role, home)
        one = administration.ask("GET", "acme", token)
        listed = administration.ask("GET", "", token)
        if role in {"nobody", AdminRole.IMPERSONATION}:
            assert (one.status_code, listed.status_code) == (403, 403)
        elif role in SEEING_REALMS:
            assert one.json() == shown(administration, "acme")
            assert listed.json() == [one.json()]
        else:
            assert ("registrationEmailAsUsername" in one.json()) is (role in SEEING_USERS)
            assert set(one.json()) - {"registrationEmailAsUsername"} == {
                "realm",
                "bruteForceProtected",
                "organizationsEnabled",
            }
            assert listed.json() == [{"realm": "acme"}]


def test_only_a_role_over_the_realm_lets_it_be_changed_or_removed(
    administration: Administration,
) -> None:
    for role in (*AdminRole, "nobody"):
        expected = DONE if role == AdminRole.MANAGE_REALM else 403
        token = administration.token(role, "acme")
        assert administration.ask("PUT", "acme", token, document={}).status_code == expected
        for home, other in (("acme", "other"), ("other", "acme"), ("acme", "master")):
            stranger = administration.token(role, home)
            for method in ("GET", "PUT", "DELETE"):
                sent: dict[str, str] | None = {} if method == "PUT" else None
                answer = administration.ask(method, other, stranger, document=sent)
                assert answer.status_code == 403


def test_realms_are_made_by_those_alone_who_have_the_role(administration: Administration) -> None:
    for role in (*AdminRole, "nobody"):
        for home in ("acme", "master"):
            token = administration.token(role, home)
            answer = administration.ask("POST", "", token, document={"realm": "not-by-you"})
            assert answer.status_code == 403
    assert administration.ask("GET", "not-by-you").status_code == 404


def test_who_makes_a_realm_without_being_administrator_of_all_gets_all_rights_over_it(
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


def import_realm(administration: Administration, document: dict[str, Any]) -> None:

    file = administration.gateway.state_dir / "more.json"
    file.write_text(json.dumps(document))
    done = administration.command("realm", "import", str(file))
    assert done.exit_code == 0, done.output


def test_the_client_of_its_administrators_cannot_be_there_before_the_realm(
    administration: Administration,
) -> None:
    import_realm(administration, {"realm": "master", "clients": [{"clientId": "trap-realm"}]})
    answer = administration.ask("POST", "", document={"realm": "trap"})
    assert told(answer) == (409, "Client trap-realm already exists")
    assert administration.ask("GET", "trap").status_code == 404


def test_a_fetched_body_put_back_changes_nothing(
    administration: Administration, realm: str
) -> None:
    smtp = {"host": "mail.test", "from": "a@b.test", "user": "u", "password": "mail-canary"}
    attributes = {"zebra": "1", "acr.loa.map": "{}"}
    assert put(administration, realm, {"smtpServer": smtp, "attributes": attributes}) == DONE
    before = administration.ask("GET", realm)
    assert "mail-canary" not in before.text
    assert put(administration, realm, before.json()) == DONE
    after = administration.ask("GET", realm)
    assert after.content == before.content
    assert after.headers["etag"] == before.headers["etag"]


def test_an_update_changes_what_it_names_and_nothing_else(
    administration: Administration, realm: str
) -> None:
    before = shown(administration, realm)
    update = {"displayName": "Ä\u202e", "accessTokenLifespan": 77, "displayNameHtml": None}
    assert put(administration, realm, update) == DONE
    expected = before | {"displayName": "Ä\u202e", "accessTokenLifespan": 77}
    assert shown(administration, realm) == expected
    assert put(administration, realm, {"displayName": "", "id": "another"}) == DONE
    assert shown(administration, realm) == expected | {"displayName": ""}


def test_attributes_are_replaced_but_for_those_that_every_realm_has(
    administration: Administration, realm: str
) -> None:
    given = {"a": "1", "parRequestUriLifespan": "9"}
    assert put(administration, realm, {"attributes": given}) == DONE
    found = shown(administration, realm)["attributes"]
    assert (found["a"], found["parRequestUriLifespan"], found["cibaInterval"]) == ("1", "9", "5")
    assert put(administration, realm, {"attributes": {"b": "2"}}) == DONE
    found = shown(administration, realm)["attributes"]
    assert "a" not in found
    assert (found["b"], found["parRequestUriLifespan"]) == ("2", "60")


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({"colour": 1}, 400, "Invalid json representation for RealmRepresentation. Unrecognized f"),
        ({"users": [{"hat": 1}]}, 400, "UserRepresentation"),
        ({"realm": ""}, 400, "Realm name cannot be empty"),
        ({"realm": "acme"}, 409, "Realm with same name exists"),
        ({"realm": "a/b"}, 400, "realm"),
        ({"passwordPolicy": "foo"}, 400, "passwordPolicy"),
        ({"enabled": "x"}, 400, "enabled"),
        ({"defaultGroups": ["/nobody"]}, 400, "defaultGroups[0]"),
        ({"privateKey": "x", "publicKey": "y"}, 400, "privateKey, publicKey"),
        ({"display_name": "a", "displayName": "b"}, 400, "one spelling"),
    ],
)
def test_an_update_that_makes_no_sense_is_refused_and_changes_nothing(
    administration: Administration, realm: str, document: dict[str, Any], status: int, text: str
) -> None:
    before = shown(administration, realm)
    answer = administration.ask("PUT", realm, document={"displayName": "new", **document})
    code, said = told(answer)
    assert (code, text in said) == (status, True), said
    assert shown(administration, realm) == before


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", "invalid_request"), (b"x", "invalid_request"), (b"[]", "unknown_error")],
)
def test_an_update_without_an_object_is_refused(
    administration: Administration, realm: str, content: bytes, error: str
) -> None:
    answer = administration.ask("PUT", realm, content=content)
    assert answer.status_code == 400
    assert answer.json() == {"error": error, "error_description": "Cannot parse the JSON"}


def test_an_update_passes_over_what_is_no_setting(
    administration: Administration, realm: str
) -> None:
    before = clients(administration, realm)
    beside = {"clients": [{"clientId": "late"}], "users": [{"username": "late"}]}
    assert put(administration, realm, {**beside, "roles": {"realm": [{"name": "late"}]}}) == DONE
    assert clients(administration, realm) == before


def test_who_knew_another_state_changes_and_removes_nothing(
    administration: Administration, realm: str
) -> None:
    known = administration.ask("GET", realm).headers["etag"]
    assert put(administration, realm, {"displayName": "a"}, {"If-Match": known}) == DONE
    assert put(administration, realm, {"displayName": "b"}, {"If-Match": known}) == 412
    answer = administration.ask("DELETE", realm, headers={"If-Match": known})
    assert answer.status_code == 412
    assert shown(administration, realm)["displayName"] == "a"
    assert put(administration, realm, {"displayName": "b"}, {"If-Match": "*"}) == DONE


def test_a_new_algorithm_gets_its_key(administration: Administration, realm: str) -> None:
    assert put(administration, realm, {"defaultSignatureAlgorithm": "ES384"}) == DONE
    found = administration.http.get(f"/realms/{realm}/protocol/openid-connect/certs").json()
    assert {"ES256", "ES384"} <= {key["alg"] for key in found["keys"]}


def test_a_new_name_takes_everything_along(administration: Administration, realm: str) -> None:
    before = shown(administration, realm)
    new = f"{realm}-new"
    assert put(administration, realm, {"realm": new}) == DONE
    assert administration.ask("GET", realm).status_code == 404
    assert administration.http.get(f"/realms/{realm}").status_code == 404
    assert administration.http.get(f"/realms/{new}").status_code == OK
    assert shown(administration, new) == before | {"realm": new}
    assert {f"{realm}-realm", f"{new}-realm"} & clients(administration, "master") == {
        f"{new}-realm"
    }
    exported = administration.command("realm", "export", new).stdout
    assert f"/realms/{new}/account/*" in exported
    assert f"/realms/{realm}/account/" not in exported
    assert make(administration, realm)["id"] != before["id"]


def test_the_realm_that_administers_the_others_keeps_its_name_and_stays(
    administration: Administration,
) -> None:
    renamed = administration.ask("PUT", "master", document={"realm": "lord"})
    assert told(renamed) == (400, "Can't rename master realm")
    removed = administration.ask("DELETE", "master")
    assert told(removed) == (400, "Can't remove master realm")
    assert administration.ask("GET", "master").status_code == OK


def test_new_users_join_the_groups_that_an_update_names(
    administration: Administration,
) -> None:
    make(administration, "joining", groups=[{"name": "a"}, {"name": "b"}], defaultGroups=["/a"])
    assert put(administration, "joining", {"defaultGroups": ["b"]}) == DONE
    exported = administration.command("realm", "export", "joining").stdout
    assert '"defaultGroups": [\n    "/b"\n  ]' in exported
    assert administration.ask("DELETE", "joining").status_code == DONE


def test_a_removed_realm_is_gone_with_its_tokens_and_its_lock_outs(
    administration: Administration,
) -> None:
    people = [
        {
            "id": "known",
            "username": "mallory",
            "enabled": True,
            "credentials": [{"type": "password", "value": PASSWORD}],
        }
    ]
    settings = {"id": "again", "users": people, "bruteForceProtected": True, "failureFactor": 2}
    make(administration, "doomed", quickLoginCheckMilliSeconds=0, **settings)
    tokens = administration.signed_in("mallory", "doomed")
    administration.lock_out("mallory", "doomed")
    assert administration.ask("DELETE", "doomed").status_code == DONE
    assert administration.ask("GET", "doomed").status_code == 404
    assert administration.http.get("/realms/doomed").status_code == 404
    userinfo = administration.http.get(
        "/realms/doomed/protocol/openid-connect/userinfo",
        headers={"Authorization": f"Bearer {tokens['access_token']}"},
    )
    assert userinfo.status_code == 404
    assert administration.ask("GET", "acme", tokens["access_token"]).status_code == 401
    assert "doomed-realm" not in clients(administration, "master")
    assert administration.ask("DELETE", "doomed").status_code == 404
    make(administration, "doomed", quickLoginCheckMilliSeconds=0, **settings)
    sessions = administration.command(
        "session", "list", "--realm", "doomed", "--user", "mallory", "--output", "json"
    )
    assert json.loads(sessions.stdout) == []
    assert administration.sign_in("mallory", realm="doomed") == OK
    assert not administration.refreshes(tokens, "doomed")
    assert administration.ask("DELETE", "doomed").status_code == DONE


def test_a_method_that_there_is_not_is_told(administration: Administration) -> None:
    assert administration.ask("PATCH", "acme", document={}).status_code == 405
    assert administration.ask("DELETE", "").status_code == 405
