"""What plays read, how they sign in, and what they hear of what is not here."""

import pytest

from tests.support.administered_server import OTHER_SERVER, AdministeredServer
from tests.support.ansible import Ansible
from tests.support.wire import SECRET


def test_what_a_play_reads_of_realm_keys_and_components_is_there(
    ansible: Ansible, administered: AdministeredServer, realm: str
) -> None:
    answers = ansible.play("information", realm).plays["information"]
    public = answers["realm"]["realm_info"]
    assert public["realm"] == realm
    assert public["token-service"] == f"{administered.url}/realms/{realm}/protocol/openid-connect"
    keys = answers["keys"]["keys_metadata"]
    by_kid = {key["kid"]: key for key in keys["keys"]}
    assert by_kid[keys["active"]["RS256"]]["publicKey"] == public["public_key"]
    providers = answers["key providers"]["components"]
    assert {key["providerId"] for key in by_kid.values()} <= {each["id"] for each in providers}
    assert [each["name"] for each in answers["one component"]["components"]] == ["rsa-generated"]


def test_a_play_signs_in_by_password_secret_and_token(
    ansible: Ansible, administered: AdministeredServer, realm: str
) -> None:
    form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin"}
    url = f"{administered.url}/realms/master/protocol/openid-connect/token"
    signed_in, worn = (
        administered.http.post(url, data=form | {"password": administered.password}).json()
        for _ in range(2)
    )
    administered.http.post(
        url.removesuffix("token") + "logout",
        data={"client_id": "admin-cli", "refresh_token": worn["refresh_token"]},
    )
    refused = ansible.play(
        "logins",
        realm,
        secret=SECRET,
        token=signed_in["access_token"],
        refresh_token=signed_in["refresh_token"],
        worn_refresh_token=worn["refresh_token"],
    ).failures
    assert refused.keys() == {"logins: wrong password", "logins: realm that is not there"}
    assert "Could not obtain access token" in refused["logins: wrong password"]
    assert "Realm not found." in refused["logins: realm that is not there"]


@pytest.mark.skipif(bool(OTHER_SERVER), reason="another server may have it")
def test_a_play_is_told_what_is_left_out(ansible: Ansible, realm: str) -> None:
    refused = ansible.play("left_out", realm).failures
    assert refused.keys() == {
        "left out: identity provider",
        "left out: user federation",
        "left out: authorization scope",
    }
