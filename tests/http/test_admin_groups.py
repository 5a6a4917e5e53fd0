"""Groups over the admin API: their tree, searches, moves and members. Keycloak: 7.3."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import pytest

from tests.support.administered_realm import SIGN_IN, AdministeredRealm, administered_realm, person
from tests.support.administration import Administration

ACCESS = {
    "view": True,
    "viewMembers": True,
    "manageMembers": True,
    "manage": True,
    "manageMembership": True,
}


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm whose users may be members."""
    people = [person(name, groups=["/crew"]) for name in ("zed", "amy", "moe")]
    administrators = {"viewer": ["view-users"], "asker": ["query-groups"]}
    with administered_realm(
        administration,
        "of-groups",
        administrators,
        **SIGN_IN,
        users=[*people, person("owl", groups=["/crew/night"])],
        groups=[{"name": "crew", "subGroups": [{"name": "night"}]}],
    ) as made:
        yield made


@pytest.fixture
def top(realm: AdministeredRealm) -> Iterator[str]:
    """Make a group for one test; whatever is below it goes with it."""
    made = realm.change("POST", "groups", {"name": "top"})
    yield made
    realm.ask("DELETE", f"groups/{made}")


def below(realm: AdministeredRealm, parent: str, name: str, **fields: Any) -> str:
    """Add a group below another and return its id."""
    return realm.change("POST", f"groups/{parent}/children", {"name": name, **fields})


def tree(found: list[dict[str, Any]]) -> list[Any]:
    """Return names, and in lists of their own the names below."""
    return [
        part
        for group in found
        for part in (group["name"], *([tree(group["subGroups"])] if group["subGroups"] else []))
    ]


def names(found: list[dict[str, Any]]) -> list[str]:
    return [group["name"] for group in found]


def test_a_group_is_shown_as_keycloak_shows_it(realm: AdministeredRealm, top: str) -> None:
    attributes = {"a": ["1", "2"], "none": []}
    passed_over = {"path": "/else", "parentId": "x", "subGroups": [{"name": "y"}], "access": {}}
    told = {"name": "shown", "attributes": attributes, "description": "d", **passed_over}
    created = realm.ask("POST", f"groups/{top}/children", told)
    shown = created.json()
    assert created.status_code == 201
    assert created.headers["location"] == (
        f"https://gateway.test/admin/realms/of-groups/groups/{shown['id']}"
    )
    expected = {
        "id": shown["id"],
        "name": "shown",
        "description": "d",
        "path": "/top/shown",
        "parentId": top,
        "subGroups": [],
        "attributes": {"a": ["1", "2"]},
        "realmRoles": [],
        "clientRoles": {},
        "access": ACCESS,
    }
    assert (shown, list(shown)) == (expected, list(expected))
    one = realm.get(f"groups/{shown['id']}")
    assert one == {**expected, "subGroupCount": 0}
    assert list(one)[4:7] == ["parentId", "subGroupCount", "subGroups"]
    assert realm.get(f"groups/{top}/children") == [one]
    details = ("attributes", "realmRoles", "clientRoles")
    brief = {name: value for name, value in one.items() if name not in details}
    assert realm.get(f"groups/{top}/children?briefRepresentation=true") == [brief]
    assert realm.get("group-by-path/top/shown") == {
        name: value for name, value in one.items() if name != "access"
    }


def test_a_group_at_the_top_has_a_location_and_no_body(realm: AdministeredRealm) -> None:
    created = realm.ask("POST", "groups/", {"name": "a/b"})
    group_id = created.headers["location"].rpartition("/")[2]
    assert (created.status_code, created.content) == (201, b"")
    assert realm.get(f"groups/{group_id}")["path"] == "/a/b"
    assert realm.get("group-by-path/a/b")["id"] == group_id
    assert realm.get("group-by-path/a%2Fb/")["id"] == group_id
    realm.change("DELETE", f"groups/{group_id}")


def test_a_name_is_taken_once_among_siblings(realm: AdministeredRealm, top: str) -> None:
    below(realm, top, "x")
    sibling = {"errorMessage": "Sibling group named 'x' already exists."}
    assert realm.refused("POST", f"groups/{top}/children", {"name": "x"}) == (409, sibling)
    other = below(realm, top, "y")
    assert realm.refused("PUT", f"groups/{other}", {"name": "x"}) == (409, sibling)
    taken = {"errorMessage": "Top level group named 'top' already exists."}
    assert realm.refused("POST", "groups", {"name": "top"}) == (409, taken)
    assert names(realm.get(f"groups/{top}/children")) == ["x", "y"]


