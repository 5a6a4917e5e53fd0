"""Which roles users and groups have, over the admin API. Keycloak: 7.2, 7.3 (role-mappings)."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import pytest

from gateway.admin.access import AdminRole
from tests.support.administered_realm import AdministeredRealm, administered_realm, person
from tests.support.administration import Administration

ADMINISTRATORS = {
    "users-only": ["manage-users"],
    "viewer": ["view-users"],
    "holder": [],
    "searcher": ["query-users"],
    "group-searcher": ["query-groups"],
}
DEVICE = "clients/device-id"
NO_ROLE = (404, {"error": "Role not found"})


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with roles of its own, of a client's, and one that contains both."""
    roles: dict[str, Any] = {
        "realm": [
            {"name": "part", "attributes": {"a": ["1"]}},
            {
                "name": "whole",
                "composite": True,
                "composites": {"realm": ["part"], "client": {"device": ["use"]}},
            },
        ],
        "client": {"device": [{"name": "use"}, {"name": "drop"}]},
    }
    with administered_realm(
        administration,
        "of-mappings",
        ADMINISTRATORS,
        clients=[{"id": "device-id", "clientId": "device", "enabled": True}],
        roles=roles,
        users=[{"id": "id-of-alice", "username": "alice", "enabled": True}],
        groups=[{"name": "crew", "subGroups": [{"name": "night"}]}],
    ) as made:
        yield made


@pytest.fixture(params=["a user", "a group"])
def holder(request: pytest.FixtureRequest, realm: AdministeredRealm) -> str:
    """Return the path of a holder that has no roles, in turn a user and a group."""
    path = "users/id-of-alice"
    if request.param == "a group":
        path = f"groups/{realm.get('group-by-path/crew/night')['id']}"
    mappings = f"{path}/role-mappings"
    realm.change("DELETE", f"{mappings}/realm")
    realm.change("DELETE", f"{mappings}/{DEVICE}")
    return mappings


def role(realm: AdministeredRealm, name: str) -> Any:
    path = f"{DEVICE}/roles" if name in {"use", "drop"} else "roles"
    return realm.get(f"{path}/{name}")


def brief(document: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name != "attributes"}


def names(found: list[dict[str, Any]]) -> list[str]:
    return [one["name"] for one in found]


def test_what_was_given_is_told_by_whose_roles_they_are(
    realm: AdministeredRealm, holder: str
) -> None:
    whole, use = role(realm, "whole"), role(realm, "use")
    assert realm.get(holder) == {}
    realm.change("POST", f"{holder}/realm", [whole])
    assert realm.get(holder) == {"realmMappings": [brief(whole)]}
    realm.change("POST", f"{holder}/{DEVICE}", [use, use])
    of_device = {"id": "device-id", "client": "device", "mappings": [brief(use)]}
    assert realm.get(holder) == {
        "realmMappings": [brief(whole)],
        "clientMappings": {"device": of_device},
    }
    assert realm.get(f"{holder}/realm") == [brief(whole)]
    assert realm.get(f"{holder}/{DEVICE}") == [brief(use)]
    realm.change("DELETE", f"{holder}/realm", [whole])
    realm.change("DELETE", f"{holder}/realm", [whole])
    assert realm.get(holder) == {"clientMappings": {"device": of_device}}


def test_what_is_there_in_the_end_is_more_than_what_was_given(
    realm: AdministeredRealm, holder: str
) -> None:
    part, whole = role(realm, "part"), role(realm, "whole")
    realm.change("POST", f"{holder}/realm", [whole])
    assert realm.get(f"{holder}/realm/composite") == [brief(part), brief(whole)]
    full = realm.get(f"{holder}/realm/composite?briefRepresentation=false")
    assert full == [part, whole]
    assert names(realm.get(f"{holder}/{DEVICE}/composite")) == ["use"]
    assert realm.get(f"{holder}/{DEVICE}") == []


