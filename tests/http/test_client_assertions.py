"""Clients that authenticate by JWTs: private_key_jwt and client_secret_jwt.

Spec: RFC 7523 §3, RFC 8725 §3.1, OpenID Connect Core §9; Keycloak: JWTClientValidator;
attacks C12, C13, C14
"""

import base64
import hashlib
import hmac
import json
import time
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, Final

import httpx2
import jwt
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.client_documents import ClientDocuments, serving_documents
from tests.support.recorded_realm import RECORDED, Recorded

SECRET: Final = "0123456789abcdef" * 4
ROTATED: Final = "fedcba9876543210" * 4
TYPE: Final = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
WRONG_SIGNATURE: Final = (
    "Client authentication with signed JWT failed: Signature on JWT token failed validation"
)


@cache
def rsa_key(name: str = "rsa") -> rsa.RSAPrivateKey:
    del name
    return rsa.generate_private_key(65537, 2048)


@cache
def curve_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def jwk(key: Any, **more: str) -> dict[str, Any]:
    algorithm = "RS256" if isinstance(key, rsa.RSAPrivateKey) else "ES256"
    public: str = jwt.get_algorithm_by_name(algorithm).to_jwk(key.public_key())
    found: dict[str, Any] = json.loads(public)
    return found | more


def key_set(*keys: dict[str, Any]) -> str:
    return json.dumps({"keys": list(keys)})


def pem(key: rsa.RSAPrivateKey, encoding: serialization.Encoding) -> bytes:
    return key.public_key().public_bytes(encoding, serialization.PublicFormat.SubjectPublicKeyInfo)


def _client(client_id: str, authenticator: str = "client-jwt", **attributes: str) -> dict[str, Any]:
    names = dict(attributes)
    return {
        "clientId": client_id,
        "enabled": True,
        "secret": SECRET,
        "serviceAccountsEnabled": True,
        "redirectUris": ["https://app.example/cb"],
        "clientAuthenticatorType": authenticator,
        "attributes": names,
    }


def _clients(url: str) -> list[dict[str, Any]]:
    by_value = {
        "use.jwks.string": "true",
        "jwks.string": key_set(jwk(rsa_key(), kid="r"), jwk(curve_key(), kid="e")),
    }
    pinned = "token.endpoint.auth.signing.alg"
    return [
        _client("by-value", **by_value),
        _client("pinned", **by_value, **{pinned: "PS256"}),
        _client("long-lived", **by_value, **{"token.endpoint.auth.signing.max.exp": "600"}),
        _client("by-url", **_at(f"{url}/by-url")),
        _client("rotates", **_at(f"{url}/rotates")),
        _client("no-keys", **_at(f"{url}/none")),
        _client("huge-keys", **_at(f"{url}/huge")),
        _client("inside", **_at("http://[::1]:9/jwks")),
        _client("by-public-key", **{"jwt.credential.public.key": _der(rsa_key())}),
        _client("by-certificate", **{"jwt.credential.certificate": _certificate(rsa_key())}),
        _client("by-secret", "client-secret-jwt"),
        _client("by-hs512", "client-secret-jwt", **{pinned: "HS512"}),
        _client(
            *("rotated-secret", "client-secret-jwt"),
            **{
                "client.secret.rotated": ROTATED,
                "client.secret.rotated.expiration.time": str(int(time.time()) + 600),
            },
        ),
    ]


def _at(url: str) -> dict[str, str]:
    return {"use.jwks.url": "true", "jwks.url": url}


def _certificate(key: rsa.RSAPrivateKey) -> str:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "client")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    made = builder.sign(key, hashes.SHA256())
    return base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()


def _der(key: rsa.RSAPrivateKey) -> str:
    return base64.b64encode(pem(key, serialization.Encoding.DER)).decode()


@pytest.fixture(scope="module")
def documents() -> Iterator[ClientDocuments]:
    with serving_documents() as served:
        yield served


