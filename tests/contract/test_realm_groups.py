"""Groups of realm files: the tree, its roles, its members, and back again."""

import copy
import json
from typing import Any

import pytest

from gateway.admin.realm_files.user_import import UserImport
from gateway.representations.json_input import StreamedObject
from tests.support.created_users import create_user
from tests.support.realm_imports import ACME, Imports, changed
from tests.support.realm_texts import export_realm

_GROUPS: list[dict[str, Any]] = [
    {
        "id": "staff-id",
        "name": "staff",
        "path": "/wrong",
        "description": "All who work",
        "attributes": {"cost": ["17", "4"], "about": []},
        "realmRoles": ["boss"],
        "clientRoles": {"page": ["edit"]},
        "subGroups": [
            {"name": "Berlin Süd", "subGroups": [{"name": "night", "realmRoles": ["worker"]}]},
            {"name": "abroad"},
        ],
    },
    {"name": "abroad"},
]
_ROLES = ACME["roles"] | {"client": {"page": [{"name": "edit"}]}}
_USERS = [
    {"username": "alice", "groups": ["/staff/Berlin Süd", "/abroad", "/abroad"]},
    {"username": "bob", "groups": []},
    {"username": "carol"},
]


def staff(**settings: Any) -> dict[str, Any]:
    """Return the realm with groups and users in them."""
    given = {"roles": _ROLES, "groups": _GROUPS, "users": _USERS, "defaultGroups": ["/abroad"]}
    return changed(**copy.deepcopy(given | settings))


async def exported(imports: Imports) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(await export_realm(imports.database, "acme"))
    return document


async def groups_of(imports: Imports) -> dict[str, list[str]]:
    return {user["username"]: user["groups"] for user in (await exported(imports))["users"]}


async def test_groups_and_members_are_read_and_written(imports_everywhere: Imports) -> None:
    (done,) = await imports_everywhere.run(staff())
    assert done.not_imported == ()
    document = await exported(imports_everywhere)
    abroad, tree = document["groups"]
    assert (abroad["name"], abroad["path"]) == ("abroad", "/abroad")
    assert {name: value for name, value in tree.items() if name != "subGroups"} == {
        "id": "staff-id",
        "name": "staff",
        "description": "All who work",
        "path": "/staff",
        "attributes": {"cost": ["17", "4"], "about": []},
        "realmRoles": ["boss"],
        "clientRoles": {"page": ["edit"]},
    }
    berlin, below = tree["subGroups"]
    assert (berlin["path"], below["path"]) == ("/staff/Berlin Süd", "/staff/abroad")
    assert (berlin["parentId"], berlin["subGroups"][0]["name"]) == ("staff-id", "night")
    assert document["defaultGroups"] == ["/abroad"]
    assert await groups_of(imports_everywhere) == {
        "alice": ["/abroad", "/staff/Berlin Süd"],
        "bob": [],
        "carol": ["/abroad"],
        "service-account-robot": ["/abroad"],
    }
    assert "boss" in (await imports_everywhere.roles("alice")).realm
    assert "boss" not in (await imports_everywhere.roles("carol")).realm


async def test_a_reimported_export_is_the_same_to_the_byte(
    imports_everywhere: Imports,
) -> None:
    await imports_everywhere.run(staff())
    before = await export_realm(imports_everywhere.database, "acme", include_secrets=True)
    await imports_everywhere.run(json.loads(before))
    after = await export_realm(imports_everywhere.database, "acme", include_secrets=True)
    assert after == before
    other = json.loads(before) | {"realm": "other", "id": "other"}
    await imports_everywhere.run(other)
    moved = json.loads(
        await export_realm(imports_everywhere.database, "other", include_secrets=True)
    )
    for part in ("groups", "defaultGroups"):
        assert json.dumps(moved[part]) == json.dumps(json.loads(before)[part])
    assert [user["groups"] for user in moved["users"]] == [
        user["groups"] for user in json.loads(before)["users"]
    ]


async def test_known_groups_follow_the_file_and_keep_omitted_fields(
    imports: Imports,
) -> None:
    await imports.run(staff())
    again = [{"name": "staff", "attributes": {"cost": ["5"]}, "realm_roles": ["worker"]}]
    await imports.run({"realm": "acme", "groups": again})
    document = await exported(imports)
    (tree,) = [group for group in document["groups"] if group["name"] == "staff"]
    assert tree["attributes"] == {"cost": ["5"]}
    assert (tree["id"], tree["description"]) == ("staff-id", "All who work")
    assert tree["realmRoles"] == ["boss", "worker"]
    assert len(tree["subGroups"]) == 2
    assert document["defaultGroups"] == ["/abroad"]
    await imports.run({"realm": "acme", "default_groups": ["/staff", "/abroad"]})
    assert (await exported(imports))["defaultGroups"] == ["/abroad", "/staff"]
    await imports.run({"realm": "acme", "defaultGroups": []})
    assert (await exported(imports))["defaultGroups"] == []


