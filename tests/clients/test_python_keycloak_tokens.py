"""Programs that sign in with python-keycloak get what they expect of the tokens."""

import json
from collections.abc import Callable
from contextlib import aclosing

import pytest
from anyio import create_task_group
from keycloak import KeycloakAdmin, KeycloakOpenID
from keycloak.exceptions import KeycloakError, KeycloakPostError

from tests.support.administered_server import OTHER_SERVER, AdministeredServer
from tests.support.python_keycloak import NAMES_CERTIFICATES_BY_PATH, administrator_of, client_of
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


async def test_many_questions_at_once_are_answered(
    administered: AdministeredServer, realm: str
) -> None:
    admin = administrator_of(administered, realm)
    async with (
        aclosing(admin.connection),
        aclosing(admin.connection.keycloak_openid.connection),
    ):
        async with create_task_group() as group:
            for number in range(8):
                group.start_soon(admin.a_create_realm_role, {"name": f"at-once-{number}"})
        found = await admin.a_get_realm_roles(search_text="at-once")
    assert sorted(role["name"] for role in found) == [f"at-once-{number}" for number in range(8)]


@pytest.mark.skipif(bool(OTHER_SERVER), reason="another server may have it")
def test_what_is_left_out_is_told_in_a_sentence(
    administered: AdministeredServer, realm: str
) -> None:
    admin = administrator_of(administered, realm)
    ada = str(admin.get_user_id("ada"))
    service = str(admin.get_client_id("service"))
    questions: list[Callable[[], object]] = [
        lambda: admin.create_idp({"alias": "made", "providerId": "oidc"}),
        admin.get_organizations,
        lambda: admin.get_client_authz_settings(service),
    ]
    assert admin.get_idps() == []
    assert admin.user_consents(ada) == []
    for question in questions:
        with pytest.raises(KeycloakError) as refused:
            question()
        assert refused.value.response_code in {404, 501}
        *_, sentence = json.loads(refused.value.response_body or b"{}").values()
        assert len(sentence.split()) > 2


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
