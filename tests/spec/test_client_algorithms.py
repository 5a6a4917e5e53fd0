"""What a client chooses for its tokens and responses, through the real nginx. Keycloak: 26.7.3.

Every signature is checked by PyJWT, with published keys or with the secret key of the store.
"""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.support.chosen_realm import ChosenRealm, asking, chosen_realm
from tests.support.secret_keys import secret_keys
from tests.support.spec_stack import Stack, refusal
from tests.support.tokens import assemble
from tests.support.wire import PASSWORD, SECRET, audience, claims_of, header_of, user

ACCESS, IDENTITY = "access.token.signed.response.alg", "id.token.signed.response.alg"
USERINFO, RFC_9068 = "user.info.response.signature.alg", "access.token.header.type.rfc9068"
JWT_ALLOWED = "client.introspection.response.allow.jwt.claim.enabled"
INACTIVE = {"active": False}
ABOUT_ALICE = {
    "email_verified": True,
    "name": "Ada Alice",
    "preferred_username": "alice",
    "given_name": "Ada",
    "family_name": "Alice",
    "email": "alice@example.test",
}
FORGED = {
    "typ": "Bearer",
    "azp": "forger",
    "jti": "onrtro:1",
    "sid": "1",
    "scope": "openid",
    "exp": "4102444800",
    "iat": "1",
    "nbf": "1",
    "iss": "evil",
    "aud": "evil",
    "sub": "evil",
}


def _hardcoded(name: str, value: str) -> dict[str, Any]:
    config = {"claim.name": name, "claim.value": value, "jsonType.label": "String"}
    return {
        "name": f"forged {name}",
        "protocol": "openid-connect",
        "protocolMapper": "oidc-hardcoded-claim-mapper",
        "config": {**config, "userinfo.token.claim": "true"},
    }


