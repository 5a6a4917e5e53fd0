"""Sessions of browsers: begun, joined, renewed and recognized by their cookie.

Keycloak: 3, 12.11; OpenID Connect Core §3.1.2.1, §3.2.2.5; attacks: session fixation, D3
"""

import base64
import hashlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any, Final

import pytest

from gateway.authentication.engine import Challenged
from gateway.domain.authentication import MessageKey
from gateway.protocol.authorization import Prompt, RedirectError
from gateway.protocol.errors import OAuthError
from gateway.protocol.identity_cookie import BrowserIdentity
from gateway.protocol.sign_in_completion import DifferentUser, SessionEnded
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import SECRET, Administration
from tests.support.browser_sign_ins import (
    REDIRECT_URI,
    Finished,
    begin_after_end,
    identity_of,
    sign_in,
)
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.sign_in_browser import SignInBrowser, web_client
from tests.support.wire import claims_of

_AGO: Final = timedelta(minutes=5)


def _pairwise(name: str) -> dict[str, Any]:
    """Return a client of a sector of its own, in whose audience `svc` is."""
    mappers = {
        "oidc-sha256-pairwise-sub-mapper": {"pairwiseSubAlgorithmSalt": "a salt"},
        "oidc-audience-mapper": {
            "included.client.audience": "svc",
            "access.token.claim": "true",
        },
    }
    return {
        "clientId": name,
        "secret": SECRET,
        "redirectUris": [f"https://{name}.example.test/*"],
        "protocolMappers": [
            {"name": kind, "protocol": "openid-connect", "protocolMapper": kind, "config": config}
            for kind, config in mappers.items()
        ],
    }


def _with_levels() -> dict[str, Any]:
    levels = {"acr.loa.map": '{"gold":3,"copper":1}'}
    return {"clientId": "levels", "secret": SECRET, "attributes": levels}


def _detached() -> dict[str, Any]:
    return {
        "clientId": "detached",
        "secret": SECRET,
        "redirectUris": [REDIRECT_URI],
        "implicitFlowEnabled": True,
        "attributes": {"id.token.as.detached.signature": "true"},
    }


