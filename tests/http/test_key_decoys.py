"""A page that asks a named user for a key reveals neither users nor their keys.

attacks: D10; Spec: WebAuthn Level 3 §14.6.2
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import Page, SignInBrowser, SignInRealm, web_client
from tests.support.software_authenticator import SoftwareAuthenticator, allowed, b64, unb64

POLICY: Final = "webAuthnPolicyPasswordless"
PASSKEY: Final = "webauthn-passwordless"
NAMES: Final = {"firstName": "Ada", "lastName": "Lovelace"}
_CODES: Final = r"(session_code|tab_id|execution|client_data)=[^&\"]*"
_CHALLENGE: Final = r'data-challenge="[^"]*"'
_KEYS: Final = (
    r'(<input type="hidden" name="authn_use_chk" value="[^"]*" data-transports="[^"]*">\s*)+'
)
_WAYS: Final = r'name="authenticationExecution" value="([^"]*)"'


def _flow(alias: str, *steps: tuple[str, str], top_level: bool = True) -> dict[str, Any]:
    executions = [
        {"priority": place, "requirement": requirement}
        | (
            {"authenticatorFlow": True, "flowAlias": name.removeprefix("> ")}
            if name.startswith("> ")
            else {"authenticator": name}
            | ({"authenticatorConfig": name} if name.startswith("conditional-") else {})
        )
        for place, (name, requirement) in enumerate(steps)
    ]
    return {
        "id": f"{alias}-id",
        "alias": alias,
        "providerId": "basic-flow",
        "topLevel": top_level,
        "authenticationExecutions": executions,
    }


_USERNAME: Final = ("auth-username-form", "REQUIRED")
_PASSWORD: Final = ("auth-password-form", "REQUIRED")
_IF_NOT_BOSS: Final = ("conditional-user-role", "REQUIRED")
_IF_NOT_RED: Final = ("conditional-user-attribute", "REQUIRED")
_PASSKEYS: Final = "webauthn-authenticator-passwordless"
FLOWS: Final = [
    _flow("password-first", _USERNAME, ("> passwords", "REQUIRED")),
    _flow(
        "passwords",
        ("auth-password-form", "ALTERNATIVE"),
        (_PASSKEYS, "ALTERNATIVE"),
        top_level=False,
    ),
    _flow("passkey-first", _USERNAME, ("> passkeys", "REQUIRED")),
    _flow(
        "passkeys",
        (_PASSKEYS, "ALTERNATIVE"),
        ("auth-password-form", "ALTERNATIVE"),
        top_level=False,
    ),
    _flow("passkey-only", _USERNAME, (_PASSKEYS, "REQUIRED")),
    _flow("key-only", _USERNAME, ("webauthn-authenticator", "REQUIRED")),
    _flow("offered", _USERNAME, ("auth-password-form", "REQUIRED")),
    _flow("without-role", _USERNAME, ("> not-boss", "CONDITIONAL"), _PASSWORD),
    _flow("not-boss", _IF_NOT_BOSS, (_PASSKEYS, "REQUIRED"), top_level=False),
    _flow("without-attribute", _USERNAME, ("> not-red", "CONDITIONAL"), _PASSWORD),
    _flow("not-red", _IF_NOT_RED, (_PASSKEYS, "REQUIRED"), top_level=False),
]
CONFIGS: Final = [
    {"alias": "conditional-user-role", "config": {"condUserRole": "boss", "negate": "true"}},
    {
        "alias": "conditional-user-attribute",
        "config": {
            "attribute_name": "team",
            "attribute_expected_value": "red",
            "not": "true",
        },
    },
]
"""Conditions that a user without roles and attributes meets."""
CLIENTS: Final = tuple(each["alias"] for each in FLOWS if each["topLevel"])


@pytest.fixture(scope="module")
def decoys(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose users enter their names first."""
    clients = [
        web_client(name, authenticationFlowBindingOverrides={"browser": f"{name}-id"})
        for name in CLIENTS
    ]
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": True,
        "failureFactor": 1,
        "waitIncrementSeconds": 900,
        f"{POLICY}PasskeysEnabled": True,
        "clients": [web_client("app"), *clients],
        "authenticationFlows": FLOWS,
        "authenticatorConfig": CONFIGS,
    }
    with administered_realm(administration, "decoys", {}, **settings) as realm:
        yield SignInRealm(realm)


def _add(decoys: SignInRealm, name: str, *kinds: str, **fields: Any) -> list[str]:
    """Add a user with a key for each kind, and return the ids of the keys."""
    made = {kind: SoftwareAuthenticator() for kind in kinds}
    held = [key.credential(type=kind, userLabel="Ada's key") for kind, key in made.items()]
    new = {**person(name), **NAMES, "email": f"{name}@example.org", **fields}
    new["credentials"] = [*fields.get("credentials", new["credentials"]), *held]
    decoys.realm.change("POST", "users", new)
    return [b64(key.id) for key in made.values()]