@pytest.fixture(scope="module")
def recorded(administration: Administration, documents: ClientDocuments) -> Iterator[Recorded]:
    """Make a realm that records everything."""
    document = {**RECORDED, "clients": _clients(documents.url), "users": []}
    with administered_realm(administration, "assertions", {}, **document) as realm:
        yield Recorded(realm)


def issuer(recorded: Recorded) -> str:
    return f"https://gateway.test/realms/{recorded.realm.name}"


def claims(recorded: Recorded, client_id: str = "by-value", /, **changed: Any) -> dict[str, Any]:
    now = int(time.time())
    found: dict[str, Any] = {
        "iss": client_id,
        "sub": client_id,
        "aud": issuer(recorded),
        "jti": uuid.uuid4().hex,
        "iat": now,
        "exp": now + 50,
    } | changed
    return {name: value for name, value in found.items() if value is not None}


def signed(
    content: Mapping[str, Any],
    key: Any = None,
    algorithm: str = "RS256",
    headers: Mapping[str, Any] | None = None,
) -> str:
    return jwt.encode(dict(content), key or rsa_key(), algorithm, headers=dict(headers or {}))


def send(
    recorded: Recorded, assertion: str | None, path: str = "token", **changed: str
) -> httpx2.Response:
    form = {
        "client_id": "",
        "client_secret": "",
        "grant_type": "client_credentials",
        "client_assertion_type": TYPE,
        "client_assertion": assertion or "",
    }
    return recorded.post(path, form | changed)


def refusal(response: httpx2.Response) -> tuple[int, str, str]:
    body = response.json()
    return response.status_code, body["error"], body["error_description"]


@pytest.mark.parametrize(
    ("client_id", "algorithm"),
    [
        *(("by-value", "RS256"), ("by-value", "PS512"), ("pinned", "PS256")),
        *(("by-public-key", "RS256"), ("by-certificate", "PS256"), ("long-lived", "RS384")),
    ],
)
def test_a_jwt_of_a_registered_key_authenticates_the_client(
    recorded: Recorded, client_id: str, algorithm: str
) -> None:
    response = send(recorded, signed(claims(recorded, client_id), algorithm=algorithm))
    assert response.status_code == 200, response.text
    named = send(recorded, signed(claims(recorded, client_id), algorithm=algorithm))
    assert named.json()["token_type"] == "Bearer"


def test_kid_chooses_among_the_keys(recorded: Recorded) -> None:
    for key, algorithm, kid in ((rsa_key(), "RS256", "r"), (curve_key(), "ES256", "e")):
        sent = signed(claims(recorded), key, algorithm, {"kid": kid})
        assert send(recorded, sent).status_code == 200
    for kid in ("e", "../r", "r' OR '1'='1", "x" * 1000):
        sent = signed(claims(recorded), headers={"kid": kid})
        expected = (400, "invalid_client", "Unable to load public key")
        assert refusal(send(recorded, sent)) == expected


@pytest.mark.parametrize("algorithm", ["HS256", "HS512"])
def test_a_mac_with_the_secret_authenticates_the_client(recorded: Recorded, algorithm: str) -> None:
    client_id = "by-hs512" if algorithm == "HS512" else "by-secret"
    sent = signed(claims(recorded, client_id), SECRET, algorithm)
    assert send(recorded, sent).status_code == 200


def test_a_rotated_secret_is_accepted_until_it_expires(recorded: Recorded) -> None:
    sent = signed(claims(recorded, "rotated-secret"), ROTATED, "HS256")
    assert send(recorded, sent).status_code == 200


def test_a_wrong_secret_is_refused(recorded: Recorded) -> None:
    sent = signed(claims(recorded, "by-secret"), "x" * 64, "HS256")
    status, error, text = refusal(send(recorded, sent))
    assert (status, error) == (400, "unauthorized_client")
    assert text.startswith("Client authentication with client secret signed JWT failed: ")


