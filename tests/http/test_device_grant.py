"""Devices without a browser: codes, the page, the user's answer, the polls.

Texts, statuses and events were compared with Keycloak 26.7.3. Spec: RFC 8628; Keycloak: 1.8, 12.9
"""

import html
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from gateway.domain.authorization_codes import GuessLimit
from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.recorded_realm import RECORDED, Recorded
from tests.support.wire import PUBLIC_URL, claims_of

GRANT: Final = "urn:ietf:params:oauth:grant-type:device_code"
ENABLED: Final = {"oauth2.device.authorization.grant.enabled": "true"}
PAGE: Final = f"{PUBLIC_URL}/realms/living-room/device"
VERIFIER: Final = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE: Final = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
DISABLED: Final = (
    "Client is not allowed to initiate OAuth 2.0 Device Authorization Grant."
    " The flow is disabled for the client."
)
PENDING: Final = "The authorization request is still pending"
_AT_ONCE: Final = 50
_ADDRESSES: Final = iter(f"198.51.100.{n}" for n in range(1, 255))


def _client(client_id: str, **attributes: str) -> dict[str, Any]:
    return {
        "clientId": client_id,
        "name": f"The {client_id}",
        "secret": SECRET,
        "standardFlowEnabled": False,
        "attributes": ENABLED | attributes,
    }


CLIENTS: Final = [
    _client("tv"),
    _client("radio"),
    {**_client("never"), "attributes": {}},
    {**_client("public"), "publicClient": True},
    {**_client("asking"), "consentRequired": True},
    {**_client("bare"), "defaultClientScopes": [], "optionalClientScopes": []},
    _client("pkce", **{"pkce.code.challenge.method": "S256"}),
    _client("slow", **{"oauth2.device.polling.interval": "7", "oauth2.device.code.lifespan": "90"}),
]


