"""Scripts written with python-keycloak for realms, keys, flows and events do the same here."""

import json
from typing import Any

import pytest
from keycloak import KeycloakAdmin
from keycloak.exceptions import KeycloakError, KeycloakGetError, KeycloakPostError

from tests.support.administered_server import AdministeredServer
from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH, administrator_of, client_of
from tests.support.wire import PASSWORD

pytestmark = NAMES_CERTIFICATES_BY_PATH

KEY_PROVIDER = "org.keycloak.keys.KeyProvider"


def _names(found: list[dict[str, Any]], name: str = "name") -> set[str]:
    return {each[name] for each in found}


def test_a_realm_is_made_renamed_and_removed(administered: AdministeredServer) -> None:
    master = administrator_of(administered, "master")
    administered.ask("DELETE", "/scripted")
    administered.ask("DELETE", "/rescripted")
    master.create_realm({"realm": "scripted", "enabled": True, "displayName": "Scripted"})
    with pytest.raises(KeycloakPostError) as conflict:
        master.create_realm({"realm": "scripted"})
    assert conflict.value.response_code == 409
    assert "scripted" in _names(master.get_realms(), "realm")
    master.update_realm("scripted", {"displayName": "Rescripted", "realm": "rescripted"})
    assert master.get_realm("rescripted")["displayName"] == "Rescripted"
    with pytest.raises(KeycloakGetError, match="Realm not found"):
        master.get_realm("scripted")
    master.delete_realm("rescripted")
    assert _names(master.get_realms(), "realm").isdisjoint({"scripted", "rescripted"})


def test_putting_back_what_was_read_changes_nothing(admin: KeycloakAdmin, realm: str) -> None:
    admin.update_realm(realm, admin.get_realm(realm))
    before = json.dumps(admin.get_realm(realm))
    admin.update_realm(realm, admin.get_realm(realm))
    assert json.dumps(admin.get_realm(realm)) == before


def test_a_realm_is_exported_and_made_anew_from_the_export(
    administered: AdministeredServer, own_admin: KeycloakAdmin, own_realm: str
) -> None:
    exported = own_admin.export_realm(export_clients=True, export_groups_and_role=True)
    assert exported["realm"] == own_realm
    assert "shop" in _names(exported["clients"], "clientId")
    assert _names(exported["groups"]) == {"staff"}
    assert {"reader", "writer"} <= _names(exported["roles"]["realm"])
    own_admin.delete_realm(own_realm)
    # Secrets are masked in an export, and so are keys: those are made anew.
    exported.pop("components", None)
    own_admin.import_realm(exported)
    again = administrator_of(administered, own_realm)
    assert again.get_client_id("shop") in _names(again.get_clients(), "id")
    assert again.get_group_by_path("/staff/juniors")["name"] == "juniors"


def test_parts_are_imported_into_a_realm(own_admin: KeycloakAdmin, own_realm: str) -> None:
    parts = {
        "ifResourceExists": "SKIP",
        "users": [{"username": "imported", "enabled": True}, {"username": "ada"}],
        "clients": [{"clientId": "imported"}],
        "groups": [{"name": "imported", "path": "/imported"}],
        "roles": {"realm": [{"name": "imported"}]},
    }
    done = own_admin.partial_import_realm(own_realm, parts)
    assert (done["added"], done["skipped"], done["overwritten"]) == (4, 1, 0)
    assert own_admin.get_user_id("imported")
    assert own_admin.get_client_id("imported")
    parts["ifResourceExists"] = "FAIL"
    with pytest.raises(KeycloakPostError) as refused:
        own_admin.partial_import_realm(own_realm, parts)
    assert refused.value.response_code == 409


def test_default_roles_are_added_and_removed(admin: KeycloakAdmin) -> None:
    reader = admin.get_realm_role("reader")
    admin.add_realm_default_roles([reader])
    assert "reader" in _names(admin.get_realm_default_roles())
    admin.remove_realm_default_roles([reader])
    assert "reader" not in _names(admin.get_realm_default_roles())