@pytest.mark.parametrize(
    ("wrong", "refused"),
    [
        ({"groups": {}}, {"groups": "an object"}),
        ({"groups": ["x"]}, {"groups[0]": '"x"'}),
        (
            {"groups": [{"name": [], "attributes": {"a": [None]}, "colour": "red"}, {}]},
            {
                "groups[0].name": "a list of 0",
                "groups[0].attributes.a[0]": "null",
                "groups[0].colour": '"colour"',
                "groups[1].name": "null",
            },
        ),
        (
            {"groups": [{"name": "a", "subGroups": [{"name": "b"}, {"name": "b"}]}]},
            {"groups[0].subGroups[1].name": '"b"'},
        ),
        ({"groups": [{"name": "a", "sub_groups": 1}]}, {"groups[0].sub_groups": "1"}),
        ({"groups": [{"name": "a", "id": "a b"}]}, {"groups[0].id": '"a b"'}),
        (
            {"groups": [{"name": "a", "attributes": {"cost": "5"}}]},
            {"groups[0].attributes.cost": '"5"'},
        ),
        (
            {"groups": [{"name": "b", "subGroups": [{"name": "c", "clientRoles": {"no": ["x"]}}]}]},
            {"groups[0].subGroups[0].clientRoles.no": '"x"'},
        ),
        ({"defaultGroups": ["/abroad", "/none"]}, {"defaultGroups[1]": '"/none"'}),
        ({"defaultGroups": "/abroad"}, {"defaultGroups": '"/abroad"'}),
        ({"defaultGroups": ["/"]}, {"defaultGroups[0]": '"/"'}),
        (
            {"users": [{"username": "x", "groups": ["none"], "clientRoles": {"no": ["r"]}}]},
            {"users[0].groups[0]": '"/none"', "users[0].clientRoles.no": '"r"'},
        ),
        ({"users": [{"username": "x", "groups": [7]}]}, {"users[0].groups[0]": '"/7"'}),
    ],
)
async def test_every_wrong_field_is_named_and_nothing_is_changed(
    imports: Imports, wrong: dict[str, Any], refused: dict[str, str]
) -> None:
    await imports.run(staff())
    before = await export_realm(imports.database, "acme", include_secrets=True)
    found = await imports.refused({"realm": "acme"} | wrong)
    assert found == {f"0.json: {path}": given for path, given in refused.items()}
    assert await export_realm(imports.database, "acme", include_secrets=True) == before


async def test_groups_with_slashes_in_their_names_are_no_subgroups(imports: Imports) -> None:
    """The export is put back unchanged. A file of Keycloak, which escapes nothing, is read too."""
    tree = [
        {"name": "a", "subGroups": [{"name": "b"}, {"name": "b/c"}]},
        {"name": "a/b", "subGroups": [{"name": "c"}]},
        {"name": "a~", "subGroups": [{"name": "b"}]},
        {"name": "x/y"},
    ]
    members = {
        "below": "/a/b",
        "slashed": "/a~/b",
        "below-slashed": "/a~/b/c",
        "slashed-below": "/a/b~/c",
        "below-escape": "/a~~/b",
        "of-keycloak": "/x/y",
    }
    users = [{"username": name, "groups": [path]} for name, path in members.items()]
    defaults = ["/a~/b", "/a/b"]
    await imports.run(staff(groups=tree, users=users, defaultGroups=defaults))
    expected = {name: [path] for name, path in members.items()} | {"of-keycloak": ["/x~/y"]}
    before = await exported(imports)
    found = await groups_of(imports)
    assert {name: found[name] for name in members} == expected
    assert sorted(before["defaultGroups"]) == sorted(defaults)
    await imports.run(before)
    assert await exported(imports) == before
    ambiguous = {"users": [{"username": "z", "groups": ["/a/b/c"]}]}
    assert await imports.refused({"realm": "acme"} | ambiguous) == {
        "0.json: users[0].groups[0]": '"/a/b/c"'
    }


async def test_a_tree_that_is_too_deep_is_refused(imports: Imports) -> None:
    deep: dict[str, Any] = {"name": "g"}
    for _ in range(50):
        deep = {"name": "g", "subGroups": [deep]}
    (path,) = await imports.refused(changed(groups=[deep]))
    assert path.endswith("].subGroups")
    await imports.run(changed(groups=deep["subGroups"]))


async def test_streamed_users_join_groups_too(imports_everywhere: Imports) -> None:
    await imports_everywhere.run(staff(users=[]))
    importing = UserImport(
        database=imports_everywhere.database,
        passwords=imports_everywhere.passwords,
        clock=imports_everywhere.clock,
    )
    await importing.run(
        "acme", [StreamedObject(number, user, number) for number, user in enumerate(_USERS, 1)]
    )
    assert (await groups_of(imports_everywhere))["alice"] == ["/abroad", "/staff/Berlin Süd"]
    assert (await groups_of(imports_everywhere))["carol"] == ["/abroad"]


async def test_a_user_that_is_created_joins_the_default_groups(imports: Imports) -> None:
    await imports.run(staff())
    await create_user(imports, {"username": "dora", "email": "dora@acme.test"})
    assert (await groups_of(imports))["dora"] == ["/abroad"]
