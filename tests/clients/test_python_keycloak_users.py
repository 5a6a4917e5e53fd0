"""Scripts written with python-keycloak for users, roles and groups do the same here."""

from typing import Any

import pytest
from keycloak import KeycloakAdmin
from keycloak.exceptions import KeycloakError, KeycloakGetError, KeycloakPostError

from tests.support.administered_server import AdministeredServer
from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH, client_of
from tests.support.wire import PASSWORD

pytestmark = NAMES_CERTIFICATES_BY_PATH


def _names(found: list[dict[str, Any]], name: str = "name") -> set[str]:
    return {each[name] for each in found}


def test_a_user_is_made_found_changed_and_removed(admin: KeycloakAdmin) -> None:
    made = admin.create_user(
        {
            "username": "grace",
            "email": "grace@example.test",
            "firstName": "Grace",
            "lastName": "Hopper",
            "enabled": True,
            "attributes": {"department": ["compilers"]},
            "requiredActions": ["UPDATE_PASSWORD"],
        }
    )
    with pytest.raises(KeycloakPostError, match="User exists with same username"):
        admin.create_user({"username": "grace"})
    assert admin.create_user({"username": "grace"}, exist_ok=True) == made
    assert admin.get_user_id("grace") == made
    assert _names(admin.get_users({"search": "hopp"}), "username") == {"grace"}
    assert _names(admin.get_users({"q": "department:compilers"}), "id") == {made}
    assert admin.users_count({"username": "grace"}) == 1
    admin.update_user(made, {"firstName": "Admiral", "attributes": {"department": ["navy"]}})
    user = admin.get_user(made, user_profile_metadata=True)
    assert (user["firstName"], user["attributes"]["department"]) == ("Admiral", ["navy"])
    assert user["requiredActions"] == ["UPDATE_PASSWORD"]
    assert "attributes" in user["userProfileMetadata"]
    admin.disable_user(made)
    assert admin.get_user(made)["enabled"] is False
    admin.enable_user(made)
    assert admin.get_user(made)["enabled"] is True
    admin.delete_user(made)
    with pytest.raises(KeycloakGetError, match="User not found") as missing:
        admin.get_user(made)
    assert missing.value.response_code == 404


def test_users_are_read_by_pages(own_admin: KeycloakAdmin) -> None:
    for number in range(7):
        own_admin.create_user({"username": f"paged-{number}"})
    found = [
        user["username"]
        for first in (0, 3, 6)
        for user in own_admin.get_users({"first": first, "max": 3, "username": "paged"})
    ]
    assert found == [f"paged-{number}" for number in range(7)]
    assert own_admin.users_count() == 8


def test_a_password_is_set_and_a_credential_removed(
    administered: AdministeredServer, admin: KeycloakAdmin, realm: str
) -> None:
    made = admin.create_user(
        {
            "username": "typist",
            "enabled": True,
            "email": "typist@example.test",
            "firstName": "T",
            "lastName": "P",
        }
    )
    app = client_of(administered, realm, "app", secret=None)
    admin.set_user_password(made, PASSWORD, temporary=False)
    assert app.token("typist", PASSWORD)["access_token"]
    admin.set_user_password(made, PASSWORD, temporary=True)
    assert admin.get_user(made)["requiredActions"] == ["UPDATE_PASSWORD"]
    with pytest.raises(KeycloakError, match="Account is not fully set up"):
        app.token("typist", PASSWORD)
    (credential,) = admin.get_credentials(made)
    assert credential["type"] == "password"
    assert "secretData" not in credential
    admin.delete_credential(made, credential["id"])
    assert admin.get_credentials(made) == []


def test_the_sessions_of_a_user_are_listed_and_ended(
    administered: AdministeredServer, admin: KeycloakAdmin, realm: str
) -> None:
    app = client_of(administered, realm, "app", secret=None)
    tokens = app.token("ada", PASSWORD)
    ada = str(admin.get_user_id("ada"))
    (session,) = admin.get_sessions(ada)
    assert (session["username"], session["userId"]) == ("ada", ada)
    assert list(session["clients"].values()) == ["app"]
    of_client = admin.get_client_all_sessions(str(admin.get_client_id("app")))
    assert session["id"] in _names(of_client, "id")
    (statistics,) = admin.get_client_sessions_stats()
    assert (statistics["clientId"], statistics["active"]) == ("app", str(len(of_client)))
    admin.user_logout(ada)
    assert admin.get_sessions(ada) == []
    with pytest.raises(KeycloakPostError):
        app.refresh_token(tokens["refresh_token"])