@pytest.fixture(scope="module")
def names(decoys: SignInRealm) -> tuple[str, ...]:
    """Return names of users of every kind, and of no user."""
    _add(decoys, "with-passkey", PASSKEY)
    _add(decoys, "with-both", PASSKEY, "webauthn")
    _add(decoys, "with-security-key", "webauthn")
    _add(decoys, "with-passkey-alone", PASSKEY, credentials=[])
    _add(decoys, "without-keys")
    _add(decoys, "without-anything", credentials=[])
    _add(decoys, "barred-with-key", PASSKEY, enabled=False)
    _add(decoys, "barred", enabled=False)
    for name, kinds in (("shut-out", ()), ("shut-out-with-key", (PASSKEY,))):
        _add(decoys, name, *kinds)
        decoys.browser().sign_in(name, password="wrong")
    return (
        *("with-passkey", "with-both", "with-security-key", "with-passkey-alone"),
        *("without-keys", "without-anything", "barred-with-key", "barred"),
        *("shut-out", "shut-out-with-key", "no-user", "nobody@example.org"),
    )


def _named(decoys: SignInRealm, client: str, name: str) -> tuple[SignInBrowser, Page]:
    browser = decoys.browser()
    return browser, browser.submit(browser.open(client), username=name)


def _structure(page: Page, name: str) -> tuple[int, str]:
    """Return the page without the name, and what differs at each request; keys are one key."""
    text = re.sub(_CODES, "", page.html.replace(name, "NAME"))
    text = re.sub(_CHALLENGE, "", text)
    return page.status, re.sub(_KEYS, "KEYS ", text)


@pytest.mark.parametrize("client", CLIENTS)
def test_a_page_after_the_name_is_the_same_for_every_name(
    decoys: SignInRealm, names: tuple[str, ...], client: str
) -> None:
    seen = {}
    for name in names:
        browser, page = _named(decoys, client, name)
        pages = [page]
        assert "KEYS" in _structure(page, name)[1]
        if "tryAnotherWay" in page.html:
            ways = browser.post(page.form.action, {"tryAnotherWay": "on"})
            pages.append(ways)
            for way in re.findall(_WAYS, ways.html):
                page = browser.post(ways.form.action, {"authenticationExecution": way})
                pages.append(page)
                ways = browser.post(page.form.action, {"tryAnotherWay": "on"})
        seen[name] = [_structure(page, name) for page in pages]
    for name in names:
        assert seen[name] == seen["no-user"], name


@pytest.mark.parametrize("client", CLIENTS)
def test_a_key_that_is_presented_for_a_decoy_is_refused_alike(
    decoys: SignInRealm, names: tuple[str, ...], client: str
) -> None:
    own = SoftwareAuthenticator()
    seen: dict[str, dict[str, tuple[int, str]]] = {}
    with decoys.changed(bruteForceProtected=False):
        for name in names:
            if "shut-out" in name:
                continue
            browser, page = _named(decoys, client, name)
            own.id = unb64(allowed(page)[0])
            for handle in ("", b64(b"handle")):
                fields = own.sign(page, userHandle=handle)
                page = browser.post(page.form_with_id("webauth").action, fields)
                seen.setdefault(handle, {})[name] = _structure(page, name)
    for found in seen.values():
        for name, answer in found.items():
            assert answer == found["no-user"], name


def test_decoys_of_a_name_stay_the_same(decoys: SignInRealm) -> None:
    def ids(name: str, client: str = "passkey-only") -> list[str]:
        return allowed(_named(decoys, client, name)[1])

    _add(decoys, "keyless")
    for name in ("no-one", "keyless"):
        first = ids(name)
        assert 1 <= len(first) <= 2
        assert ids(name) == ids(name.upper()) == ids(f" {name}") == first
        assert ids(name, "passkey-first") == first
        assert ids(name, "key-only") != first, "keys of another type are other ones"
        assert ids(f"{name}-2") != first
        assert ids("keyless" if name == "no-one" else "no-one") != first
    page = _named(decoys, "passkey-only", "no-one")[1]
    again = SignInBrowser.post(*_again(decoys))
    assert allowed(page)[0] in again.html, "after a form as well"


def _again(decoys: SignInRealm) -> tuple[SignInBrowser, str, dict[str, str]]:
    browser, page = _named(decoys, "passkey-only", "no-one")
    return browser, page.form_with_id("webauth").action, {"error": "NotAllowedError"}


def test_decoys_look_like_keys(decoys: SignInRealm) -> None:
    """Of many names: lengths, transports and numbers are those of authenticators."""
    lengths: set[int] = set()
    counts: list[int] = []
    seen: set[str] = set()
    for number in range(60):
        page = _named(decoys, "passkey-only", f"name-{number}")[1]
        ids = allowed(page)
        counts.append(len(ids))
        lengths |= {len(unb64(each)) for each in ids}
        assert not seen & {*ids}
        seen |= {*ids}
        assert re.findall(r'data-transports="([^"]+)"', page.html)
    assert {16, 20, 32} <= lengths <= {16, 20, 32, 48, 64}
    assert 3 <= counts.count(2) <= 30


def test_the_keys_of_a_user_are_asked_for_without_labels(decoys: SignInRealm) -> None:
    ids = _add(decoys, "labelled", PASSKEY, "webauthn")
    for client, key in (("passkey-only", ids[0]), ("key-only", ids[1])):
        page = _named(decoys, client, "labelled")[1]
        assert allowed(page) == [key]
        assert "Ada&#39;s key" not in page.html


def test_a_user_who_has_proven_a_password_sees_no_decoys(decoys: SignInRealm) -> None:
    """The user who is known has no use for them."""
    with decoys.changed(bruteForceProtected=False):
        _add(decoys, "proven")
        browser, page = _named(decoys, "offered", "proven")
        assert browser.submit(page, password=PASSWORD).answer["code"]
        again = browser.open("offered", prompt="login")
        assert "authn_use_chk" not in again.html
