"""No OAuth parameter comes twice: in the body, in the query, or once in each.

A proxy, a framework and the gateway could each read another one of the two values.
RFC 6749 §3.1, §3.2; RFC 9126 §2; Keycloak: "duplicated parameter"
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlencode

import httpx2
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import SECRET, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import CALLBACK, SignInRealm, web_client
from tests.support.wire import FORM

_OWN: Final = {"client_id": "app", "client_secret": SECRET}
_CODE: Final = {"response_type": "code", "redirect_uri": CALLBACK, "scope": "openid", "state": "s"}
_FORMS: Final[Mapping[str, Mapping[str, str]]] = {
    "token": {**_OWN, "grant_type": "client_credentials", "unknown": "x"},
    "token/introspect": {**_OWN, "token": "x", "token_type_hint": "access_token"},
    "revoke": {**_OWN, "token": "x", "token_type_hint": "access_token"},
    "ext/par/request": {**_OWN, **_CODE},
    "auth/device": {**_OWN, "scope": "openid"},
    "logout": {**_OWN, "refresh_token": "x"},
    "auth": {"client_id": "app", **_CODE, "prompt": "none", "unknown": "x"},
}
"""Endpoint -> a form that it answers with something else than `duplicated parameter`."""


@pytest.fixture(scope="module")
def repeating(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm with a client that may use every endpoint."""
    attributes = {"oauth2.device.authorization.grant.enabled": "true"}
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [web_client("app", serviceAccountsEnabled=True, attributes=attributes)],
        "users": [person("anna")],
    }
    with administered_realm(administration, "repeating", {}, **settings) as realm:
        yield SignInRealm(realm)


def _post(realm: SignInRealm, path: str, query: str, body: str) -> httpx2.Response:
    browser = realm.browser()
    url = browser.protocol(path) + (f"?{query}" if query else "")
    headers = {"Content-Type": FORM}
    return browser.http.post(url, content=body, headers=headers, follow_redirects=False)


def _is_refused(answer: httpx2.Response) -> bool:
    if answer.status_code == httpx2.codes.FOUND:
        return "error_description=duplicated+parameter" in answer.headers["location"].replace(
            "%20", "+"
        )
    if answer.headers["content-type"].startswith("text/html"):
        return answer.status_code == httpx2.codes.BAD_REQUEST and 'id="kc-error' in answer.text
    document = answer.json()
    text = document.get("error_description")
    return (answer.status_code, text) == (httpx2.codes.BAD_REQUEST, "duplicated parameter")


@pytest.mark.parametrize("path", _FORMS)
def test_no_parameter_comes_twice_at_any_endpoint(repeating: SignInRealm, path: str) -> None:
    """attacks: C19."""
    form = _FORMS[path]
    whole = urlencode(form)
    assert not _is_refused(_post(repeating, path, "", whole))
    accepted = []
    for name, value in form.items():
        for again in (urlencode({name: value}), urlencode({name: f"{value}x"})):
            for query, body in (("", f"{whole}&{again}"), (again, whole)):
                answer = _post(repeating, path, query, body)
                if not _is_refused(answer):
                    accepted.append((query, body, answer.status_code))
    assert accepted == []


@pytest.mark.parametrize("path", ["auth", "logout"])
def test_no_parameter_comes_twice_in_a_query(repeating: SignInRealm, path: str) -> None:
    """attacks: C19."""
    form = _FORMS["auth"] if path == "auth" else {"client_id": "app", "state": "s"}
    browser = repeating.browser()
    for name, value in form.items():
        query = f"{urlencode(form)}&{urlencode({name: value})}"
        answer = browser.get(f"{browser.protocol(path)}?{query}").response
        assert _is_refused(answer), (name, answer.status_code)


def test_the_token_of_userinfo_comes_once(repeating: SignInRealm) -> None:
    """RFC 6750 §2, §3.1; attacks: C19."""
    for query, body in (
        ("", "access_token=x&access_token=x"),
        ("", "access_token=x&access_token=y"),
        ("access_token=x", "access_token=x"),
        ("access_token=y", "access_token=x"),
    ):
        answer = _post(repeating, "userinfo", query, body)
        assert answer.status_code == 400
        assert 'error_description="Duplicate parameter"' in answer.headers["www-authenticate"]