@pytest.fixture(scope="module")
def browsers(administration: Administration) -> Iterator[Recorded]:
    """Make a realm whose sessions are remembered for longer."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "rememberMe": True,
        "ssoSessionMaxLifespan": 36_000,
        "ssoSessionMaxLifespanRememberMe": 72_000,
        "ssoSessionIdleTimeout": 1_800,
        "ssoSessionIdleTimeoutRememberMe": 3_600,
        "accessTokenLifespan": 600,
        "accessTokenLifespanForImplicitFlow": 777,
        "attributes": {**RECORDED.get("attributes", {}), "acr.loa.map": '{"silver":2}'},
        "clients": [
            *RECORDED["clients"],
            *(_pairwise("one"), _pairwise("two"), _with_levels(), _detached()),
            web_client("web"),
        ],
        # Sessions begin in the past here, and no earlier than their users.
        "users": [
            {**each, "createdTimestamp": 1_700_000_000_000}
            for each in (*RECORDED["users"], person("blocked"))
        ],
    }
    with administered_realm(administration, "browsers", {}, **settings) as realm:
        yield Recorded(realm)


def _sign_in(browsers: Recorded, **changes: Any) -> Finished:
    return sign_in(browsers.realm.administration.gateway, **{"realm": "browsers", **changes})


def _identity(browsers: Recorded, cookie: str, realm: str = "browsers") -> BrowserIdentity | None:
    return identity_of(browsers.realm.administration.gateway, cookie, realm)


def _tokens(browsers: Recorded, done: Finished, client_id: str = "svc") -> dict[str, Any]:
    form = {
        "grant_type": "authorization_code",
        "code": done.code,
        "redirect_uri": REDIRECT_URI,
        "client_id": client_id,
        "client_secret": SECRET,
    }
    response = browsers.post("token", form)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def _half_hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()[:16]
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()


def test_each_sign_in_has_a_session_of_a_new_id(browsers: Recorded) -> None:
    """Session fixation: nobody can have known the id before."""
    first, second = _sign_in(browsers), _sign_in(browsers)
    assert first.session.id != second.session.id
    assert len(first.session.id) == 24
    assert first.session.id == first.parameters["session_state"] == first.code.split(".")[1]


def test_the_cookie_shows_who_is_signed_in(browsers: Recorded) -> None:
    done = _sign_in(browsers, ago=_AGO)
    claims = claims_of(done.cookies.identity)
    assert list(claims) == ["exp", "iat", "jti", "iss", "sub", "typ", "sid", "state_checker"]
    assert (claims["typ"], claims["sid"]) == ("Serialized-ID", done.session.id)
    assert claims["exp"] - claims["iat"] == 36_000
    found = _identity(browsers, done.cookies.identity)
    assert found is not None
    assert found.session.id == done.session.id
    assert int(found.authenticated_at.timestamp()) == claims["iat"]
    assert found.state_checker == claims["state_checker"]
    assert done.cookies.max_age is None
    digest = base64.urlsafe_b64encode(hashlib.sha384(done.session.id.encode()).digest())
    assert done.cookies.session == digest.decode()


def test_the_cookie_shows_nothing_once_the_session_ended(browsers: Recorded) -> None:
    done = _sign_in(browsers)
    browsers.realm.change("DELETE", f"sessions/{done.session.id}")
    assert _identity(browsers, done.cookies.identity) is None


def test_the_cookie_of_a_disabled_user_shows_nothing(browsers: Recorded) -> None:
    done = _sign_in(browsers, username="blocked")
    browsers.realm.change("PUT", f"users/{browsers.user_id('blocked')}", {"enabled": False})
    assert _identity(browsers, done.cookies.identity) is None


def test_logging_a_user_out_ends_the_cookie(browsers: Recorded) -> None:
    done = _sign_in(browsers, username="jane")
    browsers.realm.change("POST", f"users/{browsers.user_id('jane')}/logout")
    assert _identity(browsers, done.cookies.identity) is None


def test_tokens_and_session_cookies_do_not_replace_each_other(browsers: Recorded) -> None:
    """RFC 8725 §3.11; attacks: C15."""
    done = _sign_in(browsers)
    tokens = _tokens(browsers, done)
    for kind in ("access_token", "id_token", "refresh_token"):
        assert _identity(browsers, tokens[kind]) is None
    cookie = done.cookies.identity
    for altered in ("", "x", cookie[:-1], cookie[:-2] + "AA", "x" * 5000):
        assert _identity(browsers, altered) is None
    assert _identity(browsers, cookie, "master") is None
    form = {"grant_type": "refresh_token", "refresh_token": cookie}
    assert browsers.post("token", form).json()["error_description"] == "Invalid refresh token"
    assert browsers.userinfo(cookie).status_code == 401
    assert browsers.post("token/introspect", {"token": cookie}).json() == {"active": False}


def test_a_second_client_joins_the_session(browsers: Recorded) -> None:
    """Single sign-on: the time of the sign-in stays, its class is that of a cookie."""
    first = _sign_in(browsers, ago=_AGO)
    second = _sign_in(browsers, client_id="other", finished={"joins": first.session})
    assert second.session.id == first.session.id
    tokens = _tokens(browsers, second, "other")
    claims = claims_of(tokens["id_token"])
    assert claims["auth_time"] == int(first.session.notes["AUTH_TIME"])
    assert claims["acr"] == "0"
    form = {"refresh_token": tokens["refresh_token"], "client_id": "other"}
    refreshed = browsers.post("token", {"grant_type": "refresh_token", **form}).json()
    assert claims_of(refreshed["id_token"])["acr"] == "0"
    sessions = browsers.realm.get(f"users/{browsers.user_id('john')}/sessions")
    [told] = [session for session in sessions if session["id"] == first.session.id]
    assert set(told["clients"].values()) == {"svc", "other"}


def test_credentials_given_again_renew_the_session(browsers: Recorded) -> None:
    first = _sign_in(browsers, ago=_AGO)
    again = _sign_in(browsers, finished={"current": first.session, "remember_me": True})
    assert again.session.id == first.session.id
    found = _identity(browsers, again.cookies.identity)
    assert found is not None
    assert found.session.remember_me
    assert found.authenticated_at - _AGO >= first.session.started_at.replace(microsecond=0)
    claims = claims_of(_tokens(browsers, again)["id_token"])
    assert claims["auth_time"] == int(found.authenticated_at.timestamp())
    assert claims["acr"] == "1"


def test_another_user_does_not_get_the_session_of_the_browser(browsers: Recorded) -> None:
    first = _sign_in(browsers)
    for kind in ("joins", "current"):
        with pytest.raises(DifferentUser):
            _sign_in(browsers, username="jane", finished={kind: first.session})


def test_nobody_joins_a_session_that_ended(browsers: Recorded) -> None:
    first = _sign_in(browsers)
    browsers.realm.change("DELETE", f"sessions/{first.session.id}")
    with pytest.raises(SessionEnded):
        _sign_in(browsers, finished={"joins": first.session})
    again = _sign_in(browsers, finished={"current": first.session})
    assert again.session.id != first.session.id


def test_a_remembered_session_has_its_own_lifetime(browsers: Recorded) -> None:
    done = _sign_in(browsers, finished={"remember_me": True})
    assert done.cookies.max_age == done.cookies.session_max_age == timedelta(seconds=72_000)
    claims = claims_of(done.cookies.identity)
    assert claims["exp"] - claims["iat"] == 72_000
    assert done.event["remember_me"] == "true"


def _opened(browsers: Recorded, done: Finished, **asked: str) -> dict[str, str]:
    """Ask for a code without a page, with the cookie of a sign-in; return the answer."""
    browser = SignInBrowser(browsers.realm.administration.http, "browsers")
    browser.cookies = {"KEYCLOAK_IDENTITY": done.cookies.identity}
    return browser.open("web", prompt="none", **asked).answer


@pytest.mark.parametrize(("max_age", "error"), [("200", "login_required"), ("400", None)])
def test_a_sign_in_counts_as_long_as_the_client_says(
    browsers: Recorded, max_age: str, error: str | None
) -> None:
    """OpenID Connect Core §3.1.2.1; attacks: C23."""
    done = _sign_in(browsers, ago=_AGO)
    assert _opened(browsers, done, max_age=max_age).get("error") == error


@pytest.mark.parametrize(
    ("remember_me", "ago", "lasts"),
    [
        (False, timedelta(seconds=1_700), True),
        (False, timedelta(seconds=1_900), False),
        (True, timedelta(seconds=1_900), True),
        (True, timedelta(seconds=3_500), True),
        (True, timedelta(seconds=3_700), False),
    ],
)
def test_a_session_idles_as_long_as_the_realm_says(
    browsers: Recorded, ago: timedelta, *, remember_me: bool, lasts: bool
) -> None:
    """Single sign-on ends with it, and what was not redeemed. Spec: 2.1 (session settings)."""
    done = _sign_in(browsers, ago=ago, finished={"remember_me": remember_me})
    assert ("code" in _opened(browsers, done)) is lasts
    form = {"grant_type": "authorization_code", "code": done.code, "redirect_uri": REDIRECT_URI}
    assert (browsers.post("token", form).status_code == 200) is lasts


@pytest.mark.parametrize(
    ("remember_me", "longest"), [(False, 36_000), (True, 72_000)], ids=["plain", "remembered"]
)
def test_no_use_of_a_session_outlives_its_maximum(
    browsers: Recorded, *, remember_me: bool, longest: int
) -> None:
    before = browsers.realm.get("")
    used = {"ssoSessionIdleTimeout": 90_000, "ssoSessionIdleTimeoutRememberMe": 90_000}
    browsers.realm.change("PUT", "", used)
    try:
        for past, lasts in ((longest - 60, True), (longest + 60, False)):
            done = _sign_in(
                browsers, ago=timedelta(seconds=past), finished={"remember_me": remember_me}
            )
            assert ("code" in _opened(browsers, done)) is lasts
    finally:
        browsers.realm.change("PUT", "", {name: before[name] for name in used})


def test_a_sign_in_is_recorded_with_keycloaks_details(browsers: Recorded) -> None:
    done = _sign_in(browsers)
    assert done.event == {
        "type": "LOGIN",
        "auth_method": "openid-connect",
        "auth_type": "code",
        "response_type": "code",
        "response_mode": "query",
        "redirect_uri": REDIRECT_URI,
        "consent": "no_consent_required",
        "username": "john",
        "code_id": done.session.id,
    }


def test_tokens_of_the_authorization_endpoint_have_their_hashes(browsers: Recorded) -> None:
    """OpenID Connect Core §3.3.2.11; FAPI 1.0 Advanced §5.2.2.1."""
    asked = {"state": "a state", "nonce": "n-1"}
    done = _sign_in(browsers, response_type="code id_token token", asked=asked)
    found = done.parameters
    assert list(found) == [
        *("session_state", "code", "id_token", "access_token", "token_type", "expires_in")
    ]
    assert found["token_type"] == "Bearer"
    claims = claims_of(found["id_token"])
    assert claims["c_hash"] == _half_hash(found["code"])
    assert claims["at_hash"] == _half_hash(found["access_token"])
    assert claims["s_hash"] == _half_hash("a state")
    assert claims["nonce"] == "n-1"
    assert browsers.userinfo(found["access_token"]).status_code == 200
    later = claims_of(_tokens(browsers, done)["id_token"])
    assert (later["sub"], later["nonce"]) == (claims["sub"], "n-1")
    assert "c_hash" not in later


def test_a_detached_signature_has_no_claims_of_the_user(
    browsers: Recorded,
) -> None:
    """FAPI 1.0 Advanced §5.1.1: the ID token of the token endpoint has them."""
    asked = {"state": "a state", "nonce": "n-1"}
    done = _sign_in(
        browsers, response_type="code id_token token", asked=asked, client_id="detached"
    )
    claims = claims_of(done.parameters["id_token"])
    assert set(claims) == {
        *("iss", "sub", "aud", "azp", "exp", "iat", "jti", "typ", "sid", "nonce"),
        *("c_hash", "s_hash", "at_hash"),
    }
    assert claims["c_hash"] == _half_hash(done.parameters["code"])
    later = claims_of(_tokens(browsers, done, "detached")["id_token"])
    assert later["sub"] == claims["sub"]
    assert later["email"] == "john@example.test"


@pytest.mark.parametrize(
    ("response_type", "lifespan"),
    [("token", "777"), ("id_token token", "777"), ("code token", "600")],
)
def test_implicit_and_hybrid_flows_have_different_lifespans(
    browsers: Recorded, response_type: str, lifespan: str
) -> None:
    asked = {"nonce": "n"}
    done = _sign_in(browsers, response_type=response_type, asked=asked)
    assert done.parameters["expires_in"] == lifespan
    assert done.event["token_id"] == claims_of(done.parameters["access_token"])["jti"]
    assert set(done.event["scope"].split()) == {"openid", "email", "profile"}


@pytest.mark.parametrize(
    ("response_type", "parameters", "hashes"),
    [
        ("id_token", {"id_token"}, set()),
        ("token", {"access_token", "token_type", "expires_in"}, set()),
        (
            "id_token token",
            {"id_token", "access_token", "token_type", "expires_in"},
            {"at_hash"},
        ),
        ("code id_token", {"code", "id_token"}, {"c_hash"}),
        ("none", set(), set()),
    ],
)
def test_a_response_has_what_its_type_names(
    browsers: Recorded, response_type: str, parameters: set[str], hashes: set[str]
) -> None:
    found = _sign_in(browsers, response_type=response_type).parameters
    assert set(found) == {"session_state", *parameters}
    if "id_token" in found:
        claims = claims_of(found["id_token"])
        assert {name for name in claims if name.endswith("_hash")} == hashes


def test_certificate_bound_tokens_do_not_go_through_a_browser(
    browsers: Recorded,
) -> None:
    with pytest.raises(OAuthError, match="Client Certification missing"):
        _sign_in(browsers, client_id="bound", response_type="token")


def test_each_sector_knows_a_user_by_a_subject_of_its_own(browsers: Recorded) -> None:
    """OpenID Connect Core §8.1: in every token, and for as long as it is refreshed."""
    subjects = set()
    for client_id in ("one", "two"):
        tokens = _tokens(browsers, _sign_in(browsers, client_id=client_id), client_id)
        form = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
        refreshed = browsers.post("token", {**form, "client_id": client_id})
        assert refreshed.status_code == 200, refreshed.text
        shown = browsers.post("token/introspect", {"token": tokens["access_token"]}).json()
        found = {
            *(claims_of(tokens[kind])["sub"] for kind in ("access_token", "id_token")),
            claims_of(tokens["refresh_token"])["sub"],
            claims_of(refreshed.json()["id_token"])["sub"],
            browsers.userinfo(tokens["access_token"]).json()["sub"],
            shown["sub"],
        }
        assert len(found) == 1
        subjects |= found
    assert len(subjects) == 2
    assert browsers.user_id("john") not in subjects


@pytest.mark.parametrize(
    ("client_id", "level", "acr"),
    [("svc", 2, "silver"), ("svc", 1, "1"), ("levels", 3, "gold"), ("levels", 2, "copper")],
)
def test_the_level_of_a_sign_in_has_the_name_of_client_or_realm(
    browsers: Recorded, client_id: str, level: int, acr: str
) -> None:
    done = _sign_in(browsers, client_id=client_id, finished={"level": level})
    assert claims_of(_tokens(browsers, done, client_id)["id_token"])["acr"] == acr


def test_the_names_of_levels_are_in_the_metadata(browsers: Recorded) -> None:
    path = "/realms/browsers/.well-known/openid-configuration"
    document = browsers.realm.administration.http.get(path).json()
    assert document["acr_values_supported"] == ["silver", "0", "1"]
    assert document["subject_types_supported"] == ["public", "pairwise"]


def test_a_sign_in_restarts_if_its_session_ends_in_the_last_step(browsers: Recorded) -> None:
    """Keycloak: 12.12 (the user signs in again, the client gets no error)."""
    gateway = browsers.realm.administration.gateway
    outcome = begin_after_end(gateway, _sign_in(browsers), "browsers")
    assert isinstance(outcome, Challenged)
    assert outcome.challenge.message is MessageKey.LOGIN_TIMEOUT
    silent, done = frozenset({Prompt.NONE}), _sign_in(browsers)
    with pytest.raises(RedirectError, match="login_required"):
        begin_after_end(gateway, done, "browsers", prompt=silent)
