"""Hostile input to the sign-in: parameters, cookies, forms and addresses that nobody honest sends.

The result is a clear page or the documented error: never a failure of the server, a redirect to an
address that was not verified, or a session of somebody who did not sign in.
Keycloak: 12.10 to 12.12; attacks: C1, C2, C3, C19, C24, D14
"""

import base64
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.gateway_process import until
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import (
    CALLBACK,
    Page,
    SignInBrowser,
    SignInRealm,
    query_of,
    web_client,
    with_query,
)
from tests.support.wire import claims_of

_EVIL: Final = "https://evil.example.test/"
_MARKUP: Final = "\"'><script>alert(1)</script>{{7*7}}${x}"
_COOKIES: Final = ("AUTH_SESSION_ID", "KC_RESTART", "KEYCLOAK_IDENTITY", "KEYCLOAK_REMEMBER_ME")


@pytest.fixture(scope="module")
def attacked(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a client whose name is markup."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "rememberMe": True,
        "displayName": _MARKUP,
        "clients": [
            web_client("app", name=_MARKUP),
            web_client("asks", name=_MARKUP, consentRequired=True),
            web_client("implicit", implicitFlowEnabled=True, standardFlowEnabled=False),
            web_client("proving", attributes={"pkce.code.challenge.method": "S256"}),
        ],
        "users": [person("anna"), person("mallory")],
    }
    with administered_realm(administration, "attacked", {}, **settings) as realm:
        yield SignInRealm(realm)


def _is_harmless(page: Page) -> bool:
    """Tell whether a response is a page or leads to the client, and holds no session or code."""
    assert page.status in {200, 302, 400, 413, 415}, f"{page.status} {page.text}"
    assert "KEYCLOAK_IDENTITY" not in page.set_cookies
    if page.status == 302:
        assert "code" not in page.answer
    else:
        assert "<script>alert" not in page.html
        assert _EVIL not in page.html
    return True


def _forged(**data: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(data).encode()).rstrip(b"=").decode()


def _query(browser: SignInBrowser, pairs: list[tuple[str, str]]) -> Page:
    return browser.get(f"{browser.protocol('auth')}?{urlencode(pairs)}")


def _asked(**changes: str) -> list[tuple[str, str]]:
    asked = {
        "response_type": "code",
        "client_id": "app",
        "redirect_uri": CALLBACK,
        "scope": "openid",
        "state": "a-state",
    }
    return list((asked | changes).items())


@pytest.mark.parametrize(
    "name",
    [
        *("response_type", "response_mode", "scope", "state", "nonce", "prompt", "max_age"),
        *("login_hint", "id_token_hint", "acr_values", "claims", "ui_locales", "display"),
        *("code_challenge", "code_challenge_method", "kc_action", "kc_locale", "request"),
        *("request_uri", "client_id", "redirect_uri", "unknown"),
    ],
)
@pytest.mark.parametrize(
    "value",
    ["\0", "x" * 8_000, _MARKUP, "\u202e\ud7ff\U0001f600", '{"id_token":[]}'],
    ids=["NUL", "long", "markup", "signs", "JSON"],
)
def test_any_text_in_any_parameter_ends_harmlessly(
    attacked: SignInRealm, name: str, value: str
) -> None:
    assert _is_harmless(_query(attacked.browser(), _asked(**{name: value})))


@pytest.mark.parametrize("name", ["client_id", "redirect_uri", "state", "scope", "unknown"])
def test_a_repeated_parameter_is_refused(attacked: SignInRealm, name: str) -> None:
    """RFC 6749 §3.1. attacks: C19."""
    known = dict(_asked(unknown="x"))
    browser = attacked.browser()
    page = _query(browser, [*known.items(), (name, known[name])])
    if page.status == 302:
        assert page.answer["error_description"] == "duplicated parameter"
    else:
        assert (page.status, page.id) == (400, "error")
    assert "AUTH_SESSION_ID" not in browser.cookies


