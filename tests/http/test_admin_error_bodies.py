"""What wrong requests are answered with, and in which order of checks. Keycloak: 7, 0.2 (26.7)."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import (
    SIGN_IN,
    AdministeredRealm,
    administered_realm,
    person,
)
from tests.support.administration import PASSWORD, Administration
from tests.support.wire import protocol

ADMINISTRATORS: Final = {
    "users": ["view-users"],
    "users-and-realm": ["view-users", "view-realm"],
    "users-and-clients": ["view-users", "view-clients"],
    "manager": ["manage-users"],
    "impersonator": ["impersonation"],
    "querying": ["query-realms"],
}
USER: Final = "id-of-user"
CLIENT: Final = "id-of-client"
GROUP: Final = "id-of-group"
NO_USER: Final = (404, {"error": "User not found"})
NO_GROUP: Final = (404, {"error": "Could not find group by id"})
NO_CLIENT: Final = (404, {"error": "Could not find client"})
NO_OWNER: Final = (404, {"error": "Client not found"})
NO_SCOPE: Final = (404, {"error": "Could not find client scope"})
NOT_JSON: Final = (
    400,
    {"error": "invalid_request", "error_description": "Cannot parse the JSON"},
)
OTHER_JSON: Final = (
    400,
    {"error": "unknown_error", "error_description": "Cannot parse the JSON"},
)


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with one object of each kind."""
    document: dict[str, Any] = {
        **SIGN_IN,
        "users": [
            person(
                "ada",
                id=USER,
                realmRoles=["reader", "offline_access"],
                clientRoles={"shop": ["buy"]},
            ),
            person("bob"),
            person("boss", clientRoles={"realm-management": ["realm-admin"]}),
        ],
        "groups": [
            {
                "id": GROUP,
                "name": "staff",
                "realmRoles": ["reader"],
                "clientRoles": {"shop": ["buy"]},
            }
        ],
        "clients": [*SIGN_IN["clients"], {"id": CLIENT, "clientId": "shop", "enabled": True}],
        "roles": {"realm": [{"name": "reader"}], "client": {"shop": [{"name": "buy"}]}},
    }
    with administered_realm(administration, "error-bodies", ADMINISTRATORS, **document) as made:
        yield made


def answer(realm: AdministeredRealm, method: str, path: str, content: bytes) -> tuple[int, Any]:
    response = realm.administration.ask(method, f"{realm.name}/{path}", content=content)
    return response.status_code, response.json()


PATHS: Final = {
    "PUT users/none": NO_USER,
    "PUT users/none/reset-password": NO_USER,
    "PUT users/none/disable-credential-types": NO_USER,
    "POST users/none/role-mappings/realm": NO_USER,
    "DELETE users/none/role-mappings/realm": NO_USER,
    "POST users/none/role-mappings/clients/none": NO_USER,
    f"POST users/{USER}/role-mappings/clients/none": NO_OWNER,
    "PUT groups/none": NO_GROUP,
    "POST groups/none/children": NO_GROUP,
    "POST groups/none/role-mappings/realm": NO_GROUP,
    f"POST groups/{GROUP}/role-mappings/clients/none": NO_OWNER,
    "PUT clients/none": NO_CLIENT,
    "POST clients/none/roles": NO_CLIENT,
    "PUT clients/none/roles/buy": NO_CLIENT,
    "POST clients/none/protocol-mappers/models": NO_CLIENT,
    "POST clients/none/protocol-mappers/add-models": NO_CLIENT,
    "POST clients/none/nodes": NO_CLIENT,
    "POST clients/none/scope-mappings/realm": NO_CLIENT,
    f"POST clients/{CLIENT}/scope-mappings/clients/none": NO_CLIENT,
    "PUT client-scopes/none": NO_SCOPE,
    "POST client-scopes/none/protocol-mappers/models": NO_SCOPE,
    "POST client-scopes/none/scope-mappings/realm": NO_SCOPE,
}
"""Operations below an object that does not exist, and what says so."""


@pytest.mark.parametrize("content", [b"{", b"5", b'[{"bogus":1}]', b'{"bogus":1}'])
@pytest.mark.parametrize("operation", PATHS)
def test_an_unknown_object_in_the_path_precedes_a_wrong_body(
    realm: AdministeredRealm, operation: str, content: bytes
) -> None:
    method, _, path = operation.partition(" ")
    assert answer(realm, method, path, content) == PATHS[operation]


def test_an_unknown_object_in_the_path_precedes_a_wrong_query(
    realm: AdministeredRealm,
) -> None:
    assert realm.refused("GET", "users/none/groups?first=x") == NO_USER
    assert realm.refused("GET", f"users/{USER}/groups?first=x") == (
        404,
        {"error": "HTTP 404 Not Found"},
    )