@pytest.mark.parametrize(
    ("document", "answer"),
    [
        ({}, {"errorMessage": "Group name is missing"}),
        ({"name": ""}, {"errorMessage": "Group name is missing"}),
        ({"name": "  "}, {"errorMessage": "Group name is missing"}),
        ([], {"error": "unknown_error", "error_description": "Cannot parse the JSON"}),
        (
            {"name": "x", "bogus": 1},
            {
                "error": "Invalid json representation for GroupRepresentation."
                ' Unrecognized field "bogus" at bogus.'
            },
        ),
    ],
)
def test_a_group_that_makes_no_sense_is_refused(
    realm: AdministeredRealm, top: str, document: object, answer: object
) -> None:
    before = realm.ask("GET", f"groups/{top}").content
    for method, path in (
        ("POST", "groups"),
        ("POST", f"groups/{top}/children"),
        ("PUT", f"groups/{top}"),
    ):
        assert realm.refused(method, path, document) == (400, answer)
    assert realm.ask("GET", f"groups/{top}").content == before


@pytest.mark.parametrize(
    "fields",
    [
        {"name": {}},
        {"name": "x\u0000"},
        {"name": "x\ud800"},
        {"name": "x" * 256},
        {"id": {}},
        {"description": "x" * 256},
        {"attributes": {"x": {}}},
        {"attributes": {"": ["x"]}},
        {"attributes": {"x": ["\u0000"]}},
    ],
)
def test_a_field_of_the_wrong_type_is_refused_and_not_written(
    realm: AdministeredRealm, top: str, fields: dict[str, Any]
) -> None:
    before = realm.ask("GET", f"groups/{top}").content
    for method, path in (("POST", f"groups/{top}/children"), ("PUT", f"groups/{top}")):
        assert realm.refused(method, path, {"name": "wrong", **fields})[0] == 400
    assert realm.ask("GET", f"groups/{top}").content == before


def test_a_put_replaces_the_description_and_keeps_attributes(
    realm: AdministeredRealm, top: str
) -> None:
    group = below(realm, top, "old", description="lost", attributes={"a": ["1"]})
    before = realm.get(f"groups/{group}")
    realm.change("PUT", f"groups/{group}", {"name": "new"})
    after = realm.get(f"groups/{group}")
    assert after == {
        **{name: value for name, value in before.items() if name != "description"},
        "name": "new",
        "path": "/top/new",
    }
    wrong = (400, {"errorMessage": "Invalid group id"})
    assert realm.refused("PUT", f"groups/{group}", {"name": "x", "id": top}) == wrong
    realm.change("PUT", f"groups/{group}", before | {"attributes": {}})
    assert realm.get(f"groups/{group}") == before | {"attributes": {}}


def test_a_fetched_group_that_is_put_back_changes_nothing(
    realm: AdministeredRealm, top: str
) -> None:
    group = below(realm, top, "same", description="d", attributes={"z": ["2"], "a": ["1"]})
    below(realm, group, "child")
    before = realm.ask("GET", f"groups/{group}")
    realm.change("PUT", f"groups/{group}", before.json())
    after = realm.ask("GET", f"groups/{group}")
    assert (after.content, after.headers["etag"]) == (before.content, before.headers["etag"])


def test_a_change_of_another_state_than_was_known_is_refused(
    realm: AdministeredRealm, top: str
) -> None:
    path = f"groups/{top}"
    tag = realm.ask("GET", path).headers["etag"]
    realm.change("PUT", path, {"name": "top", "description": "by somebody else"})
    for method, document in (("PUT", {"name": "top"}), ("DELETE", None)):
        assert realm.ask(method, path, document, If_Match=tag).status_code == 412
    assert realm.get(path)["description"] == "by somebody else"
    tag = realm.ask("GET", path).headers["etag"]
    assert realm.ask("PUT", path, {"name": "top"}, If_Match=tag).status_code == 204


def test_what_does_not_exist_is_told_for_every_method(realm: AdministeredRealm, top: str) -> None:
    missing = (404, {"error": "Could not find group by id"})
    for path in ("ghost", "ghost/children", "ghost/members", "ghost/role-mappings"):
        assert realm.refused("GET", f"groups/{path}") == missing
    assert realm.refused("PUT", "groups/ghost", {"name": "x"}) == missing
    assert realm.refused("DELETE", "groups/ghost") == missing
    assert realm.refused("POST", "groups/ghost/children", {"name": "x"}) == missing
    no_child = (404, {"error": "Could not find child by id"})
    for path in ("groups", f"groups/{top}/children"):
        assert realm.refused("POST", path, {"name": "x", "id": "ghost"}) == no_child
    for path in ("ghost", "top/ghost", "TOP", "op"):
        assert realm.refused("GET", f"group-by-path/{path}") == (
            404,
            {"error": "Group path does not exist"},
        )
    assert realm.refused("GET", f"groups/{top}/management/permissions")[0] == 501


