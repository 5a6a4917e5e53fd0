"""python-keycloak manages roles by id, composites of client roles, and roles of client scopes."""

from typing import Any

import pytest
from keycloak import KeycloakAdmin
from keycloak.exceptions import KeycloakGetError, KeycloakPostError

from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH

pytestmark = NAMES_CERTIFICATES_BY_PATH


def _names(found: list[dict[str, Any]]) -> list[str]:
    return sorted(each["name"] for each in found)


def test_realm_roles_are_searched_and_read_with_attributes(own_admin: KeycloakAdmin) -> None:
    own_admin.create_realm_role({"name": "editor", "attributes": {"level": ["2"]}})
    (brief,) = own_admin.get_realm_roles(search_text="edit")
    assert "attributes" not in brief
    (full,) = own_admin.get_realm_roles(brief_representation=False, search_text="edit")
    assert full["attributes"] == {"level": ["2"]}
    assert {"editor", "reader", "writer"} <= set(_names(own_admin.get_realm_roles()))


def test_the_default_role_of_the_realm_is_found(own_admin: KeycloakAdmin, own_realm: str) -> None:
    role = own_admin.get_role_by_id(own_admin.get_default_realm_role_id())
    assert (role["name"], role["composite"]) == (f"default-roles-{own_realm}".lower(), True)


def test_a_role_is_changed_and_deleted_by_id(own_admin: KeycloakAdmin) -> None:
    role = own_admin.get_realm_role("writer")
    own_admin.update_role_by_id(role["id"], role | {"name": "author"})
    assert own_admin.get_role_by_id(role["id"])["name"] == "author"
    own_admin.delete_role_by_id(role["id"])
    with pytest.raises(KeycloakGetError, match="Could not find role with id"):
        own_admin.get_role_by_id(role["id"])


def test_a_client_role_contains_roles_of_client_and_realm(own_admin: KeycloakAdmin) -> None:
    shop = str(own_admin.get_client_id("shop"))
    buy, lend = (own_admin.get_client_role(shop, name) for name in ("buy", "lend"))
    reader = own_admin.get_realm_role("reader")
    own_admin.add_composite_client_roles_to_role(shop, "sell", [buy, lend, reader])
    sell = own_admin.get_client_role(shop, "sell")
    of_role = own_admin.get_composite_client_roles_of_role(shop, "sell")
    assert _names(of_role) == ["buy", "lend", "reader"]
    children = own_admin.get_role_client_level_children(shop, sell["id"])
    assert _names(children) == ["buy", "lend"]
    own_admin.remove_composite_client_roles_from_role(shop, "sell", [buy, reader])
    assert _names(own_admin.get_role_composites_by_id(sell["id"])) == ["lend"]


def test_a_role_list_of_names_is_refused(own_admin: KeycloakAdmin) -> None:
    ada = str(own_admin.get_user_id("ada"))
    with pytest.raises(KeycloakPostError) as refused:
        own_admin.assign_realm_roles(ada, ["reader"])
    assert refused.value.response_code == 400
