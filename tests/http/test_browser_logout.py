"""Logging a browser out: by an ID token, or after the user has confirmed it.

OpenID Connect RP-Initiated Logout §2, §3; Keycloak: 12.6; attacks: C2, C3, C23, D14
"""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from gateway.domain.keys import SignatureAlgorithm
from tests.support.administered_realm import administered_realm
from tests.support.administration import SECRET, Administration
from tests.support.browser_sign_ins import REDIRECT_URI, Finished, sign_in
from tests.support.realm_keys import realm_keys
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.sign_in_browser import Page
from tests.support.wire import PUBLIC_URL, claims_of

AFTER: Final = "https://app.example.test/after"
_HOME: Final = "https://app.example.test/home"
_LOGOUT: Final = "/realms/leaving/protocol/openid-connect/logout"
_FRONT: Final = "https://front.example.test/logout?kind=1"
_PAIRWISE: Final = {
    "name": "pairwise",
    "protocol": "openid-connect",
    "protocolMapper": "oidc-sha256-pairwise-sub-mapper",
    "config": {"pairwiseSubAlgorithmSalt": "salt"},
}


def _client(client_id: str, attributes: dict[str, str], **fields: Any) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "secret": SECRET,
        "redirectUris": [REDIRECT_URI],
        "attributes": attributes,
    } | fields


@pytest.fixture(scope="module")
def leaving(administration: Administration) -> Iterator[Recorded]:
    after = {"post.logout.redirect.uris": AFTER}
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [
            *RECORDED["clients"],
            _client("app", after),
            _client("redirects", {}),
            _client("nowhere", {"post.logout.redirect.uris": "-"}, baseUrl=_HOME),
            _client("unsafe", {}, redirectUris=["*"]),
            _client("pairwise", after, protocolMappers=[_PAIRWISE]),
            _client("gone", after),
            _client("stops", {**after, "logout.confirmation.enabled": "true"}),
            _client(
                *("front", {**after, "frontchannel.logout.url": _FRONT}),
                frontchannelLogout=True,
                name="The front",
            ),
            _client(
                "front-without-session",
                {
                    "frontchannel.logout.url": _FRONT,
                    "frontchannel.logout.session.required": "false",
                },
                frontchannelLogout=True,
            ),
        ],
    }
    with administered_realm(administration, "leaving", {}, **settings) as realm:
        yield Recorded(realm)


def _sign_in(leaving: Recorded, client_id: str = "app", **changes: Any) -> Finished:
    leaving.user_id(changes.get("username", "john"))
    gateway = leaving.realm.administration.gateway
    return sign_in(
        gateway, realm="leaving", client_id=client_id, response_type="code id_token", **changes
    )


def _ask(
    leaving: Recorded,
    done: Finished | None = None,
    *,
    method: str = "GET",
    path: str = _LOGOUT,
    **parameters: str,
) -> httpx2.Response:
    http = leaving.realm.administration.http
    headers = {} if done is None else {"Cookie": f"KEYCLOAK_IDENTITY={done.cookies.identity}"}
    if method == "POST":
        return http.post(path, data=parameters, headers=headers)
    return http.get(path, params=parameters, headers=headers)


def _lasts(leaving: Recorded, done: Finished) -> bool:
    found = leaving.realm.get(f"users/{leaving.user_id(done.session.username)}/sessions")
    return done.session.id in {session["id"] for session in found}


def _confirmation(page: httpx2.Response) -> tuple[str, str]:
    """Return the path and the code of the form that confirms the logout."""
    assert page.status_code == 200, page.text
    assert "Do you want to sign out?" in page.text
    action = re.search(r'action="([^"]+)"', page.text)
    code = re.search(r'name="session_code" value="([^"]+)"', page.text)
    assert action is not None
    assert code is not None
    parts = urlsplit(unescape(action[1]))
    return f"{parts.path}?{parts.query}", unescape(code[1])


