"""Redeeming a code: once, by its client, for this request. Keycloak: 1.4; attacks: C4, C5, C7."""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any, Final

import httpx2
import pytest

from gateway.protocol.authorization import CodeChallenge
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import SECRET, Administration
from tests.support.browser_sign_ins import REDIRECT_URI, Finished, seconds_left, sign_in
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.wire import claims_of

VERIFIER: Final = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
"""RFC 7636, Appendix B."""
CHALLENGE: Final = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
_AT_ONCE: Final = 50
_INVALID: Final = "Code not valid"


@pytest.fixture(scope="module")
def coded(administration: Administration) -> Iterator[Recorded]:
    """Make a realm that records everything."""
    enforced = {
        "clientId": "enforced",
        "secret": SECRET,
        "attributes": {"pkce.code.challenge.method": "S256"},
    }
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [*RECORDED["clients"], enforced],
        "users": [*RECORDED["users"], person("leaving"), person("blocked")],
    }
    with administered_realm(administration, "coded", {}, **settings) as realm:
        yield Recorded(realm)


@pytest.fixture(autouse=True)
def nothing_yet(coded: Recorded) -> None:
    coded.events()


def _sign_in(coded: Recorded, **changes: Any) -> Finished:
    return sign_in(coded.realm.administration.gateway, **changes)


def _redeem(coded: Recorded, code: str, **form: str) -> httpx2.Response:
    asked = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT_URI}
    return coded.post("token", asked | form)


def _refused(response: httpx2.Response) -> tuple[int, str, str]:
    answer = response.json()
    return response.status_code, answer["error"], answer["error_description"]


def test_a_code_is_exchanged_for_tokens(coded: Recorded) -> None:
    done = _sign_in(coded, asked={"nonce": "n-1"})
    response = _redeem(coded, done.code)
    assert response.status_code == 200, response.text
    tokens = response.json()
    assert list(tokens) == [
        *("access_token", "expires_in", "refresh_expires_in", "refresh_token", "token_type"),
        *("id_token", "not-before-policy", "session_state", "scope"),
    ]
    assert tokens["session_state"] == done.session.id
    access, identity = claims_of(tokens["access_token"]), claims_of(tokens["id_token"])
    assert access["jti"].startswith("onrtac:")
    assert access["sid"] == identity["sid"] == done.session.id
    assert (identity["nonce"], identity["azp"], identity["acr"]) == ("n-1", "svc", "1")
    assert identity["auth_time"] == access["auth_time"] == int(done.session.notes["AUTH_TIME"])
    digest = hashlib.sha256(tokens["access_token"].encode()).digest()[:16]
    assert identity["at_hash"] == base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
    assert "nonce" not in access


def test_the_exchange_is_recorded(coded: Recorded) -> None:
    done = _sign_in(coded)
    user_id = coded.user_id("john")
    _redeem(coded, done.code)
    event = coded.one()
    assert set(event["details"].pop("scope").split()) == {"openid", "email", "profile"}
    assert event == {
        "type": "CODE_TO_TOKEN",
        "clientId": "svc",
        "userId": user_id,
        "sessionId": done.session.id,
        "ipAddress": "203.0.113.9",
        "details": {
            "token_id": "?",
            "grant_type": "authorization_code",
            "refresh_token_type": "Refresh",
            "refresh_token_id": "?",
            "code_id": done.session.id,
            "client_auth_method": "client-secret",
        },
    }


def test_a_refresh_keeps_auth_time_and_acr_but_no_nonce(coded: Recorded) -> None:
    """OpenID Connect Core §12.2."""
    done = _sign_in(coded, asked={"nonce": "n-1"})
    tokens = _redeem(coded, done.code).json()
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    first = claims_of(tokens["id_token"])
    second = claims_of(coded.post("token", form).json()["id_token"])
    kept = ("auth_time", "acr", "sub", "sid", "aud", "azp", "iss")
    assert {name: second[name] for name in kept} == {name: first[name] for name in kept}
    assert "nonce" not in second


