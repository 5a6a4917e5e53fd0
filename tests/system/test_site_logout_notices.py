"""What a sign-out at a protected site does elsewhere: notices for clients, and events.

Spec: OpenID Connect Back-Channel Logout §2.5
"""

import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.support.edge_certificates import EdgeCertificates
from tests.support.gateway_process import until
from tests.support.logout_receiver import FETCHES_FROM_LOOPBACK, LogoutReceiver, logout_receiver
from tests.support.protected_sites import HOST, Protected, start_protected
from tests.support.sign_in_browser import CALLBACK, PUBLIC_URL, web_client
from tests.support.site_browser import SESSION_COOKIE, SiteBrowser
from tests.support.wire import claims_of

SIGN_OUT = f"https://{HOST}/.realmgate/sign-out"
FRAME = "https://framed.example.test/logout?kind=1"


def _administer(protected: Protected, method: str, path: str, body: Any = None) -> httpx2.Response:
    administration = protected.administration
    headers = {"Authorization": f"Bearer {administration.token()}"}
    url = f"/admin/realms/staff{path}"
    response = administration.http.request(method, url, json=body, headers=headers)
    assert response.is_success, response.text
    return response


@pytest.fixture(scope="module")
def receiver() -> Iterator[LogoutReceiver]:
    """Run what receives notices of the client."""
    with logout_receiver() as receiving:
        yield receiving


@pytest.fixture(scope="module")
def protected(
    tmp_path_factory: pytest.TempPathFactory,
    edge_certificates: EdgeCertificates,
    receiver: LogoutReceiver,
) -> Iterator[Protected]:
    """Run a site whose client wants notices, in a realm that stores events."""
    folder = tmp_path_factory.mktemp("site-notices")
    with start_protected(folder, edge_certificates, None, **FETCHES_FROM_LOOPBACK) as running:
        (client,) = _administer(running, "GET", "/clients?clientId=portal").json()
        client["attributes"] |= _notices_to(receiver)
        _administer(running, "PUT", f"/clients/{client['id']}", client)
        framed = {"frontchannel.logout.url": FRAME}
        for other in (
            web_client("framed", frontchannelLogout=True, attributes=framed),
            web_client("noticed", attributes=_notices_to(receiver)),
        ):
            _administer(running, "POST", "/clients", other)
        _administer(running, "PUT", "", {"eventsEnabled": True})
        yield running


def _notices_to(receiver: LogoutReceiver) -> dict[str, str]:
    return {
        "backchannel.logout.url": receiver.url,
        "backchannel.logout.session.required": "true",
    }


def _events(protected: Protected, kind: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _administer(protected, "GET", f"/events?type={kind}").json()
    return found


def test_a_sign_out_sends_notices_to_clients_and_is_an_event(
    protected: Protected, receiver: LogoutReceiver
) -> None:
    browser = SiteBrowser(protected)
    assert browser.sign_in().status == 200
    subject = protected.service.last.all("X-Realmgate-Subject")[0]
    browser.submit(browser.visit(SIGN_OUT))
    until(lambda: bool(receiver.tokens), "no logout token came", 30)
    claims = claims_of(receiver.tokens[-1])
    assert claims["sub"] == subject
    until(lambda: bool(_events(protected, "LOGOUT")), "no event")
    (event,) = _events(protected, "LOGOUT")
    assert (event["userId"], event["sessionId"]) == (subject, claims["sid"])
    (redeemed,) = _events(protected, "CODE_TO_TOKEN")
    assert (redeemed["clientId"], redeemed["sessionId"]) == ("portal", claims["sid"])
    assert "error" not in redeemed


def _join(browser: SiteBrowser, client_id: str) -> None:
    """Sign in at another client by the session that the browser has at the realm."""
    asked = {
        "client_id": client_id,
        "response_type": "code",
        "redirect_uri": CALLBACK,
        "scope": "openid",
    }
    url = httpx2.URL(f"{PUBLIC_URL}/realms/staff/protocol/openid-connect/auth", params=asked)
    assert "code" in browser.open(str(url)).answer


def test_every_client_of_a_session_gets_a_frame_or_a_notice(
    protected: Protected, receiver: LogoutReceiver
) -> None:
    """OpenID Connect Front-Channel Logout §2, §3."""
    browser = SiteBrowser(protected)
    assert browser.sign_in("bob").status == 200
    for client_id in ("framed", "noticed"):
        _join(browser, client_id)
    receiver.tokens.clear()
    page = browser.submit(browser.visit(f"{SIGN_OUT}?rd=/public/bye"))
    until(lambda: len(receiver.tokens) > 1, "not every logout token came", 30)
    tokens = [claims_of(token) for token in receiver.tokens]
    assert {token["aud"] for token in tokens} == {"portal", "noticed"}
    (session,) = {token["sid"] for token in tokens}
    assert (page.status, page.id) == (200, "frontchannel-logout")
    (frame,) = (unescape(each) for each in re.findall(r'<iframe src="([^"]+)"', page.html))
    assert frame.startswith(FRAME)
    assert parse_qs(urlsplit(frame).query) == {
        "kind": ["1"],
        "iss": [f"{PUBLIC_URL}/realms/staff"],
        "sid": [session],
    }
    policies = page.response.headers.get_list("content-security-policy")
    assert policies
    assert all(
        re.search(r"frame-src[^;]* https://framed\.example\.test", each) for each in policies
    )
    assert page.link("continue") == f"https://{HOST}/public/bye"
    assert browser.cookie(SESSION_COOKIE) is None


def test_a_visit_without_a_session_is_no_event(protected: Protected) -> None:
    before = len(_events(protected, "LOGOUT"))
    assert SiteBrowser(protected).open(SIGN_OUT).status == 200
    assert len(_events(protected, "LOGOUT")) == before


def test_a_code_that_is_refused_is_an_event(protected: Protected) -> None:
    browser = SiteBrowser(protected)
    location = browser.open(f"https://{HOST}/.realmgate/sign-in").location
    state = httpx2.URL(location).params["state"]
    callback = httpx2.URL(
        f"https://{HOST}/.realmgate/callback",
        params={"state": state, "code": "x", "iss": "https://gateway.test/realms/staff"},
    )
    assert browser.open(str(callback)).status == 400
    until(lambda: bool(_events(protected, "CODE_TO_TOKEN_ERROR")), "no event")
    (event,) = _events(protected, "CODE_TO_TOKEN_ERROR")
    assert event["error"] == "invalid_code"
