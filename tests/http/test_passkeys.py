"""Security keys and passkeys: registration, sign-in, and what is refused. Keycloak: 16.1.

Spec: WebAuthn Level 3 §7.1, §7.2
"""

import json
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any, Final

import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, Administration
from tests.support.recorded_realm import RECORDED
from tests.support.sign_in_browser import (
    PUBLIC_URL,
    Page,
    SignInBrowser,
    SignInRealm,
    web_client,
)
from tests.support.software_authenticator import (
    AT,
    BS,
    MODEL,
    RS256,
    UP,
    UV,
    SoftwareAuthenticator,
    Wrong,
    allowed,
    b64,
    cbor,
    options,
    unb64,
)

SECOND: Final = "webauthn-register"
PASSKEY: Final = "webauthn-register-passwordless"
KEY: Final = "webauthn"
PASSWORDLESS: Final = "webauthn-passwordless"
POLICY: Final = "webAuthnPolicy"
NOT_REGISTERED: Final = "The key could not be registered."
REJECTED: Final = "The sign-in with this key was not accepted."
NOT_USED: Final = "No key was used. Please try again."
FOREIGN: Final = "This key belongs to another user."
OTHER_MODEL: Final = "f8a011f3-8c0a-4d15-8006-17111f9edc7e"
ELSEWHERE: Final = "https://evil.test"
NUMBERS: Final = count()
"""Names of users that differ."""