@pytest.fixture(scope="module")
def room(administration: Administration) -> Iterator[Recorded]:
    """Make a realm whose devices need not pause."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "oauth2DevicePollingInterval": 0,
        "oauth2DeviceCodeLifespan": 300,
        "clients": [*RECORDED["clients"], *CLIENTS],
        "users": [*RECORDED["users"], person("leaving"), person("blocked")],
    }
    with administered_realm(administration, "living-room", {}, **settings) as realm:
        yield Recorded(realm)


@pytest.fixture(autouse=True)
def nothing_yet(room: Recorded) -> None:
    room.events()


@dataclass(slots=True)
class Browser:
    """A browser with cookies and an address of its own, and the page that it shows."""

    room: Recorded
    address: str = field(default_factory=lambda: next(_ADDRESSES))
    shown: str = ""
    cookies: dict[str, str] = field(default_factory=dict)

    def open(self, url: str) -> httpx2.Response:
        return self._ask("GET", url)

    def send(self, **fields: str) -> httpx2.Response:
        """Send the form of the page."""
        found = re.search(r'<form[^>]* action="([^"]+)"', self.shown)
        assert found, self.shown
        return self._ask("POST", html.unescape(found[1]), fields)

    def connect(
        self, codes: Mapping[str, Any], answer: str = "accept", user: str = "john"
    ) -> httpx2.Response:
        """Type the code, sign in unless it is so, and answer."""
        self.open(codes["verification_uri"])
        self.send(device_user_code=codes["user_code"])
        if 'name="password"' in self.shown:
            self.send(username=user, password=PASSWORD)
        return self.send(**{answer: "on"})

    def _ask(self, method: str, url: str, form: dict[str, str] | None = None) -> httpx2.Response:
        gateway = self.room.realm.administration.gateway
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        with gateway.client(**{"X-Forwarded-For": self.address, "Cookie": cookies}) as http:
            response = http.request(method, url.removeprefix(PUBLIC_URL), data=form)
        for kept in response.headers.get_list("set-cookie"):
            name, _, value = kept.partition(";")[0].partition("=")
            self.cookies[name] = value
        if response.status_code == 302:
            return self.open(response.headers["location"])
        self.shown = response.text
        return response


def _ask(room: Recorded, client_id: str = "tv", **form: str) -> httpx2.Response:
    return room.post("auth/device", {"client_id": client_id} | form)


def _codes(room: Recorded, client_id: str = "tv", **form: str) -> dict[str, Any]:
    response = _ask(room, client_id, **form)
    assert response.status_code == 200, response.text
    codes: dict[str, Any] = response.json()
    return codes


def _poll(
    room: Recorded, codes: Mapping[str, Any], client_id: str = "tv", **form: str
) -> httpx2.Response:
    asked = {"grant_type": GRANT, "client_id": client_id, "device_code": codes["device_code"]}
    return room.post("token", asked | form)


def _refused(response: httpx2.Response) -> tuple[int, str, str]:
    answer = response.json()
    return response.status_code, answer["error"], answer["error_description"]


@pytest.fixture(scope="module")
def cookies(room: Recorded) -> Mapping[str, str]:
    """Sign john in once: each password takes a while to verify."""
    browser = Browser(room)
    browser.connect(_codes(room))
    return browser.cookies


@pytest.fixture
def john(room: Recorded, cookies: Mapping[str, str]) -> Browser:
    """Return a browser in which john is signed in."""
    return Browser(room, cookies=dict(cookies))


def test_a_device_gets_its_codes(room: Recorded) -> None:
    response = _ask(room)
    codes = response.json()
    assert list(codes) == [
        *("device_code", "user_code", "verification_uri", "verification_uri_complete"),
        *("expires_in", "interval"),
    ]
    assert len(codes["device_code"]) == 43
    assert re.fullmatch("[B-DF-HJ-NP-TV-Z]{4}-[B-DF-HJ-NP-TV-Z]{4}", codes["user_code"])
    assert codes["verification_uri"] == PAGE
    assert codes["verification_uri_complete"] == f"{PAGE}?user_code={codes['user_code']}"
    assert (codes["expires_in"], codes["interval"]) == (300, 0)
    assert response.headers["cache-control"] == "no-store, must-revalidate, max-age=0"
    slow = _codes(room, "slow")
    assert (slow["expires_in"], slow["interval"]) == (90, 7)


@pytest.mark.parametrize(
    ("client_id", "form", "refused"),
    [
        (
            "never",
            {},
            (
                400,
                "unauthorized_client",
                DISABLED,
            ),
        ),
        (
            "tv",
            {"client_secret": "wrong"},
            (401, "unauthorized_client", "Invalid client or Invalid client credentials"),
        ),
        ("pkce", {}, (400, "invalid_request", "Missing parameter: code_challenge_method")),
        (
            "pkce",
            {"code_challenge": CHALLENGE, "code_challenge_method": "plain"},
            (
                400,
                "invalid_request",
                "Invalid parameter: code challenge method is not matching the configured one",
            ),
        ),
        (
            "tv",
            {"code_challenge": "a", "code_challenge_method": "S256"},
            (400, "invalid_request", "Invalid parameter: code_challenge"),
        ),
        ("tv", {"nonce": "n" * 5000}, (400, "invalid_request", "Invalid parameter: nonce")),
    ],
)
def test_a_device_is_refused(
    room: Recorded, client_id: str, form: dict[str, str], refused: tuple[int, str, str]
) -> None:
    assert _refused(_ask(room, client_id, **form)) == refused
    assert room.one()["type"] == "OAUTH2_DEVICE_AUTH_ERROR"


def test_a_repeated_parameter_is_refused(room: Recorded) -> None:
    url = "/realms/living-room/protocol/openid-connect/auth/device"
    body = f"client_id=tv&client_secret={SECRET}&scope=openid&scope=email"
    headers = {"content-type": "application/x-www-form-urlencoded"}
    response = room.realm.administration.http.post(url, content=body, headers=headers)
    assert _refused(response) == (400, "invalid_grant", "duplicated parameter")


def test_a_user_connects_a_device(room: Recorded) -> None:
    user_id = room.user_id("john")
    codes = _codes(room, scope="openid unknown", nonce="n-1")
    assert _refused(_poll(room, codes)) == (400, "authorization_pending", PENDING)
    browser = Browser(room)
    browser.open(codes["verification_uri"])
    browser.send(device_user_code=codes["user_code"].lower().replace("-", " "))
    browser.send(username="john", password=PASSWORD)
    assert "The tv" in browser.shown
    done = browser.send(accept="on")
    assert done.url.path == f"{urlsplit(PAGE).path}/status"
    assert "Your device is signed in" in done.text
    response = _poll(room, codes)
    tokens = response.json()
    assert response.status_code == 200, response.text
    assert list(tokens) == [
        *("access_token", "expires_in", "refresh_expires_in", "refresh_token", "token_type"),
        *("id_token", "not-before-policy", "session_state", "scope"),
    ]
    access, identity = claims_of(tokens["access_token"]), claims_of(tokens["id_token"])
    assert access["jti"].startswith("onrtdg:")
    assert (access["azp"], access["acr"], identity["nonce"]) == ("tv", "1", "n-1")
    assert access["auth_time"] == identity["auth_time"]
    assert access["sid"] == identity["sid"] == tokens["session_state"]
    assert set(tokens["scope"].split()) == {"openid", "email", "profile"}
    assert _refused(_poll(room, codes)) == (400, "invalid_grant", "Device code not valid")
    refresh = {"grant_type": "refresh_token", "refresh_token": tokens["refresh_token"]}
    again = room.post("token", refresh | {"client_id": "tv"})
    assert claims_of(again.json()["id_token"])["auth_time"] == identity["auth_time"]
    events = room.events()
    assert [event["type"] for event in events] == [
        *("OAUTH2_DEVICE_AUTH", "OAUTH2_DEVICE_VERIFY_USER_CODE", "LOGIN"),
        *("OAUTH2_DEVICE_CODE_TO_TOKEN", "OAUTH2_DEVICE_CODE_TO_TOKEN_ERROR", "REFRESH_TOKEN"),
    ]
    login, redeemed = events[2], events[3]
    assert (login["userId"], login["sessionId"]) == (user_id, access["sid"])
    assert login["details"] == {
        "auth_method": "openid-connect",
        "response_type": "code",
        "response_mode": "query",
        "consent": "consent_granted",
        "code_id": access["sid"],
        "username": "john",
    }
    redeemed["details"].pop("scope")
    assert redeemed == {
        "type": "OAUTH2_DEVICE_CODE_TO_TOKEN",
        "clientId": "tv",
        "userId": user_id,
        "sessionId": access["sid"],
        "ipAddress": room.realm.administration.gateway.caller_address("203.0.113.9"),
        "details": {
            "token_id": "?",
            "grant_type": GRANT,
            "refresh_token_type": "Refresh",
            "refresh_token_id": "?",
            "code_id": access["sid"],
            "client_auth_method": "client-secret",
        },
    }


def test_who_is_signed_in_is_asked_each_time(room: Recorded, john: Browser) -> None:
    """RFC 8628 §5.4: a link of an attacker connects nothing by itself."""
    second = _codes(room, scope="openid")
    page = john.open(second["verification_uri_complete"])
    assert f'value="{second["user_code"]}"' in page.text
    john.send(device_user_code=second["user_code"])
    assert 'name="accept"' in john.shown
    assert _refused(_poll(room, second))[1] == "authorization_pending"
    john.send(accept="on")
    tokens = _poll(room, second).json()
    assert claims_of(tokens["id_token"])["acr"] == "0"


def test_a_client_without_scopes_is_named(room: Recorded, john: Browser) -> None:
    codes = _codes(room, "bare")
    john.open(codes["verification_uri"])
    john.send(device_user_code=codes["user_code"])
    assert "<span>The bare</span>" in john.shown
    john.send(accept="on")
    assert _poll(room, codes, "bare").status_code == 200


def test_a_user_refuses_a_device(room: Recorded, john: Browser) -> None:
    codes, browser = _codes(room), john
    done = browser.connect(codes, "cancel")
    assert parse_qs(done.url.query.decode()) == {"error": ["access_denied"]}
    assert "Consent denied for connecting the device." in done.text
    for _ in range(2):
        text = "The end user denied the authorization request"
        assert _refused(_poll(room, codes)) == (400, "access_denied", text)
    browser.open(codes["verification_uri"])
    browser.send(device_user_code=codes["user_code"])
    assert "Invalid code, please try again." in browser.shown
    recorded = {(event["type"], event.get("error")) for event in room.events()}
    assert ("LOGIN_ERROR", "rejected_by_user") in recorded
    assert ("OAUTH2_DEVICE_CODE_TO_TOKEN_ERROR", "access_denied") in recorded
    assert ("OAUTH2_DEVICE_VERIFY_USER_CODE_ERROR", "invalid_oauth2_user_code") in recorded


def test_no_other_site_answers_for_the_user(room: Recorded, john: Browser) -> None:
    """An answer needs the code of the page, and the cookies of the browser that shows it."""
    codes = _codes(room)
    john.open(codes["verification_uri"])
    john.send(device_user_code=codes["user_code"])
    page = john.shown
    Browser(room, shown=page).send(accept="on")
    assert _refused(_poll(room, codes))[1] == "authorization_pending"
    john.shown = re.sub("session_code=[^&]+&amp;", "", page)
    john.send(accept="on")
    assert _refused(_poll(room, codes))[1] == "authorization_pending"
    john.shown = page
    john.send(accept="on")
    assert _poll(room, codes).status_code == 200


def test_a_poll_too_soon_is_told_to_slow_down(room: Recorded) -> None:
    codes = _codes(room, "slow")
    assert _refused(_poll(room, codes, "slow")) == (400, "authorization_pending", PENDING)
    assert _refused(_poll(room, codes, "slow")) == (400, "slow_down", "Slow down")
    events = [event["type"] for event in room.events()]
    assert events == ["OAUTH2_DEVICE_AUTH", "OAUTH2_DEVICE_CODE_TO_TOKEN_ERROR"]


@pytest.mark.parametrize(
    ("client_id", "form", "refused"),
    [
        ("never", {}, ("invalid_grant", "Client not allowed OAuth 2.0 Device Authorization Grant")),
        ("tv", {"device_code": ""}, ("invalid_request", "Missing parameter: device_code")),
        ("tv", {"device_code": "unknown"}, ("invalid_grant", "Device code not valid")),
        ("radio", {}, ("invalid_grant", "unauthorized client")),
    ],
)
def test_a_poll_is_refused(
    room: Recorded, john: Browser, client_id: str, form: dict[str, str], refused: tuple[str, str]
) -> None:
    codes = _codes(room)
    john.connect(codes)
    assert _refused(_poll(room, codes, client_id, **form)) == (400, *refused)
    assert _poll(room, codes).status_code == 200


def test_the_device_proves_that_it_asked(room: Recorded, john: Browser) -> None:
    """RFC 7636 §4.6; a wrong verifier does not spend the code, as in Keycloak."""
    asked = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    codes = _codes(room, "pkce", **asked)
    john.connect(codes)
    text = "PKCE code verifier not specified"
    assert _refused(_poll(room, codes, "pkce")) == (400, "invalid_grant", text)
    text = "PKCE verification failed: Code mismatch"
    refused = _refused(_poll(room, codes, "pkce", code_verifier="v" * 43))
    assert refused == (400, "invalid_grant", text)
    assert _poll(room, codes, "pkce", code_verifier=VERIFIER).status_code == 200


def test_of_many_polls_at_once_one_gets_the_tokens(room: Recorded, john: Browser) -> None:
    codes = _codes(room)
    john.connect(codes)
    with ThreadPoolExecutor(16) as pool:
        responses = list(pool.map(lambda _: _poll(room, codes), range(_AT_ONCE)))
    statuses = sorted(response.status_code for response in responses)
    assert statuses == [200, *[400] * (_AT_ONCE - 1)]


def test_an_ended_session_gives_no_tokens(room: Recorded) -> None:
    codes = _codes(room)
    Browser(room).connect(codes, user="leaving")
    room.realm.change("POST", f"users/{room.user_id('leaving')}/logout")
    assert _refused(_poll(room, codes)) == (400, "invalid_grant", "Session not active")


def test_a_disabled_user_gets_no_tokens(room: Recorded) -> None:
    codes = _codes(room)
    Browser(room).connect(codes, user="blocked")
    room.realm.change("PUT", f"users/{room.user_id('blocked')}", {"enabled": False})
    assert _refused(_poll(room, codes)) == (400, "invalid_grant", "User disabled")


def test_a_consent_is_kept_where_the_client_requires_one(room: Recorded) -> None:
    codes = _codes(room, "asking")
    Browser(room).connect(codes, user="jane")
    assert _poll(room, codes, "asking").status_code == 200
    consents = room.realm.get(f"users/{room.user_id('jane')}/consents")
    assert [consent["clientId"] for consent in consents] == ["asking"]
    second = _codes(room, "asking")
    Browser(room).connect(second, user="jane")
    room.realm.change("DELETE", f"users/{room.user_id('jane')}/consents/asking")
    assert _poll(room, second, "asking").status_code == 400


def test_an_offline_device_keeps_its_session(room: Recorded, john: Browser) -> None:
    codes = _codes(room, scope="openid offline_access")
    john.connect(codes)
    tokens = _poll(room, codes).json()
    assert claims_of(tokens["refresh_token"])["typ"] == "Offline"


def test_codes_are_guessed_a_few_times_only(room: Recorded, john: Browser) -> None:
    """RFC 8628 §5.1."""
    codes, browser = _codes(room), Browser(room)
    most = GuessLimit().most
    for _ in range(most):
        browser.open(codes["verification_uri"])
        assert "Invalid code" in browser.send(device_user_code="BBBB-BBBB").text
    browser.open(codes["verification_uri"])
    refused = browser.send(device_user_code=codes["user_code"])
    assert refused.status_code == 429
    assert "Please wait a few minutes" in refused.text
    assert "Your device is signed in" in john.connect(codes).text


def test_the_page_shows_no_markup_of_a_link(room: Recorded) -> None:
    page = Browser(room).open(f"{PAGE}?user_code=%22%3E%3Cscript%3E")
    assert page.status_code == 200
    assert "<script" not in page.text
    assert 'value=""' in page.text


def test_a_client_that_lost_the_grant_is_not_connected(room: Recorded, john: Browser) -> None:
    realm = room.realm
    realm.change("POST", "clients", _client("shortly"))
    codes, browser = _codes(room, "shortly"), john
    browser.open(codes["verification_uri"])
    browser.send(device_user_code=codes["user_code"])
    [client] = realm.get("clients?clientId=shortly")
    attributes = {"oauth2.device.authorization.grant.enabled": "false"}
    realm.change("PUT", f"clients/{client['id']}", {"attributes": attributes})
    refused = browser.send(accept="on")
    assert refused.status_code == 400
    assert "The flow is disabled for the client." in refused.text


def test_a_form_of_an_ended_sign_in_begins_it_again(room: Recorded, john: Browser) -> None:
    """The browser has kept what the sign-in was for."""
    codes = _codes(room)
    john.open(codes["verification_uri"])
    john.send(device_user_code=codes["user_code"])
    john.shown = re.sub("tab_id=[^&]+", "tab_id=other-tab-1", john.shown)
    john.send(accept="on")
    assert 'name="accept"' in john.shown
    assert _refused(_poll(room, codes))[1] == "authorization_pending"
    assert "Your device is signed in" in john.send(accept="on").text
    assert _poll(room, codes).status_code == 200


def test_the_page_at_the_end_says_why_it_failed(room: Recorded) -> None:
    page = Browser(room).open(f"{PAGE}/status?error=expired_token")
    assert "The code has expired." in page.text