def test_what_may_be_given_is_what_was_not_given_directly(
    realm: AdministeredRealm, holder: str
) -> None:
    realm.change("POST", f"{holder}/realm", [role(realm, "whole")])
    available = names(realm.get(f"{holder}/realm/available"))
    assert available == [
        "default-roles-of-mappings",
        "offline_access",
        "part",
        "uma_authorization",
    ]
    assert names(realm.get(f"{holder}/{DEVICE}/available")) == ["drop", "use"]
    realm.change("POST", f"{holder}/{DEVICE}", [role(realm, "drop")])
    assert names(realm.get(f"{holder}/{DEVICE}/available")) == ["use"]


def test_a_group_has_what_its_parent_was_given(realm: AdministeredRealm) -> None:
    crew, night = (realm.get(f"group-by-path/{path}")["id"] for path in ("crew", "crew/night"))
    mappings = f"groups/{night}/role-mappings"
    realm.change("DELETE", f"{mappings}/realm")
    realm.change("POST", f"groups/{crew}/role-mappings/realm", [role(realm, "whole")])
    assert names(realm.get(f"{mappings}/realm/composite")) == ["part", "whole"]
    assert names(realm.get(f"{mappings}/realm")) == []
    realm.change("DELETE", f"groups/{crew}/role-mappings/realm")
    assert realm.get(f"{mappings}/realm/composite") == []


def test_roles_are_named_by_id_and_name_of_their_container(
    realm: AdministeredRealm, holder: str
) -> None:
    whole, use = role(realm, "whole"), role(realm, "use")
    foreign = realm.administration.ask("GET", "other/roles/offline_access").json()
    wrong: list[tuple[str, Any]] = [
        ("realm", {"id": whole["id"]}),
        ("realm", {"name": "whole"}),
        ("realm", {"id": whole["id"], "name": "part"}),
        ("realm", {"id": "ghost", "name": "whole"}),
        ("realm", use),
        ("realm", foreign),
        ("realm", {}),
        (DEVICE, whole),
        (DEVICE, {"id": use["id"]}),
        (DEVICE, {"id": use["id"], "name": "drop"}),
        ("clients/client-of-holder", use),
    ]
    for container, reference in wrong:
        good = role(realm, "part" if container == "realm" else "drop")
        for method in ("POST", "DELETE"):
            refused = realm.refused(method, f"{holder}/{container}", [good, reference])
            assert refused == NO_ROLE, reference
    assert realm.get(holder) == {}


@pytest.mark.parametrize("document", [{}, "text", [5], ["x"], [[]], [None]])
def test_what_is_no_list_of_roles_is_refused(
    realm: AdministeredRealm, holder: str, document: object
) -> None:
    for method in ("POST", "DELETE"):
        assert realm.refused(method, f"{holder}/realm", document)[0] == 400
    bogus = [role(realm, "part") | {"bogus": 1}]
    status, answer = realm.refused("POST", f"{holder}/realm", bogus)
    assert (status, "bogus" in answer["error"]) == (400, True)
    assert realm.get(holder) == {}


def test_a_delete_that_names_no_roles_takes_all_of_the_container(
    realm: AdministeredRealm, holder: str
) -> None:
    realm.change("POST", f"{holder}/realm", [role(realm, "part"), role(realm, "whole")])
    realm.change("POST", f"{holder}/{DEVICE}", [role(realm, "use")])
    realm.change("DELETE", f"{holder}/realm", [])
    assert names(realm.get(f"{holder}/realm")) == ["part", "whole"]
    realm.change("DELETE", f"{holder}/realm")
    assert realm.get(f"{holder}/realm") == []
    assert names(realm.get(f"{holder}/{DEVICE}")) == ["use"]
    assert realm.refused("POST", f"{holder}/realm")[0] == 400