def _client(client_id: str, *mappers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    made = asking(client_id, audience("server"), audience("plain"), *mappers)
    return made | {"attributes": fields}


ALICE = user("alice", clientRoles={"realm-management": ["view-users"]})
CLIENTS = [
    _client("plain"),
    _client("secret", **{ACCESS: "HS256", IDENTITY: "HS384", USERINFO: "HS512"}),
    _client("same", **{ACCESS: "HS512", IDENTITY: "HS512", USERINFO: "HS512"}),
    _client("mixed", **{ACCESS: "RS256", IDENTITY: "ES512", USERINFO: "ES384", RFC_9068: "true"}),
    _client("edwards", **{IDENTITY: "EdDSA"}),
    _client("forger", *(_hardcoded(*claim) for claim in FORGED.items()), **{USERINFO: "ES256"}),
    _client("server", **{JWT_ALLOWED: "true", ACCESS: "ES512", RFC_9068: "true"}),
    _client(
        "light",
        **{"client.use.lightweight.access.token.enabled": "true", JWT_ALLOWED: "true"},
    ),
]


@pytest.fixture(scope="module")
def realm(spec: Stack) -> Iterator[ChosenRealm]:
    """Make a realm whose clients choose their algorithms."""
    with chosen_realm(spec, "choices", CLIENTS, users=[ALICE]) as made:
        yield made


@pytest.fixture(scope="module")
def secrets(realm: ChosenRealm) -> dict[str, bytes]:
    """Return the realm's secret keys by kid."""
    return secret_keys(realm.stack.gateways[0], realm.name)


def _verified(token: str, key: Any, algorithm: str) -> dict[str, Any]:
    """Return the claims of a JWT whose signature PyJWT has checked."""
    return dict(jwt.decode(token, key, algorithms=[algorithm], options={"verify_aud": False}))


def _hmac(material: bytes, text: bytes, digest: str = "sha256") -> bytes:
    return hmac.digest(material, text, digest)


def _mac(header: dict[str, Any], claims: dict[str, Any], key: bytes, digest: str = "sha256") -> str:
    return assemble(header, claims, lambda text: _hmac(key, text, digest))


def _half(name: str, token: str) -> str:
    digest = hashlib.new(name, token.encode()).digest()
    return base64.urlsafe_b64encode(digest[: len(digest) // 2]).rstrip(b"=").decode()


def test_hmac_tokens_are_signed_by_secret_keys_of_the_realm(
    realm: ChosenRealm, secrets: dict[str, bytes]
) -> None:
    tokens = realm.sign_in("secret")
    for name, algorithm, kind in (
        ("access_token", "HS256", "Bearer"),
        ("id_token", "HS384", "ID"),
    ):
        header = header_of(tokens[name])
        assert header == {"alg": algorithm, "typ": "JWT", "kid": header["kid"]}
        claims = _verified(tokens[name], secrets[header["kid"]], algorithm)
        assert (claims["typ"], claims["iss"]) == (kind, realm.issuer)
    assert realm.userinfo(tokens["access_token"]).status_code == 200
    assert realm.introspect("server", tokens["access_token"]).json()["active"] is True
    form = {"client_id": "secret", "client_secret": SECRET}
    again = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert header_of(realm.post("token", form | again).json()["access_token"])["alg"] == "HS256"


def test_secret_keys_are_never_published(realm: ChosenRealm, secrets: dict[str, bytes]) -> None:
    for client_id in ("secret", "same"):
        realm.sign_in(client_id)
    published = realm.certs()
    assert not {key["kid"] for key in published} & set(secrets)
    assert all(key["kty"] != "oct" and "k" not in key for key in published)
    shown = json.dumps([published, realm.administer("GET", "/keys").json()])
    assert {key["algorithm"] for key in json.loads(shown)[1]["keys"] if key["type"] == "OCT"} == {
        *("AES", "HS256", "HS384", "HS512")
    }
    for material in secrets.values():
        assert base64.b64encode(material).decode() not in shown


@pytest.mark.parametrize(
    ("client_id", "algorithm", "digest"),
    [
        ("plain", "ES256", "sha256"),
        ("secret", "HS384", "sha384"),
        ("mixed", "ES512", "sha512"),
        ("edwards", "EdDSA", "sha512"),
    ],
)
def test_at_hash_follows_the_algorithm_of_the_id_token(
    realm: ChosenRealm, secrets: dict[str, bytes], client_id: str, algorithm: str, digest: str
) -> None:
    tokens = realm.sign_in(client_id)
    token, kid = tokens["id_token"], header_of(tokens["id_token"])["kid"]
    key = secrets[kid] if algorithm.startswith("HS") else realm.public_key(token)
    claims = _verified(token, key, algorithm)
    assert claims["at_hash"] == _half(digest, tokens["access_token"])


def test_access_tokens_have_the_rfc_9068_header_on_request(
    realm: ChosenRealm,
) -> None:
    tokens = realm.sign_in("mixed")
    token = tokens["access_token"]
    assert header_of(token)["typ"] == "at+jwt"
    claims = _verified(token, realm.public_key(token), "RS256")
    assert claims["typ"] == "Bearer"
    assert header_of(tokens["id_token"])["typ"] == "JWT"
    assert header_of(tokens["refresh_token"])["typ"] == "JWT"
    assert realm.introspect("plain", token).json()["active"] is True
    assert realm.userinfo(token).status_code == 200
    form = {"client_id": "mixed", "client_secret": SECRET, "token": token}
    assert realm.post("revoke", form).status_code == 200
    assert realm.introspect("plain", token).json() == INACTIVE
    assert header_of(realm.sign_in("plain")["access_token"])["typ"] == "JWT"


@pytest.mark.parametrize("client_id", ["mixed", "secret", "same"])
def test_the_admin_api_accepts_what_a_client_chose(realm: ChosenRealm, client_id: str) -> None:
    headers = {"Authorization": f"Bearer {realm.sign_in(client_id)['access_token']}"}
    url = f"{realm.stack.nginx.https}/admin/realms/{realm.name}/users/count"
    assert realm.stack.http.get(url, headers=headers).status_code == 200


@pytest.mark.parametrize(("client_id", "algorithm"), [("mixed", "ES384"), ("secret", "HS512")])
def test_userinfo_is_signed_for_a_client_that_chose_an_algorithm(
    realm: ChosenRealm, secrets: dict[str, bytes], client_id: str, algorithm: str
) -> None:
    response = realm.userinfo(realm.sign_in(client_id)["access_token"])
    assert response.status_code == 200
    assert response.headers["content-type"] == "application/jwt"
    header = header_of(response.text)
    assert header == {"alg": algorithm, "typ": "JWT", "kid": header["kid"]}
    key = secrets.get(header["kid"]) or realm.public_key(response.text)
    claims = _verified(response.text, key, algorithm)
    about = {"sub": claims["sub"], "iss": realm.issuer, "aud": client_id}
    assert claims == about | ABOUT_ALICE


def test_userinfo_is_json_for_every_other_client(realm: ChosenRealm) -> None:
    response = realm.userinfo(realm.sign_in("plain")["access_token"])
    assert response.headers["content-type"] == "application/json"
    assert "iss" not in response.json()


def test_no_mapper_makes_signed_userinfo_pass_for_a_token(realm: ChosenRealm) -> None:
    token = realm.sign_in("forger")["access_token"]
    signed = realm.userinfo(token).text
    claims = _verified(signed, realm.public_key(signed), "ES256")
    subject = claims_of(token)["sub"]
    assert claims == {"sub": subject, "iss": realm.issuer, "aud": "forger"} | ABOUT_ALICE
    assert realm.userinfo(signed).status_code == 401
    assert realm.introspect("plain", signed).json() == INACTIVE


def test_a_token_under_a_public_key_as_secret_is_refused(realm: ChosenRealm) -> None:
    """RFC 8725 §2.1: the classic confusion of RS256 and HS256."""
    genuine, secret = realm.sign_in("mixed")["access_token"], realm.sign_in("secret")
    claims = claims_of(genuine)
    key, kid = realm.public_key(genuine), header_of(genuine)["kid"]
    secret_kid = header_of(secret["access_token"])["kid"]
    info = PublicFormat.SubjectPublicKeyInfo
    published = json.dumps(next(one for one in realm.certs() if one["kid"] == kid))
    for material in (
        key.public_bytes(Encoding.PEM, info),
        key.public_bytes(Encoding.DER, info),
        published.encode(),
        SECRET.encode(),
        b"",
    ):
        for named in (kid, secret_kid):
            header = {"alg": "HS256", "typ": "JWT", "kid": named}
            forged = _mac(header, claims, material)
            assert realm.introspect("plain", forged).json() == INACTIVE
            assert realm.userinfo(forged).status_code == 401


@pytest.mark.parametrize("algorithm", ["RS256", "HS512", "HS384", "none", "None", "hs256"])
def test_the_algorithm_is_that_of_the_key_record(
    realm: ChosenRealm, secrets: dict[str, bytes], algorithm: str
) -> None:
    """Even under the right secret, another `alg` than the key's is refused."""
    genuine = realm.sign_in("secret")["access_token"]
    kid = header_of(genuine)["kid"]
    header = {"alg": algorithm, "typ": "JWT", "kid": kid}
    for digest in ("sha256", "sha384", "sha512"):
        forged = _mac(header, claims_of(genuine), secrets[kid], digest)
        assert realm.introspect("plain", forged).json() == INACTIVE
    unsigned = assemble(header, claims_of(genuine), lambda _: b"")
    assert realm.introspect("plain", unsigned).json() == INACTIVE
    right = _mac({**header, "alg": "HS256"}, claims_of(genuine), secrets[kid])
    assert realm.introspect("plain", right).json()["active"] is True


def test_tokens_of_one_secret_key_do_not_pass_for_each_other(realm: ChosenRealm) -> None:
    """The client chose HS512, by which refresh tokens are signed too."""
    tokens = realm.sign_in("same")
    kids = {
        header_of(tokens[name])["kid"] for name in ("access_token", "id_token", "refresh_token")
    }
    assert len(kids) == 1
    userinfo = realm.userinfo(tokens["access_token"]).text
    form = {"grant_type": "refresh_token", "client_id": "same", "client_secret": SECRET}
    for token in (tokens["access_token"], tokens["id_token"], userinfo):
        answer = realm.post("token", form | {"refresh_token": token})
        assert refusal(answer) == (400, "invalid_grant", "Invalid refresh token")
    for token in (tokens["refresh_token"], tokens["id_token"], userinfo):
        assert realm.userinfo(token).status_code == 401
        assert realm.introspect("plain", token).json() == INACTIVE


def test_introspection_adds_the_jwt_if_the_caller_may_have_it(
    realm: ChosenRealm,
) -> None:
    token = realm.sign_in("secret")["access_token"]
    response = realm.introspect("server", token, "application/jwt")
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    header = header_of(answer["jwt"])
    assert (header["alg"], header["typ"]) == ("ES512", "at+jwt")
    claims = _verified(answer["jwt"], realm.public_key(answer["jwt"]), "ES512")
    assert claims == claims_of(token)
    assert answer["active"] is True
    for caller, accept in (
        ("server", "*/*"),
        ("server", "application/json"),
        ("plain", "application/jwt"),
    ):
        assert "jwt" not in realm.introspect(caller, token, accept).json()
    assert realm.introspect("server", "x.y.z", "application/jwt").json() == INACTIVE


def test_introspection_expands_a_lightweight_token(realm: ChosenRealm) -> None:
    token = realm.sign_in("light")["access_token"]
    assert "preferred_username" not in claims_of(token)
    answer = realm.introspect("server", token, "application/jwt").json()
    claims = _verified(answer["jwt"], realm.public_key(answer["jwt"]), "ES512")
    assert claims["preferred_username"] == "alice"
    same = {"exp", "iat", "jti", "iss", "azp", "sid", "typ", "scope"}
    assert {name: claims[name] for name in same} == {name: claims_of(token)[name] for name in same}
    assert not {"active", "client_id", "username", "token_type"} & set(claims)


def test_a_refresh_token_is_never_told_as_a_jwt(realm: ChosenRealm) -> None:
    """It would escape the order in which refresh tokens replace each other."""
    token = realm.sign_in("light")["refresh_token"]
    hint = {"token_type_hint": "refresh_token"}
    answer = realm.introspect("light", token, "application/jwt", **hint).json()
    assert answer["active"] is True
    assert "jwt" not in answer


@pytest.mark.parametrize("accept", ["application/token-introspection+jwt", None])
def test_introspection_answers_by_a_jwt_of_rfc_9701(realm: ChosenRealm, accept: str | None) -> None:
    named = "application/json, Application/Token-Introspection+JWT; q=0.9"
    media_type = "application/token-introspection+jwt"
    tokens = realm.sign_in("plain")
    for token in (tokens["access_token"], "x.y.z"):
        response = realm.introspect("plain", token, accept or named)
        assert response.headers["content-type"] == media_type
        header = header_of(response.text)
        assert (header["alg"], header["typ"]) == ("ES256", "token-introspection+jwt")
        claims = _verified(response.text, realm.public_key(response.text), "ES256")
        assert set(claims) == {"iss", "aud", "iat", "token_introspection"}
        assert (claims["iss"], claims["aud"]) == (realm.issuer, "plain")
        assert claims["token_introspection"] == realm.introspect("plain", token).json()
        assert realm.userinfo(response.text).status_code == 401


def test_a_wrong_secret_is_refused_in_json(realm: ChosenRealm) -> None:
    form = {"client_id": "plain", "client_secret": "wrong", "token": "x"}
    response = realm.post("token/introspect", form, Accept="application/token-introspection+jwt")
    assert (response.status_code, response.json()["error"]) == (401, "invalid_client")


def test_discovery_lists_what_clients_may_choose(realm: ChosenRealm) -> None:
    metadata = realm.metadata()
    offered = {
        *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512"),
        *("EdDSA", "HS256", "HS384", "HS512"),
    }
    assert set(metadata["id_token_signing_alg_values_supported"]) == offered
    assert set(metadata["userinfo_signing_alg_values_supported"]) == offered
    assert metadata["introspection_signing_alg_values_supported"] == ["ES256"]


@pytest.mark.parametrize("attribute", [ACCESS, IDENTITY, USERINFO])
@pytest.mark.parametrize("algorithm", ["none", "HS1024", "hs256", "RSA-OAEP"])
def test_no_other_algorithm_is_stored(realm: ChosenRealm, attribute: str, algorithm: str) -> None:
    path = f"/clients/{realm.client('plain')['id']}"
    refused = realm.administer("PUT", path, {"attributes": {attribute: algorithm}})
    assert refused.status_code == 400
    assert attribute not in realm.client("plain")["attributes"]


def test_a_client_registers_with_the_algorithms_it_chooses(realm: ChosenRealm) -> None:
    allowed = realm.administer("POST", "/clients-initial-access", {"count": 2}).json()["token"]
    url = f"{realm.issuer}/clients-registrations/openid-connect"
    chosen = {"id_token_signed_response_alg": "HS256", "userinfo_signed_response_alg": "HS384"}
    document = {"client_name": "r", "grant_types": ["password", "refresh_token"], **chosen}
    headers = {"Authorization": f"Bearer {allowed}"}
    made = realm.stack.http.post(url, json=document, headers=headers)
    assert made.status_code == 201, made.text
    registered = made.json()
    assert {name: registered[name] for name in chosen} == chosen
    form = {"grant_type": "password", "username": "alice", "password": PASSWORD}
    credentials = {name: registered[name] for name in ("client_id", "client_secret")}
    tokens = realm.post("token", form | credentials | {"scope": "openid"}).json()
    assert header_of(tokens["id_token"])["alg"] == "HS256"
    assert header_of(realm.userinfo(tokens["access_token"]).text)["alg"] == "HS384"
    wrong = document | {"userinfo_signed_response_alg": "none"}
    assert realm.stack.http.post(url, json=wrong, headers=headers).status_code == 400
