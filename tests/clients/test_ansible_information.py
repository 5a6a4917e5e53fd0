"""What plays read, how they sign in, and what they hear of what is not here."""

from collections.abc import Mapping

import pytest

from tests.support.administered_server import OTHER_SERVER, AdministeredServer
from tests.support.ansible import Ansible, Playbook, Runs
from tests.support.wire import SECRET


@pytest.fixture(scope="module")
def runs(ansible: Ansible, administered: AdministeredServer, realm: str) -> Mapping[str, Runs]:
    """Run all of them at once: a start of Ansible costs as much as ten tasks."""
    form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin"}
    url = f"{administered.url}/realms/master/protocol/openid-connect/token"
    signed_in, ended = (
        administered.http.post(url, data=form | {"password": administered.password}).json()
        for _ in range(2)
    )
    administered.http.post(
        url.removesuffix("token") + "logout",
        data={"client_id": "admin-cli", "refresh_token": ended["refresh_token"]},
    )
    tokens = {
        "secret": SECRET,
        "token": signed_in["access_token"],
        "refresh_token": signed_in["refresh_token"],
        "worn_refresh_token": ended["refresh_token"],
    }
    return ansible.play(
        Playbook("logins", realm, variables=tokens),
        Playbook("information", realm),
        Playbook("left_out", realm),
    )


def test_what_a_play_reads_of_realm_keys_and_components_is_there(
    runs: Mapping[str, Runs], administered: AdministeredServer, realm: str
) -> None:
    answers = runs["information"].plays["information"]
    public = answers["realm"]["realm_info"]
    assert public["realm"] == realm
    assert public["token-service"] == f"{administered.url}/realms/{realm}/protocol/openid-connect"
    keys = answers["keys"]["keys_metadata"]
    by_kid = {key["kid"]: key for key in keys["keys"]}
    assert by_kid[keys["active"]["RS256"]]["publicKey"] == public["public_key"]
    providers = answers["key providers"]["components"]
    assert {key["providerId"] for key in by_kid.values()} <= {each["id"] for each in providers}
    assert [each["name"] for each in answers["one component"]["components"]] == ["rsa-generated"]


def test_a_play_signs_in_by_password_secret_and_token(runs: Mapping[str, Runs]) -> None:
    refused = runs["logins"].failures
    assert refused.keys() == {"logins: wrong password", "logins: realm that is not there"}
    assert "Could not obtain access token" in refused["logins: wrong password"]
    assert "Realm not found." in refused["logins: realm that is not there"]


@pytest.mark.skipif(bool(OTHER_SERVER), reason="another server may have it")
def test_a_play_is_told_what_is_left_out(runs: Mapping[str, Runs]) -> None:
    refused = runs["left_out"].failures
    assert refused.keys() == {
        "left out: identity provider",
        "left out: user federation",
        "left out: authorization scope",
    }