_PKCE: Final = {"code_challenge": CodeChallenge(CHALLENGE, "S256")}
_PLAIN: Final = {"code_challenge": CodeChallenge(VERIFIER, "plain")}
_NO_VERIFIER: Final = ("PKCE code verifier not specified", "code_verifier_missing")
_BAD_VERIFIER: Final = ("PKCE verification failed: Invalid code verifier", "invalid_code_verifier")
_MISMATCH: Final = ("PKCE verification failed: Code mismatch", "pkce_verification_failed")
_NO_CHALLENGE: Final = (
    "PKCE code verifier specified but challenge not present in authorization",
    "invalid_code_verifier",
)
_REDIRECT: Final = ("Incorrect redirect_uri", "invalid_redirect_uri")


@pytest.mark.parametrize(
    ("asked", "form", "text", "error"),
    [
        ({}, {"redirect_uri": ""}, *_REDIRECT),
        ({}, {"redirect_uri": REDIRECT_URI + "/"}, *_REDIRECT),
        ({}, {"redirect_uri": REDIRECT_URI.upper()}, *_REDIRECT),
        (_PKCE, {}, *_NO_VERIFIER),
        ({}, {"code_verifier": VERIFIER}, *_NO_CHALLENGE),
        (_PKCE, {"code_verifier": VERIFIER[:42]}, *_BAD_VERIFIER),
        (_PKCE, {"code_verifier": "a" * 129}, *_BAD_VERIFIER),
        (_PKCE, {"code_verifier": VERIFIER + "\n"}, *_BAD_VERIFIER),
        (_PKCE, {"code_verifier": VERIFIER[:-1] + "K"}, *_MISMATCH),
        (_PKCE, {"code_verifier": CHALLENGE}, *_MISMATCH),
        (_PLAIN, {"code_verifier": CHALLENGE}, *_MISMATCH),
    ],
)
def test_a_request_that_the_code_was_not_issued_for_spends_it(
    coded: Recorded, asked: Mapping[str, Any], form: Mapping[str, str], text: str, error: str
) -> None:
    """attacks: C7."""
    done = _sign_in(coded, asked=asked)
    assert _refused(_redeem(coded, done.code, **form)) == (400, "invalid_grant", text)
    event = coded.one()
    assert (event["type"], event["error"]) == ("CODE_TO_TOKEN_ERROR", error)
    assert event["details"]["reason"] == text
    right = {"code_verifier": VERIFIER} if asked else {}
    assert _refused(_redeem(coded, done.code, **right)) == (400, "invalid_grant", _INVALID)


@pytest.mark.parametrize(
    ("asked", "form"),
    [
        (_PKCE, {"code_verifier": VERIFIER}),
        (_PLAIN, {"code_verifier": VERIFIER}),
        ({"redirect_uri_sent": False}, {"redirect_uri": ""}),
        ({"redirect_uri_sent": False}, {}),
    ],
)
def test_what_fits_the_request_is_accepted(
    coded: Recorded, asked: Mapping[str, Any], form: Mapping[str, str]
) -> None:
    assert _redeem(coded, _sign_in(coded, asked=asked).code, **form).status_code == 200


def test_a_client_that_must_use_pkce_gets_nothing_without(coded: Recorded) -> None:
    """RFC 9700 §2.1.1: also where the request had no challenge (attacks: C7)."""
    code = _sign_in(coded, client_id="enforced").code
    refused = _refused(_redeem(coded, code, client_id="enforced"))
    assert refused == (400, "invalid_grant", _NO_VERIFIER[0])


@pytest.mark.parametrize(
    "code", ["a", "a.b", "a.b.c", "...", "x.000000xxxxxxxxxxxxxxxxxx.y", "a.b." + "c" * 9000]
)
def test_what_is_no_code_is_refused(coded: Recorded, code: str) -> None:
    assert _refused(_redeem(coded, code)) == (400, "invalid_grant", _INVALID)
    event = coded.one()
    assert (event["type"], event["error"]) == ("CODE_TO_TOKEN_ERROR", "invalid_code")


def test_a_request_without_a_code_is_invalid(coded: Recorded) -> None:
    text = "Missing parameter: code"
    response = coded.post("token", {"grant_type": "authorization_code"})
    assert _refused(response) == (400, "invalid_request", text)
    assert coded.one()["error"] == "invalid_code"


def test_a_failed_client_authentication_does_not_spend_the_code(coded: Recorded) -> None:
    code = _sign_in(coded).code
    assert _redeem(coded, code, client_secret="wrong").status_code == 401
    assert _redeem(coded, code).status_code == 200