def test_a_group_moves_with_all_below_it(realm: AdministeredRealm, top: str) -> None:
    """The name that is told with it is passed over: another is no new name."""
    one, two = below(realm, top, "one"), below(realm, top, "two")
    child = below(realm, one, "child")
    assert realm.ask("POST", f"groups/{two}/children", {"name": "x", "id": one}).status_code == 204
    assert realm.get(f"groups/{child}")["path"] == "/top/two/one/child"
    realm.change("POST", f"groups/{two}/children", {"name": "one", "id": one})
    realm.change("POST", f"groups/{one}/children", {"name": "one", "id": one})
    assert realm.get(f"groups/{one}")["parentId"] == two
    assert realm.ask("POST", "groups", {"name": "one", "id": one}).status_code == 204
    moved = realm.get(f"groups/{one}")
    assert (moved["path"], "parentId" in moved) == ("/one", False)
    below(realm, two, "one")
    taken = (409, {"errorMessage": "Sibling group named 'one' already exists."})
    assert realm.refused("POST", f"groups/{two}/children", {"name": "x", "id": one}) == taken
    realm.change("DELETE", f"groups/{one}")
    assert realm.refused("GET", f"groups/{child}")[0] == 404


def test_a_group_is_never_below_itself(realm: AdministeredRealm, top: str) -> None:
    child = below(realm, top, "child")
    grandchild = below(realm, child, "grandchild")
    for parent in (child, grandchild):
        told = {"name": "top", "id": top}
        assert realm.refused("POST", f"groups/{parent}/children", told) == (
            400,
            {"errorMessage": "A group cannot be moved below itself"},
        )
    assert realm.get(f"groups/{grandchild}")["path"] == "/top/child/grandchild"


def test_of_two_that_move_below_each_other_at_once_one_does(
    realm: AdministeredRealm, top: str
) -> None:
    for number in range(3):
        one, two = (below(realm, top, f"{name}-{number}") for name in ("one", "two"))
        with ThreadPoolExecutor(2) as at_once:
            asked = [
                at_once.submit(
                    realm.ask, "POST", f"groups/{parent}/children", {"name": "x", "id": child}
                )
                for parent, child in ((one, two), (two, one))
            ]
            assert sorted(answer.result().status_code for answer in asked) == [204, 400]
        depths = {realm.get(f"groups/{group}")["path"].count("/") for group in (one, two)}
        assert depths == {2, 3}


def test_groups_stand_at_most_fifty_deep(realm: AdministeredRealm, top: str) -> None:
    deepest = top
    for number in range(49):
        deepest = below(realm, deepest, f"g{number}")
    too_deep = (400, {"errorMessage": "At most 50 groups may stand one below the other"})
    assert realm.refused("POST", f"groups/{deepest}/children", {"name": "x"}) == too_deep
    beside = below(realm, top, "beside")
    below(realm, beside, "child")
    path = f"groups/{realm.get(f'groups/{deepest}')['parentId']}/children"
    assert realm.refused("POST", path, {"name": "x", "id": beside}) == too_deep


def test_of_several_who_add_the_same_name_at_once_one_does(
    realm: AdministeredRealm, top: str
) -> None:
    for path in (f"groups/{top}/children", "groups"):
        document = {"name": "raced"}
        with ThreadPoolExecutor(4) as at_once:
            asked = [at_once.submit(realm.ask, "POST", path, document) for _ in range(4)]
            assert sorted(one.result().status_code for one in asked) == [201, 409, 409, 409]
    realm.change("DELETE", f"groups/{realm.get('group-by-path/raced')['id']}")