def test_roles_of_the_realm_are_made_mapped_and_removed(admin: KeycloakAdmin) -> None:
    assert admin.create_realm_role({"name": "editor", "description": "Edits"}) == "editor"
    with pytest.raises(KeycloakPostError, match="Role with name editor already exists"):
        admin.create_realm_role({"name": "editor"})
    assert admin.create_realm_role({"name": "editor"}, skip_exists=True) == "editor"
    editor = admin.get_realm_role("editor")
    assert admin.get_realm_role_by_id(editor["id"])["description"] == "Edits"
    admin.update_realm_role("editor", editor | {"description": "Edits and proves"})
    assert admin.get_realm_role("editor")["description"] == "Edits and proves"
    reader = admin.get_realm_role("reader")
    admin.add_composite_realm_roles_to_role("editor", [reader])
    assert _names(admin.get_composite_realm_roles_of_role("editor")) == {"reader"}
    ada = str(admin.get_user_id("ada"))
    assert "editor" in _names(admin.get_available_realm_roles_of_user(ada))
    admin.assign_realm_roles(ada, [admin.get_realm_role("editor")])
    assert "editor" in _names(admin.get_realm_roles_of_user(ada))
    assert "reader" in _names(admin.get_composite_realm_roles_of_user(ada))
    assert _names(admin.get_realm_role_members("editor"), "username") == {"ada"}
    admin.delete_realm_roles_of_user(ada, [editor])
    assert "editor" not in _names(admin.get_realm_roles_of_user(ada))
    admin.remove_composite_realm_roles_to_role("editor", [reader])
    assert admin.get_composite_realm_roles_of_role("editor") == []
    admin.delete_realm_role("editor")
    with pytest.raises(KeycloakGetError, match="Could not find role"):
        admin.get_realm_role("editor")


def test_roles_of_a_client_are_made_mapped_and_removed(admin: KeycloakAdmin) -> None:
    shop = str(admin.get_client_id("shop"))
    assert admin.create_client_role(shop, {"name": "audit"}) == "audit"
    audit = admin.get_client_role(shop, "audit")
    assert (audit["clientRole"], audit["containerId"]) == (True, shop)
    assert admin.get_client_role_id(shop, "audit") == audit["id"]
    assert "audit" in _names(admin.get_client_roles(shop))
    admin.update_client_role(shop, "audit", audit | {"description": "Audits"})
    assert admin.get_role_by_id(audit["id"])["description"] == "Audits"
    buy = admin.get_client_role(shop, "buy")
    admin.add_composite_client_roles_to_role(shop, "audit", [buy])
    assert _names(admin.get_role_composites_by_id(audit["id"])) == {"buy"}
    ada = str(admin.get_user_id("ada"))
    assert "audit" in _names(admin.get_available_client_roles_of_user(ada, shop))
    admin.assign_client_role(ada, shop, [audit])
    assert _names(admin.get_client_roles_of_user(ada, shop)) == {"audit"}
    assert _names(admin.get_composite_client_roles_of_user(ada, shop)) == {"audit", "buy"}
    mapped = admin.get_all_roles_of_user(ada)["clientMappings"]["shop"]["mappings"]
    assert _names(mapped) == {"audit"}
    assert _names(admin.get_client_role_members(shop, "audit"), "username") == {"ada"}
    admin.delete_client_roles_of_user(ada, shop, [audit])
    assert admin.get_client_roles_of_user(ada, shop) == []
    admin.remove_composite_client_roles_from_role(shop, "audit", [buy])
    admin.delete_client_role(shop, "audit")
    assert "audit" not in _names(admin.get_client_roles(shop))


