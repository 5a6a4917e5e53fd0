"""What is encrypted for clients, and request objects that clients encrypt for the realm.

Everything is opened and made by jwcrypto. Spec: OpenID Connect Core §10.2, §16.14, Registration §2,
JARM §2.2, RFC 7516, RFC 8725 §3.1, §3.2, RFC 9101 §6.1
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final

import httpx2
import jwt
import pytest
from jwcrypto import jwe, jwk  # type: ignore[import-untyped] # jwcrypto ships no types

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.client_documents import ClientDocuments, serving_documents
from tests.support.gateway_process import until
from tests.support.logout_receiver import LogoutReceiver, logout_receiver
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, SignInBrowser, SignInRealm, web_client
from tests.support.wire import claims_of, header_of

ID_TOKEN: Final = "id.token.encrypted.response"
USERINFO: Final = "user.info.encrypted.response"
RESPONSE: Final = "authorization.encrypted.response"
OBJECT: Final = "request.object.encryption"
OBJECT_SECRET: Final = "0123456789abcdef" * 4
SENDERS: Final = ("objects", "pinned")
"""Clients whose secret is long enough to sign with."""
NO_KEY: Final = "The client has no key that can be encrypted for by {}"


@cache
def client_key(name: str) -> jwk.JWK:
    """Return the key pair that a client decrypts with."""
    kind = {"kty": "EC", "crv": "P-256"} if name == "curve" else {"kty": "RSA", "size": 2048}
    return jwk.JWK.generate(**kind, kid=name, use="enc")


def public(name: str, **changed: str | None) -> dict[str, Any]:
    found = client_key(name).export_public(as_dict=True) | changed
    return {name: value for name, value in found.items() if value is not None}


def by_value(*keys: dict[str, Any]) -> dict[str, str]:
    return {"use.jwks.string": "true", "jwks.string": json.dumps({"keys": list(keys)})}


def client(client_id: str, attributes: Mapping[str, str]) -> dict[str, Any]:
    return web_client(
        client_id,
        secret=OBJECT_SECRET if client_id in SENDERS else SECRET,
        implicitFlowEnabled=True,
        directAccessGrantsEnabled=True,
        serviceAccountsEnabled=True,
        attributes=dict(attributes),
    )


BOTH: Final = by_value(
    public("rsa", use="sig", kid="signs"),
    public("curve", alg="ES256", kid="other"),
    public("rsa"),
    public("curve"),
)
OF_CLIENTS: Final[dict[str, tuple[dict[str, str], dict[str, str]]]] = {
    "rsa": ({f"{ID_TOKEN}.alg": "RSA-OAEP"}, BOTH),
    "curve": ({f"{ID_TOKEN}.alg": "ECDH-ES", f"{ID_TOKEN}.enc": "A256GCM"}, BOTH),
    "named-rsa": ({f"{ID_TOKEN}.alg": "RSA-OAEP"}, by_value(public("rsa", alg="RSA-OAEP"))),
    "named-curve": ({f"{ID_TOKEN}.alg": "ECDH-ES"}, by_value(public("curve", alg="ECDH-ES"))),
    "info": ({f"{USERINFO}.alg": "RSA-OAEP-256", f"{USERINFO}.enc": "A192CBC-HS384"}, BOTH),
    "signed-info": (
        {f"{USERINFO}.alg": "ECDH-ES+A256KW", "user.info.response.signature.alg": "ES256"},
        BOTH,
    ),
    "jarm": ({f"{RESPONSE}.alg": "ECDH-ES+A128KW", f"{RESPONSE}.enc": "A128GCM"}, BOTH),
}
UNFIT: Final[dict[str, dict[str, str]]] = {
    "no-keys": {},
    "empty-set": by_value(),
    "broken-set": {"use.jwks.string": "true", "jwks.string": "[]"},
    "signing-key": by_value(public("rsa", use="sig")),
    "key-of-no-use": by_value(public("rsa", use=None)),
    "other-algorithm": by_value(public("rsa", alg="RSA-OAEP-256")),
    "other-kind": by_value(public("curve")),
    "not-in-use": by_value(public("rsa")) | {"use.jwks.string": "false"},
}


@pytest.fixture(scope="module")
def documents() -> Iterator[ClientDocuments]:
    with serving_documents() as served:
        yield served


@pytest.fixture(scope="module")
def receiver() -> Iterator[LogoutReceiver]:
    with logout_receiver() as receiving:
        yield receiving


@pytest.fixture(scope="module")
def encrypting(
    administration: Administration, documents: ClientDocuments, receiver: LogoutReceiver
) -> Iterator[SignInRealm]:
    """Make a realm whose clients ask for encryption."""
    clients = [client(name, asked | keys) for name, (asked, keys) in OF_CLIENTS.items()]
    everything = {f"{name}.alg": "RSA-OAEP" for name in (ID_TOKEN, USERINFO, RESPONSE)}
    clients += [client(name, everything | keys) for name, keys in UNFIT.items()]
    at_url = {"use.jwks.url": "true", "jwks.url": f"{documents.url}/keys"}
    clients += [
        client("plain", {}),
        client("by-url", {f"{ID_TOKEN}.alg": "RSA-OAEP", **at_url}),
        client("gone", {f"{ID_TOKEN}.alg": "RSA-OAEP", **at_url, "jwks.url": documents.url}),
        client(
            "notified",
            {f"{ID_TOKEN}.alg": "RSA-OAEP", "backchannel.logout.url": receiver.url} | BOTH,
        ),
        client("objects", {"request.uris": f"{documents.url}/*"}),
        client("pinned", {f"{OBJECT}.alg": "RSA-OAEP-256", f"{OBJECT}.enc": "A256GCM"}),
    ]
    document = {
        **RECORDED,
        "bruteForceProtected": False,
        "revokeRefreshToken": True,
        "clients": clients,
        "users": [person("anna", email="anna@example.test")],
    }
    with administered_realm(administration, "encrypted", {}, **document) as realm:
        yield SignInRealm(realm)


def opened(token: str, key: str, algorithm: str, content: str = "A128CBC-HS256") -> str:
    """Return the content of a JWE that jwcrypto has decrypted."""
    found = jwe.JWE(algs=[algorithm, content])
    found.deserialize(token, client_key(key))
    return str(found.payload.decode())


def nested(token: str, key: str, algorithm: str, content: str = "A128CBC-HS256") -> dict[str, Any]:
    """Return the claims of a JWT in a JWE; that it is one stands in the header."""
    header = header_of(token)
    assert (header["alg"], header["enc"], header["cty"]) == (algorithm, content, "JWT")
    assert header["kid"] == key
    return claims_of(opened(token, key, algorithm, content))


def post(realm: SignInRealm, path: str, form: Mapping[str, str]) -> httpx2.Response:
    url = f"/realms/{realm.realm.name}/protocol/openid-connect/{path}"
    return realm.realm.administration.http.post(url, data=dict(form))


def grant(realm: SignInRealm, client_id: str, **form: str) -> httpx2.Response:
    sent = {"client_id": client_id, "client_secret": SECRET, **form}
    return post(realm, "token", sent)


def password(realm: SignInRealm, client_id: str, **form: str) -> httpx2.Response:
    signing_in = {"grant_type": "password", "username": "anna", "password": PASSWORD}
    return grant(realm, client_id, **signing_in, **{"scope": "openid", **form})


def refusal(response: httpx2.Response) -> tuple[int, str, str]:
    body = response.json()
    return response.status_code, body["error"], body["error_description"]


def userinfo(realm: SignInRealm, client_id: str) -> httpx2.Response:
    token = password(realm, client_id).json()["access_token"]
    return realm.realm.administration.http.get(
        f"/realms/{realm.realm.name}/protocol/openid-connect/userinfo",
        headers={"Authorization": f"Bearer {token}"},
    )


@pytest.mark.parametrize(
    ("client_id", "algorithm", "content"),
    [("rsa", "RSA-OAEP", "A128CBC-HS256"), ("curve", "ECDH-ES", "A256GCM")],
)
def test_id_tokens_of_codes_and_refresh_tokens_are_encrypted(
    encrypting: SignInRealm, client_id: str, algorithm: str, content: str
) -> None:
    browser = encrypting.browser()
    page = browser.sign_in(client_id=client_id, nonce="n")
    tokens = browser.redeem(page.answer["code"], client_id).json()
    first = nested(tokens["id_token"], client_id, algorithm, content)
    assert (first["aud"], first["nonce"], first["typ"]) == (client_id, "n", "ID")
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    again = grant(encrypting, client_id, **form).json()
    second = nested(again["id_token"], client_id, algorithm, content)
    assert second["sub"] == first["sub"]
    assert header_of(again["access_token"])["typ"] == "JWT"


def test_id_tokens_of_the_password_grant_are_encrypted(encrypting: SignInRealm) -> None:
    tokens = password(encrypting, "rsa").json()
    claims = nested(tokens["id_token"], "rsa", "RSA-OAEP")
    assert claims["email"] == "anna@example.test"
    signed = opened(tokens["id_token"], "rsa", "RSA-OAEP")
    assert jwt.get_unverified_header(signed)["typ"] == "JWT"
    account = grant(encrypting, "rsa", grant_type="client_credentials", scope="openid").json()
    assert nested(account["id_token"], "rsa", "RSA-OAEP")["azp"] == "rsa"


@pytest.mark.parametrize(("key", "algorithm"), [("rsa", "RSA-OAEP"), ("curve", "ECDH-ES")])
def test_a_key_may_name_the_algorithm_that_it_is_for(
    encrypting: SignInRealm, key: str, algorithm: str
) -> None:
    """RFC 7517 §4.4."""
    tokens = password(encrypting, f"named-{key}").json()
    assert nested(tokens["id_token"], key, algorithm)["azp"] == f"named-{key}"


def test_id_tokens_of_the_authorization_endpoint_are_encrypted(encrypting: SignInRealm) -> None:
    page = encrypting.browser().sign_in(client_id="rsa", response_type="code id_token", nonce="n")
    assert "c_hash" in nested(page.answer["id_token"], "rsa", "RSA-OAEP")


def test_the_key_set_at_a_url_is_fetched(
    encrypting: SignInRealm, documents: ClientDocuments
) -> None:
    documents.documents["/keys"] = json.dumps({"keys": [public("rsa")]}).encode()
    tokens = password(encrypting, "by-url").json()
    assert nested(tokens["id_token"], "rsa", "RSA-OAEP")["aud"] == "by-url"
    assert documents.asked.count("/keys") == 1


def test_logout_tokens_are_encrypted_as_id_tokens_are(
    encrypting: SignInRealm, receiver: LogoutReceiver
) -> None:
    """OpenID Connect Back-Channel Logout §2.4."""
    refresh = password(encrypting, "notified").json()["refresh_token"]
    form = {"client_id": "notified", "client_secret": SECRET, "refresh_token": refresh}
    assert post(encrypting, "logout", form).status_code == 204
    until(lambda: bool(receiver.tokens), "no notice came", 45)
    claims = nested(receiver.tokens[0], "rsa", "RSA-OAEP")
    assert (claims["aud"], claims["typ"]) == ("notified", "Logout")


@pytest.mark.parametrize("client_id", [*UNFIT, "gone"])
def test_a_client_without_a_fit_key_gets_no_id_token(
    encrypting: SignInRealm, client_id: str
) -> None:
    expected = (400, "invalid_request", NO_KEY.format("RSA-OAEP"))
    assert refusal(password(encrypting, client_id)) == expected
    credentials = {"grant_type": "client_credentials"}
    assert refusal(grant(encrypting, client_id, scope="openid", **credentials)) == expected
    without = grant(encrypting, client_id, **credentials)
    assert "id_token" not in without.json(), "nothing is to be encrypted"
    assert without.status_code == 200


def test_a_missing_key_uses_up_neither_code_nor_refresh_token(
    encrypting: SignInRealm,
) -> None:
    browser = encrypting.browser()
    code = browser.sign_in(client_id="plain").answer["code"]
    form = {"grant_type": "refresh_token"}
    refresh = browser.redeem(browser.open("plain").answer["code"], "plain").json()["refresh_token"]
    [found] = encrypting.realm.get("clients?clientId=plain")
    path = f"clients/{found['id']}"
    attribute = {f"{ID_TOKEN}.alg": "RSA-OAEP"}
    encrypting.realm.change("PUT", path, {"attributes": attribute})
    assert refusal(browser.redeem(code, "plain"))[1] == "invalid_request"
    assert refusal(grant(encrypting, "plain", refresh_token=refresh, **form))[1] == (
        "invalid_request"
    )
    encrypting.realm.change("PUT", path, {"attributes": attribute | by_value(public("rsa"))})
    tokens = browser.redeem(code, "plain").json()
    nested(tokens["id_token"], "rsa", "RSA-OAEP")
    assert grant(encrypting, "plain", refresh_token=refresh, **form).status_code == 200


def test_userinfo_is_encrypted(encrypting: SignInRealm) -> None:
    response = userinfo(encrypting, "info")
    assert response.headers["content-type"] == "application/jwt"
    assert "cty" not in header_of(response.text)
    claims = json.loads(opened(response.text, "rsa", "RSA-OAEP-256", "A192CBC-HS384"))
    assert claims["email"] == "anna@example.test"


def test_userinfo_is_signed_and_then_encrypted(encrypting: SignInRealm) -> None:
    response = userinfo(encrypting, "signed-info")
    assert response.headers["content-type"] == "application/jwt"
    claims = nested(response.text, "curve", "ECDH-ES+A256KW")
    assert (claims["aud"], claims["email"]) == ("signed-info", "anna@example.test")
    signed = opened(response.text, "curve", "ECDH-ES+A256KW")
    assert header_of(signed)["alg"] == "ES256"


def test_userinfo_is_not_sent_in_plain_text_after_a_key_is_gone(
    encrypting: SignInRealm,
) -> None:
    token = grant(encrypting, "rsa", grant_type="client_credentials", scope="openid").json()
    [found] = encrypting.realm.get("clients?clientId=rsa")
    path = f"clients/{found['id']}"
    changed = {f"{USERINFO}.alg": "RSA-OAEP", "use.jwks.string": "false"}
    encrypting.realm.change("PUT", path, {"attributes": found["attributes"] | changed})
    refused = encrypting.realm.administration.http.get(
        f"/realms/{encrypting.realm.name}/protocol/openid-connect/userinfo",
        headers={"Authorization": f"Bearer {token['access_token']}"},
    )
    encrypting.realm.change("PUT", path, {"attributes": found["attributes"]})
    assert refusal(refused) == (400, "invalid_request", NO_KEY.format("RSA-OAEP"))


@pytest.mark.parametrize(
    ("mode", "response_type"), [("jwt", "code"), ("query.jwt", "code id_token")]
)
def test_authorization_responses_are_encrypted(
    encrypting: SignInRealm, mode: str, response_type: str
) -> None:
    """JARM §2.3.1: an encrypted response may hold tokens in a query."""
    page = encrypting.browser().sign_in(
        client_id="jarm", response_mode=mode, response_type=response_type, nonce="n"
    )
    assert list(page.answer) == ["response"]
    claims = nested(page.answer["response"], "curve", "ECDH-ES+A128KW", "A128GCM")
    assert {"code", "state", "iss", "aud", "exp"} <= set(claims)
    assert claims["aud"] == "jarm"


def test_errors_of_authorization_requests_are_encrypted(encrypting: SignInRealm) -> None:
    page = encrypting.browser().open("jarm", response_mode="jwt", prompt="none")
    claims = nested(page.answer["response"], "curve", "ECDH-ES+A128KW", "A128GCM")
    assert claims["error"] == "login_required"


def test_a_response_that_cannot_be_encrypted_is_a_page(encrypting: SignInRealm) -> None:
    page = encrypting.browser().open("no-keys", response_mode="jwt", prompt="none")
    assert page.status == 400
    assert "location" not in page.response.headers


def realm_key(realm: SignInRealm, algorithm: str = "RSA-OAEP") -> jwk.JWK:
    """Return the public key of the realm, as senders read it."""
    http = realm.realm.administration.http
    url = f"/realms/{realm.realm.name}/protocol/openid-connect/certs"
    keys = http.get(url).json()["keys"]
    found = [key for key in keys if (key["use"], key["alg"]) == ("enc", algorithm)]
    return jwk.JWK(**found[-1])


def encrypted(
    key: jwk.JWK,
    content: str,
    algorithm: str = "RSA-OAEP",
    enc: str = "A256GCM",
    *,
    named: bool = True,
    **members: str,
) -> str:
    kid = {"kid": key["kid"]} if named else {}
    header = {"alg": algorithm, "enc": enc, "cty": "JWT", **kid, **members}
    made = jwe.JWE(content.encode(), json.dumps(header), algs=[algorithm, enc, "dir", "RSA1_5"])
    made.add_recipient(key)
    return str(made.serialize(compact=True))


def request_object(client_id: str = "objects", **claims: str) -> str:
    content = {"client_id": client_id, "state": "of the object", "prompt": "none", **claims}
    return jwt.encode(content, OBJECT_SECRET, "HS256")


def state_of(browser: SignInBrowser, client_id: str = "objects", **sent: str) -> str:
    page = browser.open(client_id, **sent)
    assert page.answer["error"] == "login_required", page.location
    return page.answer["state"]


@pytest.mark.parametrize("enc", ["A128CBC-HS256", "A256GCM"])
@pytest.mark.parametrize("named", [True, False])
def test_an_encrypted_request_object_counts(
    encrypting: SignInRealm, enc: str, *, named: bool
) -> None:
    token = encrypted(realm_key(encrypting), request_object(), enc=enc, named=named)
    assert state_of(encrypting.browser(), request=token) == "of the object"


def test_an_encrypted_request_object_is_fetched(
    encrypting: SignInRealm, documents: ClientDocuments
) -> None:
    token = encrypted(realm_key(encrypting), request_object())
    documents.documents["/object"] = token.encode()
    sent = {"request_uri": f"{documents.url}/object"}
    assert state_of(encrypting.browser(), **sent) == "of the object"


def test_an_encrypted_request_object_is_pushed(encrypting: SignInRealm) -> None:
    more = {"redirect_uri": CALLBACK, "response_type": "code", "scope": "openid"}
    token = encrypted(realm_key(encrypting), request_object(**more))
    form = {"client_id": "objects", "client_secret": OBJECT_SECRET, "request": token}
    pushed = post(encrypting, "ext/par/request", form)
    assert pushed.status_code == 201, pushed.text
    sent = {"request_uri": pushed.json()["request_uri"]}
    assert state_of(encrypting.browser(), **sent) == "of the object"


def test_a_signature_is_checked_inside(encrypting: SignInRealm) -> None:
    key = realm_key(encrypting)
    for content in (
        jwt.encode({"client_id": "objects"}, "x" * 64, "HS256"),
        json.dumps({"client_id": "objects"}),
        encrypted(key, request_object()),
        "\u00e4",
    ):
        page = encrypting.browser().open("objects", request=encrypted(key, content))
        assert page.status == 400


def test_objects_that_cannot_be_decrypted_get_one_answer(encrypting: SignInRealm) -> None:
    """RFC 7516 §11.5: a sender must not learn how far the decryption came."""
    key, content = realm_key(encrypting), request_object()
    foreign = jwk.JWK.generate(kty="RSA", size=2048, kid=key["kid"])
    header, encrypted_key, iv, ciphertext, tag = encrypted(key, content).split(".")
    texts = set()
    for token in (
        encrypted(foreign, content),
        ".".join((header, encrypted_key[::-1], iv, ciphertext, tag)),
        ".".join((header, encrypted_key, iv, ciphertext[:-4], tag)),
        ".".join((header, encrypted_key, iv, ciphertext, "A" * 22)),
        encrypted(key, content, "RSA1_5"),
        encrypted(key, content, kid="unknown"),
        encrypted(key, content, zip="DEF"),
    ):
        page = encrypting.browser().open("objects", request=token)
        assert page.status == 400
        texts.add(page.text.partition("identifier")[0])
    assert len(texts) == 1, texts


def test_a_client_may_pin_the_algorithms_of_its_objects(
    encrypting: SignInRealm,
) -> None:
    config = {"priority": ["100"], "algorithm": ["RSA-OAEP-256"]}
    component = {"name": "256", "providerId": "rsa-enc-generated", "config": config}
    kind = {"providerType": "org.keycloak.keys.KeyProvider"}
    made = encrypting.realm.change("POST", "components", component | kind)
    key, content = realm_key(encrypting, "RSA-OAEP-256"), request_object("pinned")
    browser = encrypting.browser()
    right = encrypted(key, content, "RSA-OAEP-256")
    assert state_of(browser, "pinned", request=right) == "of the object"
    for wrong in (
        encrypted(realm_key(encrypting), content),
        encrypted(key, content, "RSA-OAEP-256", "A128GCM"),
    ):
        assert browser.open("pinned", request=wrong).status == 400
    assert state_of(browser, "pinned", request=content) == "of the object"
    encrypting.realm.change("DELETE", f"components/{made}")
    assert browser.open("pinned", request=right).status == 400


def test_passive_keys_decrypt_and_disabled_ones_do_not(
    encrypting: SignInRealm,
) -> None:
    key = realm_key(encrypting)
    token = encrypted(key, request_object())
    kind = {"providerType": "org.keycloak.keys.KeyProvider"}
    component = {"name": "next", "providerId": "rsa-enc-generated"} | kind
    made = encrypting.realm.change(
        "POST", "components", component | {"config": {"priority": ["200"]}}
    )
    [old] = [
        each
        for each in encrypting.realm.get("components?type=org.keycloak.keys.KeyProvider")
        if each["name"] == "rsa-enc-generated"
    ]
    path, config = f"components/{old['id']}", old["config"]
    encrypting.realm.change("PUT", path, old | {"config": config | {"active": ["false"]}})
    browser = encrypting.browser()
    assert state_of(browser, request=token) == "of the object"
    assert (
        browser.open("objects", request=encrypted(key, request_object(), named=False)).status == 400
    )
    encrypting.realm.change("PUT", path, old | {"config": config | {"enabled": ["false"]}})
    assert browser.open("objects", request=token).status == 400
    standing = {"enabled": ["true"], "active": ["true"]}
    encrypting.realm.change("PUT", path, old | {"config": config | standing})
    encrypting.realm.change("DELETE", f"components/{made}")
    assert state_of(browser, request=token) == "of the object"


@pytest.mark.parametrize("attribute", [f"{ID_TOKEN}.alg", f"{USERINFO}.alg", f"{RESPONSE}.alg"])
@pytest.mark.parametrize("algorithm", ["RSA1_5", "dir", "A128KW", "PBES2-HS256+A128KW", "rsa-oaep"])
def test_no_other_algorithm_is_stored(
    encrypting: SignInRealm, attribute: str, algorithm: str
) -> None:
    status, body = encrypting.realm.refused(
        "POST", "clients", {"clientId": "x", "attributes": {attribute: algorithm}}
    )
    assert status == 400
    assert "RSA-OAEP, RSA-OAEP-256, ECDH-ES" in json.dumps(body)
    assert "RFC 8725 §3.2" in json.dumps(body, ensure_ascii=False)


@pytest.mark.parametrize(
    "attributes",
    [
        {f"{ID_TOKEN}.enc": "A256GCM"},
        {f"{ID_TOKEN}.alg": "RSA-OAEP", f"{ID_TOKEN}.enc": "A256CTR"},
        {f"{OBJECT}.alg": "RSA1_5"},
        {f"{OBJECT}.alg": "ECDH-ES"},
        {f"{OBJECT}.enc": "none"},
    ],
)
def test_settings_that_encrypt_nothing_are_refused(
    encrypting: SignInRealm, attributes: dict[str, str]
) -> None:
    document = {"clientId": "x", "attributes": attributes}
    assert encrypting.realm.refused("POST", "clients", document)[0] == 400


def test_a_client_registers_with_encryption(encrypting: SignInRealm) -> None:
    initial = encrypting.realm.ask("POST", "clients-initial-access", {"count": 2}).json()["token"]
    asked = {
        "id_token_encrypted_response_alg": "ECDH-ES+A192KW",
        "id_token_encrypted_response_enc": "A128GCM",
        "userinfo_encrypted_response_alg": "RSA-OAEP",
        "userinfo_encrypted_response_enc": "A256CBC-HS512",
        "authorization_encrypted_response_alg": "RSA-OAEP-256",
        "authorization_encrypted_response_enc": "A192GCM",
        "request_object_encryption_alg": "RSA-OAEP",
        "request_object_encryption_enc": "A128CBC-HS256",
    }
    document = {
        "grant_types": ["password"],
        "jwks": {"keys": [public("rsa"), public("curve")]},
        **asked,
    }
    http = encrypting.realm.administration.http
    url = f"/realms/{encrypting.realm.name}/clients-registrations/openid-connect"
    headers = {"Authorization": f"Bearer {initial}"}
    made = http.post(url, json=document, headers=headers)
    assert made.status_code == 201, made.text
    assert {name: made.json().get(name) for name in asked} == asked
    credentials = {name: made.json()[name] for name in ("client_id", "client_secret")}
    form = {"grant_type": "password", "username": "anna", "password": PASSWORD, "scope": "openid"}
    tokens = post(encrypting, "token", form | credentials).json()
    nested(tokens["id_token"], "curve", "ECDH-ES+A192KW", "A128GCM")
    wrong = document | {"userinfo_encrypted_response_alg": "RSA1_5"}
    refused = http.post(url, json=wrong, headers=headers)
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_client_metadata")


def test_discovery_lists_what_works(encrypting: SignInRealm) -> None:
    """What the tests above encrypt with, and each of tests/unit/crypto/test_jwe.py."""
    http = encrypting.realm.administration.http
    url = f"/realms/{encrypting.realm.name}/.well-known/openid-configuration"
    metadata = http.get(url).json()
    algorithms = [
        *("RSA-OAEP", "RSA-OAEP-256"),
        *("ECDH-ES", "ECDH-ES+A128KW", "ECDH-ES+A192KW", "ECDH-ES+A256KW"),
    ]
    contents = [
        *("A128CBC-HS256", "A192CBC-HS384", "A256CBC-HS512"),
        *("A128GCM", "A192GCM", "A256GCM"),
    ]
    for what in ("id_token", "userinfo", "authorization", "request_object"):
        expected = ["RSA-OAEP"] if what == "request_object" else algorithms
        assert metadata[f"{what}_encryption_alg_values_supported"] == expected
        assert metadata[f"{what}_encryption_enc_values_supported"] == contents