@pytest.fixture(scope="module")
def forest(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a tree of groups that nothing else changes."""
    groups = [
        {
            "name": "alpha",
            "subGroups": [
                {
                    "name": "beta",
                    "attributes": {"team": ["red", "blue"]},
                    "realmRoles": ["offline_access"],
                    "subGroups": [{"name": "gamma", "attributes": {"team": ["red"]}}],
                },
                {"name": "Gamma"},
            ],
        },
        {"name": "betamax", "subGroups": [{"name": "gamma"}]},
    ]
    with administered_realm(administration, "forest", {"asker": []}, groups=groups) as made:
        yield made


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["alpha", "betamax"]),
        ("first=1", ["betamax"]),
        ("max=1", ["alpha"]),
        ("max=0", []),
        ("max=-1", ["alpha", "betamax"]),
        ("exact=true", ["alpha", "betamax"]),
        ("search=", ["alpha", "betamax"]),
        ("search=gamma", ["alpha", ["Gamma", "beta", ["gamma"]], "betamax", ["gamma"]]),
        ("search=gamma&max=1", ["alpha", ["Gamma"]]),
        ("search=gamma&first=1&max=1", None),
        ("search=be", ["alpha", ["beta"], "betamax"]),
        ("search=alpha", ["alpha"]),
        ("search=%25", []),
        ("search=Gamma&exact=true", ["alpha", ["Gamma"]]),
        ("search=gamma&populateHierarchy=false", ["Gamma", "gamma", "gamma"]),
        ("search=%20", ["alpha", ["Gamma", "beta", ["gamma"]], "betamax", ["gamma"]]),
        ("q=team:red", ["alpha", ["beta", ["gamma"]]]),
        ("q=team:blue", ["alpha", ["beta"]]),
        ("q=team:red&search=nothing", ["alpha", ["beta", ["gamma"]]]),
        ("q=team:red%20team:blue", ["alpha", ["beta", ["gamma"]]]),
        ("q=team:red%20x:y", []),
        ("q=team:red&populateHierarchy=false", ["beta", "gamma"]),
        ("q=nonsense", ["alpha", ["Gamma", "beta", ["gamma"]], "betamax", ["gamma"]]),
        ("search=nothing", []),
    ],
)
def test_groups_are_found_with_those_above_them(
    forest: AdministeredRealm, query: str, found: list[Any] | None
) -> None:
    listed = tree(forest.get(f"groups?{query}"))
    if found is None:
        # Two groups have the same name: the order of their ids decides.
        assert listed in (["betamax", ["gamma"]], ["alpha", ["beta", ["gamma"]]])
    else:
        assert listed == found


@pytest.mark.parametrize(
    ("query", "count"),
    [("", 6), ("search=gamma", 3), ("search=BE", 2), ("top=true", 2), ("top=true&search=be", 2)],
)
def test_groups_are_counted(forest: AdministeredRealm, query: str, count: int) -> None:
    assert forest.get(f"groups/count?{query}") == {"count": count}


def test_a_list_of_groups_is_brief_unless_more_is_asked_for(forest: AdministeredRealm) -> None:
    (top,) = forest.get("groups?search=beta&exact=true")
    (beta,) = top["subGroups"]
    assert (top["subGroupCount"], beta["subGroupCount"]) == (2, 1)
    assert "attributes" not in beta
    (top,) = forest.get("groups?search=beta&exact=true&briefRepresentation=false")
    (beta,) = top["subGroups"]
    assert (beta["attributes"], beta["realmRoles"]) == (
        {"team": ["red", "blue"]},
        ["offline_access"],
    )
    assert top["attributes"] == {}
    assert all("subGroupCount" not in one for one in forest.get("groups?subGroupsCount=false"))


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", ["Gamma", "beta"]),
        ("?first=1", ["beta"]),
        ("?max=1", ["Gamma"]),
        ("?max=0", []),
        ("?search=BET", ["beta"]),
        ("?search=bet&exact=true", []),
        ("?search=beta&exact=true", ["beta"]),
    ],
)
def test_children_are_listed_and_found(
    forest: AdministeredRealm, query: str, found: list[str]
) -> None:
    alpha = forest.get("group-by-path/alpha")["id"]
    assert names(forest.get(f"groups/{alpha}/children{query}")) == found


def test_ten_children_come_where_nobody_says_how_many(realm: AdministeredRealm, top: str) -> None:
    for number in range(12):
        below(realm, top, f"child-{number:02}")
    assert len(realm.get(f"groups/{top}/children")) == 10
    assert len(realm.get(f"groups/{top}/children?max=-1")) == 12
    assert names(realm.get(f"groups/{top}/children?first=11")) == ["child-11"]
    assert realm.get(f"groups/{top}")["subGroupCount"] == 12


@pytest.mark.parametrize("path", ["groups", "groups/{}/children", "groups/{}/members"])
def test_a_page_that_is_no_number_is_not_found(
    realm: AdministeredRealm, top: str, path: str
) -> None:
    for query in ("first=x", "max=1.5"):
        refused = realm.refused("GET", f"{path.format(top)}?{query}")
        assert refused == (404, {"error": "HTTP 404 Not Found"})


def test_members_are_listed_by_name_those_of_children_left_out(realm: AdministeredRealm) -> None:
    path = f"groups/{realm.get('group-by-path/crew')['id']}/members"
    found = realm.get(path)
    assert [user["username"] for user in found] == ["amy", "moe", "zed"]
    assert "access" not in found[0]
    assert "notBefore" in found[0]
    assert [user["username"] for user in realm.get(f"{path}?first=1&max=1")] == ["moe"]
    assert realm.get(f"{path}?max=0") == []
    assert all("notBefore" not in user for user in realm.get(f"{path}?briefRepresentation=true"))
    night = realm.get("group-by-path/crew/night")["id"]
    found = realm.get(f"groups/{night}/members")
    assert [user["username"] for user in found] == ["owl"]


def test_access_tells_what_the_caller_may(realm: AdministeredRealm, top: str) -> None:
    may_view = ACCESS | {"manageMembers": False, "manage": False, "manageMembership": False}
    assert realm.get(f"groups/{top}", by="viewer")["access"] == may_view
    assert realm.get("groups?search=top", by="viewer")[0]["access"] == may_view
    assert realm.get("groups", by="asker") == []
    assert realm.get("groups?search=top", by="asker") == []
    assert realm.get("groups/count?search=top", by="asker") == {"count": 1}


def test_a_change_is_in_the_next_token(realm: AdministeredRealm, top: str) -> None:
    """What groups bring is told to the gateway that issues tokens, wherever it changes."""

    def wanted() -> bool:
        return "wanted" in realm.claims_of_user("owl")["realm_access"]["roles"]

    realm.change("POST", "roles", {"name": "wanted"})
    role = realm.get("roles/wanted")
    child = realm.get("group-by-path/crew/night")["id"]
    realm.change("POST", f"groups/{top}/role-mappings/realm", [role])
    assert not wanted()
    realm.change("POST", f"groups/{top}/children", {"name": "night", "id": child})
    assert wanted()
    realm.change("DELETE", f"groups/{top}/role-mappings/realm", [role])
    assert not wanted()
    realm.change("POST", f"groups/{child}/role-mappings/realm", [role])
    assert wanted()
    realm.change("DELETE", f"groups/{child}")
    assert not wanted()
    realm.change("DELETE", "roles/wanted")


def test_every_change_is_recorded(realm: AdministeredRealm, top: str) -> None:
    before = len(realm.events())
    group = realm.change("POST", "groups", {"name": "told", "attributes": {"a": ["1"]}})
    child = below(realm, group, "child")
    realm.change("PUT", f"groups/{child}", {"name": "renamed"})
    realm.change("POST", f"groups/{top}/children", {"name": "renamed", "id": child})
    realm.change("POST", "groups", {"name": "renamed", "id": child})
    realm.change("DELETE", f"groups/{group}")
    moved = {"name": "renamed", "id": child}
    assert realm.events()[before:] == [
        (
            "CREATE",
            "GROUP",
            f"groups/{group}",
            {"id": group, "name": "told", "attributes": {"a": "**********"}},
        ),
        ("CREATE", "GROUP", f"groups/{group}/children", {"id": child, "name": "child"}),
        ("UPDATE", "GROUP", f"groups/{child}", {"name": "renamed"}),
        ("UPDATE", "GROUP", f"groups/{top}/children", moved),
        ("UPDATE", "GROUP", "groups", moved),
        ("DELETE", "GROUP", f"groups/{group}", {"id": group, "name": "told"}),
    ]
    realm.change("DELETE", f"groups/{child}")


def test_groups_of_another_realm_are_not_reached(
    realm: AdministeredRealm, forest: AdministeredRealm, top: str
) -> None:
    alpha = forest.get("group-by-path/alpha")["id"]
    assert realm.refused("GET", f"groups/{alpha}")[0] == 404
    assert realm.refused("POST", f"groups/{top}/children", {"name": "x", "id": alpha})[0] == 404
    assert realm.refused("POST", f"groups/{alpha}/children", {"name": "x"})[0] == 404
    assert realm.refused("GET", f"group-by-path/{quote('alpha')}")[0] == 404
    assert tree(forest.get("groups")) == ["alpha", "betamax"]