def test_the_code_of_another_client_is_refused(coded: Recorded) -> None:
    """Attacks: C5."""
    code = _sign_in(coded).code
    text = "Auth error: Found different client_id in clientSession"
    assert _refused(_redeem(coded, code, client_id="other")) == (400, "invalid_grant", text)
    assert coded.one()["error"] == "invalid_client"
    assert _refused(_redeem(coded, code)) == (400, "invalid_grant", _INVALID)


def test_a_code_that_is_edited_to_name_others_is_unknown(coded: Recorded) -> None:
    """Attacks: C5. The true code and its tokens are not affected."""
    mine, theirs = _sign_in(coded), _sign_in(coded, username="jane", client_id="other")
    parts, others = mine.code.split("."), theirs.code.split(".")
    for edited in (
        [parts[0], *others[1:]],
        [*parts[:2], others[2]],
        [parts[0], others[1], parts[2]],
    ):
        client_id = "other" if edited[2] == others[2] else "svc"
        refused = _refused(_redeem(coded, ".".join(edited), client_id=client_id))
        assert refused == (400, "invalid_grant", _INVALID)
    assert _redeem(coded, mine.code).status_code == 200
    assert _redeem(coded, theirs.code, client_id="other").status_code == 200


def test_a_replay_ends_every_use_of_what_was_issued(coded: Recorded) -> None:
    """RFC 6749 §4.1.2, attacks: C4."""
    done = _sign_in(coded)
    tokens = _redeem(coded, done.code).json()
    assert coded.userinfo(tokens["access_token"]).status_code == 200
    assert _refused(_redeem(coded, done.code)) == (400, "invalid_grant", _INVALID)
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    text = "Session doesn't have required client"
    assert _refused(coded.post("token", form)) == (400, "invalid_grant", text)
    assert coded.userinfo(tokens["access_token"]).status_code == 401
    answer = coded.post("token/introspect", {"token": tokens["access_token"]})
    assert answer.json() == {"active": False}


def test_a_replay_by_another_client_ends_them_too(coded: Recorded) -> None:
    done = _sign_in(coded)
    tokens = _redeem(coded, done.code).json()
    assert _redeem(coded, done.code, client_id="other").status_code == 400
    assert coded.userinfo(tokens["access_token"]).status_code == 401


def test_a_replay_ends_offline_tokens(coded: Recorded) -> None:
    done = _sign_in(coded, scope="openid offline_access")
    tokens = _redeem(coded, done.code).json()
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert coded.post("token", form).status_code == 200
    assert _redeem(coded, done.code).status_code == 400
    text = "Offline user session not found"
    assert _refused(coded.post("token", form)) == (400, "invalid_grant", text)


@pytest.mark.parametrize("scope", ["openid", "openid offline_access"])
def test_one_of_many_parallel_redemptions_wins_and_tokens_end(coded: Recorded, scope: str) -> None:
    """Attacks: C4, on several workers."""
    code = _sign_in(coded, scope=scope).code
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        responses = list(pool.map(lambda _: _redeem(coded, code), range(_AT_ONCE)))
    won = [response for response in responses if response.status_code == 200]
    assert len(won) == 1
    assert {_refused(response)[2] for response in responses if response not in won} == {_INVALID}
    assert coded.userinfo(won[0].json()["access_token"]).status_code == 401


def test_offline_tokens_outlive_the_session_of_the_browser(coded: Recorded) -> None:
    done = _sign_in(coded, scope="openid offline_access")
    tokens = _redeem(coded, done.code).json()
    assert tokens["refresh_expires_in"] == 0
    claims = claims_of(tokens["refresh_token"])
    assert (claims["typ"], claims["sid"]) == ("Offline", done.session.id)
    coded.realm.change("DELETE", f"sessions/{done.session.id}")
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    refreshed = coded.post("token", form)
    assert refreshed.status_code == 200, refreshed.text
    first, second = (claims_of(found.json()["id_token"]) for found in (refreshed, refreshed))
    assert first["auth_time"] == second["auth_time"] == claims_of(tokens["id_token"])["auth_time"]


def test_a_code_lasts_as_long_as_the_realm_says(coded: Recorded) -> None:
    coded.realm.change("PUT", "", {"realm": "coded", "accessCodeLifespan": 600})
    done = _sign_in(coded)
    coded.realm.change("PUT", "", {"realm": "coded", "accessCodeLifespan": 60})
    assert 540 < seconds_left(coded.realm.administration.gateway, done) <= 600