@pytest.mark.parametrize("mode", ["query", "fragment", "form_post", "jwt", "form_post.jwt"])
@pytest.mark.parametrize(
    "uri",
    [
        _EVIL,
        f"{CALLBACK}@evil.example.test",
        f"{CALLBACK}/../x",
        f"{CALLBACK}%0d%0aLocation: {_EVIL}",
        "javascript:alert(1)",
        f"//{_EVIL}",
        CALLBACK.upper(),
    ],
)
def test_no_error_leads_to_an_address_that_is_not_the_clients(
    attacked: SignInRealm, uri: str, mode: str
) -> None:
    """attacks: C1, C3."""
    for changes in ({}, {"prompt": "none"}, {"response_type": "nothing"}):
        page = _query(attacked.browser(), _asked(redirect_uri=uri, response_mode=mode, **changes))
        assert (page.status, page.id) == (400, "error")
        assert "location" not in page.response.headers
        assert "evil" not in page.html


_MODES: Final = ("query", "fragment", "form_post", "query.jwt", "fragment.jwt", "form_post.jwt")


@pytest.mark.parametrize("mode", _MODES)
def test_every_response_names_its_issuer(attacked: SignInRealm, mode: str) -> None:
    """Mix-up: codes and errors alike. RFC 9207 §2, RFC 9700 §4.4; attacks: C8."""
    browser = attacked.browser()
    issuer = f"https://gateway.test/realms/{browser.realm}"
    pages = [
        browser.open(prompt="none", response_mode=mode),
        browser.open(response_mode=mode, code_challenge="short"),
        browser.sign_in("anna", response_mode=mode),
        browser.open(prompt="none", response_mode=mode),
        browser.open("implicit", response_mode=mode),
    ]
    responses = [
        dict(page.form.fields) if mode.startswith("form_post") else page.answer for page in pages
    ]
    said = [
        claims_of(response["response"]) if "response" in response else response
        for response in responses
    ]
    assert [("code" in each, "error" in each) for each in said] == [
        *((False, True), (False, True), (True, False), (True, False), (False, True)),
    ]
    assert {each["iss"] for each in said} == {issuer}
    metadata = browser.http.get(f"/realms/{browser.realm}/.well-known/openid-configuration").json()
    assert metadata["issuer"] == issuer
    assert metadata["authorization_response_iss_parameter_supported"] is True


@pytest.mark.parametrize("size", [4_001, 65_000, 1_000_000])
@pytest.mark.parametrize(
    "name", ["scope", "state", "nonce", "claims", "ui_locales", "acr_values", "login_hint"]
)
def test_no_parameter_is_larger_than_a_sign_in_may_keep(
    attacked: SignInRealm, name: str, size: int
) -> None:
    """attacks: C24."""
    browser = attacked.browser()
    page = browser.post(browser.protocol("auth"), dict(_asked(**{name: "x" * size})))
    assert browser.cookies == {}
    if page.status == 302:
        assert page.answer["error"] == "invalid_request"
        assert len(page.location) < 1_000
    else:
        assert (page.status, page.id) == (413, "error")


def test_links_of_pages_have_the_configured_address(attacked: SignInRealm) -> None:
    """Whatever `Host` a request has that did not come through nginx. attacks: A21."""
    browser = attacked.browser(Host="evil.example.test")
    page = browser.open()
    done = browser.submit(page, username="anna", password=PASSWORD)
    assert page.form.action.startswith("https://gateway.test/realms/attacked/")
    assert done.answer["iss"] == "https://gateway.test/realms/attacked"
    for shown in (page, browser.open("unknown"), browser.get(browser.protocol("logout"))):
        assert "evil" not in shown.html
        assert not any("evil" in value for value in shown.response.headers.values())


_VERIFIER: Final = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
"""RFC 7636, Appendix B."""
_CHALLENGE: Final = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
_S256: Final = {"code_challenge": _CHALLENGE, "code_challenge_method": "S256"}


