"""Files for adapters over the admin API. Keycloak: 7.3."""

from collections.abc import Iterator

import pytest

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import SECRET, Administration

ADMINISTRATORS = {
    "viewer": ["view-clients"],
    "seeker": ["query-clients"],
    "greater": ["manage-clients", "manage-users"],
}
AT = "installation/providers"
JSON = f"{AT}/keycloak-oidc-keycloak-json"


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with a client."""
    client = {"id": "app-id", "clientId": "app", "secret": "s3cret", "enabled": True}
    with administered_realm(
        administration, "of-installations", ADMINISTRATORS, clients=[client]
    ) as made:
        yield made


def test_a_file_tells_where_the_gateway_is(realm: AdministeredRealm) -> None:
    response = realm.ask("GET", f"clients/app-id/{JSON}", by="viewer")
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/plain"
    assert response.headers["cache-control"] == "no-store"
    assert response.json() == {
        "realm": "of-installations",
        "auth-server-url": "https://gateway.test/",
        "ssl-required": "none",
        "resource": "app",
        "credentials": {"secret": "s3cret"},
        "confidential-port": 0,
    }


def test_a_file_knows_whether_the_client_has_roles(realm: AdministeredRealm) -> None:
    made = realm.change("POST", "clients", {"clientId": "with-roles"})
    assert "verify-token-audience" not in realm.get(f"clients/{made}/{JSON}")
    realm.change("POST", f"clients/{made}/roles", {"name": "role"})
    assert realm.get(f"clients/{made}/{JSON}")["verify-token-audience"] is True


@pytest.mark.parametrize(("by", "secret"), [("viewer", "**********"), ("greater", SECRET)])
@pytest.mark.parametrize("kind", ["keycloak-json", "jboss-subsystem", "jboss-subsystem-cli"])
def test_a_secret_above_ones_rights_is_masked(
    realm: AdministeredRealm, kind: str, by: str, secret: str
) -> None:
    path = f"clients/client-of-greater/{AT}/keycloak-oidc-{kind}"
    text = realm.ask("GET", path, by=by).text
    assert secret in text
    assert (SECRET in text) == (by == "greater")


def test_an_unknown_file_or_client_is_missing(realm: AdministeredRealm) -> None:
    unknown = (404, {"error": "Unknown Provider"})
    assert realm.refused("GET", f"clients/app-id/{AT}/nope") == unknown
    (theirs,) = realm.administration.ask("GET", "acme/clients?clientId=nobody").json()
    for client in ("nobody", theirs["id"]):
        missing = (404, {"error": "Could not find client"})
        assert realm.refused("GET", f"clients/{client}/{JSON}") == missing
    assert realm.refused("GET", f"clients/app-id/{JSON}", by="seeker")[0] == 403
