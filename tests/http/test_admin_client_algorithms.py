"""What a client wants its tokens signed with: its realm has a key for it. Keycloak: fallback."""

import base64
import hmac
from collections.abc import Iterator

import httpx2
import pytest

from tests.support.administered_realm import SIGN_IN, AdministeredRealm, administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.tokens import assemble, claims_of
from tests.support.wire import header_of

SIGNED = ("access_token", "id_token")
CONFIDENTIAL = {
    "clientId": "own",
    "secret": SECRET,
    "enabled": True,
    "directAccessGrantsEnabled": True,
    "protocolMappers": [
        {
            "name": "own",
            "protocol": "openid-connect",
            "protocolMapper": "oidc-audience-mapper",
            "config": {"included.client.audience": "own", "access.token.claim": "true"},
        }
    ],
}
ACCESS, IDENTITY = "access.token.signed.response.alg", "id.token.signed.response.alg"


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    """Make a realm with one user."""
    with administered_realm(administration, "of-algorithms", {}, **SIGN_IN) as made:
        made.change("POST", "users", person("ann"))
        yield made


def fallbacks(realm: AdministeredRealm) -> dict[str, list[str]]:
    """Return the priorities of the keys that were made because a client asked, by their names."""
    found = realm.get("components?type=org.keycloak.keys.KeyProvider")
    names = {key["name"]: key["config"]["priority"] for key in found}
    return {name: priority for name, priority in names.items() if name.startswith("fallback-")}


def token(realm: AdministeredRealm, **form: str) -> httpx2.Response:
    path = f"/realms/{realm.name}/protocol/openid-connect/token"
    return realm.administration.http.post(path, data=form)


def test_a_new_client_can_have_its_tokens_signed_as_it_asks(realm: AdministeredRealm) -> None:
    fields = {"clientId": "edwards", "secret": SECRET, "serviceAccountsEnabled": True}
    realm.change("POST", "clients", fields | {"attributes": {ACCESS: "EdDSA"}})
    form = {"grant_type": "client_credentials", "client_id": "edwards", "client_secret": SECRET}
    answer = token(realm, **form)
    assert answer.status_code == httpx2.codes.OK, answer.text
    assert header_of(answer.json()["access_token"])["alg"] == "EdDSA"
    assert fallbacks(realm)["fallback-EdDSA"] == ["-100"]


@pytest.mark.parametrize(
    ("attribute", "told", "algorithm"),
    [(ACCESS, "access_token", "ES384"), (IDENTITY, "id_token", "ES512")],
)
def test_so_can_one_that_asks_for_it_later(
    realm: AdministeredRealm, attribute: str, told: str, algorithm: str
) -> None:
    (page,) = realm.get("clients?clientId=page")
    for _ in range(2):
        sent = {"attributes": {attribute: algorithm}, "description": told}
        realm.change("PUT", f"clients/{page['id']}", sent)
    form = {"grant_type": "password", "client_id": "page", "scope": "openid"}
    answer = token(realm, **form, username="ann", password=person("ann")["credentials"][0]["value"])
    assert answer.status_code == httpx2.codes.OK, answer.text
    assert header_of(answer.json()[told])["alg"] == algorithm
    assert list(fallbacks(realm)).count(f"fallback-{algorithm}") == 1


def test_a_deleted_key_that_a_client_asks_for_is_created_again(
    realm: AdministeredRealm,
) -> None:
    (page,) = realm.get("clients?clientId=page")
    realm.change("PUT", f"clients/{page['id']}", {"attributes": {IDENTITY: "ES384"}})
    for key in realm.get("components?type=org.keycloak.keys.KeyProvider"):
        if key["name"] == "fallback-ES384":
            realm.change("DELETE", f"components/{key['id']}")
    assert "fallback-ES384" in fallbacks(realm)


@pytest.mark.parametrize("algorithm", ["HS256", "HS384", "HS512"])
def test_a_realm_may_sign_by_hmac_and_verifies_its_tokens(
    administration: Administration, algorithm: str
) -> None:
    roles = {"viewer": ["view-users"]}
    fields = {**SIGN_IN, "clients": [CONFIDENTIAL], "defaultSignatureAlgorithm": algorithm}
    with administered_realm(administration, f"of-{algorithm}", roles, **fields) as made:
        made.change("POST", "users", person("ann"))
        own = {"client_id": "own", "client_secret": SECRET}
        form = {**own, "username": "ann", "password": PASSWORD, "scope": "openid"}
        tokens = token(made, grant_type="password", **form).json()
        assert {header_of(tokens[kind])["alg"] for kind in SIGNED} == {algorithm}
        assert made.get("users", by="viewer")
        protocol = f"/realms/{made.name}/protocol/openid-connect"
        http = administration.http
        bearer = {"Authorization": f"Bearer {tokens['access_token']}"}
        assert http.get(f"{protocol}/userinfo", headers=bearer).status_code == httpx2.codes.OK
        form = {**own, "refresh_token": tokens["refresh_token"]}
        renewed = token(made, grant_type="refresh_token", **form).json()["access_token"]
        asked = http.post(f"{protocol}/token/introspect", data={**own, "token": renewed})
        assert asked.json()["active"] is True
        published = http.get(f"{protocol}/certs").json()["keys"]
        assert all(key["use"] == "enc" and key["kty"] != "oct" for key in published)
        for key in published:
            forged = _under_public_key(renewed, key, algorithm)
            asked = http.post(f"{protocol}/token/introspect", data={**own, "token": forged})
            assert asked.json() == {"active": False}


def _under_public_key(genuine: str, key: dict[str, str], algorithm: str) -> str:
    """Return a token whose HMAC secret is what the realm publishes. RFC 8725 §2.1."""
    secret, digest = base64.b64decode(key["x5c"][0]), f"sha{algorithm[2:]}"
    header = header_of(genuine) | {"kid": key["kid"]}
    return assemble(
        header, claims_of(genuine), lambda message: hmac.digest(secret, message, digest)
    )
