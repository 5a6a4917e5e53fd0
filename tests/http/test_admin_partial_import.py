"""Importing users, groups, clients and roles into a realm. Keycloak: 7.1 (partialImport)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.made_realms import DONE, OK, exported, import_realm, make, told
from tests.support.recorded_changes import recorded_changes

NAME = "parts"
WHOLE = "?exportClients=true&exportGroupsAndRoles=true"
MASK = "**********"
PARTS: dict[str, Any] = {
    "clients": [
        {"clientId": "nc", "secret": SECRET, "serviceAccountsEnabled": True},
        {"clientId": "page", "publicClient": True},
    ],
    "roles": {
        "realm": [{"name": "nr", "composites": {"realm": ["offline_access"]}}],
        "client": {"nc": [{"name": "ncr", "description": "d"}]},
    },
    "groups": [{"name": "ng", "realmRoles": ["nr"], "subGroups": [{"name": "below"}]}],
    "users": [
        {
            "username": "nu",
            "email": "nu@parts.test",
            "enabled": True,
            "credentials": [{"type": "password", "value": PASSWORD}],
            "realmRoles": ["nr"],
            "clientRoles": {"nc": ["ncr"]},
            "groups": ["/ng/below"],
        }
    ],
}


@pytest.fixture
def parts(administration: Administration) -> Iterator[str]:
    """Make a realm to import into, with somebody who may manage most of it."""
    roles = {"realm-management": ["manage-realm", "manage-clients", "manage-users"]}
    account = {"username": "service-account-manager", "serviceAccountClientId": "manager"}
    make(
        administration,
        NAME,
        enabled=True,
        sslRequired="none",
        clients=[{"clientId": "manager", "secret": SECRET, "serviceAccountsEnabled": True}],
        users=[{**account, "clientRoles": roles}],
    )
    administration.tokens.pop(("manager", NAME), None)
    yield NAME
    assert administration.ask("DELETE", NAME).status_code == DONE


def take(
    administration: Administration,
    policy: str | None = None,
    token: str | None = None,
    **given: Any,
) -> dict[str, Any]:
    """Import what must be taken; return the answer."""
    document = given if policy is None else {"ifResourceExists": policy, **given}
    answer = administration.ask("POST", f"{NAME}/partialImport", token, document=document)
    assert answer.status_code == OK, answer.text
    found: dict[str, Any] = answer.json()
    return found


def outcomes(answer: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(one["action"], one["resourceType"], one["resourceName"]) for one in answer["results"]]


def user(realm: dict[str, Any], username: str) -> dict[str, Any]:
    (found,) = (one for one in realm["users"] if one["username"] == username)
    assert isinstance(found, dict)
    return found


def client(realm: dict[str, Any], client_id: str) -> dict[str, Any]:
    (found,) = (one for one in realm["clients"] if one["clientId"] == client_id)
    assert isinstance(found, dict)
    return found


def test_parts_are_added_and_told(administration: Administration, parts: str) -> None:
    answer = take(administration, **PARTS)
    assert outcomes(answer) == [
        ("ADDED", "CLIENT", "nc"),
        ("ADDED", "CLIENT", "page"),
        ("ADDED", "REALM_ROLE", "nr"),
        ("ADDED", "CLIENT_ROLE", "nc-->ncr"),
        ("ADDED", "GROUP", "ng"),
        ("ADDED", "USER", "nu"),
    ]
    counts = {name: answer[name] for name in ("overwritten", "added", "skipped")}
    assert counts == {"overwritten": 0, "added": 6, "skipped": 0}
    realm = exported(administration, parts)
    ids = {one["resourceName"]: one["id"] for one in answer["results"]}
    assert ids["nc"] == ids["nc-->ncr"] == client(realm, "nc")["id"]
    added = user(realm, "nu")
    assert ids["nu"] == added["id"]
    assert (added["realmRoles"], added["clientRoles"]) == (["nr"], {"nc": ["ncr"]})
    assert added["groups"] == ["/ng/below"]
    assert administration.sign_in("nu", realm=parts) == OK
    assert administration.fresh_token("nc", parts)


@pytest.mark.parametrize("document", [{}, {"ifResourceExists": "FAIL"}, {"users": [], "realm": 1}])
def test_nothing_to_import_is_nothing_done(
    administration: Administration, parts: str, document: dict[str, Any]
) -> None:
    before = exported(administration, parts)
    assert take(administration, **document) == {
        "overwritten": 0,
        "added": 0,
        "skipped": 0,
        "results": [],
    }
    assert exported(administration, parts) == before


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"clients": [{"clientId": "nc"}]}, "Client id 'nc' already exists"),
        ({"roles": {"realm": [{"name": "nr"}]}}, "Realm role 'nr' already exists."),
        (
            {"roles": {"client": {"nc": [{"name": "ncr"}]}}},
            "Client role 'ncr' for client 'nc' already exists.",
        ),
        ({"groups": [{"name": "ng"}]}, "Group '/ng' already exists"),
        ({"users": [{"username": "NU"}]}, "User with user name nu already exists."),
        (
            {"users": [{"username": "other", "email": "NU@parts.test"}]},
            "User with user name other already exists.",
        ),
    ],
)
def test_what_exists_fails_and_nothing_is_written(
    administration: Administration, parts: str, given: dict[str, Any], text: str
) -> None:
    take(administration, **PARTS)
    before = exported(administration, parts)
    new = {"clients": [{"clientId": "late"}], "users": [{"username": "late"}]}
    document = {name: [*new.get(name, []), *given.get(name, [])] for name in new} | {
        name: value for name, value in given.items() if name not in new
    }
    answer = administration.ask("POST", f"{parts}/partialImport", document=document)
    assert told(answer) == (409, text)
    assert exported(administration, parts) == before


def test_what_exists_is_skipped(administration: Administration, parts: str) -> None:
    take(administration, **PARTS)
    before = exported(administration, parts)
    more = {**PARTS, "users": [*PARTS["users"], {"username": "late"}]}
    answer = take(administration, "SKIP", **more)
    assert [outcome[0] for outcome in outcomes(answer)] == ["SKIPPED"] * 6 + ["ADDED"]
    assert answer["results"][0]["id"] == client(before, "nc")["id"]
    after = exported(administration, parts)
    assert {**after, "users": []} == {**before, "users": []}
    assert [one for one in after["users"] if one["username"] != "late"] == before["users"]


def test_what_exists_is_made_anew(administration: Administration, parts: str) -> None:
    take(administration, **PARTS)
    before = exported(administration, parts)
    tokens = administration.signed_in("nu", parts)
    answer = take(
        administration,
        "OVERWRITE",
        clients=[{"clientId": "nc", "name": "x", "secret": MASK, "serviceAccountsEnabled": True}],
        roles={
            "realm": [{"name": "nr", "description": "new"}],
            "client": {"nc": [{"name": "ncr"}]},
        },
        groups=[{"name": "ng", "attributes": {"a": ["b"]}}],
        users=[{"username": "nu", "firstName": "N", "enabled": True}],
    )
    assert outcomes(answer) == [
        ("OVERWRITTEN", "CLIENT", "nc"),
        ("OVERWRITTEN", "REALM_ROLE", "nr"),
        ("ADDED", "CLIENT_ROLE", "nc-->ncr"),
        ("OVERWRITTEN", "GROUP", "ng"),
        ("OVERWRITTEN", "USER", "nu"),
    ]
    after = exported(administration, parts)
    assert client(after, "nc")["id"] == client(before, "nc")["id"]
    assert client(after, "nc")["name"] == "x"
    assert administration.fresh_token("nc", parts)
    (group,) = after["groups"]
    assert (group["attributes"], group["subGroups"], group["realmRoles"]) == ({"a": ["b"]}, [], [])
    (role,) = (one for one in after["roles"]["realm"] if one["name"] == "nr")
    assert (role["description"], role["composite"]) == ("new", False)
    person = user(after, "nu")
    assert (person["firstName"], person["credentials"]) == ("N", [])
    assert person["id"] != user(before, "nu")["id"]
    assert not administration.refreshes(tokens, parts)


def test_the_clients_of_every_realm_are_passed_over(
    administration: Administration, parts: str
) -> None:
    before = exported(administration, parts)
    names = ("account", "admin-cli", "realm-management", "security-admin-console")
    for policy in ("FAIL", "SKIP", "OVERWRITE"):
        answer = take(administration, policy, clients=[{"clientId": name} for name in names])
        assert answer["results"] == []
    assert exported(administration, parts) == before


@pytest.mark.parametrize(
    ("document", "status", "text"),
    [
        ({"ifResourceExists": "PERHAPS"}, 400, "ifResourceExists"),
        ({"users": [{"hat": 1}]}, 400, "UserRepresentation"),
        ({"clients": [{"clientId": "a", "hat": 1}]}, 400, "ClientRepresentation"),
        ({"clients": [{}]}, 400, "clients[1].clientId"),
        ({"clients": [{"clientId": "a"}] * 2}, 409, "twice"),
        ({"clients": [{"clientId": "a", "attributes": []}]}, 400, "attributes"),
        ({"users": [{"username": "a"}, {"username": "a"}]}, 409, "twice"),
        ({"users": [{"username": "a"}, {}]}, 400, "users[1].username"),
        ({"users": [{"username": "a", "clientRoles": {"no": ["r"]}}]}, 400, "no"),
        ({"users": [{"username": "a", "groups": ["/no"]}]}, 400, "/no"),
        ({"users": [{"username": "a", "serviceAccountClientId": "no"}]}, 400, "service account"),
        ({"users": {}}, 400, "users"),
        ({"groups": [{"name": "g", "clientRoles": {"no": ["r"]}}]}, 400, "no"),
        ({"groups": [{"name": "g"}, {"name": "g"}]}, 409, "groups"),
        ({"roles": {"realm": [{"name": "r", "composites": {"realm": ["no"]}}]}}, 400, "no"),
        (
            {"roles": {"client": {"nobody": [{"name": "r"}]}}},
            400,
            "Can not import client roles for nonexistent client named nobody",
        ),
    ],
)
def test_invalid_parts_are_refused_and_nothing_is_written(
    administration: Administration, parts: str, document: dict[str, Any], status: int, text: str
) -> None:
    before = exported(administration, parts)
    new = [{"clientId": "late"}]
    sent = {**document, "clients": [*new, *document.get("clients", [])]}
    code, said = told(administration.ask("POST", f"{parts}/partialImport", document=sent))
    assert (code, text in said) == (status, True), said
    assert exported(administration, parts) == before


def test_of_many_wrong_fields_the_first_are_named_others_counted(
    administration: Administration, parts: str
) -> None:
    sent = {"users": [{"username": " "}] * 1_000}
    code, said = told(administration.ask("POST", f"{parts}/partialImport", document=sent))
    assert code == 400
    assert said.startswith("users[0].username: ")
    assert said.endswith("expected; and 900 more")


def test_a_password_that_breaks_the_rules_is_refused(
    administration: Administration, parts: str
) -> None:
    strict = {"passwordPolicy": "length(99)"}
    assert administration.ask("PUT", parts, document=strict).status_code == DONE
    weak = {"users": [{"username": "a", "credentials": [{"type": "password", "value": "weak"}]}]}
    answer = administration.ask("POST", f"{parts}/partialImport", document=weak)
    assert answer.status_code == 400
    assert "weak" not in answer.text


@pytest.mark.parametrize(
    "given",
    [
        {"users": [{"username": "a", "clientRoles": {"realm-management": ["view-events"]}}]},
        {"users": [{"username": "a", "groups": ["/lords"]}]},
        {"groups": [{"name": "g", "clientRoles": {"realm-management": ["realm-admin"]}}]},
        {
            "groups": [
                {
                    "name": "g",
                    "subGroups": [
                        {"name": "h", "clientRoles": {"realm-management": ["realm-admin"]}}
                    ],
                }
            ]
        },
        {
            "roles": {
                "realm": [
                    {"name": "r", "composites": {"client": {"realm-management": ["realm-admin"]}}}
                ]
            }
        },
        {"roles": {"client": {"realm-management": [{"name": "own"}]}}},
        {"ifResourceExists": "OVERWRITE", "roles": {"realm": [{"name": "lord"}]}},
        {"ifResourceExists": "OVERWRITE", "users": [{"username": "lordly"}]},
        {"ifResourceExists": "OVERWRITE", "clients": [{"clientId": "castle", "secret": "mine"}]},
        {
            "clients": [{"clientId": "robot", "serviceAccountsEnabled": True}],
            "users": [
                {
                    "username": "service-account-robot",
                    "serviceAccountClientId": "robot",
                    "clientRoles": {"realm-management": ["realm-admin"]},
                }
            ],
        },
    ],
)
def test_nobody_imports_rights_above_the_own(
    administration: Administration, parts: str, given: dict[str, Any]
) -> None:
    rights = {"clientRoles": {"realm-management": ["realm-admin"]}}
    castle = {"clientId": "castle", "secret": SECRET, "serviceAccountsEnabled": True}
    account = {"username": "service-account-castle", "serviceAccountClientId": "castle"}
    composites = {"client": {"realm-management": ["realm-admin"]}}
    import_realm(
        administration,
        {
            "realm": parts,
            "clients": [castle],
            "roles": {"realm": [{"name": "lord", "composites": composites}]},
            "groups": [{"name": "lords", **rights}],
            "users": [{**account, **rights}, {"username": "lordly", **rights}],
        },
    )
    before = exported(administration, parts)
    token = administration.token("manager", parts)
    answer = administration.ask("POST", f"{parts}/partialImport", token, document=given)
    assert answer.status_code == 403, answer.text
    assert exported(administration, parts) == before
    harmless = take(administration, "SKIP", token, users=[{"username": "plain"}])
    assert outcomes(harmless) == [("ADDED", "USER", "plain")]


def test_each_imported_part_is_recorded(administration: Administration, parts: str) -> None:
    details = {"adminEventsEnabled": True, "adminEventsDetailsEnabled": True}
    assert administration.ask("PUT", parts, document=details).status_code == DONE
    before = len(recorded_changes(administration, parts))
    answer = take(administration, **PARTS)
    ids = [one["id"] for one in answer["results"]]
    events = recorded_changes(administration, parts)[before:]
    kinds = ("clients", "clients", "realms", "clients", "groups", "users")
    assert [event[:3] for event in events] == [
        ("CREATE", "REALM", f"{kind}/{identity}") for kind, identity in zip(kinds, ids, strict=True)
    ]
    assert PASSWORD not in json.dumps(events)
    take(administration, "SKIP", users=PARTS["users"])
    assert len(recorded_changes(administration, parts)) == before + 6
    take(administration, "OVERWRITE", users=[{"username": "nu"}])
    operation, resource, path, _ = recorded_changes(administration, parts)[-1]
    assert (operation, resource, path is not None) == ("UPDATE", "REALM", True)
