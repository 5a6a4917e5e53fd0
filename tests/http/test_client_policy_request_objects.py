"""Request objects as `secure-request-object` demands them, at the authorization endpoint.

Each text is Keycloak's. Keycloak: client policies (26.7). Spec: FAPI 2.0 Message Signing §5.3.1
"""

import json
import time
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.support.administered_realm import AdministeredRealm, administered_realm
from tests.support.administration import Administration
from tests.support.client_policies import policies_of
from tests.support.wire import PUBLIC_URL

NAME: Final = "objects"
ISSUER: Final = f"{PUBLIC_URL}/realms/{NAME}"
CALLBACK: Final = "https://app.example.test/callback"
KEY: Final = rsa.generate_private_key(65537, 2048)
OBJECT: Final = "invalid_request_object"
REQUEST: Final = "invalid_request"
_LONG: Final = (OBJECT, "Request's available period is long")
_EARLY: Final = (OBJECT, "Request not yet being processed")
_OTHER: Final = (
    REQUEST,
    "Invalid parameter. Parameters in 'request' object not matching with request parameters",
)


def _missing(name: str) -> tuple[str, str]:
    return OBJECT, f"Missing parameter in the 'request' object: {name}"


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[AdministeredRealm]:
    public = json.loads(jwt.get_algorithm_by_name("PS256").to_jwk(KEY.public_key()))
    keys = json.dumps({"keys": [public | {"kid": "k"}]})
    client = {
        "clientId": "app",
        "publicClient": True,
        "redirectUris": [CALLBACK],
        "attributes": {"use.jwks.string": "true", "jwks.string": keys},
    }
    with administered_realm(administration, NAME, {}, clients=[client]) as made:
        yield made


def _refusal(
    realm: AdministeredRealm,
    claims: dict[str, Any],
    sent: dict[str, str] | None = None,
    **configuration: Any,
) -> tuple[str, str] | None:
    """Return error and text of a request with an object under the policy; None for a page.

    `claims` are changes; None leaves a claim out, a number in a list is a time from now.
    """
    now = int(time.time())
    plain = {
        "client_id": "app",
        "iss": "app",
        "aud": ISSUER,
        "response_type": "code",
        "redirect_uri": CALLBACK,
        "scope": "openid",
        "nbf": now,
        "exp": now + 300,
    }
    changed = {
        name: now + value[0] if isinstance(value, list) and isinstance(value[0], int) else value
        for name, value in claims.items()
    }
    kept = {name: value for name, value in (plain | changed).items() if value is not None}
    signed = jwt.encode(kept, KEY, "PS256", headers={"kid": "k"})
    named = {name.replace("_", "-"): value for name, value in configuration.items()}
    with policies_of(realm, {"secure-request-object": named}):
        response = realm.administration.http.get(
            f"/realms/{NAME}/protocol/openid-connect/auth",
            params={"client_id": "app", "request": signed} | (sent or {}),
            follow_redirects=False,
        )
    if "location" not in response.headers:
        assert response.status_code == 200, response.text
        return None
    found = httpx2.URL(response.headers["location"]).params
    return found["error"], found["error_description"]


@pytest.mark.parametrize(
    ("claims", "refusal"),
    [
        ({}, None),
        ({"nbf": [10]}, None),
        ({"nbf": None}, _missing("nbf")),
        ({"nbf": [-3500], "exp": [90]}, None),
        ({"nbf": [-3500], "exp": [110]}, _LONG),
        ({"iat": [10]}, None),
        ({"iat": [60]}, (OBJECT, "Request issued in the future")),
        ({"exp": None}, _missing("exp")),
        ({"aud": None}, _missing("aud")),
        ({"aud": [ISSUER, "https://other.example"]}, None),
        ({"iat": "now"}, _missing("iat")),
        ({"iat": True}, _missing("iat")),
        (
            {"scope": None},
            (REQUEST, "Parameter 'scope' missing in the request parameters or in 'request' object"),
        ),
    ],
)
def test_an_object_is_for_this_issuer_and_short_lived(
    realm: AdministeredRealm, claims: dict[str, Any], refusal: tuple[str, str] | None
) -> None:
    assert _refusal(realm, claims) == refusal


def test_periods_are_those_of_the_configuration(realm: AdministeredRealm) -> None:
    for claims, configuration, refusal in (
        ({"exp": [100]}, {"available_period": "60"}, _LONG),
        ({"exp": [50]}, {"available_period": 60}, None),
        ({"nbf": [5]}, {"allowed_clock_skew": "0"}, _EARLY),
        ({"nbf": [10]}, {"allowed_clock_skew": "14"}, None),
        ({"iat": [10]}, {"allowed_clock_skew": "5"}, (OBJECT, "Request issued in the future")),
        ({"nbf": None}, {"verify_nbf": "false"}, None),
        ({"nbf": [-9000], "exp": [9000]}, {"verify_nbf": False}, None),
        ({"exp": None, "nbf": None}, {"verify_nbf": False}, _missing("exp")),
    ):
        assert _refusal(realm, claims, **configuration) == refusal, (claims, configuration)


def test_an_object_may_have_to_be_encrypted(realm: AdministeredRealm) -> None:
    refusal = (OBJECT, "Request object not encrypted")
    assert _refusal(realm, {}, encryption_required=True) == refusal
    assert _refusal(realm, {}, encryption_required="false") is None


@pytest.mark.parametrize(
    ("claims", "sent", "refusal"),
    [
        ({"state": "s"}, {"state": "s"}, None),
        ({"state": "s"}, {"state": "t"}, _OTHER),
        ({}, {"state": "s"}, _OTHER),
        ({"max_age": 3600}, {"max_age": "3600"}, None),
        ({"max_age": 3600}, {"max_age": "60"}, _OTHER),
        ({}, {"response_type": "code", "scope": "openid", "redirect_uri": CALLBACK}, None),
        ({}, {"scope": "openid email"}, _OTHER),
        ({}, {"dpop_jkt": "k" * 43}, _OTHER),
        ({"dpop_jkt": "k" * 43}, {"dpop_jkt": "k" * 43}, None),
        ({}, {"code_challenge": "c" * 43, "code_challenge_method": "S256"}, _OTHER),
        ({}, {"prompt": "login"}, _OTHER),
        ({}, {"unknown": "x"}, None),
    ],
)
def test_no_parameter_stands_beside_an_object_that_is_not_in_it(
    realm: AdministeredRealm,
    claims: dict[str, Any],
    sent: dict[str, str],
    refusal: tuple[str, str] | None,
) -> None:
    """What is not signed could be added in the browser."""
    assert _refusal(realm, claims, sent) == refusal


def test_a_request_has_an_object(realm: AdministeredRealm) -> None:
    with policies_of(realm, {"secure-request-object": {}}):
        response = realm.administration.http.get(
            f"/realms/{NAME}/protocol/openid-connect/auth",
            params={"client_id": "app", "response_type": "code", "redirect_uri": CALLBACK},
            follow_redirects=False,
        )
    found = httpx2.URL(response.headers["location"]).params
    assert found["error_description"] == "Missing parameter: 'request' or 'request_uri'"
