"""python-keycloak creates, changes and deletes authentication flows and required actions."""

from typing import Any

import pytest
from keycloak import KeycloakAdmin
from keycloak.exceptions import KeycloakDeleteError, KeycloakGetError, KeycloakPostError

from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH

pytestmark = NAMES_CERTIFICATES_BY_PATH

REDIRECTOR = "identity-provider-redirector"
TOP = {"alias": "by script", "providerId": "basic-flow", "topLevel": True, "builtIn": False}
SUBFLOW = {"alias": "below", "type": "basic-flow", "provider": "registration-page-form"}


@pytest.fixture
def flow(own_admin: KeycloakAdmin) -> dict[str, Any]:
    """Create a flow and return it as the server lists it."""
    own_admin.create_authentication_flow(TOP)
    return _flow(own_admin, TOP["alias"])


def _flow(admin: KeycloakAdmin, alias: object) -> dict[str, Any]:
    (found,) = (each for each in admin.get_authentication_flows() if each["alias"] == alias)
    assert isinstance(found, dict)
    return found


def _providers(admin: KeycloakAdmin) -> list[str]:
    executions = admin.get_authentication_flow_executions("by script")
    return [each.get("providerId", each["displayName"]) for each in executions]


def test_a_flow_is_created_renamed_and_deleted(
    own_admin: KeycloakAdmin, flow: dict[str, Any]
) -> None:
    with pytest.raises(KeycloakPostError, match="Flow by script already exists"):
        own_admin.create_authentication_flow(TOP)
    assert own_admin.create_authentication_flow(TOP, skip_exists=True)
    own_admin.update_authentication_flow(flow["id"], flow | {"description": "Changed"})
    assert own_admin.get_authentication_flow_for_id(flow["id"])["description"] == "Changed"
    own_admin.delete_authentication_flow(flow["id"])
    with pytest.raises(KeycloakDeleteError) as missing:
        own_admin.delete_authentication_flow(flow["id"])
    assert missing.value.response_code == 404


@pytest.mark.usefixtures("flow")
def test_executions_and_subflows_are_added_ordered_and_removed(own_admin: KeycloakAdmin) -> None:
    for provider in ("auth-cookie", "auth-otp-form"):
        own_admin.create_authentication_flow_execution({"provider": provider}, "by script")
    own_admin.create_authentication_flow_subflow(SUBFLOW, "by script")
    with pytest.raises(KeycloakPostError, match="New flow alias name already exists"):
        own_admin.create_authentication_flow_subflow(SUBFLOW, "by script")
    assert _providers(own_admin) == ["auth-cookie", "auth-otp-form", "below"]
    cookie, otp, below = own_admin.get_authentication_flow_executions("by script")
    own_admin.change_execution_priority(otp["id"], 1)
    assert _providers(own_admin) == ["auth-otp-form", "auth-cookie", "below"]
    own_admin.change_execution_priority(otp["id"], -2)
    assert _providers(own_admin) == ["auth-cookie", "below", "auth-otp-form"]
    own_admin.update_authentication_flow_executions(
        cookie | {"requirement": "ALTERNATIVE"}, "by script"
    )
    first, *_ = own_admin.get_authentication_flow_executions("by script")
    assert (first["id"], first["requirement"]) == (cookie["id"], "ALTERNATIVE")
    for execution in (below, otp):
        own_admin.delete_authentication_flow_execution(execution["id"])
    assert _providers(own_admin) == ["auth-cookie"]
    with pytest.raises(KeycloakGetError, match="Illegal execution"):
        own_admin.get_authentication_flow_execution(otp["id"])


def test_a_built_in_flow_takes_no_execution(own_admin: KeycloakAdmin) -> None:
    with pytest.raises(KeycloakPostError, match="It is illegal to add execution to a built in"):
        own_admin.create_authentication_flow_execution({"provider": "auth-cookie"}, "browser")


@pytest.mark.usefixtures("flow")
def test_an_execution_is_configured(own_admin: KeycloakAdmin) -> None:
    described = own_admin.get_authenticator_provider_config_description(REDIRECTOR)
    assert "defaultProvider" in {each["name"] for each in described["properties"]}
    provider = {"provider": REDIRECTOR}
    own_admin.create_authentication_flow_execution(provider, "by script")
    (execution,) = own_admin.get_authentication_flow_executions("by script")
    config = {"alias": "to partner", "config": {"defaultProvider": "partner"}}
    own_admin.create_execution_config(execution["id"], config)
    (execution,) = own_admin.get_authentication_flow_executions("by script")
    made = execution["authenticationConfig"]
    assert own_admin.get_authenticator_config(made).items() >= config.items()
    changed = config | {"id": made, "config": {"defaultProvider": "other"}}
    own_admin.update_authenticator_config(changed, made)
    assert own_admin.get_authenticator_config(made)["config"] == {"defaultProvider": "other"}
    own_admin.delete_authenticator_config(made)
    with pytest.raises(KeycloakGetError) as missing:
        own_admin.get_authenticator_config(made)
    assert missing.value.response_code == 404


def test_required_actions_are_listed(own_admin: KeycloakAdmin) -> None:
    actions = {each["alias"]: each for each in own_admin.get_required_actions()}
    assert {"UPDATE_PASSWORD", "CONFIGURE_TOTP", "VERIFY_EMAIL"} <= actions.keys()
    assert own_admin.get_required_action_by_alias("UPDATE_PASSWORD") == actions["UPDATE_PASSWORD"]