def test_what_does_not_exist_is_told(realm: AdministeredRealm, holder: str) -> None:
    no_client = (404, {"error": "Client not found"})
    for below in ("", "/available", "/composite"):
        assert realm.refused("GET", f"{holder}/clients/ghost{below}") == no_client
    for method in ("POST", "DELETE"):
        assert realm.refused(method, f"{holder}/clients/ghost", []) == no_client
    kind = holder.partition("/")[0]
    text = "User not found" if kind == "users" else "Could not find group by id"
    for path in ("", "/realm", "/realm/available", f"/{DEVICE}", "/clients/ghost/composite"):
        missing = realm.refused("GET", f"{kind}/ghost/role-mappings{path}")
        assert missing == (404, {"error": text})
    for method in ("POST", "DELETE"):
        missing = realm.refused(method, f"{kind}/ghost/role-mappings/realm", [])
        assert missing == (404, {"error": text})


def test_a_role_that_is_given_or_taken_is_in_the_next_token(realm: AdministeredRealm) -> None:
    """A service account is known by its client: the change is told for both."""
    mappings = f"users/{realm.account('holder')}/role-mappings"
    for container, name in (("realm", "part"), (DEVICE, "drop")):
        held = role(realm, name)

        def has() -> bool:
            return name in str(realm.claims("holder"))  # noqa: B023 - asked within the round

        assert not has()
        realm.change("POST", f"{mappings}/{container}", [held])
        assert has()
        realm.change("DELETE", f"{mappings}/{container}", [held])
        assert not has()


def test_service_account_changes_are_in_the_next_token(
    realm: AdministeredRealm,
) -> None:
    assert "email" not in realm.claims("holder")
    realm.change("PUT", f"users/{realm.account('holder')}", {"email": "holder@x.test"})
    assert realm.claims("holder")["email"] == "holder@x.test"


def test_every_change_is_recorded(realm: AdministeredRealm, holder: str) -> None:
    before = len(realm.events())
    part, use = role(realm, "part"), role(realm, "use")
    for container, one in (("realm", part), (DEVICE, use)):
        sent = {"id": one["id"], "name": one["name"]}
        realm.change("POST", f"{holder}/{container}", [sent])
        realm.change("DELETE", f"{holder}/{container}", [sent])
        realm.change("POST", f"{holder}/{container}", [sent])
        realm.change("DELETE", f"{holder}/{container}")
        kind = "REALM_ROLE_MAPPING" if container == "realm" else "CLIENT_ROLE_MAPPING"
        path = f"{holder}/{container}"
        recorded = realm.events()[before:]
        before += len(recorded)
        assert recorded == [
            ("CREATE", kind, path, [sent]),
            ("DELETE", kind, path, [sent]),
            ("CREATE", kind, path, [sent]),
            ("DELETE", kind, path, [brief(one)]),
        ]


def test_a_grant_that_is_refused_halfway_gives_nothing(
    realm: AdministeredRealm, holder: str
) -> None:
    before = len(realm.events())
    management = realm.admin_roles("viewer")
    view = management["mappings"][0]
    assert view["name"] == "view-users"
    (manage,) = realm.get(f"clients/{management['id']}/roles?search=manage-realm")
    path = f"{holder}/clients/{management['id']}"
    forbidden = (403, {"error": "HTTP 403 Forbidden"})
    assert realm.refused("POST", path, [view, manage], by="users-only") == forbidden
    assert realm.get(holder) == {}
    assert len(realm.events()) == before


_SEEING_USERS: Final = {AdminRole.VIEW_USERS, AdminRole.MANAGE_USERS}
_SEEING_REALM: Final = {AdminRole.VIEW_REALM, AdminRole.MANAGE_REALM}
_SEEING_NO_USERS: Final = ({AdminRole.QUERY_USERS}, {AdminRole.QUERY_GROUPS})
_SEEING_CLIENTS: Final = {AdminRole.VIEW_CLIENTS, AdminRole.MANAGE_CLIENTS}