@pytest.mark.parametrize(
    ("client_id", "sent"),
    [
        ("proving", {}),
        ("proving", {"code_challenge": _CHALLENGE}),
        ("proving", {"code_challenge_method": "S256"}),
        ("proving", {"code_challenge": _VERIFIER, "code_challenge_method": "plain"}),
        ("app", {"code_challenge_method": "S256"}),
        ("app", {**_S256, "code_challenge_method": "s256"}),
        ("app", {**_S256, "code_challenge_method": "S512"}),
        ("app", {**_S256, "code_challenge": _CHALLENGE[:42]}),
        ("app", {**_S256, "code_challenge": "a" * 129}),
        ("app", {**_S256, "code_challenge": _CHALLENGE[:42] + "+"}),
    ],
)
def test_a_request_without_a_challenge_that_counts_gets_no_code(
    attacked: SignInRealm, client_id: str, sent: dict[str, str]
) -> None:
    """RFC 9700 §2.1.1, RFC 7636 §4.4.1; attacks: C7. `proving` must use S256."""
    browser = attacked.browser()
    browser.sign_in("anna")
    refused = browser.open(client_id, **sent).answer
    assert (refused["error"], "code" in refused) == ("invalid_request", False)
    assert browser.open(client_id, **_S256).answer["code"]


@pytest.mark.parametrize(
    ("asked", "sent"),
    [
        (_S256, {}),
        ({}, {"code_verifier": _VERIFIER}),
        (_S256, {"code_verifier": _VERIFIER[:42]}),
        (_S256, {"code_verifier": "a" * 129}),
        (_S256, {"code_verifier": _VERIFIER[:-1] + "K"}),
        (_S256, {"code_verifier": _CHALLENGE}),
        ({"code_challenge": _VERIFIER}, {"code_verifier": _CHALLENGE}),
        ({"code_challenge": _VERIFIER}, {}),
    ],
)
def test_a_code_without_its_verifier_is_worth_nothing(
    attacked: SignInRealm, asked: dict[str, str], sent: dict[str, str]
) -> None:
    """A challenge or verifier removed, added or changed on the way. RFC 9700 §4.8; attacks: C7."""
    browser = attacked.browser()
    form = {
        "grant_type": "authorization_code",
        "redirect_uri": CALLBACK,
        "client_id": "app",
        "client_secret": SECRET,
        "code": browser.sign_in("anna", **asked).answer["code"],
    }
    refused = browser.http.post(browser.protocol("token"), data={**form, **sent})
    assert (refused.status_code, refused.json()["error"]) == (400, "invalid_grant")
    good = {"code_challenge_method": "S256", "code_challenge": _CHALLENGE}
    form["code"] = browser.open(**good).answer["code"]
    done = browser.http.post(browser.protocol("token"), data={**form, "code_verifier": _VERIFIER})
    assert done.status_code == 200


def _tampered(value: str) -> list[str]:
    return ["", "x", value[:-2], value[:-2] + "AA", value + "A", value * 2, "x" * 9_000, '"', "a=b"]


@pytest.mark.parametrize("name", _COOKIES)
def test_a_tampered_cookie_is_no_cookie(attacked: SignInRealm, name: str) -> None:
    good = attacked.browser()
    page = good.submit(good.open(), username="anna", password=PASSWORD, rememberMe="on")
    assert page.answer["code"]
    good.open(prompt="login")
    for value in _tampered(good.cookies[name]):
        browser = attacked.browser()
        browser.cookies = {name: value}
        shown = browser.open(prompt="none" if name == "KEYCLOAK_IDENTITY" else None)
        assert _is_harmless(shown)
        login = attacked.browser().open()
        browser.cookies = {name: value}
        assert _is_harmless(browser.submit(login, username="anna", password=PASSWORD))


