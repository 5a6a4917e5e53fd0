"""Programs that sign in with python-keycloak get what they expect of the tokens."""

import pytest
from keycloak import KeycloakAdmin, KeycloakOpenID
from keycloak.exceptions import KeycloakError, KeycloakPostError

from tests.support.administered_server import OTHER_SERVER, AdministeredServer
from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH, client_of
from tests.support.wire import PASSWORD, SECRET

pytestmark = NAMES_CERTIFICATES_BY_PATH


def test_tokens_are_got_refreshed_introspected_and_ended(
    administered: AdministeredServer, realm: str
) -> None:
    client = client_of(administered, realm, "service")
    tokens = client.token("ada", PASSWORD)
    claims = client.decode_token(tokens["access_token"])
    assert (claims["preferred_username"], claims["azp"]) == ("ada", "service")
    told = client.userinfo(tokens["access_token"])
    assert isinstance(told, dict)
    assert told["email"] == "ada@example.test"
    assert client.introspect(tokens["access_token"])["active"] is True
    refreshed = client.refresh_token(tokens["refresh_token"])
    client.logout(refreshed["refresh_token"])
    assert client.introspect(refreshed["access_token"])["active"] is False
    with pytest.raises(KeycloakPostError, match=r"Session not active|Token is not active"):
        client.refresh_token(refreshed["refresh_token"])


def test_a_wrong_password_is_told_as_such(administered: AdministeredServer, realm: str) -> None:
    with pytest.raises(KeycloakError, match="Invalid user credentials"):
        client_of(administered, realm, "service").token("ada", "wrong")


def test_a_realm_tells_of_itself(administered: AdministeredServer, realm: str) -> None:
    client = client_of(administered, realm, "service")
    assert client.well_known()["issuer"] == f"{administered.url}/realms/{realm}"
    kids = {key["kid"] for key in client.certs()["keys"]}
    token = client.token(grant_type="client_credentials")["access_token"]
    assert client.decode_token(token)["iss"] == f"{administered.url}/realms/{realm}"
    assert len(kids) >= 1
    assert client.public_key()


def test_a_service_account_administers_its_realm(
    administered: AdministeredServer, realm: str
) -> None:
    operator = KeycloakAdmin(
        server_url=administered.url,
        client_id="operator",
        client_secret_key=SECRET,
        realm_name=realm,
        verify=administered.verify,
    )
    assert operator.users_count() >= 1
    made = operator.create_user({"username": "made"})
    operator.delete_user(made)


@pytest.mark.skipif(bool(OTHER_SERVER), reason="another server may not know these certificates")
def test_a_device_shows_its_certificate_instead_of_a_secret(
    administered: AdministeredServer, realm: str
) -> None:
    assert administered.certificates
    pair = administered.certificates.pair("device-1")
    client = KeycloakOpenID(
        server_url=administered.mtls_url,
        realm_name=realm,
        client_id="device-1",
        verify=administered.verify,
        cert=(f"{pair}.crt", f"{pair}.key"),
    )
    token = client.token(grant_type="client_credentials")["access_token"]
    assert client.decode_token(token)["cnf"].keys() == {"x5t#S256"}
