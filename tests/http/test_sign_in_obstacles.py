"""`realmgate user show` says of each user what a sign-in with the right password comes to."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyotp
import pytest

from tests.support.administration import PASSWORD, Administration
from tests.support.leveled_flows import flow, step, sub_flow
from tests.support.one_time_devices import KEY, base32
from tests.support.own_realm import CHEAP_PASSWORDS, OwnRealm, own_realm
from tests.support.sign_in_browser import CALLBACK, Page, SignInBrowser, web_client

_OLD = 1_500_000_000_000
_PASSWORD = {"type": "password", "value": PASSWORD}
_WHOLE: dict[str, Any] = {
    "enabled": True,
    "email": "{}@obstacles.test",
    "emailVerified": True,
    "firstName": "Ann",
    "lastName": "Other",
    "credentials": [_PASSWORD],
}
_OTP = {
    "type": "otp",
    "secretData": json.dumps({"value": KEY}),
    "credentialData": '{"subType": "totp", "digits": 6, "period": 30, "algorithm": "HmacSHA1"}',
}
USERS: dict[str, dict[str, Any]] = {
    "whole": {},
    "without-email": {"email": None, "emailVerified": False},
    "unverified": {"emailVerified": False},
    "without-names": {"firstName": None, "lastName": None},
    "switched-off": {"enabled": False},
    "temporary": {"credentials": [{**_PASSWORD, "temporary": True}]},
    "without-credential": {"credentials": []},
    "otp-to-set-up": {"requiredActions": ["CONFIGURE_TOTP"]},
    "two-actions": {"requiredActions": ["UPDATE_PROFILE", "UPDATE_PASSWORD"], "email": None},
    "action-off": {"requiredActions": ["TERMS_AND_CONDITIONS"]},
    "action-unknown": {"requiredActions": ["no_such_action"]},
    "email-to-verify": {"requiredActions": ["VERIFY_EMAIL"], "email": None},
    "guessed": {},
    "locked-for-good": {
        "enabled": False,
        "attributes": {"disabledReason": ["permanentLockout"]},
    },
    "old-password": {"credentials": [{**_PASSWORD, "createdDate": _OLD}]},
    "with-otp": {"credentials": [_PASSWORD, _OTP]},
}
REALMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "verifying": {"verifyEmail": True},
    "expiring": {"passwordPolicy": f"{CHEAP_PASSWORDS} and forceExpiredPasswordChange(30)"},
    "free": {"attributes": {"userProfileEnabled": "false"}},
    "conditional": {
        "browserFlow": "second",
        "directGrantFlow": "second-grant",
        "authenticationFlows": [
            flow(
                "second",
                step("REQUIRED", 10, authenticator="auth-username-password-form"),
                sub_flow("second either", "REQUIRED", 20),
                top=True,
            ),
            flow(
                "second either",
                sub_flow("second code", "CONDITIONAL", 10),
                sub_flow("second key", "CONDITIONAL", 20),
            ),
            *(
                flow(
                    f"second {name}",
                    step("REQUIRED", 10, authenticator="conditional-user-configured"),
                    step("REQUIRED", 20, authenticator=authenticator),
                )
                for name, authenticator in (
                    ("code", "auth-otp-form"),
                    ("key", "auth-recovery-authn-code-form"),
                    ("grant code", "direct-grant-validate-otp"),
                )
            ),
            flow(
                "second-grant",
                step("REQUIRED", 10, authenticator="direct-grant-validate-username"),
                step("REQUIRED", 20, authenticator="direct-grant-validate-password"),
                sub_flow("second grant", "REQUIRED", 30),
                top=True,
            ),
            flow("second grant", sub_flow("second grant code", "CONDITIONAL", 10)),
        ],
    },
    "without-password": {
        "browserFlow": "keys",
        "directGrantFlow": "nothing",
        "authenticationFlows": [
            flow(
                "keys",
                step("ALTERNATIVE", 10, authenticator="auth-cookie"),
                sub_flow("keys forms", "ALTERNATIVE", 20),
                top=True,
            ),
            flow(
                "keys forms",
                step("REQUIRED", 10, authenticator="auth-username-password-form"),
                step("REQUIRED", 20, authenticator="auth-recovery-authn-code-form"),
            ),
            flow(
                "nothing",
                step("REQUIRED", 10, authenticator="direct-grant-validate-username"),
                step("REQUIRED", 20, authenticator="deny-access-authenticator"),
                top=True,
            ),
        ],
    },
}


@pytest.fixture(params=REALMS)
def realm(
    administration: Administration, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[OwnRealm]:
    """Make a realm of each kind with a user in each state."""
    with _made(administration, tmp_path, request.param) as made:
        yield made


@pytest.fixture
def plain(administration: Administration, tmp_path: Path) -> Iterator[OwnRealm]:
    with _made(administration, tmp_path, "plain") as made:
        yield made


@contextmanager
def _made(administration: Administration, folder: Path, kind: str) -> Iterator[OwnRealm]:
    name = f"obstacles-{kind}"
    users = []
    for username, fields in USERS.items():
        user = {**_WHOLE, "email": f"{username}@obstacles.test", **fields, "username": username}
        users.append({key: value for key, value in user.items() if value is not None})
    settings = {
        "attributes": {},
        "bruteForceProtected": True,
        "failureFactor": 2,
        "waitIncrementSeconds": 900,
        "quickLoginCheckMilliSeconds": 0,
        "users": users,
        "clients": [web_client("app")],
        **REALMS[kind],
    }
    made = own_realm(administration, folder, name, **settings)
    for _ in range(2):
        assert not made.sign_in("guessed", password="wrong").is_success
    yield made
    administration.ask("DELETE", name)


_FORMS = {"", "login", "username"}
"""Pages that ask again."""


def _came_to(page: Page) -> str:
    """Return what the pages answer to the right password; a code of the user's device is enough."""
    if page.status == 302:
        return "allowed" if page.location.startswith(CALLBACK) else "asked"
    if page.status != 200 or page.id in _FORMS:
        return "refused"
    return "allowed" if "otp" in page.form.names else "asked"