def test_groups_are_made_nested_filled_and_removed(admin: KeycloakAdmin) -> None:
    top = str(admin.create_group({"name": "crew", "attributes": {"deck": ["1"]}}))
    below = str(admin.create_group({"name": "watch"}, parent=top))
    with pytest.raises(KeycloakPostError) as conflict:
        admin.create_group({"name": "crew"})
    assert conflict.value.response_code == 409
    assert admin.get_group_by_path("/crew/watch")["id"] == below
    assert admin.get_group(top)["attributes"] == {"deck": ["1"]}
    assert _names(admin.get_group_children(top)) == {"watch"}
    assert admin.groups_count({"search": "crew"}) == {"count": 1}
    admin.update_group(below, {"name": "night watch"})
    assert admin.get_group(below)["path"] == "/crew/night watch"
    ada = str(admin.get_user_id("ada"))
    admin.group_user_add(ada, below)
    assert _names(admin.get_user_groups(ada)) == {"night watch"}
    assert _names(admin.get_group_members(below), "username") == {"ada"}
    reader = admin.get_realm_role("reader")
    admin.assign_group_realm_roles(top, [reader])
    assert _names(admin.get_group_realm_roles(top)) == {"reader"}
    assert _names(admin.get_realm_role_groups("reader")) == {"crew"}
    assert "reader" in _names(admin.get_composite_realm_roles_of_user(ada))
    admin.delete_group_realm_roles(top, [reader])
    shop = str(admin.get_client_id("shop"))
    buy = admin.get_client_role(shop, "buy")
    admin.assign_group_client_roles(below, shop, [buy])
    assert _names(admin.get_group_client_roles(below, shop)) == {"buy"}
    assert _names(admin.get_client_role_groups(shop, "buy")) == {"night watch"}
    assert _names(admin.get_composite_client_roles_of_group(shop, below)) == {"buy"}
    admin.delete_group_client_roles(below, shop, [buy])
    admin.group_user_remove(ada, below)
    assert admin.get_user_groups(ada) == []
    admin.delete_group(top)
    with pytest.raises(KeycloakGetError) as missing:
        admin.get_group(below)
    assert missing.value.response_code == 404


def test_a_user_profile_is_declared(own_admin: KeycloakAdmin) -> None:
    profile = own_admin.get_realm_users_profile()
    profile["attributes"].append(
        {
            "name": "department",
            "permissions": {"view": ["admin"], "edit": ["admin"]},
            "validations": {"length": {"max": 5}},
        }
    )
    own_admin.update_realm_users_profile(profile)
    assert "department" in _names(own_admin.get_realm_users_profile()["attributes"])
    with pytest.raises(KeycloakPostError, match="department"):
        own_admin.create_user({"username": "made", "attributes": {"department": ["engines"]}})
    made = own_admin.create_user({"username": "made", "attributes": {"department": ["navy"]}})
    assert own_admin.get_user(made)["attributes"] == {"department": ["navy"]}


def test_a_locked_out_user_is_let_in_again(
    administered: AdministeredServer, own_admin: KeycloakAdmin, own_realm: str
) -> None:
    limits = {
        "bruteForceProtected": True,
        "failureFactor": 2,
        "waitIncrementSeconds": 600,
        "maxFailureWaitSeconds": 1200,
        "quickLoginCheckMilliSeconds": 0,
    }
    own_admin.update_realm(own_realm, limits)
    app = client_of(administered, own_realm, "app", secret=None)
    ada = str(own_admin.get_user_id("ada"))
    for _ in range(2):
        with pytest.raises(KeycloakError):
            app.token("ada", "wrong")
    status = own_admin.get_bruteforce_detection_status(ada)
    assert (status["numFailures"], status["disabled"]) == (2, True)
    with pytest.raises(KeycloakError):
        app.token("ada", PASSWORD)
    own_admin.clear_bruteforce_attempts_for_user(ada)
    assert own_admin.get_bruteforce_detection_status(ada)["disabled"] is False
    assert app.token("ada", PASSWORD)["access_token"]
    own_admin.clear_all_bruteforce_attempts()
    assert own_admin.get_bruteforce_detection_status(ada)["numFailures"] == 0
