"""What the caller's settings and the exchanged token decide about a token exchange.

Through nginx, with the real stores. Texts are Keycloak's (26.7). Spec: RFC 8693; attacks B8
"""

from collections.abc import Iterator
from typing import Final

import httpx2
import pytest

from tests.support.chosen_realm import ChosenRealm, chosen_realm
from tests.support.dpop import ProofKey
from tests.support.spec_stack import Stack, protocol, refusal
from tests.support.wire import PASSWORD, SECRET, app, audience, claims_of, client, user

REALM: Final = "exchange-settings"
GRANT: Final = "urn:ietf:params:oauth:grant-type:token-exchange"
ACCESS: Final = "urn:ietf:params:oauth:token-type:access_token"
REFRESH: Final = "urn:ietf:params:oauth:token-type:refresh_token"
_ON: Final = {
    "standard.token.exchange.enabled": "true",
    "standard.token.exchange.enableRefreshRequestedTokenType": "SAME_SESSION",
}
_PAIRWISE: Final = {
    "name": "pairwise",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-sha256-pairwise-sub-mapper",
    "config": {"pairwiseSubAlgorithmSalt": "salt"},
}
_NAMES: Final = ("plain", "bound", "unrefreshed", "paired")
_CLIENTS: Final = [
    app(
        "app",
        attributes={"access.token.lifespan": "60"},
        protocolMappers=[audience(name) for name in _NAMES],
    ),
    client("service", protocolMappers=[audience(name) for name in _NAMES]),
    client("plain", attributes=_ON),
    client(
        "bound",
        directAccessGrantsEnabled=True,
        attributes={**_ON, "dpop.bound.access.tokens": "true"},
    ),
    client("unrefreshed", attributes={**_ON, "use.refresh.tokens": "false"}),
    client(
        "paired",
        attributes=_ON,
        redirectUris=["https://paired.example/cb"],
        protocolMappers=[_PAIRWISE],
    ),
]


@pytest.fixture(scope="module")
def realm(spec: Stack) -> Iterator[ChosenRealm]:
    with chosen_realm(spec, REALM, _CLIENTS, users=[user("ada")]) as made:
        yield made


def _user_token(realm: ChosenRealm) -> str:
    form = {"grant_type": "password", "client_id": "app", "username": "ada"}
    response = realm.stack.token(REALM, form | {"password": PASSWORD})
    assert response.status_code == 200, response.text
    return str(response.json()["access_token"])


def _service_token(realm: ChosenRealm) -> str:
    form = {"grant_type": "client_credentials", "client_id": "service", "client_secret": SECRET}
    return str(realm.stack.token(REALM, form).json()["access_token"])


def _exchange(
    realm: ChosenRealm, token: str, client_id: str, requested: str = ACCESS, proof: str = ""
) -> httpx2.Response:
    form = {
        "grant_type": GRANT,
        "client_id": client_id,
        "client_secret": SECRET,
        "subject_token": token,
        "subject_token_type": ACCESS,
        "requested_token_type": requested,
    }
    return realm.post("token", form, **({"DPoP": proof} if proof else {}))


def test_a_client_without_refresh_tokens_gets_none(realm: ChosenRealm) -> None:
    text = "requested_token_type unsupported"
    refused = _exchange(realm, _user_token(realm), "unrefreshed", REFRESH)
    assert refusal(refused) == (400, "invalid_request", text)
    assert _exchange(realm, _user_token(realm), "unrefreshed").status_code == 200


def test_a_token_without_a_session_brings_no_refresh_token(realm: ChosenRealm) -> None:
    refused = _exchange(realm, _service_token(realm), "plain", REFRESH)
    assert refusal(refused)[2] == (
        "Refresh token not valid as requested_token_type because creating a new session is needed"
    )
    assert _exchange(realm, _service_token(realm), "plain").status_code == 200


def test_a_pairwise_subject_needs_a_session_that_names_the_user(realm: ChosenRealm) -> None:
    """Otherwise `sub` alone says whose token it is, and would be lost."""
    refused = _exchange(realm, _service_token(realm), "paired")
    text = "A client with pairwise subjects cannot exchange a token without sid"
    assert refusal(refused) == (400, "invalid_request", text)
    token = _user_token(realm)
    made = _exchange(realm, token, "paired").json()["access_token"]
    assert claims_of(made)["sub"] != claims_of(token)["sub"]


def _lifespan(token: str) -> int:
    claims = claims_of(token)
    return int(claims["exp"] - claims["iat"])


def test_a_client_in_the_session_has_its_own_lifespan(realm: ChosenRealm) -> None:
    """It ends with the session; one that is not in it ends with the exchanged token."""
    token = _user_token(realm)
    assert _lifespan(_exchange(realm, token, "plain").json()["access_token"]) <= 60
    joined = _exchange(realm, token, "plain", REFRESH).json()
    for answer in (joined, _exchange(realm, token, "plain").json()):
        assert _lifespan(answer["access_token"]) > 60


def test_a_client_with_bound_tokens_refreshes_a_bound_one(realm: ChosenRealm) -> None:
    """Each of its refreshed tokens is bound again. RFC 9449 §5."""
    key = ProofKey.new()
    url = f"{realm.stack.nginx.https}{protocol(REALM)}/token"
    form = {"grant_type": "password", "client_id": "bound", "client_secret": SECRET}
    form |= {"username": "ada", "password": PASSWORD}
    token = realm.post("token", form, DPoP=key.proof("POST", url)).json()["access_token"]
    made = _exchange(realm, token, "bound", REFRESH, key.proof("POST", url))
    assert made.status_code == 200, made.text
    again = {"grant_type": "refresh_token", "client_id": "bound", "client_secret": SECRET}
    again |= {"refresh_token": made.json()["refresh_token"]}
    assert refusal(realm.stack.token(REALM, again))[2] == "DPoP proof is missing"
    renewed = realm.stack.token(REALM, again, DPoP=key.proof("POST", url)).json()
    assert claims_of(renewed["access_token"])["cnf"] == {"jkt": key.thumbprint}
