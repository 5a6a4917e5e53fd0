"""A security key or passkey belongs to one user of a realm, whichever way it comes.

Spec: WebAuthn Level 3 §7.1, §7.2
"""

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import SignInRealm, web_client
from tests.support.software_authenticator import SoftwareAuthenticator, b64

REALM: Final = "keys-of-one-user"
KINDS: Final = ("webauthn", "webauthn-passwordless")
ACTIONS: Final = {
    "webauthn": "webauthn-register",
    "webauthn-passwordless": "webauthn-register-passwordless",
}
NUMBERS: Final = count()
Way = Callable[[SignInRealm, Path, SoftwareAuthenticator, str], bool]
"""Gives a key of a type to some user, and tells whether it was accepted."""


@pytest.fixture(scope="module")
def keys(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose users register keys, and sign in with passkeys."""
    flow = {
        "id": "nameless-id",
        "alias": "nameless",
        "providerId": "basic-flow",
        "topLevel": True,
        "authenticationExecutions": [
            {
                "authenticator": "webauthn-authenticator-passwordless",
                "requirement": "REQUIRED",
                "priority": 0,
            }
        ],
    }
    overrides = {"authenticationFlowBindingOverrides": {"browser": "nameless-id"}}
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        "clients": [web_client("app"), web_client("nameless", **overrides)],
        "authenticationFlows": [flow],
    }
    with administered_realm(administration, REALM, {}, **settings) as realm:
        yield SignInRealm(realm)


def _user(*credentials: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    new = {**person(f"user-{next(NUMBERS)}"), **fields}
    return {**new, "credentials": [*new["credentials"], *credentials]}


def _credential(own: SoftwareAuthenticator, kind: str) -> dict[str, Any]:
    """Return the credential with its id in another alphabet, without padding."""
    found = own.credential(type=kind)
    data = {**json.loads(found["credentialData"]), "credentialId": b64(own.id)}
    return {**found, "credentialData": json.dumps(data)}


def _registration(keys: SignInRealm, folder: Path, own: SoftwareAuthenticator, kind: str) -> bool:
    del folder
    new, browser = _user(requiredActions=[ACTIONS[kind]]), keys.browser()
    keys.realm.change("POST", "users", new)
    page = browser.sign_in(new["username"])
    form = page.form_with_id("register")
    done = browser.post(form.action, own.register(page))
    assert done.status == 302 or done.message == "The key could not be registered.", done.text
    return done.status == 302


def _create(keys: SignInRealm, folder: Path, own: SoftwareAuthenticator, kind: str) -> bool:
    del folder
    return keys.realm.ask("POST", "users", _user(_credential(own, kind))).is_success


def _update(keys: SignInRealm, folder: Path, own: SoftwareAuthenticator, kind: str) -> bool:
    del folder
    user = keys.realm.change("POST", "users", _user())
    document = {"credentials": [_credential(own, kind)]}
    return keys.realm.ask("PUT", f"users/{user}", document).is_success


def _partial_import(keys: SignInRealm, folder: Path, own: SoftwareAuthenticator, kind: str) -> bool:
    del folder
    users = [_user(_credential(own, kind))]
    answer = keys.realm.ask("POST", "partialImport", {"ifResourceExists": "FAIL", "users": users})
    assert answer.status_code in {200, 409}, answer.text
    return answer.is_success


def _command(*arguments: str) -> Way:
    def run(keys: SignInRealm, folder: Path, own: SoftwareAuthenticator, kind: str) -> bool:
        file = folder / f"{next(NUMBERS)}.json"
        users = [_user(_credential(own, kind))]
        file.write_bytes(orjson.dumps({"realm": REALM, "users": users}))
        done = keys.realm.administration.command(*arguments, str(file))
        assert done.exit_code in {0, 1, 2}, done.output
        return done.exit_code == 0

    return run


WAYS: Final[Mapping[str, Way]] = {
    "registration": _registration,
    "admin API create": _create,
    "admin API update": _update,
    "partial import": _partial_import,
    "realm file": _command("realm", "import"),
    "user file": _command("user", "import", f"--realm={REALM}"),
}


@pytest.mark.parametrize("way", WAYS)
def test_no_way_gives_a_second_user_a_registered_key(
    keys: SignInRealm, tmp_path: Path, way: str
) -> None:
    for of_owner in KINDS:
        own = SoftwareAuthenticator()
        owner = keys.realm.change("POST", "users", _user(own.credential(type=of_owner)))
        for kind in KINDS:
            other = SoftwareAuthenticator()
            assert WAYS[way](keys, tmp_path, other, kind), "the way is open"
            other.id = own.id
            assert not WAYS[way](keys, tmp_path, other, kind), (of_owner, kind)
        held = keys.realm.get(f"users/{owner}/credentials")
        assert [one["type"] for one in held if one["type"] in KINDS] == [of_owner]


def test_a_passkey_with_the_handle_of_another_user_is_refused(keys: SignInRealm) -> None:
    own, other = SoftwareAuthenticator(), SoftwareAuthenticator()
    made = {}
    for key in (own, other):
        new = _user(key.credential(type=KINDS[1]))
        made[key.id] = b64(keys.realm.change("POST", "users", new).encode())
    page = keys.browser().open("nameless")
    assert page.id == "webauthn-authenticate", page.text
    for key, handle, is_right in (
        (own, made[other.id], False),
        (own, "", False),
        (own, made[own.id], True),
    ):
        browser = keys.browser()
        page = browser.open("nameless")
        form = page.form_with_id("webauth")
        done = browser.post(form.action, key.sign(page, userHandle=handle))
        assert (done.status == 302) is is_right, done.text


def test_users_with_keys_sign_in_and_are_changed_as_before(keys: SignInRealm) -> None:
    """The key of a user is no obstacle to the user."""
    own = SoftwareAuthenticator(counter=3)
    new = _user(own.credential(type=KINDS[1]))
    user = keys.realm.change("POST", "users", new)
    own.user_handle = b64(user.encode())
    for _ in range(2):
        browser = keys.browser()
        page = browser.open("nameless")
        form = page.form_with_id("webauth")
        done = browser.post(form.action, own.sign(page, userHandle=own.user_handle))
        assert done.answer["code"]
        keys.realm.change("PUT", f"users/{user}", {"firstName": "Ada"})
    assert keys.browser().sign_in(new["username"], password=PASSWORD).status == 302