def test_the_form_may_name_the_client_too(recorded: Recorded) -> None:
    assert send(recorded, signed(claims(recorded)), client_id="by-value").status_code == 200
    other = send(recorded, signed(claims(recorded)), client_id="pinned")
    text = "client_id parameter does not match sub claim"
    assert refusal(other) == (400, "invalid_client", text)


@pytest.mark.parametrize(
    "path", ["token", "token/introspect", "revoke", "ext/par/request", "logout"]
)
def test_an_assertion_is_accepted_wherever_clients_authenticate(
    recorded: Recorded, path: str
) -> None:
    more = {"response_type": "code", "redirect_uri": "https://app.example/cb", "token": "x"}
    good = send(recorded, signed(claims(recorded)), path, **more | {"refresh_token": "x"})
    more |= {"refresh_token": "x"}
    bad = send(recorded, signed(claims(recorded), rsa_key("other")), path, **more)
    assert refusal(bad) == (400, "invalid_client", WRONG_SIGNATURE)
    assert good.status_code < 300 or good.json()["error"] == "invalid_grant"


@pytest.mark.parametrize("path", ["", "/token", "/token/introspect", "/ext/par/request"])
def test_the_audience_is_the_realm_or_an_endpoint_of_it(recorded: Recorded, path: str) -> None:
    """attacks: C12."""
    base = issuer(recorded)
    audience = f"{base}/protocol/openid-connect{path}" if path else base
    assert send(recorded, signed(claims(recorded, aud=audience))).status_code == 200
    assert send(recorded, signed(claims(recorded, aud=[audience]))).status_code == 200


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"aud": "https://other.example"}, "Invalid token audience"),
        ({"aud": None}, "Invalid token audience"),
        ({"aud": [1, {}]}, "Invalid token audience"),
        ({"aud": "https://gateway.test/realms/master"}, "Invalid token audience"),
        ({"sub": None}, "Token sub claim is required"),
        ({"sub": 5}, "Token sub claim is required"),
        ({"jti": None}, "Token jti claim is required"),
        ({"jti": ""}, "Token jti claim is required"),
        ({"exp": None}, "Token exp claim is required"),
        ({"exp": "soon"}, "Token is not active"),
    ],
)
def test_a_claim_that_is_missing_or_wrong_is_named(
    recorded: Recorded, changed: Mapping[str, Any], text: str
) -> None:
    content = claims(recorded) | dict(changed)
    kept = {name: value for name, value in content.items() if value is not None}
    key = _pyjwt_would_refuse(kept)
    assert refusal(send(recorded, key)) == (400, "invalid_client", text)


def _pyjwt_would_refuse(content: Mapping[str, Any]) -> str:
    """Sign without the library's own checks of claims."""
    head, body = (_part(json.dumps(each)) for each in ({"alg": "RS256"}, content))
    signature = jwt.get_algorithm_by_name("RS256").sign(f"{head}.{body}".encode(), rsa_key())
    return f"{head}.{body}.{_part(signature)}"


def _part(raw: str | bytes) -> str:
    data = raw.encode() if isinstance(raw, str) else raw
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def test_one_of_several_audiences_is_not_enough(recorded: Recorded) -> None:
    """attacks: C12."""
    sent = signed(claims(recorded, aud=[issuer(recorded), "https://other.example"]))
    assert refusal(send(recorded, sent))[2] == "Multiple audiences not allowed"


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"nbf": 8}, None),
        ({"nbf": 61}, "Token is not active"),
        ({"iat": 8}, None),
        ({"iat": 61, "exp": 100}, "Token was issued in the future"),
        ({"exp": -1}, "Token is not active"),
        ({"exp": 3600}, None),
        ({"iat": -70, "exp": 3600}, "Token was issued too far in the past to be used now"),
        (
            {"iat": None, "exp": 90},
            "Token expiration is too far in the future and iat claim not present in token",
        ),
        ({"iat": None, "exp": 30}, None),
    ],
)
def test_times_of_an_assertion(
    recorded: Recorded, changed: Mapping[str, int | None], text: str | None
) -> None:
    """attacks: C12."""
    now = int(time.time())
    times = {name: None if value is None else now + value for name, value in changed.items()}
    response = send(recorded, signed(claims(recorded, **times)))
    assert response.json().get("error_description") == text


