"""A user has at most 100 credentials, whoever adds them. Keycloak has no such limit."""

from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.wire import DEVICE

_MOST: Final = 100
_CODES: Final = "CONFIGURE_RECOVERY_AUTHN_CODES"
_RECOVERY: Final = {
    "type": "recovery-authn-codes",
    "credentialData": '{"algorithm":"SHA-512","totalCodes":12,"remainingCodes":12}',
    "secretData": '{"codes":[]}',
}
_ADDING: Final = (
    "CONFIGURE_TOTP",
    _CODES,
    "webauthn-register",
    "webauthn-register-passwordless",
)


@pytest.fixture(scope="module")
def realm(administration: Administration) -> Iterator[SignInRealm]:
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [web_client("app")],
        "authenticationFlows": [
            {
                "alias": "passwords",
                "providerId": "basic-flow",
                "topLevel": True,
                "builtIn": False,
                "authenticationExecutions": [
                    {
                        "authenticator": "auth-username-password-form",
                        "requirement": "REQUIRED",
                        "priority": 1,
                    }
                ],
            }
        ],
        "browserFlow": "passwords",
    }
    with administered_realm(administration, "limited", {}, **settings) as made:
        for action in _ADDING:
            path = f"authentication/required-actions/{action}"
            made.change("PUT", path, {**made.get(path), "enabled": True})
        yield SignInRealm(made)


def _devices(count: int) -> list[dict[str, Any]]:
    return [{**DEVICE, "id": None, "userLabel": f"phone {number}"} for number in range(count)]


def _add(realm: SignInRealm, username: str, count: int, *more: dict[str, Any]) -> str:
    """Add a user with a password and that many credentials in all."""
    document = person(username)
    others = [*_devices(count - 1 - len(more)), *more]
    document["credentials"] = [*document["credentials"], *others]
    return f"users/{realm.realm.change('POST', 'users', document)}"


def _signed_in(realm: SignInRealm, username: str) -> SignInBrowser:
    browser = realm.browser()
    assert browser.sign_in(username).answer["code"]
    realm.events()
    return browser


def _asked(realm: SignInRealm, username: str, action: str) -> tuple[SignInBrowser, Page]:
    browser = realm.browser()
    page = browser.sign_in(username, kc_action=action)
    return browser, page


def _count(realm: SignInRealm, user: str) -> int:
    return len(realm.realm.get(f"{user}/credentials"))


def test_a_user_with_the_most_credentials_adds_no_other(realm: SignInRealm) -> None:
    user = _add(realm, "full", _MOST)
    for action in _ADDING:
        realm.events()
        _, page = _asked(realm, "full", action)
        assert (page.answer["kc_action"], page.answer["kc_action_status"]) == (action, "error")
        [refused, login] = realm.events()
        assert (refused["type"], refused["error"], login["type"]) == (
            "CUSTOM_REQUIRED_ACTION_ERROR",
            "not_allowed",
            "LOGIN",
        )
        assert refused["details"]["reason"] == "A user has at most 100 credentials."
    assert _count(realm, user) == _MOST


def test_an_action_without_room_locks_nobody_out(realm: SignInRealm) -> None:
    user = _add(realm, "required", _MOST)
    realm.realm.change("PUT", user, {"requiredActions": ["CONFIGURE_TOTP"]})
    assert _signed_in(realm, "required").cookies


def test_what_replaces_a_credential_needs_no_room(realm: SignInRealm) -> None:
    user = _add(realm, "replacing", _MOST, _RECOVERY)
    assert _asked(realm, "replacing", "UPDATE_PASSWORD")[1].id == "login-update-password"
    browser, page = _asked(realm, "replacing", _CODES)
    assert browser.submit(page).answer["kc_action_status"] == "success"
    assert _count(realm, user) == _MOST


def test_the_last_place_is_taken_once(realm: SignInRealm) -> None:
    user = _add(realm, "racing", _MOST - 1)
    browser, page = _asked(realm, "racing", _CODES)
    assert page.id == "login-recovery-authn-code-config"
    realm.realm.change("PUT", user, {"credentials": _devices(1)})
    assert browser.submit(page).answer["kc_action_status"] == "error"
    assert _count(realm, user) == _MOST


def test_an_administrator_adds_no_more_than_that(realm: SignInRealm) -> None:
    user = _add(realm, "imported", _MOST - 1)
    refused = realm.realm.ask("PUT", user, {"credentials": _devices(2)})
    assert refused.status_code == httpx2.codes.BAD_REQUEST
    assert "at most 100 credentials" in refused.text
    assert _count(realm, user) == _MOST - 1
    realm.realm.change("PUT", user, {"credentials": _devices(1)})
    document = {**person("too-many"), "credentials": _devices(_MOST + 1)}
    refused = realm.realm.ask("POST", "users", document)
    assert refused.status_code == httpx2.codes.BAD_REQUEST
    assert "at most 100 credentials" in refused.text
