"""Roles of a realm and of its clients over the admin API. Keycloak: 7.3."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

ADMINISTRATORS = {
    "keeper": ["manage-realm", "manage-clients", "manage-users"],
    "of-realm": ["manage-realm"],
    "of-clients": ["manage-clients"],
    "holder": [],
}
DEVICE = "clients/device-id/roles"
PAGED = "clients/client-of-holder/roles"


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a client of its own."""
    clients = [{"id": "device-id", "clientId": "device", "enabled": True}]
    with administered_realm(administration, "of-roles", ADMINISTRATORS, clients=clients) as made:
        yield made


@pytest.fixture(params=["roles", DEVICE])
def roles(request: pytest.FixtureRequest) -> str:
    """Return the path of roles, of the realm and of a client in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def paged(realm: AdministeredRealm) -> AdministeredRealm:
    """Add three roles to a client that has no others."""
    for name, description in (("page-3", ""), ("page-1", "x"), ("page-2", "two of Page")):
        realm.change("POST", PAGED, {"name": name, "description": description})
    return realm


def add(realm: AdministeredRealm, roles: str, name: str, **fields: Any) -> Any:
    """Add a role and return it."""
    realm.change("POST", roles, {"name": name, **fields})
    return realm.get(f"{roles}/{quote(name, safe='')}")


def names(found: list[dict[str, Any]]) -> list[str]:
    return [role["name"] for role in found]


def test_a_role_is_shown_as_keycloak_shows_it(realm: AdministeredRealm) -> None:
    attributes = {"team": ["red", "blue"], "none": []}
    shown = add(realm, "roles", "shown", description="d", attributes=attributes)
    assert list(shown) == [
        *("id", "name", "description", "composite", "clientRole", "containerId", "attributes")
    ]
    realm_id = realm.get("")["id"]
    assert shown | {"id": ""} == {
        "id": "",
        "name": "shown",
        "description": "d",
        "composite": False,
        "clientRole": False,
        "containerId": realm_id,
        "attributes": {"team": ["red", "blue"]},
    }
    assert realm.get(f"roles-by-id/{shown['id']}") == shown
    (brief,) = realm.get("roles?search=shown")
    assert brief == {name: value for name, value in shown.items() if name != "attributes"}
    (full,) = realm.get("roles?search=shown&briefRepresentation=False")
    assert full == shown


def test_a_role_of_a_client_names_its_client(realm: AdministeredRealm) -> None:
    shown = add(realm, DEVICE, "use")
    assert (shown["clientRole"], shown["containerId"]) == (True, "device-id")
    assert "description" not in shown
    assert realm.get(f"roles-by-id/{shown['id']}") == shown


def test_the_location_of_a_new_role_ends_in_its_name(realm: AdministeredRealm, roles: str) -> None:
    name = "a/b ü?%#&"
    document = {"name": name, "composites": {"client": {}, "realm": []}}
    created = realm.ask("POST", roles, document)
    escaped = quote(name, safe="")
    assert (created.status_code, created.content) == (201, b"")
    assert created.headers["location"] == (
        f"https://gateway.test/admin/realms/of-roles/{roles}/{escaped}"
    )
    assert realm.get(f"{roles}/{escaped}")["name"] == name
    realm.change("DELETE", f"{roles}/{escaped}")
    assert realm.refused("GET", f"{roles}/{escaped}") == (404, {"error": "Could not find role"})


def test_a_name_is_taken_once_in_each_container(realm: AdministeredRealm) -> None:
    for roles in ("roles", DEVICE):
        add(realm, roles, "taken")
        refused = realm.refused("POST", roles, {"name": "taken"})
        assert refused == (409, {"errorMessage": "Role with name taken already exists"})


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ({}, {"error": "role has no name"}),
        ({"name": ""}, {"error": "role has no name"}),
        (
            {"name": "x", "bogus": 1},
            {
                "error": "Invalid json representation for RoleRepresentation."
                ' Unrecognized field "bogus" at bogus.'
            },
        ),
        ([], {"error": "unknown_error", "error_description": "Cannot parse the JSON"}),
        ("text", {"error": "unknown_error", "error_description": "Cannot parse the JSON"}),
    ],
)
def test_a_role_that_makes_no_sense_is_refused(
    realm: AdministeredRealm, roles: str, document: object, answer: object
) -> None:
    before = realm.get(roles)
    assert realm.refused("POST", roles, document) == (400, answer)
    assert realm.get(roles) == before


@pytest.mark.parametrize(
    "fields",
    [
        {"name": {}},
        {"name": ["x"]},
        {"name": " x"},
        {"name": "."},
        {"name": ".."},
        {"name": "x\u0000"},
        {"name": "x\n"},
        {"name": "x" * 256},
        {"description": "x" * 256},
        {"description": {}},
        {"attributes": []},
        {"attributes": {"x": {}}},
        {"attributes": {"x": [{}]}},
        {"attributes": {"x": ["\u0000"]}},
        {"composite": True, "composites": []},
        {"composite": True, "composites": {"realm": "x"}},
        {"composite": True, "composites": {"realm": [[]]}},
        {"composite": True, "composites": {"client": ["x"]}},
        {"composite": True, "composites": {"other": []}},
    ],
)
def test_a_field_of_the_wrong_type_is_refused_and_not_written(
    realm: AdministeredRealm, roles: str, fields: dict[str, Any]
) -> None:
    before = realm.get(roles)
    status, answer = realm.refused("POST", roles, {"name": "wrong", **fields})
    assert (status, realm.get(roles)) == (400, before)
    assert answer.keys() & {"error", "errorMessage"}


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"name":"x","name":"y"}', b'{"name":"\\ud800"}', b"[" * 99, b"\xff"]
)
def test_a_body_that_is_no_json_is_refused(
    realm: AdministeredRealm, roles: str, content: bytes
) -> None:
    answer = realm.administration.ask("POST", f"of-roles/{roles}", content=content)
    assert answer.status_code == 400, answer.text


def test_a_put_replaces_the_description_and_keeps_attributes(
    realm: AdministeredRealm, roles: str
) -> None:
    attributes = {"a": ["1"]}
    before = add(realm, roles, "put", description="lost", attributes=attributes)
    told = {"name": "put", "id": "another", "clientRole": None, "containerId": "else"}
    realm.change("PUT", f"{roles}/put", told)
    after = realm.get(f"{roles}/put")
    assert after == {name: value for name, value in before.items() if name != "description"}
    realm.change("PUT", f"{roles}/put", {"name": "put", "description": "d", "attributes": {}})
    assert realm.get(f"{roles}/put") == before | {"description": "d", "attributes": {}}


def test_a_fetched_role_that_is_put_back_changes_nothing(
    realm: AdministeredRealm, roles: str
) -> None:
    part = add(realm, roles, "part")
    add(realm, roles, "same", description="d", attributes={"z": ["2"], "a": ["1"]})
    realm.change("POST", f"{roles}/same/composites", [part])
    before = realm.ask("GET", f"{roles}/same")
    realm.change("PUT", f"{roles}/same", before.json())
    after = realm.ask("GET", f"{roles}/same")
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])


def test_a_role_is_renamed_by_either_url(realm: AdministeredRealm, roles: str) -> None:
    role = add(realm, roles, "old")
    add(realm, roles, "other")
    realm.change("PUT", f"{roles}/old", {"name": "new"})
    realm.change("PUT", f"roles-by-id/{role['id']}", {"name": "newer"})
    assert realm.get(f"{roles}/newer") == role | {"name": "newer"}
    assert realm.refused("GET", f"{roles}/old")[0] == 404
    for path in (f"{roles}/newer", f"roles-by-id/{role['id']}"):
        assert realm.refused("PUT", path, {"name": "other"})[0] == 409
        assert realm.refused("PUT", path, {"description": "x"}) == (
            400,
            {"error": "role has no name"},
        )
    for path in (f"{roles}/newer", f"{roles}/other"):
        realm.change("DELETE", path)


def test_a_change_of_another_state_than_was_known_is_refused(
    realm: AdministeredRealm, roles: str
) -> None:
    add(realm, roles, "versioned")
    path = f"{roles}/versioned"
    tag = realm.ask("GET", path).headers["etag"]
    realm.change("PUT", path, {"name": "versioned", "description": "by somebody else"})
    for method, document in (("PUT", {"name": "versioned"}), ("DELETE", None)):
        assert realm.ask(method, path, document, If_Match=tag).status_code == 412
    assert realm.get(path)["description"] == "by somebody else"
    tag = realm.ask("GET", path).headers["etag"]
    assert realm.ask("DELETE", path, If_Match=tag).status_code == 204


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["page-1", "page-2", "page-3"]),
        ("?first=1&max=1", ["page-2"]),
        ("?search=PAGE-&first=1", ["page-2", "page-3"]),
        ("?search=page-&max=1", ["page-1"]),
        ("?search=of%20page&max=9", ["page-2"]),
        ("?search=%25", []),
        ("?search=nothing", []),
        ("?first=0&max=0", []),
        ("?first=-1&max=-1", ["page-1", "page-2", "page-3"]),
        ("?max=1", ["page-1", "page-2", "page-3"]),
    ],
)
def test_roles_are_listed_and_paged_where_it_is_asked_for(
    paged: AdministeredRealm, query: str, found: list[str]
) -> None:
    assert names(paged.get(f"{PAGED}{query}")) == found


@pytest.mark.parametrize("query", ["first=x", "max=1.5", "first=99999999999"])
def test_a_page_that_is_no_number_is_not_found(realm: AdministeredRealm, query: str) -> None:
    assert realm.refused("GET", f"roles?{query}") == (404, {"error": "HTTP 404 Not Found"})


def test_a_role_contains_others_once_they_are_added(realm: AdministeredRealm, roles: str) -> None:
    whole = f"{roles}/whole"
    role = add(realm, roles, "whole")
    part, of_client = add(realm, "roles", "part-1"), add(realm, DEVICE, "part-2")
    brief = [
        {name: value for name, value in one.items() if name != "attributes"}
        for one in (part, of_client)
    ]
    realm.change("POST", f"{whole}/composites", [part, {"id": of_client["id"]}])
    realm.change("POST", f"roles-by-id/{role['id']}/composites", [part])
    for path in (whole, f"roles-by-id/{role['id']}"):
        assert realm.get(path)["composite"] is True
        assert realm.get(f"{path}/composites") == brief
        assert realm.get(f"{path}/composites?search=PART-2") == brief[1:]
        assert realm.get(f"{path}/composites?first=1&max=1") == brief[1:]
        assert realm.get(f"{path}/composites/realm") == brief[:1]
        assert realm.get(f"{path}/composites/clients/device-id") == brief[1:]
        assert realm.refused("GET", f"{path}/composites/clients/ghost") == (
            404,
            {"error": "Could not find client"},
        )
    realm.change("DELETE", f"{whole}/composites", [{"id": part["id"]}])
    realm.change("DELETE", f"{whole}/composites", [part])
    assert realm.get(f"{whole}/composites") == brief[1:]
    for path in (whole, "roles/part-1", f"{DEVICE}/part-2"):
        realm.change("DELETE", path)


def test_composites_of_a_new_role_count_if_it_is_composite(
    realm: AdministeredRealm,
) -> None:
    parts = {"realm": ["offline_access"], "client": {"account": ["view-profile"], "ghost": ["x"]}}
    add(realm, "roles", "composed", composite=True, composites=parts)
    assert names(realm.get("roles/composed/composites")) == ["offline_access", "view-profile"]
    add(realm, "roles", "not-composed", composites=parts)
    assert realm.get("roles/not-composed/composites") == []


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ({"realm": ["ghost"]}, "Realm Role with name ghost does not exist"),
        ({"client": {"account": ["ghost"]}}, "Client Role with name ghost does not exist"),
    ],
)
def test_a_role_whose_parts_do_not_exist_is_not_made(
    realm: AdministeredRealm, roles: str, parts: object, text: str
) -> None:
    document = {"name": "halfway", "composite": True, "composites": parts}
    assert realm.refused("POST", roles, document) == (404, {"errorMessage": text})
    assert realm.refused("GET", f"{roles}/halfway")[0] == 404


@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_composites_are_named_by_ids_of_the_realm(
    realm: AdministeredRealm, roles: str, method: str
) -> None:
    known = add(realm, roles, "by-id")
    foreign = realm.administration.ask("GET", "other/roles/offline_access").json()
    missing = (404, {"error": "Could not find composite role"})
    for wrong in ({"id": "ghost"}, {"name": "by-id"}, {}, foreign, {"id": 5}):
        path = f"{roles}/by-id/composites"
        assert realm.refused(method, path, [{"id": known["id"]}, wrong]) == missing
    for wrong in ("text", 5, None, [[]]):
        assert realm.refused(method, path, [wrong])[0] == 400
    assert realm.refused(method, path, {})[0] == 400
    assert realm.get(path) == []
    realm.change("DELETE", f"{roles}/by-id")


def test_the_default_role_stays_and_works_under_another_name(
    realm: AdministeredRealm,
) -> None:
    default = realm.get("roles/default-roles-of-roles")
    told = {"errorMessage": "{} is default role of the realm and cannot be removed."}

    def text(name: str) -> tuple[int, dict[str, str]]:
        return 400, {"errorMessage": told["errorMessage"].format(name)}

    for path in ("roles/default-roles-of-roles", f"roles-by-id/{default['id']}"):
        assert realm.refused("DELETE", path) == text("default-roles-of-roles")
    realm.change("PUT", "roles/default-roles-of-roles", default | {"name": "everybody"})
    assert realm.get("")["defaultRole"]["name"] == "everybody"
    assert realm.refused("DELETE", "roles/everybody") == text("everybody")
    user_id = realm.change("POST", "users", {"username": "late"})
    mapped = realm.get(f"users/{user_id}/role-mappings")["realmMappings"]
    assert names(mapped) == ["everybody"]
    realm.change("PUT", "roles/everybody", default)
    assert realm.get("")["defaultRole"]["name"] == "default-roles-of-roles"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("roles/ghost", "Could not find role"),
        (f"{DEVICE}/ghost", "Could not find role"),
        ("clients/ghost/roles/x", "Could not find client"),
        ("clients/device/roles/x", "Could not find client"),
        ("roles-by-id/ghost", "Could not find role with id"),
    ],
)
def test_what_does_not_exist_is_told_for_every_method(
    realm: AdministeredRealm, path: str, text: str
) -> None:
    missing = (404, {"error": text})
    for below in ("", "/composites", "/composites/realm", "/composites/clients/device-id"):
        assert realm.refused("GET", f"{path}{below}") == missing
    if "by-id" not in path:
        for below in ("/users", "/groups"):
            assert realm.refused("GET", f"{path}{below}") == missing
    assert realm.refused("PUT", path, {"name": "x"}) == missing
    assert realm.refused("DELETE", path) == missing
    for method in ("POST", "DELETE"):
        assert realm.refused(method, f"{path}/composites", []) == missing


def test_roles_of_a_client_that_does_not_exist_are_none(realm: AdministeredRealm) -> None:
    missing = (404, {"error": "Could not find client"})
    assert realm.refused("GET", "clients/ghost/roles") == missing
    assert realm.refused("POST", "clients/ghost/roles", {"name": "x"}) == missing


def test_fine_grained_permissions_are_left_out(realm: AdministeredRealm) -> None:
    for path in ("roles/offline_access", f"{DEVICE}/x", "roles-by-id/x"):
        status, answer = realm.refused("GET", f"{path}/management/permissions")
        assert (status, answer["error"]) == (501, "Feature not enabled")


def test_a_role_by_its_id_takes_the_right_over_where_it_belongs(
    realm: AdministeredRealm, roles: str
) -> None:
    """The URL does not tell: who may manage roles of the realm may not manage those of clients."""
    role = add(realm, roles, "by-right")
    path = f"roles-by-id/{role['id']}"
    may, may_not = ("of-realm", "of-clients") if roles == "roles" else ("of-clients", "of-realm")
    forbidden = (403, {"error": "HTTP 403 Forbidden"})
    for below in ("", "/composites", "/composites/realm"):
        assert realm.refused("GET", f"{path}{below}", by=may_not) == forbidden
        realm.get(f"{path}{below}", by=may)
    for method, below, document in (
        ("POST", "/composites", []),
        ("DELETE", "/composites", []),
        ("PUT", "", {"name": "by-right"}),
        ("DELETE", "", None),
    ):
        assert realm.refused(method, f"{path}{below}", document, by=may_not) == forbidden
        realm.change(method, f"{path}{below}", document, by=may)


def test_who_has_a_role_is_told_to_who_may_see_them(realm: AdministeredRealm, roles: str) -> None:
    role = add(realm, roles, "held")
    mappings = "realm" if roles == "roles" else "clients/device-id"
    group = realm.change("POST", "groups", {"name": "holders", "attributes": {"a": ["1"]}})
    holder, keeper = realm.account("holder"), realm.account("keeper")
    for path in (f"users/{holder}", f"users/{keeper}", f"groups/{group}"):
        realm.change("POST", f"{path}/role-mappings/{mappings}", [role])
    users = realm.get(f"{roles}/held/users")
    assert [user["id"] for user in users] == [holder, keeper]
    assert users[0]["access"] == {"manage": True}
    assert "notBefore" in users[0]
    (brief,) = realm.get(f"{roles}/held/users?briefRepresentation=true&first=1&max=1")
    assert (brief["id"], "notBefore" in brief) == (keeper, False)
    assert realm.get(f"{roles}/held/users?max=0") == []
    (found,) = realm.get(f"{roles}/held/groups")
    assert found == {"id": group, "name": "holders", "path": "/holders", "subGroups": []}
    (full,) = realm.get(f"{roles}/held/groups?briefRepresentation=false")
    assert full["attributes"] == {"a": ["1"]}
    assert realm.get(f"{roles}/held/groups?first=1") == []
    realm.change("DELETE", f"groups/{group}")
    realm.change("DELETE", f"{roles}/held")


def test_a_change_is_in_the_next_token(realm: AdministeredRealm) -> None:
    """Added, renamed, composed and removed: each is told to the gateway that issues tokens."""

    def realm_roles() -> set[str]:
        return set(realm.claims("holder").get("realm_access", {}).get("roles", ()))

    holder = f"users/{realm.account('holder')}/role-mappings/realm"
    role, part = add(realm, "roles", "seen"), add(realm, "roles", "seen-part")
    assert "seen" not in realm_roles()
    realm.change("POST", holder, [role])
    assert "seen" in realm_roles()
    realm.change("PUT", "roles/seen", {"name": "seen-again"})
    assert realm_roles() >= {"seen-again"}
    realm.change("POST", "roles/seen-again/composites", [part])
    assert realm_roles() >= {"seen-again", "seen-part"}
    realm.change("DELETE", "roles/seen-again/composites", [part])
    assert "seen-part" not in realm_roles()
    realm.change("DELETE", "roles/seen-again")
    assert "seen-again" not in realm_roles()


def test_every_change_is_recorded(realm: AdministeredRealm) -> None:
    before = len(realm.events())
    for roles in ("roles", DEVICE):
        role = add(realm, roles, "told", description="d")
        realm.change("PUT", f"{roles}/told", {"name": "told", "attributes": {"secret": ["x"]}})
        realm.change("POST", f"{roles}/told/composites", [{"id": role["id"]}])
        realm.change("DELETE", f"roles-by-id/{role['id']}/composites", [{"id": role["id"]}])
        realm.change("DELETE", f"{roles}/told")
        kind = "REALM_ROLE" if roles == "roles" else "CLIENT_ROLE"
        recorded = realm.events()[before:]
        before += len(recorded)
        reference = [{"id": role["id"]}]
        by_id = f"roles-by-id/{role['id']}/composites"
        assert recorded == [
            ("CREATE", kind, f"{roles}/told", {**reference[0], "name": "told", "description": "d"}),
            (
                "UPDATE",
                kind,
                f"{roles}/told",
                {"name": "told", "attributes": {"secret": "**********"}},
            ),
            ("CREATE", kind, f"{roles}/told/composites", reference),
            ("DELETE", kind, by_id, reference),
            ("DELETE", kind, f"{roles}/told", {"id": role["id"], "name": "told"}),
        ]


def test_of_several_who_add_the_same_name_at_once_one_does(
    realm: AdministeredRealm, roles: str
) -> None:
    for number in range(3):
        document = {"name": f"raced-{number}"}
        with ThreadPoolExecutor(4) as at_once:
            asked = [at_once.submit(realm.ask, "POST", roles, document) for _ in range(4)]
            assert sorted(one.result().status_code for one in asked) == [201, 409, 409, 409]