def _show(realm: OwnRealm, username: str, output: str = "json") -> str:
    words = ("user", "show", username, "--realm", realm.name, "--output", output)
    done = realm.administration.command(*words)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_user_show_says_what_a_sign_in_comes_to(realm: OwnRealm) -> None:
    told, happened = {}, {}
    for username in USERS:
        shown = json.loads(_show(realm, username))["signIn"]
        told[username] = (shown["onPages"], shown["passwordGrant"])
        assert (shown["reasons"] == []) == (told[username] == ("allowed", "allowed")), shown
        code = pyotp.TOTP(base32(KEY)).now()
        granted = "allowed" if realm.sign_in(username, totp=code).is_success else "refused"
        browser = SignInBrowser(realm.administration.http, realm.name)
        page = browser.sign_in(username)
        happened[username] = (_came_to(page), granted)
    assert told == happened


def test_reasons_are_lines_with_their_remedies(plain: OwnRealm) -> None:
    lines = {
        "without-email": "no e-mail: the profile requires it (realmgate user update)",
        "switched-off": "disabled (realmgate user enable)",
        "temporary": "temporary password: a new one has to be set",
        "otp-to-set-up": "required action CONFIGURE_TOTP",
        "locked-for-good": "(realmgate user unlock)",
        "guessed": "locked out until 20",
        "without-credential": "no credential that completes the flow 'browser'",
    }
    for username, line in lines.items():
        assert line in _show(plain, username, "text"), username
    assert "sign-in          allowed\n" in _show(plain, "whole", "text")


def test_groups_and_credentials_are_shown(plain: OwnRealm) -> None:
    words = ("group", "create", "/staff", "--realm", plain.name)
    assert plain.administration.command(*words).exit_code == 0
    joined = ("user", "groups", "with-otp", "--realm", plain.name, "--add", "/staff")
    assert plain.administration.command(*joined).stdout == "/staff\n"
    shown = json.loads(_show(plain, "with-otp"))
    assert shown["groups"] == ["/staff"]
    assert [each["type"] for each in shown["credentials"]] == ["otp", "password"]
    assert "secretData" not in json.dumps(shown)
    text = _show(plain, "with-otp", "text")
    assert "credentials      otp, password\n" in text
    assert "groups           /staff\n" in text