ROLE_LISTS: Final = (
    f"users/{USER}/role-mappings/realm",
    f"groups/{GROUP}/role-mappings/clients/{CLIENT}",
    f"clients/{CLIENT}/scope-mappings/realm",
    "roles/reader/composites",
)


@pytest.mark.parametrize("path", ROLE_LISTS)
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_a_list_of_roles_that_are_no_representations_is_refused(
    realm: AdministeredRealm, method: str, path: str
) -> None:
    for content in (b'["bad"]', b"[null]", b"[[]]", b"{}", b'"x"', b"{"):
        assert answer(realm, method, path, content) == OTHER_JSON
    assert answer(realm, method, path, b"[{") == NOT_JSON
    for wrong in (b'[{"name":{}}]', b'[{"attributes":5}]', b'[{"composite":"x"}]'):
        status, document = answer(realm, method, path, wrong)
        assert (status, {**document, **OTHER_JSON[1]}) == (400, document)
        assert document["errorMessage"].startswith("[0].")


MISTYPED: Final = (
    ("POST", "roles", b'{"attributes":5}'),
    ("POST", "roles", b'{"name":{}}'),
    ("POST", "groups", b'{"name":[]}'),
    ("POST", "users", b'{"username":"x","enabled":"blah"}'),
    ("POST", "clients", b'{"clientId":"x","redirectUris":"y"}'),
    ("POST", "client-scopes", b'{"name":{}}'),
    ("PUT", "", b'{"displayName":{}}'),
    ("PUT", f"users/{USER}/reset-password", b'{"value":"n","temporary":"x"}'),
    ("POST", f"clients/{CLIENT}/protocol-mappers/models", b'{"config":5}'),
    ("PUT", f"clients/{CLIENT}/protocol-mappers/models/none", b'{"name":{}}'),
)


@pytest.mark.parametrize(("method", "path", "content"), MISTYPED)
def test_wrong_json_types_have_keycloaks_code_and_name_the_field(
    realm: AdministeredRealm, method: str, path: str, content: bytes
) -> None:
    status, document = answer(realm, method, path, content)
    assert (status, document.pop("errorMessage").count(" given, ")) == (400, 1)
    assert document == OTHER_JSON[1]


def test_filters_by_attribute_do_not_count_beside_a_search(realm: AdministeredRealm) -> None:
    def found(query: str) -> list[str]:
        names = [user["username"] for user in realm.get(f"users?{query}")]
        assert realm.get(f"users/count?{query}") == len(names)
        return names

    for beside in ("username=bob", "email=x", "firstName=x", "q=team:x", "idpAlias=x"):
        assert found(f"search=ada&{beside}") == ["ada"]
    assert found("search=ada&enabled=false") == []
    assert found("search=&username=bob") == ["bob"]
    assert found("search=%20&username=bob") == ["ada", "bob", "boss"]


LONGER: Final = (
    ("clientSessionIdleTimeout", "Client Session Idle Timeout cannot be greater than Realm SSO"),
    ("clientSessionMaxLifespan", "Client session max lifespan cannot exceed realm SSO session max"),
)


@pytest.mark.parametrize(("setting", "text"), LONGER)
def test_a_clients_part_may_not_last_longer_than_the_session(
    realm: AdministeredRealm, setting: str, text: str
) -> None:
    status, document = realm.refused("PUT", "", {setting: 999_999})
    assert (status, document["errorMessage"].startswith(text)) == (400, True)
    realm.change("PUT", "", {setting: 600})
    realm.change("PUT", "", {setting: 0})


@pytest.mark.parametrize("setting", ["idle timeout", "max lifespan"])
def test_a_client_may_not_set_a_longer_part_than_the_session(
    realm: AdministeredRealm, setting: str
) -> None:
    attribute = f"client.session.{setting.replace(' ', '.')}"
    text = f"Client session {setting} cannot exceed realm SSO session {setting}."
    refusal = (400, {"error": "invalid_input", "error_description": text})
    sent = {"attributes": {attribute: "999999"}}
    assert realm.refused("POST", "clients", {"clientId": "longer", **sent}) == refusal
    assert realm.refused("PUT", f"clients/{CLIENT}", sent) == refusal
    realm.change("PUT", f"clients/{CLIENT}", {"attributes": {attribute: "60"}})


VIEWED: Final = {
    "users": (set[str](), set[str]()),
    "users-and-realm": ({"reader"}, set()),
    "users-and-clients": (set(), {"buy"}),
    "manager": (set(), set()),
}


