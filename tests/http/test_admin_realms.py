"""Realms over the admin API: shown, changed, renamed and removed. Keycloak: 7.1, 8.1, 9."""

import json
from typing import Any

import pytest

from gateway.admin.access.rights import AdminRole
from tests.support.administration import PASSWORD, Administration
from tests.support.made_realms import (
    DONE,
    OK,
    clients_of,
    make,
    put,
    shown,
    told,
)

SEEING_REALMS = {AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM}
SEEING_USERS = {AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS}


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
                "supportedLocales",
                "organizationsEnabled",
            }
            assert one.json()["supportedLocales"] == []
            assert listed.json() == [{"realm": "acme"}]


def test_a_realm_shows_each_change_of_settings_and_defaults(
    administration: Administration, made_realm: str
) -> None:
    def change(method: str, path: str, document: object = None) -> None:
        response = administration.ask(method, f"{made_realm}{path}", document=document)
        assert response.is_success, response.text

    role = shown(administration, made_realm)["defaultRole"]
    change("PUT", f"/roles-by-id/{role['id']}", {**role, "description": "what users get"})
    assert shown(administration, made_realm)["defaultRole"]["description"] == "what users get"
    change("POST", "/groups", {"name": "everyone"})
    (group,) = administration.ask("GET", f"{made_realm}/groups").json()
    shown(administration, made_realm)
    change("PUT", f"/default-groups/{group['id']}")
    assert shown(administration, made_realm)["defaultGroups"] == ["/everyone"]
    change("PUT", f"/groups/{group['id']}", {"name": "all"})
    assert shown(administration, made_realm)["defaultGroups"] == ["/all"]
    change("DELETE", f"/default-groups/{group['id']}")
    assert "defaultGroups" not in shown(administration, made_realm)
    change("PUT", "", {"displayName": "another name"})
    assert shown(administration, made_realm)["displayName"] == "another name"