def _refused(leaving: Recorded, answer: httpx2.Response, text: str, error: str) -> None:
    assert (answer.status_code, answer.headers.get("location")) == (400, None)
    assert answer.headers["content-type"] == "text/html;charset=utf-8"
    assert text in answer.text
    assert "set-cookie" not in answer.headers
    event = leaving.one()
    assert (event["type"], event["error"]) == ("LOGOUT_ERROR", error)


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_an_id_token_logs_out_at_once(leaving: Recorded, method: str) -> None:
    done = _sign_in(leaving)
    asked = {"post_logout_redirect_uri": AFTER, "state": "a&b=c"}
    hint = done.parameters["id_token"]
    answer = _ask(leaving, done, method=method, id_token_hint=hint, **asked)
    assert answer.status_code == 302
    assert answer.headers["location"] == f"{AFTER}?state=a%26b%3Dc"
    assert "no-store" in answer.headers["cache-control"]
    removed = answer.headers.get_list("set-cookie")
    for name in ("KEYCLOAK_IDENTITY", "KEYCLOAK_SESSION", "AUTH_SESSION_ID"):
        assert any(each.startswith(f"{name}=; ") and "Max-Age=0" in each for each in removed)
    assert not _lasts(leaving, done)
    assert leaving.one() == {
        "type": "LOGOUT",
        "clientId": "app",
        "userId": done.session.user_id,
        "sessionId": done.session.id,
        "ipAddress": "203.0.113.9",
        "details": {"redirect_uri": AFTER},
    }


def test_the_session_of_the_hint_ends_without_cookies_too(leaving: Recorded) -> None:
    done = _sign_in(leaving)
    answer = _ask(leaving, id_token_hint=done.parameters["id_token"])
    assert answer.status_code == 200
    assert "You are signed out" in answer.text
    assert not _lasts(leaving, done)


def test_a_session_that_has_ended_already_is_no_error(leaving: Recorded) -> None:
    done = _sign_in(leaving)
    asked = {"id_token_hint": done.parameters["id_token"], "post_logout_redirect_uri": AFTER}
    _ask(leaving, done, **asked)
    leaving.events()
    answer = _ask(leaving, done, **asked, state="")
    assert (answer.status_code, answer.headers["location"]) == (302, AFTER)
    event = leaving.one()
    assert (event["type"], event["error"]) == ("LOGOUT_ERROR", "session_expired")


def test_without_a_hint_the_user_confirms_first(leaving: Recorded) -> None:
    done = _sign_in(leaving)
    asked = {"client_id": "app", "post_logout_redirect_uri": AFTER, "state": "s"}
    path, code = _confirmation(_ask(leaving, done, **asked))
    assert _lasts(leaving, done)
    assert leaving.events() == []
    answer = _ask(leaving, done, method="POST", path=path, session_code=code, confirmLogout="on")
    assert (answer.status_code, answer.headers["location"]) == (302, f"{AFTER}?state=s")
    assert not _lasts(leaving, done)
    event = leaving.one()
    assert (event["type"], event["details"]) == ("LOGOUT", {"redirect_uri": AFTER})


def test_cancel_ends_nothing_and_leads_on(leaving: Recorded) -> None:
    """To the application that has a home, else to a page with a link to the account console."""
    done = _sign_in(leaving)
    for asked in ({"client_id": "nowhere"}, {"client_id": "app"}, {}):
        page = _ask(leaving, done, **asked)
        cancel = re.search(r'id="kc-cancel" class="button secondary" href="([^"]+)"', page.text)
        assert cancel is not None
        parts = urlsplit(unescape(cancel[1]))
        answer = leaving.realm.administration.http.get(
            f"{parts.path}?{parts.query}",
            headers={"Cookie": f"KEYCLOAK_IDENTITY={done.cookies.identity}"},
        )
        if asked == {"client_id": "nowhere"}:
            assert (answer.status_code, answer.headers["location"]) == (303, _HOME)
        else:
            assert (answer.status_code, "You are still signed in" in answer.text) == (200, True)
            assert f'href="{PUBLIC_URL}/realms/leaving/account/"' in answer.text
        assert "set-cookie" not in answer.headers
        assert _lasts(leaving, done)
    assert leaving.events() == []


