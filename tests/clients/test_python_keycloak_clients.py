"""Scripts written with python-keycloak for clients, scopes and mappers do the same here."""

from typing import Any

import pytest
from keycloak import KeycloakAdmin
from keycloak.exceptions import KeycloakAuthenticationError, KeycloakGetError, KeycloakPostError

from tests.support.administered_server import AdministeredServer
from tests.support.edge_certificates import EdgeCertificates
from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH, client_of
from tests.support.wire import PASSWORD, SECRET

pytestmark = NAMES_CERTIFICATES_BY_PATH

MAPPER: dict[str, Any] = {
    "name": "made",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-hardcoded-claim-mapper",
    "config": {
        "claim.name": "made",
        "claim.value": "by a mapper",
        "jsonType.label": "String",
        "access.token.claim": "true",
        "id.token.claim": "true",
        "userinfo.token.claim": "true",
    },
}


def _names(found: list[dict[str, Any]], name: str = "name") -> set[str]:
    return {each[name] for each in found}


def test_a_client_is_made_changed_and_removed(admin: KeycloakAdmin) -> None:
    made = admin.create_client({"clientId": "made", "redirectUris": ["https://app.test/*"]})
    with pytest.raises(KeycloakPostError, match="Client made already exists"):
        admin.create_client({"clientId": "made"})
    assert admin.create_client({"clientId": "made"}, skip_exists=True) == made
    assert admin.get_client_id("made") == made
    assert {"made", "shop", "account"} <= _names(admin.get_clients(), "clientId")
    admin.update_client(made, {"description": "Changed", "attributes": {"of.ones.own": "kept"}})
    client = admin.get_client(made)
    assert (client["description"], client["redirectUris"]) == ("Changed", ["https://app.test/*"])
    assert client["attributes"]["of.ones.own"] == "kept"
    admin.update_client(made, client)
    assert admin.get_client(made) == client
    admin.delete_client(made)
    with pytest.raises(KeycloakGetError, match="Could not find client"):
        admin.get_client(made)


def test_a_secret_is_made_anew_and_the_old_one_is_worth_nothing(
    administered: AdministeredServer, own_admin: KeycloakAdmin, own_realm: str
) -> None:
    service = str(own_admin.get_client_id("service"))
    assert own_admin.get_client_secrets(service)["value"] == SECRET
    renewed = own_admin.generate_client_secrets(service)["value"]
    assert own_admin.get_client_secrets(service)["value"] == renewed != SECRET
    with pytest.raises(KeycloakAuthenticationError, match="Invalid client credentials"):
        client_of(administered, own_realm, "service").token(grant_type="client_credentials")
    with_new = client_of(administered, own_realm, "service", renewed)
    assert with_new.token(grant_type="client_credentials")["access_token"]


def test_a_service_account_is_a_user(admin: KeycloakAdmin) -> None:
    account = admin.get_client_service_account_user(str(admin.get_client_id("service")))
    assert account["username"] == "service-account-service"
    assert admin.get_user(account["id"])["username"] == "service-account-service"


def test_client_scopes_move_between_default_and_optional(
    own_admin: KeycloakAdmin,
) -> None:
    app = str(own_admin.get_client_id("app"))
    phone = own_admin.get_client_scope_by_name("phone")
    assert phone is not None
    assert "phone" in _names(own_admin.get_client_optional_client_scopes(app))
    own_admin.delete_client_optional_client_scope(app, phone["id"])
    own_admin.add_client_default_client_scope(app, phone["id"], {})
    assert "phone" in _names(own_admin.get_client_default_client_scopes(app))
    own_admin.delete_client_default_client_scope(app, phone["id"])
    own_admin.add_client_optional_client_scope(app, phone["id"], {})
    assert "phone" in _names(own_admin.get_client_optional_client_scopes(app))
    assert "phone" not in _names(own_admin.get_client_default_client_scopes(app))


def test_scopes_of_a_realm_are_default_or_optional(own_admin: KeycloakAdmin) -> None:
    phone = own_admin.get_client_scope_by_name("phone")
    assert phone is not None
    own_admin.delete_default_optional_client_scope(phone["id"])
    own_admin.add_default_default_client_scope(phone["id"])
    assert "phone" in _names(own_admin.get_default_default_client_scopes())
    assert "phone" not in _names(own_admin.get_default_optional_client_scopes())
    own_admin.delete_default_default_client_scope(phone["id"])
    own_admin.add_default_optional_client_scope(phone["id"])
    assert "phone" in _names(own_admin.get_default_optional_client_scopes())