def test_each_right_shows_the_roles_that_keycloak_shows(
    administration: Administration,
) -> None:
    """Measured with Keycloak 26.7 for every role alone and beside `view-users`."""
    callers = {
        f"{index}-{'-'.join(sorted(rights))}": sorted(rights)
        for index, rights in enumerate(
            (*({each, AdminRole.VIEW_USERS} for each in AdminRole), *_SEEING_NO_USERS)
        )
    }
    app = {"clientId": "app", "id": "app-of-viewed", "enabled": True}
    given = {"realmRoles": ["of-realm"], "clientRoles": {"app": ["of-app"]}}
    settings: dict[str, Any] = {
        "roles": {"realm": [{"name": "of-realm"}], "client": {"app": [{"name": "of-app"}]}},
        "clients": [app],
        "groups": [{"name": "staff", **given}],
        "users": [person("anna", id="anna-of-viewed", **given)],
    }
    with administered_realm(administration, "viewed", callers, **settings) as realm:
        group = realm.get("group-by-path/staff")["id"]
        holders = ("users/anna-of-viewed", f"groups/{group}")
        for (caller, rights), holder in product(callers.items(), holders):
            seen = {
                path: realm.ask("GET", f"{holder}/role-mappings{path}", by=caller)
                for path in ("", "/realm", "/clients/app-of-viewed")
            }
            statuses = [response.status_code for response in seen.values()]
            if _SEEING_USERS.isdisjoint(rights):
                assert statuses == [403, 403, 403], caller
                continue
            shows_clients = not _SEEING_CLIENTS.isdisjoint(rights)
            assert statuses == [200, 200, 200 if shows_clients else 403], caller
            expected = [
                *(["clientMappings"] if shows_clients else ()),
                *([] if _SEEING_REALM.isdisjoint(rights) else ["realmMappings"]),
            ]
            assert sorted(seen[""].json()) == expected, caller
            assert [each["name"] for each in seen["/realm"].json()] == ["of-realm"], caller


@pytest.mark.parametrize("path", ["", "/realm", "/realm/composite", f"/{DEVICE}", "/clients/none"])
def test_who_may_search_for_users_learns_that_one_is_unknown(
    realm: AdministeredRealm, path: str
) -> None:
    """Keycloak: 7 (resolution order), measured with 26.7."""
    for caller, status in (("viewer", 404), ("searcher", 404), ("group-searcher", 403)):
        for method in ("GET", "POST"):
            if (method, path[-9:]) == ("POST", "composite") or (method, path) == ("POST", ""):
                continue
            sent: list[object] | None = [] if method == "POST" else None
            unknown = realm.refused(method, f"users/none/role-mappings{path}", sent, by=caller)
            error = "User not found" if status == 404 else "HTTP 403 Forbidden"
            assert unknown == (status, {"error": error}), caller


def test_an_unknown_client_is_named_before_the_missing_right(realm: AdministeredRealm) -> None:
    mappings = "users/id-of-alice/role-mappings/clients"
    assert realm.refused("GET", f"{mappings}/none", by="viewer") == (
        *(404, {"error": "Client not found"}),
    )
    forbidden = (403, {"error": "HTTP 403 Forbidden"})
    assert realm.refused("GET", f"{mappings}/device-id", by="viewer") == forbidden


def test_a_right_to_search_for_users_shows_no_clients(realm: AdministeredRealm) -> None:
    forbidden = (403, {"error": "HTTP 403 Forbidden"})
    for client, below in product(("none", "device-id"), ("", "/available", "/composite")):
        path = f"users/id-of-alice/role-mappings/clients/{client}{below}"
        assert realm.refused("GET", path, by="searcher") == forbidden, path
    for client, method in product(("none", "device-id"), ("POST", "DELETE")):
        path = f"users/id-of-alice/role-mappings/clients/{client}"
        assert realm.refused(method, path, [], by="searcher") == forbidden, path