def test_cancel_says_signed_in_of_a_session_alone(leaving: Recorded) -> None:
    """A bookmark without a session, and a tab whose session another tab has ended."""
    done = _sign_in(leaving)
    path = f"{_LOGOUT}/logout-cancel"
    for query in ("?client_id=app", ""):
        answer = _ask(leaving, path=path + query)
        assert "You are signed out" in answer.text
        assert "still signed in" not in answer.text
    _ask(leaving, done, id_token_hint=done.parameters["id_token"])
    leaving.events()
    assert "You are signed out" in _ask(leaving, done, path=path).text
    assert leaving.events() == []


def test_a_logout_without_parameters_ends_on_a_page(leaving: Recorded) -> None:
    """attacks: C23."""
    done = _sign_in(leaving)
    path, code = _confirmation(_ask(leaving, done, state="only"))
    form = {"session_code": code, "confirmLogout": "on"}
    answer = _ask(leaving, done, method="POST", path=path, **form)
    assert answer.status_code == 200
    assert "You are signed out" in answer.text
    again = _ask(leaving, done, method="POST", path=path, **form)
    assert again.status_code == 400


def test_nobody_confirms_for_another_browser(leaving: Recorded) -> None:
    """attacks: D14. The code is that of one session: another user's code ends nothing."""
    done, attacker = _sign_in(leaving), _sign_in(leaving, username="jane")
    path, code = _confirmation(_ask(leaving, attacker))
    _, own = _confirmation(_ask(leaving, done))
    leaving.events()
    for form in (
        {"session_code": code, "confirmLogout": "on"},
        {"session_code": "", "confirmLogout": "on"},
        {"confirmLogout": "on"},
        {"session_code": own},
        {"session_code": own[:-2], "confirmLogout": "on"},
    ):
        answer = _ask(leaving, done, method="POST", path=path, **form)
        _refused(leaving, answer, "Sign-out failed", "session_expired")
    assert _ask(leaving, done, path=path).status_code == 405
    assert _lasts(leaving, done)


def test_a_hint_of_another_session_is_confirmed_first(leaving: Recorded) -> None:
    done, other = _sign_in(leaving), _sign_in(leaving, username="jane")
    _confirmation(_ask(leaving, done, id_token_hint=other.parameters["id_token"]))
    assert _lasts(leaving, done)
    assert _lasts(leaving, other)


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize("client_id", ["svc", "other"])
def test_a_service_accounts_id_token_ends_no_users_session(
    leaving: Recorded, client_id: str, method: str
) -> None:
    """attacks: C23. It has no `sid`, and each client with a service account can get one."""
    done = _sign_in(leaving)
    form = {"grant_type": "client_credentials", "client_id": client_id, "scope": "openid"}
    hint = leaving.post("token", form).json()["id_token"]
    assert "sid" not in claims_of(hint)
    path, code = _confirmation(_ask(leaving, done, method=method, id_token_hint=hint))
    assert _lasts(leaving, done)
    form = {"session_code": code, "confirmLogout": "on"}
    assert _ask(leaving, done, method="POST", path=path, **form).status_code == 200
    assert not _lasts(leaving, done)