def test_a_client_scope_with_mappers_is_made_changed_and_removed(admin: KeycloakAdmin) -> None:
    made = admin.create_client_scope({"name": "made", "protocol": "openid-connect"})
    with pytest.raises(KeycloakPostError, match="Client Scope made already exists"):
        admin.create_client_scope({"name": "made", "protocol": "openid-connect"})
    admin.update_client_scope(made, {"name": "made", "description": "Changed"})
    assert admin.get_client_scope(made)["description"] == "Changed"
    admin.add_mapper_to_client_scope(made, MAPPER)
    (mapper,) = admin.get_mappers_from_client_scope(made)
    assert mapper["config"].items() >= MAPPER["config"].items()
    mapper["config"]["claim.value"] = "changed"
    admin.update_mapper_in_client_scope(made, mapper["id"], mapper)
    (mapper,) = admin.get_client_scope(made)["protocolMappers"]
    assert mapper["config"]["claim.value"] == "changed"
    admin.delete_mapper_from_client_scope(made, mapper["id"])
    assert admin.get_mappers_from_client_scope(made) == []
    shop = str(admin.get_client_id("shop"))
    buy = admin.get_client_role(shop, "buy")
    admin.add_client_specific_roles_to_client_scope(made, shop, [buy])
    assert _names(admin.get_client_specific_roles_of_client_scope(made, shop)) == {"buy"}
    assert "shop" in admin.get_all_roles_of_client_scope(made)["clientMappings"]
    admin.remove_client_specific_roles_of_client_scope(made, shop, [buy])
    admin.delete_client_scope(made)
    assert admin.get_client_scope_by_name("made") is None


def test_what_a_mapper_of_a_client_says_is_in_its_next_token(
    administered: AdministeredServer, own_admin: KeycloakAdmin, own_realm: str
) -> None:
    service = str(own_admin.get_client_id("service"))
    client = client_of(administered, own_realm, "service")

    def claim() -> Any:
        token = client.token("ada", PASSWORD)["access_token"]
        return client.decode_token(token).get("made")

    assert claim() is None
    own_admin.add_mapper_to_client(service, MAPPER)
    assert claim() == "by a mapper"
    (mapper,) = (
        each for each in own_admin.get_mappers_from_client(service) if each["name"] == "made"
    )
    mapper["config"]["claim.value"] = "changed"
    own_admin.update_client_mapper(service, mapper["id"], mapper)
    assert claim() == "changed"
    own_admin.remove_client_mapper(service, mapper["id"])
    assert claim() is None


def test_roles_enter_and_leave_the_scope_of_a_client(own_admin: KeycloakAdmin) -> None:
    app, shop = (str(own_admin.get_client_id(name)) for name in ("app", "shop"))
    reader = own_admin.get_realm_role("reader")
    own_admin.assign_realm_roles_to_client_scope(app, [reader])
    assert _names(own_admin.get_realm_roles_of_client_scope(app)) == {"reader"}
    own_admin.delete_realm_roles_of_client_scope(app, [reader])
    assert own_admin.get_realm_roles_of_client_scope(app) == []
    buy = own_admin.get_client_role(shop, "buy")
    own_admin.assign_client_roles_to_client_scope(app, shop, [buy])
    assert _names(own_admin.get_client_roles_of_client_scope(app, shop)) == {"buy"}
    own_admin.delete_client_roles_of_client_scope(app, shop, [buy])
    assert own_admin.get_client_roles_of_client_scope(app, shop) == []


def test_a_client_is_told_how_to_reach_the_realm(
    administered: AdministeredServer, admin: KeycloakAdmin, realm: str
) -> None:
    service = str(admin.get_client_id("service"))
    document = admin.get_client_installation_provider(service, "keycloak-oidc-keycloak-json")
    assert (document["realm"], document["resource"]) == (realm, "service")
    assert document["auth-server-url"].rstrip("/") == administered.url
    assert document["credentials"]["secret"] == SECRET


def test_a_certificate_of_a_client_is_uploaded_and_read(
    admin: KeycloakAdmin, edge_certificates: EdgeCertificates
) -> None:
    service = str(admin.get_client_id("service"))
    pem = (edge_certificates.folder / "device-1.crt").read_text()
    admin.upload_certificate(service, pem)
    kept = admin.get_client_certificate_key_info(service, "jwt.credential")
    assert kept["certificate"] in pem.replace("\n", "")
