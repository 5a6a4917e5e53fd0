"""What a service account gets besides an access token. Keycloak: 1.6 (26.7.3)."""

from typing import Any

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.wire import SECRET, Wire, claims_of, client, protocol

USE_REFRESH_TOKEN = "client_credentials.use_refresh_token"
AS_LASTING = {"client_id": "lasting", "client_secret": SECRET}


def _tokens(wire: Wire, **form: str) -> dict[str, Any]:
    response = wire.token_request(AS_LASTING | form)
    assert response.status_code == 200, response.text
    document: dict[str, Any] = response.json()
    return document


def _refresh(wire: Wire, token: str) -> tuple[int, dict[str, Any]]:
    form = AS_LASTING | {"grant_type": "refresh_token", "refresh_token": token}
    response = wire.post("token", form)
    return response.status_code, response.json()


def test_openid_brings_an_id_token_without_a_session(wire: Wire) -> None:
    document = wire.token_request({"scope": "openid"}).json()
    assert document["scope"] == "openid email profile"
    assert not {"refresh_token", "session_state"} & set(document)
    claims = claims_of(document["id_token"])
    access = claims_of(document["access_token"])
    assert set(claims) == {
        *("exp", "iat", "jti", "iss", "aud", "sub", "typ", "azp", "at_hash", "acr"),
        *("email_verified", "clientHost", "preferred_username", "clientAddress", "client_id"),
    }
    assert (claims["typ"], claims["aud"], claims["sub"]) == ("ID", "svc", access["sub"])
    assert access["jti"].startswith("trrtcc:")


def test_without_openid_there_is_none(wire: Wire) -> None:
    assert "id_token" not in wire.token_request().json()


def test_a_client_may_ask_for_a_session_and_a_refresh_token(wire: Wire) -> None:
    document = _tokens(wire)
    access, refresh = claims_of(document["access_token"]), claims_of(document["refresh_token"])
    assert document["refresh_expires_in"] == 1800
    assert access["jti"].startswith("onrtcc:")
    assert access["sid"] == refresh["sid"] == document["session_state"]
    assert access["clientHost"] == "203.0.113.9"
    assert (refresh["typ"], refresh["sub"]) == ("Refresh", access["sub"])
    status, again = _refresh(wire, document["refresh_token"])
    assert status == 200
    assert again["session_state"] == document["session_state"]
    assert claims_of(again["access_token"])["clientHost"] == "203.0.113.9"


def test_its_id_token_names_the_session(wire: Wire) -> None:
    document = _tokens(wire, scope="openid")
    assert claims_of(document["id_token"])["sid"] == document["session_state"]


def test_such_a_session_may_be_offline(wire: Wire) -> None:
    document = _tokens(wire, scope="offline_access")
    assert claims_of(document["refresh_token"])["typ"] == "Offline"
    assert claims_of(document["access_token"])["jti"].startswith("ofrtcc:")
    assert _refresh(wire, document["refresh_token"])[0] == 200


def test_logout_ends_it(wire: Wire) -> None:
    document = _tokens(wire, scope="openid")
    header = f"Bearer {document['access_token']}"
    userinfo = protocol("wire", "userinfo")
    assert wire.get(userinfo, Authorization=header).status_code == 200
    form = AS_LASTING | {"refresh_token": document["refresh_token"]}
    assert wire.post("logout", form).status_code == 204
    assert wire.get(userinfo, Authorization=header).status_code == 401
    status, refused = _refresh(wire, document["refresh_token"])
    assert (status, refused["error_description"]) == (400, "Session not active")


def test_it_ends_with_the_service_account(administration: Administration) -> None:
    lasting = client("lasting", id="lasting-id", attributes={USE_REFRESH_TOKEN: "true"})
    with administered_realm(administration, "of-lasting", {}, clients=[lasting]) as realm:
        url = "/realms/of-lasting/protocol/openid-connect"
        form = AS_LASTING | {"grant_type": "client_credentials", "scope": "openid"}
        tokens = administration.http.post(f"{url}/token", data=form).json()
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        assert administration.http.get(f"{url}/userinfo", headers=bearer).status_code == 200
        realm.change("PUT", "clients/lasting-id", {"serviceAccountsEnabled": False})
        assert administration.http.get(f"{url}/userinfo", headers=bearer).status_code == 401
        again = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        refused = administration.http.post(f"{url}/token", data=AS_LASTING | again)
        assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")


def test_its_own_setting_decides_about_the_refresh_token(administration: Administration) -> None:
    """`use.refresh.tokens` decides about the tokens of a refresh. Keycloak: 1.6."""
    attributes = {USE_REFRESH_TOKEN: "true", "use.refresh.tokens": "false"}
    lasting = client("lasting", attributes=attributes)
    with administered_realm(administration, "of-both", {}, clients=[lasting]) as realm:
        url = f"/realms/{realm.name}/protocol/openid-connect/token"
        form = AS_LASTING | {"grant_type": "client_credentials"}
        tokens = administration.http.post(url, data=form).json()
        again = AS_LASTING | {"grant_type": "refresh_token"}
        again |= {"refresh_token": tokens["refresh_token"]}
        refreshed = administration.http.post(url, data=again)
    assert refreshed.status_code == 200, refreshed.text
    assert "refresh_token" not in refreshed.json()