def test_a_hint_ends_the_session_of_its_user_and_no_other_one(leaving: Recorded) -> None:
    """Each `sub` with each `sid`, of each client. attacks: C23."""
    (gone,) = leaving.realm.get("clients?clientId=gone")
    leaving.realm.change("PUT", f"clients/{gone['id']}", {"clientId": "gone", "enabled": False})
    administration = leaving.realm.administration
    keys = realm_keys(administration.gateway.state_dir, leaving.realm.get("")["id"])
    jane = _sign_in(leaving, username="jane")
    pairwise = claims_of(_sign_in(leaving, "pairwise").parameters["id_token"])["sub"]
    done = _sign_in(leaving)
    user_id = done.session.user_id
    assert pairwise != user_id
    subjects = (user_id, pairwise, jane.session.user_id, leaving.user_id("service-account-svc"))
    sids: tuple[object, ...] = ("", "own", "of jane", 7, [], None)
    ended = 0
    for client_id in ("app", "pairwise", "gone", "unknown"):
        for subject in (*subjects, None, 7, [user_id]):
            for named in sids:
                if not _lasts(leaving, done):
                    done = _sign_in(leaving)
                sid = {"own": done.session.id, "of jane": jane.session.id}.get(str(named), named)
                claims = claims_of(done.parameters["id_token"])
                claims |= {"azp": client_id, "aud": client_id, "sub": subject, "sid": sid}
                kept = {name: value for name, value in claims.items() if value != ""}
                hint = keys.sign(kept, SignatureAlgorithm.ES256, datetime.now(UTC))
                is_users = subject in ([user_id] if client_id == "app" else [user_id, pairwise])
                is_ended = client_id in {"app", "pairwise"} and is_users and named in ("", "own")
                answer = _ask(leaving, done, id_token_hint=hint)
                case = client_id, subject, named
                assert _lasts(leaving, done) is not is_ended, case
                assert ("Do you want to sign out?" in answer.text) is not is_ended, case
                ended += is_ended
    assert ended == 6
    assert _lasts(leaving, jane)
    leaving.events()


def test_nobody_is_asked_where_nobody_is_signed_in(leaving: Recorded) -> None:
    answer = _ask(leaving, client_id="app", post_logout_redirect_uri=AFTER)
    assert (answer.status_code, answer.headers["location"]) == (302, AFTER)
    assert "set-cookie" not in answer.headers
    assert "You are signed out" in _ask(leaving).text
    assert leaving.events() == []


@pytest.mark.parametrize(
    ("client_id", "uri"),
    [
        ("app", REDIRECT_URI),
        ("app", AFTER + "?more"),
        ("app", "javascript:alert(1)"),
        ("app", "https://evil.example.test/"),
        ("nowhere", REDIRECT_URI),
        ("unsafe", "javascript:alert(1)"),
        ("unsafe", "data:text/html,x"),
        ("unknown", AFTER),
    ],
)
def test_no_browser_is_sent_where_the_client_has_not_registered(
    leaving: Recorded, client_id: str, uri: str
) -> None:
    """attacks: C2, C3, C23."""
    done = _sign_in(leaving)
    leaving.events()
    answer = _ask(leaving, done, client_id=client_id, post_logout_redirect_uri=uri)
    _refused(leaving, answer, "Invalid redirect URI", "invalid_redirect_uri")
    assert _lasts(leaving, done)


def test_the_page_of_a_refused_redirect_leads_back_to_the_client(leaving: Recorded) -> None:
    done = _sign_in(leaving)
    answer = _ask(leaving, done, client_id="nowhere", post_logout_redirect_uri=REDIRECT_URI)
    assert Page(answer).link("backToApplication") == _HOME


def test_a_redirect_needs_a_client(leaving: Recorded) -> None:
    done = _sign_in(leaving)
    leaving.events()
    answer = _ask(leaving, done, post_logout_redirect_uri=AFTER, state="s")
    _refused(leaving, answer, "Missing parameters: id_token_hint", "invalid_request")