def test_a_key_provider_is_made_changed_and_removed(admin: KeycloakAdmin, realm: str) -> None:
    before = admin.get_keys()
    made = admin.create_component(
        {
            "name": "made",
            "providerId": "rsa-generated",
            "providerType": KEY_PROVIDER,
            "parentId": admin.get_realm(realm)["id"],
            "config": {"priority": ["200"], "enabled": ["true"], "active": ["true"]},
        }
    )
    after = admin.get_keys()
    assert after["active"]["RS256"] != before["active"]["RS256"]
    component = admin.get_component(made)
    assert component["name"] == "made"
    component["config"]["active"] = ["false"]
    admin.update_component(made, component)
    assert admin.get_component(made)["config"]["active"] == ["false"]
    assert admin.get_keys()["active"]["RS256"] == before["active"]["RS256"]
    assert made in _names(admin.get_components({"type": KEY_PROVIDER}), "id")
    admin.delete_component(made)
    with pytest.raises(KeycloakGetError):
        admin.get_component(made)


def test_a_flow_is_copied_changed_and_removed(admin: KeycloakAdmin) -> None:
    admin.copy_authentication_flow({"newName": "made"}, "direct grant")
    (flow,) = (each for each in admin.get_authentication_flows() if each["alias"] == "made")
    assert (flow["builtIn"], flow["topLevel"]) == (False, True)
    assert admin.get_authentication_flow_for_id(flow["id"])["alias"] == "made"
    executions = admin.get_authentication_flow_executions("made")
    first, second, subflow = (each for each in executions if each["level"] == 0)
    assert (first["providerId"], second["providerId"]) == (
        "direct-grant-validate-username",
        "direct-grant-validate-password",
    )
    assert admin.get_authentication_flow_execution(first["id"])["id"] == first["id"]
    admin.update_authentication_flow_executions(subflow | {"requirement": "DISABLED"}, "made")
    changed = admin.get_authentication_flow_executions("made")
    assert [each["requirement"] for each in changed if each["level"] == 0][-1] == "DISABLED"
    assert admin.get_authenticator_providers()
    admin.delete_authentication_flow(flow["id"])
    assert "made" not in _names(admin.get_authentication_flows(), "alias")


def test_a_required_action_is_changed(admin: KeycloakAdmin) -> None:
    action = admin.get_required_action_by_alias("UPDATE_PASSWORD")
    assert action is not None
    admin.update_required_action("UPDATE_PASSWORD", action | {"enabled": False})
    changed = admin.get_required_action_by_alias("UPDATE_PASSWORD")
    assert changed is not None
    assert changed["enabled"] is False
    admin.update_required_action("UPDATE_PASSWORD", action)
    assert admin.get_required_action_by_alias("UPDATE_PASSWORD") == action


def test_events_of_users_and_administrators_are_read(
    administered: AdministeredServer, own_admin: KeycloakAdmin, own_realm: str
) -> None:
    own_admin.set_events(
        {
            "eventsEnabled": True,
            "eventsListeners": ["jboss-logging"],
            "enabledEventTypes": ["LOGIN", "LOGIN_ERROR", "CLIENT_LOGIN"],
            "adminEventsEnabled": True,
            "adminEventsDetailsEnabled": True,
        }
    )
    app = client_of(administered, own_realm, "app", secret=None)
    app.token("ada", PASSWORD)
    with pytest.raises(KeycloakError):
        app.token("ada", "wrong")
    made = own_admin.create_user({"username": "made"})
    failed, signed_in = own_admin.get_events()
    assert (signed_in["type"], failed["type"]) == ("LOGIN", "LOGIN_ERROR")
    assert failed["error"] == "invalid_user_credentials"
    assert own_admin.get_events({"type": "LOGIN_ERROR"}) == [failed]
    event = own_admin.get_admin_events({"operationTypes": "CREATE"})[0]
    assert (event["resourceType"], event["resourcePath"]) == ("USER", f"users/{made}")
    assert json.loads(event["representation"])["username"] == "made"


def test_caches_are_cleared_on_demand(admin: KeycloakAdmin) -> None:
    assert admin.clear_realm_cache() == {}
    assert admin.clear_user_cache() == {}
    assert admin.clear_keys_cache() == {}


def test_the_server_tells_of_itself(admin: KeycloakAdmin) -> None:
    info = admin.get_server_info()
    assert info["systemInfo"]["version"]
    assert "password-policy" in info["providers"]
    assert KEY_PROVIDER in info["componentTypes"]
