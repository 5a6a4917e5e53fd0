"""Groups of users over the admin API. Keycloak: 7.2 (users/{id}/groups, 26.7)."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.admin.access.rights import REALM_MANAGEMENT
from tests.support.administration import SECRET, Administration
from tests.support.own_realm import OwnRealm, own_realm
from tests.support.recorded_changes import recorded_changes

GROUPS = [
    {"id": "zeta", "name": "zeta", "description": "the last"},
    {
        "id": "staff",
        "name": "staff",
        "subGroups": [
            {
                "id": "berlin",
                "name": "berlin",
                "attributes": {"site": ["1"]},
                "realmRoles": ["clerk"],
            }
        ],
    },
    {
        "id": "chiefs",
        "name": "chiefs",
        "clientRoles": {REALM_MANAGEMENT: ["realm-admin"]},
        "subGroups": [{"id": "deputies", "name": "deputies"}],
    },
]
HELPER = {"clientId": "helper", "secret": SECRET, "serviceAccountsEnabled": True, "enabled": True}
BRIEF_BERLIN = {
    "id": "berlin",
    "name": "berlin",
    "path": "/staff/berlin",
    "parentId": "staff",
    "subGroups": [],
}
BERLIN = {
    **BRIEF_BERLIN,
    "attributes": {"site": ["1"]},
    "realmRoles": ["clerk"],
    "clientRoles": {},
}


@pytest.fixture(scope="module")
def shared(administration: Administration, tmp_path_factory: pytest.TempPathFactory) -> OwnRealm:
    return own_realm(
        administration,
        tmp_path_factory.mktemp("membership"),
        "membership",
        adminEventsEnabled=True,
        adminEventsDetailsEnabled=True,
        roles={"realm": [{"name": "clerk"}]},
        groups=GROUPS,
        clients=[HELPER],
        users=[
            {
                "username": "service-account-helper",
                "serviceAccountClientId": "helper",
                "clientRoles": {REALM_MANAGEMENT: ["manage-users"]},
            },
        ],
    )


@pytest.fixture
def realm(shared: OwnRealm) -> Iterator[OwnRealm]:
    """Return the realm, and take away whom a test has added to it."""
    yield shared
    for user in shared.get("users"):
        shared.done("DELETE", f"users/{user['id']}")


@pytest.fixture
def bob(realm: OwnRealm) -> str:
    """Return the path of a user who is in no group."""
    return f"users/{realm.created('users', {'username': 'bob'})}"


def names(realm: OwnRealm, user: str, query: str = "") -> list[str]:
    return [group["name"] for group in realm.get(f"{user}/groups{query}")]


def join(realm: OwnRealm, user: str, *groups: str) -> None:
    for group in groups:
        assert realm.ask("PUT", f"{user}/groups/{group}").status_code == 204


def test_a_user_joins_and_leaves_a_group_once(realm: OwnRealm, bob: str) -> None:
    assert names(realm, bob) == []
    for content in (None, b"", b"{}", b"whatever"):
        assert realm.ask("PUT", f"{bob}/groups/berlin", content=content).status_code == 204
    assert names(realm, bob) == ["berlin"]
    for _ in range(2):
        left = realm.ask("DELETE", f"{bob}/groups/berlin")
        assert (left.status_code, left.content) == (204, b"")
    assert names(realm, bob) == []


def test_to_leave_a_group_is_not_to_leave_those_below(realm: OwnRealm, bob: str) -> None:
    join(realm, bob, "berlin")
    assert realm.ask("DELETE", f"{bob}/groups/staff").status_code == 204
    assert names(realm, bob) == ["berlin"]


def test_groups_are_brief_in_keycloaks_shape_unless_asked(realm: OwnRealm, bob: str) -> None:
    join(realm, bob, "berlin", "zeta")
    berlin, zeta = realm.get(f"{bob}/groups")
    assert berlin == BRIEF_BERLIN
    assert list(zeta.items())[:4] == [
        ("id", "zeta"),
        ("name", "zeta"),
        ("description", "the last"),
        ("path", "/zeta"),
    ]
    whole, _ = realm.get(f"{bob}/groups?briefRepresentation=False")
    assert whole == BERLIN


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["berlin", "staff", "zeta"]),
        ("?search=", ["berlin", "staff", "zeta"]),
        ("?search=T", ["staff", "zeta"]),
        ("?search=berl", ["berlin"]),
        ("?search=/staff", []),
        ("?search=%25", []),
        ("?first=1", ["staff", "zeta"]),
        ("?first=1&max=1", ["staff"]),
        ("?max=0", []),
        ("?max=-1", ["berlin", "staff", "zeta"]),
        ("?first=9", []),
    ],
)
def test_groups_are_sought_and_paged_by_name(
    realm: OwnRealm, bob: str, query: str, found: list[str]
) -> None:
    join(realm, bob, "zeta", "staff", "berlin")
    assert names(realm, bob, query) == found


def test_groups_are_counted(realm: OwnRealm, bob: str) -> None:
    join(realm, bob, "zeta", "staff")
    assert realm.get(f"{bob}/groups/count") == {"count": 2}
    assert realm.get(f"{bob}/groups/count?search=z") == {"count": 1}


def test_a_page_that_is_no_number_does_not_exist(realm: OwnRealm, bob: str) -> None:
    assert realm.ask("GET", f"{bob}/groups?max=x").status_code == 404


def test_who_or_what_does_not_exist_is_told_the_user_first(realm: OwnRealm, bob: str) -> None:
    no_user, no_group = {"error": "User not found"}, {"error": "Group not found"}
    for verb, path, told in (
        ("GET", "users/nobody/groups", no_user),
        ("GET", "users/nobody/groups/count", no_user),
        ("PUT", "users/nobody/groups/nothing", no_user),
        ("DELETE", "users/nobody/groups/staff", no_user),
        ("PUT", f"{bob}/groups/nothing", no_group),
        ("DELETE", f"{bob}/groups/nothing", no_group),
    ):
        answer = realm.ask(verb, path)
        assert (answer.status_code, answer.json()) == (404, told)


def test_a_group_of_another_realm_is_not_found(realm: OwnRealm, bob: str) -> None:
    group = realm.done("POST", "/admin/realms/other/groups", {"name": "theirs"})
    theirs = group.headers["location"].rsplit("/", 1)[1]
    try:
        assert realm.ask("PUT", f"{bob}/groups/{theirs}").status_code == 404
        assert realm.ask("PUT", f"/admin/realms/other/{bob}/groups/{theirs}").status_code == 404
    finally:
        realm.done("DELETE", f"/admin/realms/other/groups/{theirs}")


@pytest.mark.parametrize("group", ["chiefs", "deputies"])
def test_no_caller_adds_a_user_to_a_group_with_more_rights(
    realm: OwnRealm, bob: str, group: str
) -> None:
    helper = realm.administration.token("helper", realm.name)
    path = f"{bob}/groups/{group}"
    assert realm.ask("PUT", path, token=helper).status_code == 403
    assert names(realm, bob) == []
    assert realm.ask("PUT", path).status_code == 204
    assert realm.ask("DELETE", path, token=helper).status_code == 403
    assert realm.ask("PUT", f"{bob}/groups/staff", token=helper).status_code == 403
    assert realm.ask("DELETE", path).status_code == 204
    assert realm.ask("PUT", f"{bob}/groups/staff", token=helper).status_code == 204


def test_joining_and_leaving_are_recorded_if_they_change(
    realm: OwnRealm, bob: str, administration: Administration
) -> None:
    path = f"{bob}/groups/berlin"
    join(realm, bob, "berlin", "berlin")
    realm.done("DELETE", path)
    realm.done("DELETE", path)
    _, *recorded = recorded_changes(administration, realm.name)[-3:]
    assert [event[:3] for event in recorded] == [
        ("CREATE", "GROUP_MEMBERSHIP", path),
        ("DELETE", "GROUP_MEMBERSHIP", path),
    ]
    told: dict[str, Any] = json.loads(recorded[0][3] or "")
    assert {name: told[name] for name in ("id", "path", "realmRoles")} == {
        "id": "berlin",
        "path": "/staff/berlin",
        "realmRoles": ["clerk"],
    }


def test_a_viewer_sees_groups_and_changes_none(administration: Administration) -> None:
    viewer = administration.token("view-users", "acme")
    path = "acme/users/id-of-bob/groups"
    assert administration.ask("GET", path, viewer).json() == []
    for verb in ("PUT", "DELETE"):
        assert administration.ask(verb, f"{path}/x", viewer).status_code == 403
    seeker = administration.token("query-users", "acme")
    assert administration.ask("GET", path, seeker).status_code == 403