def test_a_cookie_of_another_name_or_realm_is_no_cookie(
    attacked: SignInRealm, administration: Administration
) -> None:
    """Each is sealed for its purpose and its realm."""
    browser = attacked.browser()
    page = browser.open()
    sealed = dict(browser.cookies)
    swapped = attacked.browser()
    swapped.cookies = {
        "AUTH_SESSION_ID": sealed["KC_RESTART"],
        "KC_RESTART": sealed["AUTH_SESSION_ID"],
        "KEYCLOAK_IDENTITY": sealed["AUTH_SESSION_ID"],
    }
    assert swapped.submit(page, username="anna", password=PASSWORD).status == 400
    foreign = SignInBrowser(administration.http, "guarded", dict(sealed))
    path = page.form.action.replace("/realms/attacked/", "/realms/guarded/")
    assert foreign.post(path, {"username": "anna", "password": PASSWORD}).status == 400


def test_of_duplicate_cookies_the_one_that_holds_counts(attacked: SignInRealm) -> None:
    """Pages of neighboring hosts can add cookies: they can neither replace nor remove one."""
    browser = attacked.browser()
    browser.sign_in()
    identity = browser.cookies["KEYCLOAK_IDENTITY"]
    browser.cookies["KEYCLOAK_IDENTITY"] = f"forged; KEYCLOAK_IDENTITY={identity}"
    assert browser.open(prompt="none").answer["code"]


def test_one_browser_does_not_go_on_with_the_sign_in_of_another(attacked: SignInRealm) -> None:
    """Login CSRF and fixation: a link or form of the attacker, in the browser of the victim."""
    attacker, victim = attacked.browser(), attacked.browser()
    form = attacker.open()
    assert _is_harmless(victim.submit(form, username="mallory", password=PASSWORD))
    assert _is_harmless(victim.get(with_query(form.form.action, session_code=None)))
    own = victim.open()
    assert _is_harmless(victim.submit(form, username="mallory", password=PASSWORD))
    mixed = with_query(own.form.action, tab_id=query_of(form.form.action)["tab_id"])
    assert _is_harmless(victim.post(mixed, {"username": "mallory", "password": PASSWORD}))
    done = victim.submit(victim.open(), username="anna", password=PASSWORD)
    assert done.answer["session_state"]
    assert attacker.open(prompt="none").answer["error"] == "login_required"


def test_a_session_has_an_id_that_nobody_knew_before(attacked: SignInRealm) -> None:
    """Session fixation: a cookie that the attacker planted signs nobody in for the attacker."""
    attacker = attacked.browser()
    attacker.open()
    victim = attacked.browser()
    victim.cookies = dict(attacker.cookies)
    done = victim.sign_in("anna")
    assert done.answer["code"]
    assert "KEYCLOAK_IDENTITY" not in attacker.cookies
    assert attacker.open(prompt="none").answer["error"] == "login_required"


def test_a_form_needs_the_secret_of_its_page(attacked: SignInRealm) -> None:
    """CSRF: without session_code, or with that of another tab, nothing runs. attacks: D14."""
    browser = attacked.browser()
    page, other = browser.open(), browser.open()
    for code in (None, "", "x" * 43, query_of(other.form.action)["session_code"]):
        forged = with_query(page.form.action, session_code=code)
        answer = browser.post(forged, {"username": "anna", "password": PASSWORD})
        assert _is_harmless(answer)
    asked = browser.sign_in("anna", "asks")
    for code in (None, "x" * 43):
        forged = with_query(asked.form.action, session_code=code)
        assert _is_harmless(browser.post(forged, {"accept": "on"}))