def test_only_a_role_over_the_realm_may_change_or_remove_it(
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


def test_a_fetched_body_put_back_changes_nothing(
    administration: Administration, made_realm: str
) -> None:
    smtp = {
        "host": "mail.test",
        "from": "a@b.test",
        "user": "u",
        "password": "mail-canary",
        "authTokenClientSecret": "mail-canary",
    }
    attributes = {"zebra": "1", "acr.loa.map": "{}"}
    assert put(administration, made_realm, {"smtpServer": smtp, "attributes": attributes}) == DONE
    before = administration.ask("GET", made_realm)
    assert "mail-canary" not in before.text
    assert put(administration, made_realm, before.json()) == DONE
    after = administration.ask("GET", made_realm)
    assert after.content == before.content
    assert after.headers["etag"] == before.headers["etag"]


def test_an_update_changes_what_it_names_and_nothing_else(
    administration: Administration, made_realm: str
) -> None:
    before = shown(administration, made_realm)
    update = {"displayName": "Ä\u202e", "accessTokenLifespan": 77, "displayNameHtml": None}
    assert put(administration, made_realm, update) == DONE
    expected = before | {"displayName": "Ä\u202e", "accessTokenLifespan": 77}
    assert shown(administration, made_realm) == expected
    assert put(administration, made_realm, {"displayName": "", "id": "another"}) == DONE
    assert shown(administration, made_realm) == expected | {"displayName": ""}


def test_attributes_are_replaced_except_the_permanent_ones(
    administration: Administration, made_realm: str
) -> None:
    given = {"a": "1", "parRequestUriLifespan": "9"}
    assert put(administration, made_realm, {"attributes": given}) == DONE
    found = shown(administration, made_realm)["attributes"]
    assert (found["a"], found["parRequestUriLifespan"], found["cibaInterval"]) == ("1", "9", "5")
    assert put(administration, made_realm, {"attributes": {"b": "2"}}) == DONE
    found = shown(administration, made_realm)["attributes"]
    assert "a" not in found
    assert (found["b"], found["parRequestUriLifespan"]) == ("2", "60")
    assert "realmReusableOtpCode" not in found
    whole = shown(administration, made_realm) | {"attributes": {"c": "3"}}
    assert put(administration, made_realm, whole) == DONE
    found = shown(administration, made_realm)["attributes"]
    assert (found["c"], found["realmReusableOtpCode"]) == ("3", "false")


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
def test_an_invalid_update_is_refused_and_changes_nothing(
    administration: Administration,
    made_realm: str,
    document: dict[str, Any],
    status: int,
    text: str,
) -> None:
    before = shown(administration, made_realm)
    answer = administration.ask("PUT", made_realm, document={"displayName": "new", **document})
    code, said = told(answer)
    assert (code, text in said) == (status, True), said
    assert shown(administration, made_realm) == before


@pytest.mark.parametrize(
    ("content", "error"),
    [(b"", "invalid_request"), (b"x", "invalid_request"), (b"[]", "unknown_error")],
)
def test_an_update_without_an_object_is_refused(
    administration: Administration, made_realm: str, content: bytes, error: str
) -> None:
    answer = administration.ask("PUT", made_realm, content=content)
    assert answer.status_code == 400
    assert answer.json() == {"error": error, "error_description": "Cannot parse the JSON"}


def test_an_update_passes_over_what_is_no_setting(
    administration: Administration, made_realm: str
) -> None:
    before = clients_of(administration, made_realm)
    beside = {"clients": [{"clientId": "late"}], "users": [{"username": "late"}]}
    assert (
        put(administration, made_realm, {**beside, "roles": {"realm": [{"name": "late"}]}}) == DONE
    )
    assert clients_of(administration, made_realm) == before


def test_who_knew_another_state_changes_and_removes_nothing(
    administration: Administration, made_realm: str
) -> None:
    known = administration.ask("GET", made_realm).headers["etag"]
    assert put(administration, made_realm, {"displayName": "a"}, {"If-Match": known}) == DONE
    assert put(administration, made_realm, {"displayName": "b"}, {"If-Match": known}) == 412
    answer = administration.ask("DELETE", made_realm, headers={"If-Match": known})
    assert answer.status_code == 412
    assert shown(administration, made_realm)["displayName"] == "a"
    assert put(administration, made_realm, {"displayName": "b"}, {"If-Match": "*"}) == DONE


def test_an_empty_algorithm_is_kept_as_terraform_sends_it(
    administration: Administration, made_realm: str
) -> None:
    assert put(administration, made_realm, {"defaultSignatureAlgorithm": ""}) == DONE
    assert shown(administration, made_realm)["defaultSignatureAlgorithm"] == ""
    found = administration.http.get(f"/realms/{made_realm}/protocol/openid-connect/certs").json()
    assert "RS256" in {key["alg"] for key in found["keys"]}


def test_a_new_algorithm_gets_its_key(administration: Administration, made_realm: str) -> None:
    assert put(administration, made_realm, {"defaultSignatureAlgorithm": "ES384"}) == DONE
    found = administration.http.get(f"/realms/{made_realm}/protocol/openid-connect/certs").json()
    assert {"ES256", "ES384"} <= {key["alg"] for key in found["keys"]}


def test_a_new_name_takes_everything_along(administration: Administration, made_realm: str) -> None:
    before = shown(administration, made_realm)
    new = f"{made_realm}-new"
    assert put(administration, made_realm, {"realm": new}) == DONE
    assert administration.ask("GET", made_realm).status_code == 404
    assert administration.http.get(f"/realms/{made_realm}").status_code == 404
    assert administration.http.get(f"/realms/{new}").status_code == OK
    assert shown(administration, new) == before | {"realm": new}
    assert {f"{made_realm}-realm", f"{new}-realm"} & clients_of(administration, "master") == {
        f"{new}-realm"
    }
    exported = administration.command("realm", "export", new).stdout
    assert f"/realms/{new}/account/*" in exported
    assert f"/realms/{made_realm}/account/" not in exported
    assert make(administration, made_realm)["id"] != before["id"]


def test_the_master_realm_keeps_its_name_and_stays(
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
    fetched = administration.ask("GET", "joining").json()
    assert fetched["defaultGroups"] == ["/a"]
    assert put(administration, "joining", fetched) == DONE
    assert administration.ask("GET", "joining").json() == fetched
    assert put(administration, "joining", {"defaultGroups": ["b"]}) == DONE
    exported = administration.command("realm", "export", "joining").stdout
    assert '"defaultGroups": [\n    "/b"\n  ]' in exported
    assert administration.ask("DELETE", "joining").status_code == DONE


def test_a_removed_realm_is_gone_with_its_tokens_and_lockouts(
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
    assert "doomed-realm" not in clients_of(administration, "master")
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