@pytest.mark.parametrize("caller", VIEWED)
@pytest.mark.parametrize("holder", [f"users/{USER}", f"groups/{GROUP}"])
def test_role_mappings_show_the_roles_that_the_caller_may_view(
    realm: AdministeredRealm, holder: str, caller: str
) -> None:
    found = realm.get(f"{holder}/role-mappings", by=caller)
    of_realm = {role["name"] for role in found.get("realmMappings", [])}
    of_shop = found.get("clientMappings", {}).get("shop", {}).get("mappings", [])
    assert (of_realm & {"reader"}, {role["name"] for role in of_shop}) == VIEWED[caller]
    offered = realm.get(f"{holder}/role-mappings/realm/available", by=caller)
    assert bool(offered) is (caller == "manager")
    assert realm.refused("GET", "users/none/role-mappings/realm/available", by=caller) == NO_USER


@pytest.mark.parametrize("path", ["localization", "localization/de"])
def test_texts_are_shown_to_every_role_but_impersonation(
    realm: AdministeredRealm, path: str
) -> None:
    refusal = (403, {"error": "HTTP 403 Forbidden"})
    assert realm.refused("GET", path, by="impersonator") == refusal
    assert realm.ask("GET", path, by="querying").status_code == 200


@pytest.mark.parametrize(
    "content", [b"", b"x", b"{}", b"[]", b"null", b'{"client_id":"x"}', b'{"clientId":"x"']
)
def test_a_description_of_no_known_format_is_refused(
    realm: AdministeredRealm, content: bytes
) -> None:
    refusal = (400, {"error": "Unsupported format"})
    assert answer(realm, "POST", "client-description-converter", content) == refusal


def test_a_description_becomes_a_representation(realm: AdministeredRealm) -> None:
    path = "client-description-converter"
    assert answer(realm, "POST", path, b'{"clientId":"x","name":null}') == (200, {"clientId": "x"})
    metadata = b'{"redirect_uris":["https://a.test/"],"client_name":"N"}'
    assert answer(realm, "POST", path, metadata) == (
        200,
        {
            "name": "N",
            "clientAuthenticatorType": "client-secret",
            "redirectUris": ["https://a.test/"],
            "standardFlowEnabled": True,
            "implicitFlowEnabled": False,
            "directAccessGrantsEnabled": False,
            "publicClient": False,
            "frontchannelLogout": False,
            "protocol": "openid-connect",
            "attributes": {
                "backchannel.logout.session.required": "true",
                "frontchannel.logout.session.required": "false",
                "backchannel.logout.revoke.offline.tokens": "false",
            },
        },
    )
    status, document = answer(realm, "POST", path, b'{"clientId":"x","enabled":"blah"}')
    assert (status, document["error"]) == (400, "unknown_error")


def test_consents_are_none_and_their_end_revokes_offline_tokens(realm: AdministeredRealm) -> None:
    consents = f"users/{USER}/consents"
    assert realm.get(consents) == []
    assert realm.refused("GET", "users/none/consents") == NO_USER
    assert realm.refused("DELETE", "users/none/consents/page") == NO_USER
    assert realm.refused("DELETE", f"{consents}/none") == NO_OWNER
    nothing = (404, {"error": "Consent nor offline token not found"})
    assert realm.refused("DELETE", f"{consents}/page") == nothing
    http, form = realm.administration.http, {"client_id": "page", "scope": "offline_access"}
    token = protocol(realm.name, "token")
    sent = form | {"grant_type": "password", "username": "ada", "password": PASSWORD}
    refresh = http.post(token, data=sent).json()["refresh_token"]
    realm.change("DELETE", f"{consents}/page")
    sent = {"client_id": "page", "grant_type": "refresh_token", "refresh_token": refresh}
    assert http.post(token, data=sent).json()["error"] == "invalid_grant"
    assert realm.refused("DELETE", f"{consents}/page") == nothing


def test_ending_all_sessions_ends_the_callers_own(realm: AdministeredRealm) -> None:
    """Its access token is refused at once, and so is its refresh token."""
    administration, tokens = realm.administration, realm.sign_in("boss")
    mine = str(tokens["access_token"])
    ended = administration.ask("POST", f"{realm.name}/logout-all", mine)
    assert (ended.status_code, ended.json()) == (200, {})
    assert administration.ask("GET", realm.name, mine).status_code == 401
    form = {"client_id": "page", "grant_type": "refresh_token"}
    sent = form | {"refresh_token": str(tokens["refresh_token"])}
    over = {"error": "invalid_grant", "error_description": "Session not active"}
    for not_before in (2**31 - 1, 0):
        realm.change("PUT", "", {"notBefore": not_before})
        assert administration.http.post(protocol(realm.name, "token"), data=sent).json() == over