@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": "https://evil.example.test"},
        {"Origin": "http://gateway.test"},
        {"Origin": "https://gateway.test.evil.example.test"},
        {"Origin": "null"},
        {"Origin": "null", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "null", "Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_no_page_of_another_site_sends_a_form(attacked: SignInRealm, sent: dict[str, str]) -> None:
    """CSRF, also where the other site knows code and cookie. attacks: D14."""
    browser = attacked.browser()
    forms = [
        (browser.open().form.action, {"username": "anna", "password": PASSWORD}),
        (browser.sign_in("anna", "asks", prompt="consent").form.action, {"accept": "on"}),
        (f"/realms/{browser.realm}/device", {"device_user_code": "BCDF-GHJK"}),
        (browser.protocol("logout/logout-confirm"), {"confirmLogout": "on"}),
        (f"/realms/{browser.realm}/login-actions/action-token?key=x", {}),
        (f"/realms/{browser.realm}/account/account-security/device-activity", {}),
    ]
    for action, fields in forms:
        browser.headers = sent
        page = browser.post(action, fields)
        assert (page.status, page.id, page.set_cookies) == (403, "error", {})
    browser.headers = {"Origin": "null", "Sec-Fetch-Site": "same-origin"}
    consent, accepted = forms[1]
    assert browser.post(consent, accepted).answer["code"]


@pytest.mark.parametrize(
    "sent",
    [
        {"Origin": "https://gateway.test"},
        {"Origin": "https://gateway.test", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null", "Sec-Fetch-Site": "none"},
        {"Origin": "null", "X-Forwarded-Proto": "http"},
        {},
    ],
)
def test_pages_of_the_gateway_send_forms(attacked: SignInRealm, sent: dict[str, str]) -> None:
    """Pages without referrers send `Origin: null`; browsers say more of it to https alone."""
    browser = attacked.browser()
    page = browser.open()
    browser.headers = sent
    assert browser.submit(page, username="anna", password=PASSWORD).answer["code"]


@pytest.mark.parametrize(
    "data",
    [
        _forged(ru=_EVIL, rt="code"),
        _forged(ru="javascript:alert(1)", rt="code", st="x"),
        _forged(ru=CALLBACK, rt="token", rm="query"),
        _forged(ru=CALLBACK, rt="code id_token", rm="query"),
        _forged(ru=CALLBACK, rt="x" * 500, rm="y"),
        _forged(ru=CALLBACK, rt="", rm=""),
        _forged(ru=CALLBACK, scope="openid", client_id="asks"),
        _forged(st="only a state"),
        _forged(ru=_MARKUP, rt=_MARKUP, st=_MARKUP),
        base64.urlsafe_b64encode(b'{"ru":1}').decode(),
        base64.urlsafe_b64encode(b"[" * 3000).decode(),
        *("", "%", "x", "e30", "bnVsbA", "A" * 9_000),
    ],
)
@pytest.mark.parametrize("signed_in", [True, False])
def test_forged_client_data_leads_nowhere(
    attacked: SignInRealm, data: str, *, signed_in: bool
) -> None:
    """attacks: C3."""
    browser = attacked.browser()
    page = browser.open()
    if signed_in:
        browser.submit(page, username="anna", password=PASSWORD)
        kept = {"KEYCLOAK_IDENTITY": browser.cookies["KEYCLOAK_IDENTITY"]}
    else:
        kept = {}
    browser.cookies = kept
    for client_id in ("app", "implicit"):
        url = with_query(page.form.action, client_data=data, client_id=client_id)
        for answer in (browser.get(url), browser.post(url, {"username": "anna"})):
            assert _is_harmless(answer)
            if answer.status == 302:
                assert "error" in answer.answer


@pytest.mark.parametrize("action", ["authenticate", "consent", "restart", "required-action"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"tab_id": "x" * 4_000},
        {"execution": _MARKUP},
        {"execution": "../../x"},
        {"session_code": "\ud7ff" * 100},
        {"client_id": _MARKUP},
        {"kc_locale": _MARKUP},
    ],
)
def test_addresses_of_actions_bear_any_text(
    attacked: SignInRealm, action: str, changes: Mapping[str, str]
) -> None:
    browser = attacked.browser()
    page = browser.open()
    url = with_query(page.form.action, **changes).replace("/authenticate?", f"/{action}?")
    for answer in (browser.get(url), browser.post(url, {"username": _MARKUP, "otp": "1"})):
        if answer.status not in {404, 405}:
            assert _is_harmless(answer)


@pytest.mark.parametrize(
    "fields",
    [
        {"username": _MARKUP, "password": _MARKUP},
        {"username": "\0", "password": "\0"},
        {"username": "x" * 15_000, "password": "y" * 15_000},
        {"username": "anna", "password": PASSWORD + "\0"},
        {"username": "\u202eanna", "password": PASSWORD},
        {"rememberMe": _MARKUP, "credentialId": _MARKUP},
        {"authenticationExecution": "x" * 100},
        {f"field-{number}": "x" for number in range(200)},
        {},
    ],
)
def test_any_form_ends_on_a_page(attacked: SignInRealm, fields: dict[str, str]) -> None:
    browser = attacked.browser()
    page = browser.open()
    assert _is_harmless(browser.post(page.form.action, fields))


def test_a_body_that_is_no_form_ends_on_a_page(attacked: SignInRealm) -> None:
    browser = attacked.browser()
    action = browser.open().form.action.removeprefix("https://gateway.test")
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    for kind, body in (
        ("application/json", b"{}"),
        ("application/x-www-form-urlencoded", b"username=%zz"),
        ("application/x-www-form-urlencoded", b"username=%ff%fe"),
        ("application/x-www-form-urlencoded", b"a=b&" * 40_000),
        ("application/x-www-form-urlencoded; charset=utf-16", b"a=b"),
        ("multipart/form-data; boundary=x", b"--x--"),
    ):
        headers = {"Content-Type": kind, "Cookie": cookie}
        response = browser.http.post(action, content=body, headers=headers)
        assert _is_harmless(Page(response))


def test_no_page_runs_what_it_shows(attacked: SignInRealm) -> None:
    """Names of realm, client and user are text; no script runs inline."""
    browser = attacked.browser()
    login = browser.open(login_hint=_MARKUP, state=_MARKUP, ui_locales=_MARKUP)
    failed = browser.submit(login, username=_MARKUP, password="x")
    consent = browser.sign_in("mallory", "asks")
    error = browser.open(_MARKUP)
    for page in (login, failed, consent, error):
        assert "alert(1)" not in page.html.replace("&lt;script&gt;alert(1)", "")
        # The id of the request may contain any digits.
        assert "49" not in re.sub("[0-9a-f]{32}", "", page.text)
        policy = page.response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe-inline" not in policy
    assert _MARKUP in failed.text or failed.form.fields["username"] == _MARKUP


def test_a_response_by_form_post_is_text(attacked: SignInRealm) -> None:
    page = attacked.browser().sign_in("anna", response_mode="form_post", state=_MARKUP)
    assert page.form.fields["state"] == _MARKUP
    assert "<script>alert" not in page.html
    assert "script-src 'self'" in page.response.headers["content-security-policy"]


def test_the_log_has_no_secret_of_a_sign_in(attacked: SignInRealm) -> None:
    """Neither code, token, state, session code, cookie nor password. attacks: E5."""
    browser = attacked.browser()
    browser.headers["X-Request-Id"] = "5e" * 16
    page = browser.open(state="secret-of-the-state", nonce="secret-of-the-nonce")
    wrong = browser.submit(page, username="anna", password="secret-of-a-mistake")
    done = browser.submit(wrong, username="anna", password=PASSWORD)
    tokens = browser.redeem(done.answer["code"]).json()
    browser.get(with_query(page.form.action))
    query = query_of(page.form.action)
    secrets = [
        *("secret-of-the-state", "secret-of-the-nonce", "secret-of-a-mistake", PASSWORD),
        *(done.answer["code"], query["session_code"], query["client_data"]),
        *(tokens["access_token"], tokens["refresh_token"], tokens["id_token"]),
        *browser.cookies.values(),
    ]
    gateway = attacked.realm.administration.gateway
    lines = until(
        lambda: [line for line in gateway.log() if line.get("request_id") == "5e" * 16],
        "the requests are not in the log",
    )
    assert len(lines) >= 1
    log = gateway.log_text()
    assert [secret for secret in secrets if secret in log] == []