def test_a_client_without_the_standard_flow_redeems_nothing(coded: Recorded) -> None:
    code = _sign_in(coded, client_id="no-account").code
    path = f"clients/{_identity(coded, 'no-account')}"
    coded.realm.change("PUT", path, {"standardFlowEnabled": False})
    text = "Client not allowed to exchange code"
    form = {"client_id": "no-account"}
    assert _refused(_redeem(coded, code, **form)) == (400, "invalid_grant", text)
    assert coded.one()["error"] == "not_allowed"


def _identity(coded: Recorded, client_id: str) -> str:
    return str(coded.realm.get(f"clients?clientId={client_id}")[0]["id"])


def test_a_code_ends_with_its_session(coded: Recorded) -> None:
    done = _sign_in(coded)
    coded.realm.change("DELETE", f"sessions/{done.session.id}")
    assert _refused(_redeem(coded, done.code)) == (400, "invalid_grant", _INVALID)


def test_the_end_of_a_session_ends_its_tokens_at_once(
    coded: Recorded,
) -> None:
    done = _sign_in(coded)
    tokens = _redeem(coded, done.code).json()
    coded.realm.change("DELETE", f"sessions/{done.session.id}")
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    text = "Session not active"
    assert _refused(coded.post("token", form)) == (400, "invalid_grant", text)
    assert coded.userinfo(tokens["access_token"]).status_code == 401
    answer = coded.post("token/introspect", {"token": tokens["access_token"]})
    assert answer.json() == {"active": False}
    sessions = coded.realm.get(f"users/{coded.user_id('john')}/sessions")
    assert done.session.id not in {session["id"] for session in sessions}


def test_a_user_who_was_disabled_gets_no_tokens(coded: Recorded) -> None:
    done = _sign_in(coded, username="blocked")
    coded.realm.change("PUT", f"users/{coded.user_id('blocked')}", {"enabled": False})
    assert _refused(_redeem(coded, done.code)) == (400, "invalid_grant", "User disabled")
    assert coded.one()["error"] == "user_disabled"


def test_a_code_issued_before_not_before_is_refused(coded: Recorded) -> None:
    """Its tokens would be younger than the instant that revoked everything."""
    done = _sign_in(coded)
    soon = int(datetime.now(UTC).timestamp()) + 2
    coded.realm.change("PUT", "", {"realm": "coded", "notBefore": soon})
    refused = _refused(_redeem(coded, done.code))
    coded.realm.change("PUT", "", {"realm": "coded", "notBefore": 0})
    assert refused == (400, "invalid_grant", _INVALID)


def test_a_client_with_bound_tokens_needs_its_certificate(coded: Recorded) -> None:
    """RFC 8705 §3."""
    done = _sign_in(coded, client_id="bound")
    text = "Client Certification missing for MTLS HoK Token Binding"
    refused = _refused(_redeem(coded, done.code, client_id="bound"))
    assert refused == (400, "invalid_request", text)


def test_a_withdrawn_consent_ends_codes_and_refresh_tokens(coded: Recorded) -> None:
    user_id = coded.user_id("john")
    text = "Client no longer has requested consent from user"
    code = _sign_in(coded, client_id="consent").code
    refused = _refused(_redeem(coded, code, client_id="consent"))
    assert refused == (400, "invalid_scope", text)
    assert coded.one()["error"] == "not_allowed"
    code = _sign_in(coded, client_id="consent", consents=True).code
    tokens = _redeem(coded, code, client_id="consent").json()
    form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    assert coded.post("token", form | {"client_id": "consent"}).status_code == 200
    consents = {told["clientId"]: told for told in coded.realm.get(f"users/{user_id}/consents")}
    consent = consents["consent"]
    assert consent["additionalGrants"] == []
    assert set(consent["grantedClientScopes"]) >= {"email", "profile"}
    coded.realm.change("DELETE", f"users/{user_id}/consents/consent")
    consents = {told["clientId"]: told for told in coded.realm.get(f"users/{user_id}/consents")}
    assert "consent" not in consents
    refused = _refused(coded.post("token", form | {"client_id": "consent"}))
    assert refused == (400, "invalid_grant", "Session doesn't have required client")
