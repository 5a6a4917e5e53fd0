"""The frames by which pages of clients watch the session of a browser.

OpenID Connect Session Management §3; Keycloak: 12.6
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from gateway.protocol.identity_cookie import session_hash
from tests.support.administered_realm import administered_realm
from tests.support.administration import Administration
from tests.support.recorded_realm import RECORDED
from tests.support.wire import PUBLIC_URL

_PROTOCOL: Final = "/realms/framed/protocol/openid-connect"
_FRAME: Final = f"{_PROTOCOL}/login-status-iframe.html"
_ORIGIN: Final = "https://app.example.test"
_SESSION: Final = "a" * 24


@pytest.fixture(scope="module")
def http(administration: Administration) -> Iterator[httpx2.Client]:
    settings: dict[str, Any] = {
        **RECORDED,
        "clients": [
            *RECORDED["clients"],
            {"clientId": "origin", "webOrigins": [_ORIGIN]},
            {"clientId": "redirect", "redirectUris": [f"{_ORIGIN}/callback"]},
            {"clientId": "relative", "rootUrl": _ORIGIN, "redirectUris": ["/callback"]},
            {"clientId": "disabled", "enabled": False, "webOrigins": [_ORIGIN]},
        ],
    }
    with administered_realm(administration, "framed", {}, **settings):
        yield administration.http


def _status(http: httpx2.Client, cookie: str | None = None, **parameters: str) -> int:
    headers = {} if cookie is None else {"Cookie": f"KEYCLOAK_SESSION={cookie}"}
    answer = http.get(f"{_FRAME}/init", params=parameters, headers=headers)
    assert "no-store" in answer.headers["cache-control"]
    assert answer.content == b""
    return answer.status_code


@pytest.mark.parametrize(
    ("path", "script"),
    [
        (_FRAME, "login-status.js"),
        (f"{_PROTOCOL}/3p-cookies/step1.html", "third-party-cookies.js"),
        (f"{_PROTOCOL}/3p-cookies/step2.html", "third-party-cookies.js"),
    ],
)
def test_any_page_may_frame_them(http: httpx2.Client, path: str, script: str) -> None:
    answer = http.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html;charset=utf-8")
    assert "x-frame-options" not in answer.headers
    (policy,) = answer.headers.get_list("content-security-policy")
    assert "script-src 'self'" in policy
    assert "frame-ancestors" not in policy
    found = re.search(r'<script src="(/[^"]+)">', answer.text)
    assert found is not None
    assert found[1].endswith(f"/{script}")
    assert http.get(found[1]).headers["content-type"] == "text/javascript;charset=utf-8"


@pytest.mark.parametrize("client_id", ["origin", "redirect", "relative"])
def test_pages_of_a_client_learn_whether_the_session_has_changed(
    http: httpx2.Client, client_id: str
) -> None:
    asked = {"client_id": client_id, "origin": _ORIGIN}
    assert _status(http, **asked) == 204
    state = {"session_state": _SESSION}
    assert _status(http, session_hash(_SESSION), **asked, **state) == 204
    assert _status(http, session_hash("b" * 24), **asked, **state) == 409
    assert _status(http, _SESSION, **asked, **state) == 409
    assert _status(http, None, **asked, **state) == 409


@pytest.mark.parametrize(
    ("client_id", "origin"),
    [
        ("origin", "https://evil.example.test"),
        ("origin", f"{_ORIGIN}.evil.test"),
        ("origin", "null"),
        ("origin", ""),
        ("svc", _ORIGIN),
        ("disabled", _ORIGIN),
        ("unknown", _ORIGIN),
        ("", _ORIGIN),
    ],
)
def test_other_pages_learn_nothing(http: httpx2.Client, client_id: str, origin: str) -> None:
    """OpenID Connect Session Management §3.2: the origin must be the expected one."""
    asked = {"client_id": client_id, "origin": origin, "session_state": _SESSION}
    assert _status(http, session_hash(_SESSION), **asked) == 403


def test_pages_of_the_gateway_itself_get_answers(http: httpx2.Client) -> None:
    assert _status(http, client_id="svc", origin=PUBLIC_URL) == 204


def test_discovery_names_the_frame_and_the_logouts(http: httpx2.Client) -> None:
    found = http.get("/realms/framed/.well-known/openid-configuration").json()
    issuer = f"{PUBLIC_URL}/realms/framed"
    assert found["check_session_iframe"] == f"{PUBLIC_URL}{_FRAME}"
    assert found["end_session_endpoint"] == f"{issuer}/protocol/openid-connect/logout"
    for channel in ("frontchannel", "backchannel"):
        assert found[f"{channel}_logout_supported"] is True
        assert found[f"{channel}_logout_session_supported"] is True