def test_the_client_may_have_a_longer_lifespan(recorded: Recorded) -> None:
    now = int(time.time())
    sent = signed(claims(recorded, "long-lived", iat=now - 500, exp=now + 60))
    assert send(recorded, sent).status_code == 200


def test_an_assertion_is_accepted_once(recorded: Recorded) -> None:
    """attacks: C12."""
    first = claims(recorded)
    assert send(recorded, signed(first)).status_code == 200
    for again in (
        signed(first),
        signed(first, algorithm="PS256"),
        signed(claims(recorded) | {"jti": first["jti"]}),
    ):
        expected = (400, "invalid_client", "Token reuse detected")
        assert refusal(send(recorded, again)) == expected
    other = signed(claims(recorded, "long-lived", jti=first["jti"]))
    assert send(recorded, other).status_code == 200


def test_of_a_hundred_uses_at_once_one_is_accepted(recorded: Recorded) -> None:
    """attacks: C12, S7."""
    sent = signed(claims(recorded))
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: send(recorded, sent), range(100)))
    refused = [answer for answer in answers if answer.status_code != 200]
    assert len(refused) == 99
    expected = (400, "invalid_client", "Token reuse detected")
    assert {refusal(answer) for answer in refused} == {expected}


def test_a_rejected_assertion_does_not_use_up_its_jti(recorded: Recorded) -> None:
    content = claims(recorded)
    assert refusal(send(recorded, signed(content, rsa_key("other"))))[2] == WRONG_SIGNATURE
    assert send(recorded, signed(content)).status_code == 200


def forged(content: Mapping[str, Any], algorithm: str, secret: bytes) -> str:
    head, body = (_part(json.dumps(each)) for each in ({"alg": algorithm}, content))
    mac = hmac.digest(secret, f"{head}.{body}".encode(), hashlib.sha256)
    return f"{head}.{body}.{_part(mac) if secret else ''}"


@pytest.mark.parametrize("algorithm", ["none", "None", "NONE", "", "HS256", "hs256", "RS257"])
def test_another_algorithm_is_refused(recorded: Recorded, algorithm: str) -> None:
    """The public key is no secret, in none of its encodings. attacks C13."""
    secrets = (
        b"",
        pem(rsa_key(), serialization.Encoding.PEM),
        pem(rsa_key(), serialization.Encoding.DER),
        json.dumps(jwk(rsa_key())).encode(),
        SECRET.encode(),
    )
    for secret in secrets:
        for client_id in ("by-value", "by-public-key", "pinned"):
            answer = send(recorded, forged(claims(recorded, client_id), algorithm, secret))
            expected = (400, "invalid_client", "Invalid signature algorithm")
            assert refusal(answer) == expected


def test_the_algorithm_is_the_registered_one(recorded: Recorded) -> None:
    """attacks: C13."""
    expected = (400, "invalid_client", "Invalid signature algorithm")
    assert refusal(send(recorded, signed(claims(recorded, "pinned")))) == expected
    hs256 = signed(claims(recorded, "by-hs512"), SECRET, "HS256")
    assert refusal(send(recorded, hs256)) == expected
    own_key = signed(claims(recorded, "by-secret"), rsa_key())
    assert refusal(send(recorded, own_key)) == expected


def test_keys_in_the_header_are_not_read(recorded: Recorded, documents: ClientDocuments) -> None:
    """Spec: RFC 8725 §3.10; attacks C14."""
    strange = rsa_key("strange")
    documents.documents["/evil"] = key_set(jwk(strange)).encode()
    asked = len(documents.asked)
    for header in (
        {"jwk": jwk(strange)},
        {"jku": f"{documents.url}/evil"},
        {"x5u": f"{documents.url}/evil"},
        {"crit": ["exp"], "exp": 1},
    ):
        sent = signed(claims(recorded), strange, headers=header)
        assert refusal(send(recorded, sent))[2] == WRONG_SIGNATURE
    assert len(documents.asked) == asked


