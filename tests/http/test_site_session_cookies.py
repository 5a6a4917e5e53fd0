"""Browsers with a session cookie at a protected site."""

import pytest

from tests.support.protected_sites import HOST, Protected
from tests.support.wire import claims_of


def _status(protected: Protected, cookie: str, path: str = "/home/", **headers: str) -> int:
    return protected.ask(path, headers={"Cookie": cookie, **headers}).status_code


def test_the_service_learns_who_has_signed_in(protected: Protected) -> None:
    cookie = protected.browser_session("ada")
    assert _status(protected, f"theme=dark; {cookie}; lang=en", "/admin") == 200
    received = protected.service.last
    assert received.all("Remote-User") == ["ada"]
    assert received.all("X-Realmgate-Credential") == ["session"]
    assert received.all("X-Realmgate-Client") == ["portal"]
    assert _status(protected, protected.browser_session("bob"), "/admin") == 403


@pytest.mark.parametrize(
    "fields",
    [
        {"site": "fleet"},
        {"site": ".example.test"},
        {"session_id": "another-session"},
        {"user_id": "another-user"},
        {"client": "worker"},
        {"client": "no-client"},
    ],
)
def test_a_session_is_one_of_its_site_user_and_client(
    protected: Protected, fields: dict[str, str]
) -> None:
    assert _status(protected, protected.browser_session("ada")) == 200
    assert _status(protected, protected.browser_session("ada", **fields)) == 401


def test_a_session_of_another_client_than_the_sites_is_refused(protected: Protected) -> None:
    """The site has got another client: one with a browser flow of its own, for example."""
    session = claims_of(protected.token("ada", client_id="narrow")["access_token"])["sid"]
    cookie = protected.browser_session("ada", client="narrow", session_id=session)
    assert _status(protected, cookie) == 401


def test_the_user_session_of_another_user_is_refused(protected: Protected) -> None:
    """attacks: B8."""
    bob = claims_of(protected.token("bob")["access_token"])["sub"]
    assert _status(protected, protected.browser_session("ada", user_id=bob)) == 401


def test_a_cookie_that_is_no_session_is_refused(protected: Protected) -> None:
    cookie = protected.browser_session("ada")
    assert _status(protected, f"{cookie}x") == 401
    assert _status(protected, "__Host-realmgate-session=") == 401
    assert _status(protected, f"{cookie}; {cookie}") == 401
    assert _status(protected, cookie.replace("__Host-", "__Secure-")) == 401
    assert _status(protected, cookie.replace("__Host-", "")) == 401


def test_an_invalid_cookie_is_not_passed_over_for_a_certificate(protected: Protected) -> None:
    headers = {"Cookie": "__Host-realmgate-session=ended"}
    found = protected.ask("/home/", headers=headers, certificate="device-1")
    assert found.status_code == 401
    assert protected.ask("/home/", certificate="device-1").status_code == 200


def test_a_certificate_only_rule_ignores_the_session_cookie(
    protected: Protected,
) -> None:
    headers = {"Cookie": protected.browser_session("ada")}
    assert protected.ask("/machines/", headers=headers).status_code == 401
    found = protected.ask("/machines/", headers=headers, certificate="device-1")
    assert found.status_code == 200


def test_the_authorization_header_decides_before_the_cookie(protected: Protected) -> None:
    cookie = protected.browser_session("ada")
    token = protected.token("bob")["access_token"]
    assert _status(protected, cookie, Authorization=f"Bearer {token}") == 200
    assert protected.service.last.all("Remote-User") == ["bob"]
    assert _status(protected, cookie, Authorization="Bearer nonsense") == 401


def test_a_session_of_a_site_is_none_at_another(protected: Protected) -> None:
    headers = {"Cookie": protected.browser_session("ada")}
    found = protected.ask("/", host="devices.example.test", headers=headers)
    assert found.status_code == 401
    assert protected.ask("/home/", host=HOST, headers=headers).status_code == 200
