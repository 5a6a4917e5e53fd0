"""What wrong requests are answered with, and in which order of checks. Keycloak: 7, 0.2 (26.7)."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration

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
        "users": [{"id": USER, "username": "ada", "enabled": True}],
        "groups": [{"id": GROUP, "name": "staff"}],
        "clients": [{"id": CLIENT, "clientId": "shop", "enabled": True}],
        "roles": {"realm": [{"name": "reader"}], "client": {"shop": [{"name": "buy"}]}},
    }
    with administered_realm(
        administration, "error-bodies", {"viewer": ["view-users"]}, **document
    ) as made:
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
    "PUT client-scopes/none": NO_SCOPE,
    "POST client-scopes/none/protocol-mappers/models": NO_SCOPE,
    "POST client-scopes/none/scope-mappings/realm": NO_SCOPE,
}
"""Operations below an object that does not exist, and what says so."""


@pytest.mark.parametrize("content", [b"{", b"5", b'[{"bogus":1}]', b'{"bogus":1}'])
@pytest.mark.parametrize("operation", PATHS)
def test_an_unknown_object_of_the_path_is_reported_before_a_wrong_body(
    realm: AdministeredRealm, operation: str, content: bytes
) -> None:
    method, _, path = operation.partition(" ")
    assert answer(realm, method, path, content) == PATHS[operation]
