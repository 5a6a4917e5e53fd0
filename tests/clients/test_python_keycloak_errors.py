"""python-keycloak raises for unknown objects what it raises with Keycloak: status and text."""

from collections.abc import Callable
from typing import Any

import pytest
from keycloak import KeycloakAdmin
from keycloak.exceptions import KeycloakError

from tests.support.administered_server import AdministeredServer
from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH, client_of
from tests.support.wire import PASSWORD

pytestmark = NAMES_CERTIFICATES_BY_PATH

NO = "does-not-exist"
USER, GROUP = "User not found", "Could not find group by id"
CLIENT, ROLE = "Could not find client", "Could not find role"
BY_ID = "Could not find role with id"
COMPONENT = "Could not find component"

UNKNOWN: dict[str, tuple[Callable[[KeycloakAdmin], Any], str]] = {
    "realm": (lambda admin: admin.get_realm(NO), "Realm not found."),
    "realm to delete": (lambda admin: admin.delete_realm(NO), "Realm not found."),
    "groups of user": (lambda admin: admin.get_user_groups(NO), USER),
    "user to log out": (lambda admin: admin.user_logout(NO), USER),
    "consents of user": (lambda admin: admin.user_consents(NO), USER),
    "user to delete": (lambda admin: admin.delete_user(NO), USER),
    "roles of user": (lambda admin: admin.get_all_roles_of_user(NO), USER),
    "password of user": (lambda admin: admin.set_user_password(NO, "x"), USER),
    "credentials of user": (lambda admin: admin.get_credentials(NO), USER),
    "sessions of user": (lambda admin: admin.get_sessions(NO), USER),
    "composite roles": (lambda admin: admin.get_composite_realm_roles_of_user(NO), USER),
    "group": (lambda admin: admin.get_group(NO), GROUP),
    "members of group": (lambda admin: admin.get_group_members(NO), GROUP),
    "group to change": (lambda admin: admin.update_group(NO, {"name": "x"}), GROUP),
    "group to delete": (lambda admin: admin.delete_group(NO), GROUP),
    "path of group": (lambda admin: admin.get_group_by_path("/no"), "Group path does not exist"),
    "client": (lambda admin: admin.get_client(NO), CLIENT),
    "client to change": (lambda admin: admin.update_client(NO, {}), CLIENT),
    "client of sessions": (lambda admin: admin.get_client_all_sessions(NO), CLIENT),
    "client of roles": (lambda admin: admin.get_client_roles(NO), CLIENT),
    "client of certificate": (
        lambda admin: admin.get_client_certificate_key_info(NO, "jwt.credential"),
        CLIENT,
    ),
    "role": (lambda admin: admin.get_realm_role(NO), ROLE),
    "users of role": (lambda admin: admin.get_realm_role_members(NO), ROLE),
    "groups of role": (lambda admin: admin.get_realm_role_groups(NO), ROLE),
    "composites of role": (lambda admin: admin.get_composite_realm_roles_of_role(NO), ROLE),
    "role to change": (lambda admin: admin.update_realm_role(NO, {"name": "x"}), ROLE),
    "role to delete": (lambda admin: admin.delete_realm_role(NO), ROLE),
    "role by id": (lambda admin: admin.get_role_by_id(NO), BY_ID),
    "role by id to change": (lambda admin: admin.update_role_by_id(NO, {"name": "x"}), BY_ID),
    "role by id to delete": (lambda admin: admin.delete_role_by_id(NO), BY_ID),
    "flow": (lambda admin: admin.get_authentication_flow_for_id(NO), "Could not find flow with id"),
    "flow to copy": (
        lambda admin: admin.copy_authentication_flow({"newName": "x"}, NO),
        "Flow not found",
    ),
    "executions": (lambda admin: admin.get_authentication_flow_executions(NO), "Flow not found"),
    "execution": (lambda admin: admin.get_authentication_flow_execution(NO), "Illegal execution"),
    "component": (lambda admin: admin.get_component(NO), COMPONENT),
    "component to change": (lambda admin: admin.update_component(NO, {}), COMPONENT),
    "component to delete": (lambda admin: admin.delete_component(NO), COMPONENT),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_an_unknown_object_is_not_found(admin: KeycloakAdmin, name: str) -> None:
    call, text = UNKNOWN[name]
    with pytest.raises(KeycloakError) as missing:
        call(admin)
    assert missing.value.response_code == 404
    assert text.encode() in (missing.value.response_body or b"")


@pytest.mark.parametrize(
    ("representation", "call"),
    [
        (
            "RealmRepresentation",
            lambda admin: admin.update_realm(admin.get_current_realm(), {"wrong": 1}),
        ),
        ("UserRepresentation", lambda admin: admin.create_user({"wrong": 1})),
        ("ComponentRepresentation", lambda admin: admin.create_component({"wrong": 1})),
        ("RealmEventsConfigRepresentation", lambda admin: admin.set_events({"wrong": 1})),
    ],
)
def test_an_unknown_field_is_named(
    admin: KeycloakAdmin, representation: str, call: Callable[[KeycloakAdmin], Any]
) -> None:
    with pytest.raises(KeycloakError, match="wrong") as refused:
        call(admin)
    assert refused.value.response_code == 400
    assert representation in str(refused.value)


def test_offline_tokens_of_a_client_are_listed_and_revoked(
    administered: AdministeredServer, own_admin: KeycloakAdmin, own_realm: str
) -> None:
    ada, app = str(own_admin.get_user_id("ada")), own_admin.get_client_id("app")
    for user, client, text in (
        (NO, "app", USER),
        (ada, NO, "Client not found"),
        (ada, "app", "Consent nor offline token not found"),
    ):
        with pytest.raises(KeycloakError, match=text):
            own_admin.revoke_consent(user, client)
    login = client_of(administered, own_realm, "app", secret=None)
    token = login.token("ada", PASSWORD, scope="offline_access")["refresh_token"]
    grant = {"client": app, "key": "Offline Token"}
    assert own_admin.user_consents(ada) == [
        {"clientId": "app", "grantedClientScopes": [], "additionalGrants": [grant]}
    ]
    own_admin.revoke_consent(ada, "app")
    assert own_admin.user_consents(ada) == []
    with pytest.raises(KeycloakError):
        login.refresh_token(token)


def test_all_users_are_disabled_and_enabled(own_admin: KeycloakAdmin) -> None:
    own_admin.create_user({"username": "grace", "enabled": True})
    own_admin.disable_all_users()
    assert [user["enabled"] for user in own_admin.get_users()] == [False, False]
    own_admin.enable_all_users()
    assert [user["enabled"] for user in own_admin.get_users()] == [True, True]