def _flow(alias: str, *steps: tuple[str, str], top_level: bool = True) -> dict[str, Any]:
    executions = [
        {"priority": place, "requirement": requirement}
        | (
            {"authenticatorFlow": True, "flowAlias": name.removeprefix("> ")}
            if name.startswith("> ")
            else {"authenticator": name}
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


FLOWS: Final = [
    _flow(
        "nameless",
        ("webauthn-authenticator-passwordless", "ALTERNATIVE"),
        ("auth-username-password-form", "ALTERNATIVE"),
    ),
    _flow("named", ("auth-username-form", "REQUIRED"), ("> proofs", "REQUIRED")),
    _flow(
        "proofs",
        ("auth-password-form", "ALTERNATIVE"),
        ("webauthn-authenticator-passwordless", "ALTERNATIVE"),
        top_level=False,
    ),
    _flow(
        "keyed",
        ("auth-username-password-form", "REQUIRED"),
        ("webauthn-authenticator", "REQUIRED"),
    ),
    _flow(
        "passkeyed",
        ("auth-username-password-form", "REQUIRED"),
        ("webauthn-authenticator-passwordless", "REQUIRED"),
    ),
    _flow("strict", ("auth-username-form", "REQUIRED"), ("auth-password-form", "REQUIRED")),
]


@pytest.fixture(scope="module")
def keys(administration: Administration) -> Iterator[SignInRealm]:
    """Make a realm whose browser flow takes security keys as a second factor."""
    settings: dict[str, Any] = {
        **RECORDED,
        "bruteForceProtected": False,
        f"{POLICY}PasswordlessPasskeysEnabled": False,
        f"{POLICY}PasswordlessMediation": "conditional",
        "clients": [
            web_client("app"),
            *(
                web_client(name, authenticationFlowBindingOverrides={"browser": f"{name}-id"})
                for name in ("nameless", "named", "strict", "keyed", "passkeyed")
            ),
        ],
        "authenticationFlows": FLOWS,
    }
    with administered_realm(administration, "keys", {}, **settings) as realm:
        executions = realm.get("authentication/flows/browser/executions")
        for each in executions:
            if each.get("providerId") == "webauthn-authenticator":
                assert each["requirement"] == "DISABLED", "as in Keycloak"
                changed = {**each, "requirement": "ALTERNATIVE"}
                realm.change("PUT", "authentication/flows/browser/executions", changed)
        yield SignInRealm(realm)


@pytest.fixture(autouse=True)
def nothing_yet(keys: SignInRealm) -> None:
    keys.events()


def _add(keys: SignInRealm, username: str, *credentials: dict[str, Any], **fields: Any) -> str:
    """Add a user with credentials, and return the path of the user."""
    document = person(username, **fields)
    document["credentials"] = [*document["credentials"], *credentials]
    return f"users/{keys.realm.change('POST', 'users', document)}"


def _held(keys: SignInRealm, user: str, kind: str = KEY) -> list[dict[str, Any]]:
    return [one for one in keys.realm.get(f"{user}/credentials") if one["type"] == kind]


def _data(keys: SignInRealm, user: str, kind: str = KEY) -> dict[str, Any]:
    [held] = _held(keys, user, kind)
    found: dict[str, Any] = json.loads(held["credentialData"])
    return found


def _types(keys: SignInRealm) -> list[tuple[str, str | None]]:
    return [(event["type"], event.get("error")) for event in keys.events()]


def _send(
    browser: SignInBrowser, page: Page, fields: dict[str, str], form: str = "webauth"
) -> Page:
    return browser.post(page.form_with_id(form).action, fields)


def _registering(keys: SignInRealm, username: str, action: str = SECOND) -> tuple[str, Any, Page]:
    """Return the path of a new user, a browser, and the page where the user registers a key."""
    user, browser = _add(keys, username, requiredActions=[action]), keys.browser()
    page = browser.sign_in(username)
    assert page.id == "webauthn-register", page.text
    return user, browser, page


def _with_key(
    keys: SignInRealm, username: str, kind: str = KEY, counter: int = 0
) -> tuple[str, SoftwareAuthenticator]:
    """Return the path of a new user, and the authenticator with the user's key."""
    own = SoftwareAuthenticator(counter=counter)
    user = _add(keys, username, own.credential(type=kind))
    own.user_handle = b64(user.removeprefix("users/").encode())
    return user, own


def test_a_security_key_is_stored_as_in_keycloak_and_signs_in(keys: SignInRealm) -> None:
    """`webauthn-authenticator`, after `webauthn-register`."""
    own = SoftwareAuthenticator(counter=7)
    user, browser, page = _registering(keys, "anna")
    keys.events()
    assert f"execution={SECOND}" in page.form.action
    assert {"clientDataJSON", "attestationObject", "publicKeyCredentialId"} <= page.form.names
    assert {"authenticatorLabel", "transports", "error", "logout-sessions"} <= page.form.names
    assert "web-authn.js" in page.html
    assert "<noscript>" in page.html
    policies = page.response.headers.get_list("content-security-policy")
    assert any("script-src 'self'" in policy for policy in policies)
    assert _send(browser, page, own.register(page), "register").answer["code"]
    events = keys.events()
    kinds = ["CUSTOM_REQUIRED_ACTION", "UPDATE_CREDENTIAL", "LOGIN"]
    assert [event["type"] for event in events] == kinds
    for event in events[:2]:
        details = event["details"]
        assert details["credential_type"] == KEY
        assert details["custom_required_action"] == SECOND
        assert details["public_key_credential_id"] == b64(own.id)
        assert details["public_key_credential_label"] == "Key"
        assert details["public_key_credential_aaguid"] == own.aaguid
    [held] = _held(keys, user)
    assert held["userLabel"] == "Key"
    assert "secretData" not in held
    data = json.loads(held["credentialData"])
    assert unb64(data.pop("credentialPublicKey")) == own.public_key
    assert data == {
        "aaguid": own.aaguid,
        "credentialId": own.credential()["credentialData"].partition('"credentialId": "')[2][:44],
        "counter": 7,
        "attestationStatementFormat": "none",
        "transports": ["nfc", "usb"],
    }
    assert keys.realm.get(user)["requiredActions"] == []

    browser = keys.browser()
    asked = browser.sign_in("anna")
    assert asked.id == "webauthn-authenticate"
    assert allowed(asked) == [b64(own.id)]
    assert "Key" in asked.text
    assert _send(browser, asked, own.sign(asked)).answer["code"]
    assert _data(keys, user)["counter"] == 8
    [login] = keys.events()
    assert login["type"] == "LOGIN"
    assert login["details"]["credential_type"] == KEY
    assert login["details"]["public_key_credential_id"] == b64(own.id)


def test_a_key_of_keycloak_signs_in_and_its_counter_is_kept(keys: SignInRealm) -> None:
    """Imported with the user, RSA as well."""
    for name, algorithm in (("imported", -7), ("imported-rsa", RS256)):
        own = SoftwareAuthenticator(counter=41, algorithm=algorithm)
        user, browser = _add(keys, name, own.credential()), keys.browser()
        page = browser.sign_in(name)
        assert _send(browser, page, own.sign(page)).answer["code"]
        assert _data(keys, user)["counter"] == 42
        assert _data(keys, user)["attestationStatementFormat"] == "none"


@pytest.mark.parametrize(
    ("wrong", "settings"),
    [
        (Wrong(origin=ELSEWHERE), {}),
        (Wrong(origin=f"{PUBLIC_URL}.evil.test"), {}),
        (Wrong(rp_id="evil.test"), {}),
        (Wrong(challenge=b64(bytes(32))), {}),
        (Wrong(type="webauthn.get"), {}),
        (Wrong(cross_origin=True), {}),
        (Wrong(flags=AT | UV), {}),
        (Wrong(flags=UP | UV), {}),
        (Wrong(flags=UP | UV | AT | BS), {}),
        (Wrong(flags=UP | AT), {"UserVerificationRequirement": "required"}),
        (Wrong(), {"SignatureAlgorithms": ["RS256", "ES512"]}),
        (Wrong(), {"AttestationConveyancePreference": "direct"}),
        (Wrong(), {"AcceptableAaguids": [MODEL]}),
        (Wrong(), {"AuthenticatorAttachment": "platform"}),
    ],
)
def test_a_key_that_was_not_made_as_asked_is_refused(
    keys: SignInRealm, wrong: Wrong, settings: dict[str, Any]
) -> None:
    name = f"wrong-{next(NUMBERS)}"
    own = SoftwareAuthenticator()
    with _policy(keys, "", **settings):
        user, browser, page = _registering(keys, name)
        keys.events()
        again = _send(browser, page, own.register(page, wrong), "register")
        assert (again.status, again.message) == (200, NOT_REGISTERED)
    assert again.id == "webauthn-register"
    assert _held(keys, user) == []
    assert keys.realm.get(user)["requiredActions"] == [SECOND]
    events = keys.events()
    assert [event["type"] for event in events] == [
        "CUSTOM_REQUIRED_ACTION_ERROR",
        "UPDATE_CREDENTIAL_ERROR",
    ]
    assert {event["error"] for event in events} == {"invalid_registration"}
    assert events[0]["details"]["web_authn_registration_error"] == "webauthn-error-registration"
    assert events[0]["details"]["web_authn_registration_error_detail"]


def _policy(keys: SignInRealm, kind: str, **settings: Any) -> Any:
    """Change the policy of a kind for a while, with the rest of it."""
    prefix = f"{POLICY}{kind}"
    named = {f"{prefix}{name}": value for name, value in settings.items()}
    return keys.changed(**{f"{prefix}RpEntityName": "keycloak", **named})


def test_a_response_is_taken_once_and_a_key_is_registered_once(keys: SignInRealm) -> None:
    own = SoftwareAuthenticator()
    user, browser, page = _registering(keys, "twice")
    fields = own.register(page)
    failed = _send(browser, page, {**fields, "attestationObject": "AAAA"}, "register")
    assert failed.message == NOT_REGISTERED
    assert options(failed, "register")["challenge"] != options(page, "register")["challenge"]
    replayed = _send(browser, failed, fields, "register")
    assert replayed.message == NOT_REGISTERED, "the challenge was that of an earlier page"
    assert _send(browser, replayed, own.register(replayed), "register").answer["code"]
    keys.realm.change("PUT", user, {"requiredActions": [SECOND]})
    browser = keys.browser()
    asked = browser.sign_in("twice")
    page = _send(browser, asked, own.sign(asked))
    again = _send(browser, page, own.register(page), "register")
    assert again.message == NOT_REGISTERED, "the user has this key"
    assert len(_held(keys, user)) == 1
    given_up = _send(browser, again, {"error": "NotAllowedError"}, "register")
    assert given_up.message == "No key was registered. Please try again."
    assert given_up.id == "webauthn-register"


@pytest.mark.parametrize(
    ("attestation", "own", "attested", "wrong", "is_taken"),
    [
        ("packed", MODEL, MODEL, Wrong(), True),
        ("packed", OTHER_MODEL, OTHER_MODEL, Wrong(), False),
        ("packed", MODEL, OTHER_MODEL, Wrong(), False),
        ("packed", MODEL, MODEL, Wrong(signature=bytes(70)), False),
        ("packed self", MODEL, MODEL, Wrong(), False),
        ("none", MODEL, MODEL, Wrong(), False),
        ("pocket", MODEL, MODEL, Wrong(), False),
    ],
)
def test_acceptable_models_are_those_that_their_maker_attests(
    keys: SignInRealm, attestation: str, own: str, attested: str, wrong: Wrong, *, is_taken: bool
) -> None:
    authenticator = SoftwareAuthenticator(aaguid=own)
    name = f"attested-{next(NUMBERS)}"
    policy = {"AcceptableAaguids": [MODEL.upper()], "AttestationConveyancePreference": "direct"}
    with _policy(keys, "", **policy):
        user, browser, page = _registering(keys, name)
        assert options(page, "register")["attestation"] == "direct"
        fields = authenticator.register(page, wrong, attestation=attestation, model=attested)
        done = _send(browser, page, fields, "register")
    assert (done.status == 302) is is_taken, done.text
    assert len(_held(keys, user)) == is_taken
    if is_taken:
        assert _data(keys, user)["aaguid"] == MODEL
        assert _data(keys, user)["attestationStatementFormat"] == "packed"


def test_a_statement_is_verified_where_none_is_required(keys: SignInRealm) -> None:
    for wrong, is_taken in ((Wrong(signature=bytes(70)), False), (Wrong(), True)):
        own = SoftwareAuthenticator()
        user, browser, page = _registering(keys, f"self-attested-{is_taken}".lower())
        fields = own.register(page, wrong, attestation="packed self")
        _send(browser, page, fields, "register")
        assert len(_held(keys, user)) == is_taken


def test_the_browser_is_told_what_the_policy_says(keys: SignInRealm) -> None:
    policy = {
        "RpEntityName": "Acme <b>",
        "RpId": "test",
        "SignatureAlgorithms": ["RS256", "ES384", "RS1", "ES256"],
        "AttestationConveyancePreference": "indirect",
        "AuthenticatorAttachment": "cross-platform",
        "RequireResidentKey": "Yes",
        "UserVerificationRequirement": "preferred",
        "CreateTimeout": 90,
        "AvoidSameAuthenticatorRegister": True,
    }
    for kind, action, held in (("", SECOND, KEY), ("Passwordless", PASSKEY, PASSWORDLESS)):
        own = SoftwareAuthenticator()
        name = f"told-{held}"
        user = _add(keys, name, own.credential(type=held), requiredActions=[action])
        with _policy(keys, kind, **policy, ResidentKey="not specified"):
            browser = keys.browser()
            page = browser.sign_in(name)
            if held == KEY:
                told = options(page, "webauth")
                assert (told["rp-id"], told["timeout"]) == ("test", "90")
                assert told["user-verification"] == "preferred"
                page = _send(browser, page, own.sign(page))
            told = options(page, "register")
            fields = SoftwareAuthenticator().register(page, attestation="packed self")
            made = _send(browser, page, fields, "register")
            assert made.status == 302, made.message
        assert told.pop("challenge")
        assert told == {
            "rp-id": "test",
            "rp-name": "Acme <b>",
            "user-id": b64(user.removeprefix("users/").encode()),
            "username": name,
            "algorithms": "-257,-35,-7",
            "timeout": "90",
            "attestation": "indirect",
            "attachment": "cross-platform",
            "resident-key": "required",
            "user-verification": "preferred",
            "excluded": b64(own.id),
        }


def test_the_standard_policies_are_keycloaks(keys: SignInRealm) -> None:
    _, _, page = _registering(keys, "standard")
    _, _, other = _registering(keys, "standard-passkey", PASSKEY)
    second, passkey = options(page, "register"), options(other, "register")
    for told in (second, passkey):
        assert told["rp-id"] == "gateway.test"
        assert told["rp-name"] == "keycloak"
        assert told["algorithms"] == "-7,-257"
        assert (told["timeout"], told["attestation"], told["attachment"]) == ("0", "", "")
    assert (second["resident-key"], second["user-verification"]) == ("", "")
    assert (passkey["resident-key"], passkey["user-verification"]) == ("required", "required")
    for required, older, wanted in (
        ("preferred", "Yes", "preferred"),
        ("not specified", "No", "discouraged"),
    ):
        with _policy(keys, "", ResidentKey=required, RequireResidentKey=older):
            _, _, page = _registering(keys, f"resident-{wanted}")
            assert options(page, "register")["resident-key"] == wanted


def test_keys_of_other_origins_count_where_the_policy_lists_them(keys: SignInRealm) -> None:
    app = "android:apk-key-hash:2jmj7l5rSw0yVb"
    own = SoftwareAuthenticator(origin=app)
    with _policy(keys, "", ExtraOrigins=[app]):
        _, browser, page = _registering(keys, "native")
        assert _send(browser, page, own.register(page), "register").answer["code"]
        browser = keys.browser()
        page = browser.sign_in("native")
        assert _send(browser, page, own.sign(page)).answer["code"]
    browser = keys.browser()
    page = browser.sign_in("native")
    assert _send(browser, page, own.sign(page)).message == REJECTED


@pytest.mark.parametrize(
    "wrong",
    [
        Wrong(origin=ELSEWHERE),
        Wrong(origin="http://gateway.test"),
        Wrong(rp_id="evil.test"),
        Wrong(challenge=b64(bytes(32))),
        Wrong(type="webauthn.create"),
        Wrong(cross_origin=True),
        Wrong(flags=UV),
        Wrong(flags=UP | BS),
        Wrong(signature=b""),
        Wrong(signature=bytes(70)),
        Wrong(key=SoftwareAuthenticator().private_key),
    ],
)
def test_a_signature_for_something_else_signs_in_nobody(keys: SignInRealm, wrong: Wrong) -> None:
    name = f"signed-{next(NUMBERS)}"
    _, own = _with_key(keys, name)
    browser = keys.browser()
    page = browser.sign_in(name)
    keys.events()
    again = _send(browser, page, own.sign(page, wrong))
    expected = NOT_USED if wrong.signature == b"" else REJECTED
    assert (again.status, again.id, again.message) == (200, "webauthn-authenticate", expected)
    [event] = keys.events()
    error = "not_allowed" if wrong.signature == b"" else "invalid_user_credentials"
    assert (event["type"], event["error"]) == ("LOGIN_ERROR", error)
    assert event["details"]["credential_type"] == KEY
    assert options(again, "webauth")["challenge"] != options(page, "webauth")["challenge"]
    assert _send(browser, again, own.sign(again)).answer["code"]


def test_a_response_signs_in_once(keys: SignInRealm) -> None:
    """Of one page, and of one that is shown again."""
    _, own = _with_key(keys, "replaying")
    browser = keys.browser()
    page = browser.sign_in("replaying")
    fields = own.sign(page)
    other = keys.browser()
    asked = other.sign_in("replaying")
    assert _send(other, asked, fields).message == REJECTED
    assert _send(browser, page, fields).answer["code"]
    third = keys.browser()
    asked = third.sign_in("replaying")
    assert _send(third, asked, fields).message == REJECTED


def test_a_counter_that_does_not_grow_is_refused(keys: SignInRealm) -> None:
    """A copy of the authenticator signs. Spec: WebAuthn Level 3 §6.1.1."""
    user, own = _with_key(keys, "counted", counter=5)
    browser = keys.browser()
    page = browser.sign_in("counted")
    for stale in (4, 3):
        own.counter = stale
        page = _send(browser, page, own.sign(page))
        assert page.message == REJECTED
    own.counter = 0
    page = _send(browser, page, own.sign(page))
    assert page.message == REJECTED, "it has counted before"
    assert "counter" in keys.events()[-1]["details"]["web_authn_authentication_error_detail"]
    own.counter = 5
    assert _send(browser, page, own.sign(page)).answer["code"]
    assert _data(keys, user)["counter"] == 6


def test_the_key_of_another_user_signs_in_neither(keys: SignInRealm) -> None:
    _, own = _with_key(keys, "owner")
    _, foreign = _with_key(keys, "thief")
    browser = keys.browser()
    page = browser.sign_in("owner")
    again = _send(browser, page, foreign.sign(page))
    assert again.message == REJECTED
    stolen = _send(browser, again, replace(foreign, id=own.id).sign(again))
    assert stolen.message == REJECTED, "the id alone is none"
    named = _send(browser, stolen, foreign.sign(stolen, userHandle=foreign.user_handle))
    assert named.message == FOREIGN
    for handle in (foreign.user_handle, "!", b64(b"nobody"), b64(b"\xff"), b64(bytes(65))):
        named = _send(browser, named, own.sign(named, userHandle=handle))
        assert named.message == FOREIGN, "the key of the user names another one"
    assert _types(keys)[-1] == ("LOGIN_ERROR", "different_user_authenticated")
    assert _send(browser, named, own.sign(named, userHandle=own.user_handle)).answer["code"]


def test_a_passkey_signs_in_its_user_without_a_name(keys: SignInRealm) -> None:
    """`webauthn-authenticator-passwordless`, after `webauthn-register-passwordless`."""
    own = SoftwareAuthenticator()
    user, browser, page = _registering(keys, "bert", PASSKEY)
    assert _send(browser, page, own.register(page), "register").answer["code"]
    assert _data(keys, user, PASSWORDLESS)["aaguid"] == own.aaguid
    browser = keys.browser()
    page = browser.open("nameless")
    assert page.id == "webauthn-authenticate"
    assert allowed(page) == []
    assert options(page, "webauth")["user-verification"] == "required"
    unverified = _send(browser, page, own.sign(page, Wrong(flags=UP), userHandle=own.user_handle))
    assert unverified.message == REJECTED, "the policy requires that the user is verified"
    nameless = _send(browser, unverified, own.sign(unverified))
    assert nameless.message == REJECTED, "nothing says whose key it is"
    assert "bert" not in nameless.text
    keys.events()
    done = _send(browser, nameless, own.sign(nameless, userHandle=own.user_handle))
    assert done.answer["code"]
    [login] = keys.events()
    assert f"users/{login['userId']}" == user
    assert login["details"]["username"] == "bert"
    verified = "web_authn_authenticator_user_verification_checked"
    assert login["details"][verified] == "true"


def test_a_key_that_was_removed_finishes_no_sign_in(keys: SignInRealm) -> None:
    """Who has taken it waits at a page while its owner removes it."""
    user, own = _with_key(keys, "robbed", PASSWORDLESS)
    keys.realm.change("PUT", user, {"requiredActions": ["UPDATE_PASSWORD"]})
    browser = keys.browser()
    page = browser.open("nameless")
    page = _send(browser, page, own.sign(page, userHandle=own.user_handle))
    assert page.id == "login-update-password"
    [held] = _held(keys, user, PASSWORDLESS)
    keys.realm.change("DELETE", f"{user}/credentials/{held['id']}")
    chosen = {"password-new": "another-Passw0rd", "password-confirm": "another-Passw0rd"}
    again = browser.submit(page, **chosen)
    assert again.id == "webauthn-authenticate"
    assert again.message == "Please re-authenticate to continue"
    assert keys.realm.get(user)["requiredActions"] == ["UPDATE_PASSWORD"]


def test_a_handle_of_nobody_or_of_another_realm_signs_in_nobody(
    keys: SignInRealm, administration: Administration
) -> None:
    own = SoftwareAuthenticator()
    ada = person("ada", credentials=[own.credential(type=PASSWORDLESS)])
    settings = {**RECORDED, "users": [ada]}
    with administered_realm(administration, "other-keys", {}, **settings) as other:
        own.user_handle = b64(str(other.get("users?username=ada")[0]["id"]).encode())
        browser = keys.browser()
        page = browser.open("nameless")
        for handle in (own.user_handle, b64(b"nobody"), b64(b"\xff"), "!", b64(bytes(65))):
            page = _send(browser, page, own.sign(page, userHandle=handle))
            assert (page.status, page.message) == (200, REJECTED)
    assert {error for _, error in _types(keys)} == {"user_not_found"}


def test_a_known_user_presents_a_passkey_or_goes_another_way(keys: SignInRealm) -> None:
    _, own = _with_key(keys, "chooser", PASSWORDLESS)
    _add(keys, "without")
    browser = keys.browser()
    page = browser.submit(browser.open("named"), username="without")
    assert page.id == "login-password"
    assert "tryAnotherWay" in page.html, "or the page would reveal who has a passkey"
    page = browser.submit(browser.open("named"), username="chooser")
    assert page.id == "login-password"
    ways = browser.post(page.form.action, {"tryAnotherWay": "on"})
    assert "Passkey" in ways.text
    [chosen] = [way for way in _ways(ways) if way != _ways(ways)[0]]
    page = browser.post(ways.form.action, {"authenticationExecution": chosen})
    assert allowed(page) == [b64(own.id)]
    assert _send(browser, page, own.sign(page)).answer["code"]
    browser = keys.browser()
    page = browser.open("nameless")
    ways = browser.post(page.form.action, {"tryAnotherWay": "on"})
    page = browser.post(ways.form.action, {"authenticationExecution": _ways(ways)[-1]})
    assert browser.submit(page, username="without", password=PASSWORD).answer["code"]


def _ways(page: Page) -> list[str]:
    parts = page.html.split('name="authenticationExecution" value="')[1:]
    return [part.partition('"')[0] for part in parts]


def test_name_and_password_pages_take_passkeys_where_enabled(
    keys: SignInRealm,
) -> None:
    user, own = _with_key(keys, "carl", PASSWORDLESS)
    second = SoftwareAuthenticator()
    keys.realm.change("DELETE", user)
    user = _add(keys, "carl", own.credential(type=PASSWORDLESS), second.credential())
    own.user_handle = b64(user.removeprefix("users/").encode())
    off = keys.browser().open()
    assert "webauth" not in off.html
    browser = keys.browser()
    page = browser.open()
    sent = {"authenticatorData": "AAAA", "username": "carl", "password": PASSWORD}
    assert browser.post(page.form.action, sent).id == "webauthn-authenticate", "fields of no form"
    with _policy(keys, "Passwordless", PasskeysEnabled=True, Mediation="optional"):
        assert options(keys.browser().open(), "webauth")["mediation"] == "optional"
    with _policy(keys, "Passwordless", PasskeysEnabled=True):
        browser = keys.browser()
        page = browser.open()
        assert 'autocomplete="username webauthn"' in page.html
        assert options(page, "webauth")["mediation"] == "conditional"
        policies = page.response.headers.get_list("content-security-policy")
        assert any("script-src 'self'" in policy for policy in policies)
        given_up = _send(browser, page, {"error": "NotAllowedError"})
        assert (given_up.id, given_up.message) == ("login", NOT_USED)
        done = _send(browser, given_up, own.sign(given_up, userHandle=own.user_handle))
        assert done.answer["code"], "no second factor: conditional-credential"

        browser = keys.browser()
        page = browser.open("strict")
        assert page.id == "login-username"
        done = _send(browser, page, own.sign(page, userHandle=own.user_handle))
        assert done.answer["code"], "no password either"

        browser = keys.browser()
        page = browser.submit(browser.open("strict"), username="carl")
        assert (page.id, allowed(page)) == ("login-password", [b64(own.id)])
        wrong = _send(browser, page, own.sign(page, Wrong(origin=ELSEWHERE)))
        assert (wrong.id, wrong.message) == ("login-password", REJECTED)
        assert _send(browser, wrong, own.sign(wrong)).answer["code"]

        browser = keys.browser()
        page = browser.submit(browser.open("strict"), username="anybody")
        assert len(allowed(page)) in {1, 2}, "as a user with passkeys"


def test_wrong_signatures_lock_the_account(keys: SignInRealm) -> None:
    """attacks: D3."""
    _, own = _with_key(keys, "guessed", PASSWORDLESS)
    with keys.changed(bruteForceProtected=True, failureFactor=2, waitIncrementSeconds=600):
        browser = keys.browser()
        page = browser.open("nameless")
        for _ in range(2):
            wrong = own.sign(page, Wrong(signature=bytes(70)), userHandle=own.user_handle)
            page = _send(browser, page, wrong)
            assert page.message == REJECTED
        page = _send(browser, page, own.sign(page, userHandle=own.user_handle))
        assert page.message == REJECTED, "locked"
        assert _types(keys)[-1] == ("LOGIN_ERROR", "user_temporarily_disabled")


def test_a_required_second_factor_is_set_up_at_sign_in(keys: SignInRealm) -> None:
    user, own = _add(keys, "keyless"), SoftwareAuthenticator()
    for client, action, kind in (("keyed", SECOND, KEY), ("passkeyed", PASSKEY, PASSWORDLESS)):
        browser = keys.browser()
        page = browser.sign_in("keyless", client)
        assert f"execution={action}&" in page.form.action
        assert _send(browser, page, own.register(page), "register").answer["code"]
        assert len(_held(keys, user, kind)) == 1
        browser = keys.browser()
        page = browser.sign_in("keyless", client)
        assert _send(browser, page, own.sign(page)).answer["code"]


def test_clients_ask_for_the_registration_of_a_key(keys: SignInRealm) -> None:
    """`kc_action`, which the user may cancel."""
    user = _add(keys, "asked")
    browser = keys.browser()
    page = browser.sign_in("asked", kc_action=PASSKEY)
    cancelled = browser.post(page.form.action, {"cancel-aia": "true"})
    assert cancelled.answer["kc_action_status"] == "cancelled"
    page = browser.open(kc_action=PASSKEY)
    done = _send(browser, page, SoftwareAuthenticator().register(page), "register")
    assert done.answer["kc_action_status"] == "success"
    assert len(_held(keys, user, PASSWORDLESS)) == 1


@pytest.mark.parametrize("size", [3, 11_000])
def test_garbage_is_refused_in_a_sentence(keys: SignInRealm, size: int) -> None:
    user, browser, page = _registering(keys, f"garbage-{size}")
    nested, endless = b"\x81" * size, b"\x9b" + b"\xff" * size
    for garbage in (nested, endless, b"\xa1" * size, cbor({"fmt": "none"})):
        fields = {**SoftwareAuthenticator().register(page), "attestationObject": b64(garbage)}
        page = _send(browser, page, fields, "register")
        assert (page.status, page.message) == (200, NOT_REGISTERED)
    for json_text in (b"[]", b"{}", b"\xff", b'{"type":1,"challenge":2,"origin":3}'):
        fields = {**SoftwareAuthenticator().register(page), "clientDataJSON": b64(json_text)}
        page = _send(browser, page, fields, "register")
        assert (page.status, page.message) == (200, NOT_REGISTERED)
    page = _send(browser, page, {"clientDataJSON": "ö", "attestationObject": "%"}, "register")
    assert (page.status, page.message) == (200, NOT_REGISTERED)
    assert _held(keys, user) == []
