"""Request objects: who signed them, for whom, and what they change.

Spec: RFC 9101 §4, §6; OpenID Connect Core §6.1; attacks C13, C14, C20
"""

import json
from typing import Any, Final

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import get_default_algorithms

from gateway.domain.ports.lookups import ClientEntry
from gateway.protocol.authorization import AuthorizationRequest, PageError
from gateway.protocol.errors import OAuthError
from tests.support.authorization_requests import ISSUER, NOW, SECRET, checked, client_entry

pytestmark = pytest.mark.anyio
CURVE: Final = ec.generate_private_key(ec.SECP256R1())
EDWARDS: Final = ed25519.Ed25519PrivateKey.generate()
CLAIMS: Final = {"iss": "app", "aud": ISSUER, "client_id": "app", "nonce": "of the object"}
SOON: Final = NOW.timestamp() + 60


def jwk(key: Any, algorithm: str, **members: str) -> dict[str, Any]:
    public = get_default_algorithms()[algorithm].to_jwk(key.public_key(), as_dict=True)
    return {**public, "use": "sig", **members}


def with_keys(*keys: dict[str, Any], **attributes: str) -> ClientEntry:
    text = json.dumps({"keys": list(keys)})
    return client_entry({"use.jwks.string": "true", "jwks.string": text, **attributes})


ENTRY: Final = with_keys(jwk(CURVE, "ES256", kid="a"), jwk(EDWARDS, "EdDSA", kid="b"))


def signed(key: Any, algorithm: str, headers: dict[str, Any] | None = None, **changed: Any) -> str:
    claims = {name: value for name, value in {**CLAIMS, **changed}.items() if value is not None}
    return jwt.encode(claims, key, algorithm, headers=headers)


async def sent(token: str, entry: ClientEntry = ENTRY, **outside: str) -> AuthorizationRequest:
    return await checked(entry, {"request": token, **outside})


async def test_its_parameters_count_before_those_beside_it() -> None:
    request = await sent(
        signed(CURVE, "ES256", state="of the object", max_age=5, claims={"userinfo": {"a": None}}),
        nonce="outside",
        login_hint="outside",
    )
    assert (request.nonce, request.state) == ("of the object", "of the object")
    assert request.login_hint == "outside"
    assert request.max_age is not None
    assert request.max_age.total_seconds() == 5
    assert request.claims == {"userinfo": {"a": None}}


@pytest.mark.parametrize("kid", [None, "a", "b"])
async def test_the_key_is_one_of_the_clients_own(kid: str | None) -> None:
    headers = {"kid": kid} if kid else None
    key, algorithm = (EDWARDS, "EdDSA") if kid == "b" else (CURVE, "ES256")
    assert (await sent(signed(key, algorithm, headers))).nonce == "of the object"


async def test_a_certificate_and_a_secret_verify_too(
    rsa_private_keys: tuple[rsa.RSAPrivateKey, ...],
) -> None:
    key = rsa_private_keys[0]
    of_rsa = with_keys(jwk(key, "RS256"))
    for algorithm in ("RS256", "PS384"):
        assert (await sent(signed(key, algorithm), of_rsa)).nonce == "of the object"
    for algorithm in ("HS256", "HS512"):
        assert (await sent(signed(SECRET, algorithm))).nonce == "of the object"


async def test_an_unsigned_object_is_accepted_without_a_set_algorithm() -> None:
    token = signed(None, "none")
    for chosen in ("", "any", "none"):
        entry = client_entry({"request.object.signature.alg": chosen})
        assert (await sent(token, entry)).nonce == "of the object"
    with pytest.raises(PageError):
        await sent(token, with_keys(**{"request.object.signature.alg": "ES256"}))


def forged() -> dict[str, str]:
    """Return objects that must be refused, by what is wrong."""
    good = signed(CURVE, "ES256")
    head, payload, signature = good.split(".")
    other = ec.generate_private_key(ec.SECP256R1())
    public = jwk(CURVE, "ES256", kid="a")
    return {
        "no JWT": "x",
        "empty": "",
        "too long": good + "A" * 20_000,
        "other key": signed(other, "ES256"),
        "unknown kid": signed(CURVE, "ES256", {"kid": "c"}),
        "kid of another algorithm": signed(CURVE, "ES256", {"kid": "b"}),
        "own key in the header": signed(other, "ES256", {"jwk": public}),
        "signed by the public key": signed(public["x"] + public["y"], "HS256"),
        "critical header": signed(CURVE, "ES256", {"crit": ["exp"], "exp": 1}),
        "signature taken away": f"{head}.{payload}.",
        "none with a signature": f"{signed(None, 'none').rpartition('.')[0]}.{signature}",
        "other payload": f"{head}.{signed(None, 'none').split('.')[1][:-4]}AAAA.{signature}",
        "another client": signed(CURVE, "ES256", client_id="other"),
        "another issuer": signed(CURVE, "ES256", iss="other"),
        "another audience": signed(CURVE, "ES256", aud="https://other.example"),
        "expired": signed(CURVE, "ES256", exp=NOW.timestamp() - 1),
        "not valid yet": signed(CURVE, "ES256", nbf=SOON),
        "no number": jwt.encode({**CLAIMS, "exp": True}, CURVE, "ES256"),
        "an object in it": signed(CURVE, "ES256", request="x"),
        "a URL in it": signed(CURVE, "ES256", request_uri="https://app.example/"),
    }


@pytest.mark.parametrize("name", forged())
async def test_a_forged_one_is_refused_on_a_page(name: str) -> None:
    with pytest.raises(PageError) as caught:
        await sent(forged()[name])
    assert caught.value.error == "invalid_request_object"
    assert caught.value.description == "Invalid Request"


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
async def test_a_secret_that_is_too_short_verifies_nothing() -> None:
    """RFC 7518 §3.2."""
    with pytest.raises(PageError):
        await sent(signed("short", "HS256"), client_entry(secret="short"))


async def test_a_public_client_has_no_secret_to_sign_with() -> None:
    with pytest.raises(PageError):
        await sent(signed(SECRET, "HS256"), client_entry(publicClient=True))


async def test_a_redirect_uri_in_it_is_checked_as_any_other() -> None:
    with pytest.raises(PageError, match="redirect_uri"):
        await sent(signed(CURVE, "ES256", redirect_uri="https://evil.example/"))


async def test_the_response_type_is_the_same_outside() -> None:
    with pytest.raises(OAuthError, match="Parameter response_type does not match"):
        await sent(signed(CURVE, "ES256", response_type="id_token"))


@pytest.mark.parametrize(
    ("required", "accepted"),
    [("request or request_uri", True), ("request only", True), ("request_uri only", False)],
)
async def test_a_client_that_must_send_one_does(required: str, *, accepted: bool) -> None:
    entry = client_entry({"request.object.required": required})
    with pytest.raises(PageError):
        await checked(entry)
    if accepted:
        await sent(signed(None, "none"), entry)
    else:
        with pytest.raises(PageError):
            await sent(signed(None, "none"), entry)


@pytest.mark.parametrize(
    "registered", ["https://app.example/object", "https://app.example/*", "https://*", ""]
)
async def test_nothing_is_fetched_yet(registered: str) -> None:
    entry = client_entry({"request.uris": registered})
    with pytest.raises(PageError):
        await checked(entry, {"request_uri": "https://app.example/object"})