def test_the_client_speaks_of_itself(recorded: Recorded) -> None:
    sent = signed(claims(recorded, iss="someone-else"))
    text = "Invalid client or Invalid client credentials"
    assert refusal(send(recorded, sent)) == (401, "invalid_client", text)
    unknown = signed(claims(recorded, "nobody"))
    assert refusal(send(recorded, unknown)) == (401, "invalid_client", text)


def test_what_is_missing_of_the_parameters_is_named(recorded: Recorded) -> None:
    cases = {
        "Parameter client_assertion_type is missing": {"client_assertion_type": ""},
        "client_assertion parameter missing": {"client_assertion": ""},
        f"Parameter client_assertion_type has value 'saml' but expected is '{TYPE}'": {
            "client_assertion_type": "saml"
        },
        "Client authentication with signed JWT failed: Failed to parse JWT": {
            "client_assertion": "a.b"
        },
    }
    for text, changed in cases.items():
        answer = send(recorded, signed(claims(recorded)), client_id="by-value", **changed)
        assert refusal(answer) == (400, "invalid_client", text)


def test_keys_at_a_url_are_fetched_once(recorded: Recorded, documents: ClientDocuments) -> None:
    documents.documents["/by-url"] = key_set(jwk(rsa_key(), kid="1")).encode()
    for _ in range(3):
        sent = signed(claims(recorded, "by-url"), headers={"kid": "1"})
        assert send(recorded, sent).status_code == 200
    assert documents.asked.count("/by-url") == 1


def test_unknown_keys_do_not_make_the_gateway_ask_each_time(
    recorded: Recorded, documents: ClientDocuments
) -> None:
    documents.documents["/rotates"] = key_set(jwk(rsa_key(), kid="1")).encode()
    for number in range(4):
        sent = signed(claims(recorded, "rotates"), rsa_key("new"), headers={"kid": f"n{number}"})
        assert refusal(send(recorded, sent))[2] == "Unable to load public key"
    assert documents.asked.count("/rotates") == 1


def test_a_key_set_larger_than_64_kb_is_not_read(
    recorded: Recorded, documents: ClientDocuments
) -> None:
    """attacks: C21. It has the right key, and white space."""
    keys = key_set(jwk(rsa_key(), kid="1")).encode()
    documents.documents["/huge"] = keys + b" " * 65_536
    answer = send(recorded, signed(claims(recorded, "huge-keys"), headers={"kid": "1"}))
    assert refusal(answer) == (400, "invalid_client", "Unable to load public key")
    assert documents.asked.count("/huge") == 1


@pytest.mark.parametrize("client_id", ["no-keys", "inside"])
def test_keys_that_cannot_be_fetched_authenticate_nobody(
    recorded: Recorded, client_id: str
) -> None:
    """The answer does not say why: it would tell which addresses exist. attacks C21."""
    answer = send(recorded, signed(claims(recorded, client_id)))
    assert refusal(answer) == (400, "invalid_client", "Unable to load public key")


def test_discovery_lists_methods_and_algorithms(recorded: Recorded) -> None:
    path = f"/realms/{recorded.realm.name}/.well-known/openid-configuration"
    document = recorded.realm.administration.http.get(path).json()
    for endpoint in ("token", "introspection", "revocation"):
        methods = document[f"{endpoint}_endpoint_auth_methods_supported"]
        algorithms = document[f"{endpoint}_endpoint_auth_signing_alg_values_supported"]
        assert {"private_key_jwt", "client_secret_jwt"} <= set(methods)
        assert {"RS256", "PS256", "ES256", "EdDSA", "HS256"} <= set(algorithms)
        assert "none" not in algorithms