def test_a_hint_that_is_no_id_token_of_the_client_is_refused(leaving: Recorded) -> None:
    """attacks: C23."""
    done = _sign_in(leaving)
    hint = done.parameters["id_token"]
    form = {"grant_type": "authorization_code", "code": done.code, "redirect_uri": REDIRECT_URI}
    tokens = leaving.post("token", {**form, "client_id": "app"}).json()
    leaving.events()
    head, body, signature = hint.split(".")
    state, other = leaving.realm.administration.gateway.state_dir, f"{PUBLIC_URL}/realms/acme"
    keys, claims = realm_keys(state, leaving.realm.get("")["id"]), claims_of(hint)
    algorithm, now = SignatureAlgorithm.ES256, datetime.now(UTC)
    forged = f"{head}.{body}.{'A' * len(signature)}"
    for asked in (
        {"id_token_hint": forged},
        {"id_token_hint": "x"},
        {"id_token_hint": tokens["access_token"]},
        {"id_token_hint": tokens["refresh_token"]},
        {"id_token_hint": hint, "client_id": "other"},
        {"id_token_hint": keys.sign(claims | {"iss": other}, algorithm, now)},
        {"id_token_hint": keys.sign(claims | {"typ": "Bearer"}, algorithm, now)},
        {"id_token_hint": keys.sign(claims | {"typ": None}, algorithm, now)},
        {"id_token_hint": keys.sign(claims | {"azp": None}, algorithm, now)},
    ):
        answer = _ask(leaving, done, post_logout_redirect_uri=AFTER, **asked)
        _refused(leaving, answer, "Invalid parameter: id_token_hint", "invalid_token")
    assert _lasts(leaving, done)


def test_a_client_may_stop_at_a_page(leaving: Recorded) -> None:
    done = _sign_in(leaving, "stops")
    asked = {"id_token_hint": done.parameters["id_token"], "post_logout_redirect_uri": AFTER}
    answer = _ask(leaving, done, **asked)
    assert answer.status_code == 200
    assert f'href="{AFTER}"' in answer.text


def test_clients_of_the_session_are_logged_out_by_frames(leaving: Recorded) -> None:
    """OpenID Connect Front-Channel Logout §2, §3."""
    done = _sign_in(leaving, "front")
    _sign_in(leaving, "front-without-session", finished={"joins": done.session})
    asked = {"id_token_hint": done.parameters["id_token"], "post_logout_redirect_uri": AFTER}
    answer = _ask(leaving, done, **asked)
    assert answer.status_code == 200
    frames = [unescape(each) for each in re.findall(r'<iframe src="([^"]+)"', answer.text)]
    named, unnamed = sorted(frames, key=len, reverse=True)
    assert unnamed == _FRONT
    assert parse_qs(urlsplit(named).query) == {
        "kind": ["1"],
        "iss": [f"{PUBLIC_URL}/realms/leaving"],
        "sid": [done.session.id],
    }
    policies = answer.headers.get_list("content-security-policy")
    assert any("frame-src https://front.example.test" in policy for policy in policies)
    assert f'href="{AFTER}"' in answer.text
    assert not _lasts(leaving, done)


def test_a_refresh_token_in_a_url_logs_nobody_out(leaving: Recorded) -> None:
    done = _sign_in(leaving)
    form = {"grant_type": "authorization_code", "code": done.code, "redirect_uri": REDIRECT_URI}
    tokens = leaving.post("token", {**form, "client_id": "app"}).json()
    asked = {"client_id": "app", "client_secret": SECRET, "refresh_token": tokens["refresh_token"]}
    assert _ask(leaving, **asked).status_code == 200
    assert _lasts(leaving, done)
    assert _ask(leaving, method="POST", **asked).status_code == 204
    assert not _lasts(leaving, done)


def test_a_person_is_told_by_a_page_what_a_client_reads_as_json(leaving: Recorded) -> None:
    """Browsers say that they open a page."""
    http = leaving.realm.administration.http
    form = {"client_id": "svc", "client_secret": SECRET, "refresh_token": "x"}
    client = http.post(_LOGOUT, data=form)
    person = http.post(_LOGOUT, data=form, headers={"Sec-Fetch-Mode": "navigate"})
    assert (client.status_code, client.json()["error"]) == (400, "invalid_grant")
    assert (person.status_code, person.headers["content-type"]) == (400, "text/html;charset=utf-8")
