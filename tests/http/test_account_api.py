"""The account API: who is admitted, and what users see and change. Keycloak: 17 (26.7).

Each answer was compared with one of Keycloak 26.7.3. attacks: D3, E1, E3
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import administered_realm, person
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.own_account import (
    FOR_ACCOUNT,
    PAGE,
    PROFILE,
    ROLES,
    OwnAccount,
    account_realm,
    session_of,
)
from tests.support.wire import DEVICE

PASSWORD_CREDENTIAL: Final = {"type": "password", "value": PASSWORD}
_SERVICE: Final = {
    "clientId": "service",
    "secret": SECRET,
    "enabled": True,
    "serviceAccountsEnabled": True,
    "protocolMappers": [FOR_ACCOUNT],
}
_GUARDED: Final = {
    "bruteForceProtected": True,
    "failureFactor": 1,
    "waitIncrementSeconds": 600,
    "quickLoginCheckMilliSeconds": 0,
}
OPERATIONS: Final = {
    ("GET", ""): {"manage-account", "view-profile"},
    ("POST", ""): {"manage-account"},
    ("GET", "/sessions"): {"manage-account", "view-profile"},
    ("GET", "/sessions/devices"): {"manage-account", "view-profile"},
    ("DELETE", "/sessions/none"): {"manage-account"},
    ("DELETE", "/sessions"): {"manage-account"},
    ("GET", "/credentials"): {"manage-account", "view-profile"},
    ("PUT", "/credentials/none/label"): {"manage-account"},
    ("DELETE", "/credentials/none"): {"manage-account"},
    ("GET", "/applications"): {"manage-account", "view-applications"},
    ("GET", "/applications/silent/consent"): {"manage-account", "view-consent", "manage-consent"},
    ("POST", "/applications/silent/consent"): {"manage-account", "manage-consent"},
    ("PUT", "/applications/silent/consent"): {"manage-account", "manage-consent"},
    ("DELETE", "/applications/silent/consent"): {"manage-account", "manage-consent"},
    ("GET", "/groups"): {"manage-account", "view-groups"},
    ("GET", "/certificates"): {"manage-account", "view-profile"},
    ("GET", "/linked-accounts"): {"manage-account", "view-profile"},
    ("GET", "/linked-accounts/x"): {"manage-account"},
    ("DELETE", "/linked-accounts/x"): {"manage-account"},
    ("GET", "/supportedLocales"): set(ROLES),
}
"""Operation -> the roles each of which is sufficient."""
_BODIES: Final[dict[str, Any]] = {
    "": {"firstName": "Ann"},
    "/applications/silent/consent": {"grantedScopes": []},
    "/credentials/none/label": "mine",
}
UNAUTHORIZED: Final = (401, {"error": "HTTP 401 Unauthorized"})


@pytest.fixture(scope="module")
def account(administration: Administration) -> Iterator[OwnAccount]:
    fields = account_realm(**_GUARDED)
    fields["clients"].append(_SERVICE)
    with administered_realm(administration, "own-accounts", {}, **fields) as realm:
        realm.change("PUT", "users/profile", PROFILE)
        standard = f"roles/default-roles-{realm.name}/composites"
        realm.change("DELETE", standard, realm.get(standard))
        yield OwnAccount(realm)


@pytest.fixture(scope="module")
def tokens(account: OwnAccount) -> dict[str, str]:
    """Return a token for each role."""
    return {role: account.token(role) for role in ROLES}


def answer(response: httpx2.Response) -> tuple[int, Any]:
    return response.status_code, response.json()


def everything(account: OwnAccount, token: str | None, realm: str = "") -> set[tuple[int, str]]:
    """Return the distinct answers of every operation."""
    asked = (
        account.ask(method, path, token, realm=realm, json=_BODIES.get(path))
        for method, path in OPERATIONS
    )
    return {(one.status_code, one.text) for one in asked}


@pytest.mark.parametrize("role", ROLES)
def test_each_operation_requires_one_of_its_roles(
    account: OwnAccount, tokens: dict[str, str], role: str
) -> None:
    for (method, path), sufficient in OPERATIONS.items():
        response = account.ask(method, path, tokens[role], json=_BODIES.get(path))
        if role in sufficient:
            assert response.status_code not in {401, 403}, (method, path, response.text)
        else:
            assert answer(response) == (403, {"error": "HTTP 403 Forbidden"}), (method, path)


def test_only_a_users_token_for_the_account_client_is_admitted(
    account: OwnAccount, tokens: dict[str, str]
) -> None:
    administration = account.realm.administration
    refused = {
        "none": None,
        "no token": "x.y.z",
        "for no audience": account.token("manage-account", "scopeless"),
        "a service account": administration.fresh_token("service", account.realm.name),
        "another realm": administration.token(),
    }
    for name, token in refused.items():
        assert everything(account, token) == {(401, '{"error":"HTTP 401 Unauthorized"}')}, name
    elsewhere = everything(account, tokens["manage-account"], "master")
    assert elsewhere == {(401, '{"error":"HTTP 401 Unauthorized"}')}
    cookies = {"Cookie": f"KEYCLOAK_IDENTITY={tokens['manage-account']}"}
    assert answer(account.ask("GET", "", None, headers=cookies)) == UNAUTHORIZED
    assert account.get("", account.token("manage-account", "light"))["username"] == "manage-account"


@pytest.mark.parametrize("state", ["disabled", "ended", "revoked"])
def test_a_user_who_may_not_sign_in_has_no_account(account: OwnAccount, state: str) -> None:
    """attacks: D3."""
    user_id = account.add(state, "manage-account")
    token = account.token(state)
    assert account.ask("GET", "", token).status_code == 200
    match state:
        case "disabled":
            account.realm.change("PUT", f"users/{user_id}", {"enabled": False})
        case "ended":
            account.realm.change("DELETE", f"sessions/{session_of(token)}")
        case _:
            account.realm.change("POST", f"users/{user_id}/logout")
    assert everything(account, token) == {(401, '{"error":"HTTP 401 Unauthorized"}')}


def test_a_role_that_was_taken_away_is_missing_at_once(account: OwnAccount) -> None:
    """Keycloak believes the roles in the token until it expires."""
    user_id = account.add("former", "manage-account")
    token = account.token("former")
    [client] = account.realm.get("clients?clientId=account")
    path = f"users/{user_id}/role-mappings/clients/{client['id']}"
    account.realm.change("DELETE", path, account.realm.get(path))
    assert account.ask("GET", "", token).status_code in {401, 403}


def test_without_the_client_there_is_no_account(
    account: OwnAccount, tokens: dict[str, str]
) -> None:
    [client] = account.realm.get("clients?clientId=account")
    try:
        account.realm.change("PUT", f"clients/{client['id']}", {"enabled": False})
        refused = (404, {"error": "account management not enabled"})
        assert answer(account.ask("GET", "", tokens["manage-account"])) == refused
        assert answer(account.ask("GET", "/sessions", None)) == refused
    finally:
        account.realm.change("PUT", f"clients/{client['id']}", {"enabled": True})


def test_pages_of_the_clients_web_origins_alone_read_the_answers(
    account: OwnAccount, tokens: dict[str, str]
) -> None:
    token = tokens["manage-account"]
    answered = account.ask("GET", "", token, headers={"Origin": PAGE})
    assert answered.headers["access-control-allow-origin"] == PAGE
    assert answered.headers["cache-control"] == "no-store"
    other = account.ask("GET", "", token, headers={"Origin": "https://stranger.example"})
    assert answer(other) == (403, {"error": "Invalid origin"})
    assert "access-control-allow-origin" not in other.headers
    for path in ("", "/sessions", "/applications"):
        preflight = {"Origin": PAGE, "Accept": "*/*"}
        asked = account.ask("OPTIONS", path, None, headers=preflight)
        allowed = asked.headers["access-control-allow-methods"]
        assert (asked.status_code, allowed) == (200, "HEAD, DELETE, POST, GET, OPTIONS, PUT")


def test_what_does_not_exist_and_bodies_that_cannot_be_read(
    account: OwnAccount, tokens: dict[str, str]
) -> None:
    token = tokens["manage-account"]
    not_found = (404, {"error": "HTTP 404 Not Found"})
    for path in ("/nothing", "/sessions/a/b", "/organizations", "/v1/sessions"):
        assert answer(account.ask("GET", path, token)) == not_found, path
    assert account.ask("PUT", "/sessions", token, json={}).status_code == 405
    kind = {"Content-Type": "application/json"}
    unparsed = "Cannot parse the JSON"
    refusals = {
        "{": (400, {"error": "invalid_request", "error_description": unparsed}),
        "[]": (400, {"error": "unknown_error", "error_description": unparsed}),
        '{"email": {}}': (400, None),
        '{"attributes": {"desk": [{}]}}': (400, None),
        '{"firstName": "' + "x" * 300_000 + '"}': (413, None),
    }
    for content, (status, document) in refusals.items():
        found = account.ask("POST", "", token, content=content, headers=kind)
        assert found.status_code == status, content[:40]
        assert document is None or found.json() == document
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert account.ask("POST", "", token, content="a=b", headers=form).status_code == 415
    unknown = account.ask("POST", "", token, json={"nonsense": 1})
    assert "Unrecognized field" in unknown.json()["error"]


def test_other_features_answer_as_where_they_are_off(
    account: OwnAccount, tokens: dict[str, str]
) -> None:
    token = tokens["manage-account"]
    assert account.get("/supportedLocales", token) == ["de", "en"]
    assert account.get("/linked-accounts?linked=true", token) == []
    unlinked = account.ask("DELETE", "/linked-accounts/x", token)
    assert answer(unlinked) == (400, {"errorMessage": "identityProviderNotFoundMessage"})
    resources = account.ask("GET", "/resources", token)
    assert answer(resources) == (403, {"errorMessage": "User-managed access not enabled"})


FIELDS: Final = {
    "email": "ann@own.example",
    "firstName": "Ann",
    "lastName": "A",
    "emailVerified": True,
    "attributes": {"desk": ["1"], "badge": ["7"], "secret": ["s"]},
}


@pytest.fixture
def ann(account: OwnAccount) -> Iterator[str]:
    """Return the id of a user who manages the own account."""
    user_id = account.add("ann", "manage-account", **FIELDS)
    account.events()
    yield user_id
    account.realm.change("DELETE", f"users/{user_id}")


def test_users_read_what_the_profile_lets_them_see(account: OwnAccount, ann: str) -> None:
    found = account.get("", account.token("ann"))
    metadata = found.pop("userProfileMetadata")
    assert found == {
        "id": ann,
        "username": "ann",
        "firstName": "Ann",
        "lastName": "A",
        "email": "ann@own.example",
        "emailVerified": True,
        "attributes": {"desk": ["1"], "badge": ["7"]},
    }
    described = {one["name"]: (one["required"], one["readOnly"]) for one in metadata["attributes"]}
    assert described == {
        "locale": (False, False),
        "username": (True, True),
        "email": (False, False),
        "firstName": (True, False),
        "lastName": (False, False),
        "desk": (False, False),
        "badge": (False, True),
    }
    assert "userProfileMetadata" not in account.get(
        "?userProfileMetadata=false", account.token("ann")
    )


def test_users_change_what_the_profile_lets_them_change(account: OwnAccount, ann: str) -> None:
    token = account.token("ann")
    sent = account.get("", token) | {
        "email": "New@Own.example",
        "firstName": "Anna",
        "attributes": {"desk": ["2", "3"], "badge": ["7"], "locale": ["de"], "unknown": ["x"]},
    }
    account.events()
    changed = account.ask("POST", "", token, json=sent)
    assert (changed.status_code, changed.content) == (204, b"")
    stored = account.realm.get(f"users/{ann}")
    assert stored["attributes"] == {
        "desk": ["2", "3"],
        "badge": ["7"],
        "secret": ["s"],
        "locale": ["de"],
    }
    assert (stored["email"], stored["emailVerified"]) == ("new@own.example", False)
    [event] = account.events()
    assert (event["type"], event["userId"]) == ("UPDATE_PROFILE", ann)
    assert event["details"] == {
        "context": "ACCOUNT",
        "previous_email": "ann@own.example",
        "updated_email": "new@own.example",
        "previous_first_name": "Ann",
        "updated_first_name": "Anna",
    }
    left_out = account.ask("POST", "", token, json={"firstName": "Anna"})
    assert left_out.status_code == 204
    assert account.get("?userProfileMetadata=false", token) == {
        "id": ann,
        "username": "ann",
        "firstName": "Anna",
        "emailVerified": False,
        "attributes": {"badge": ["7"]},
    }


def test_fields_that_users_may_not_change_stay_as_they_are(account: OwnAccount, ann: str) -> None:
    """attacks: E3."""
    token, before = account.token("ann"), account.realm.get(f"users/{ann}")
    sent = {"firstName": "Ann", "lastName": "A", "email": "ann@own.example"}
    for field, value in {
        "id": "other",
        "emailVerified": False,
        "enabled": False,
        "attributes": {"desk": ["1"], "secret": ["guessed"], "disabledReason": ["x"]},
    }.items():
        attributes = {"attributes": {"desk": ["1"]}}
        answered = account.ask("POST", "", token, json=sent | attributes | {field: value})
        assert answered.status_code == 204, field
        assert account.realm.get(f"users/{ann}") == before, field
    for field, refused in {
        "realmRoles": ["admin"],
        "clientRoles": {"realm-management": ["realm-admin"]},
        "groups": ["/staff"],
        "credentials": [{"type": "password", "value": "x"}],
        "requiredActions": [],
        "notBefore": 0,
    }.items():
        assert account.ask("POST", "", token, json=sent | {field: refused}).status_code == 400
        assert account.realm.get(f"users/{ann}") == before, field


def _error(field: str, message: str, *parameters: str | None) -> dict[str, Any]:
    return {"field": field, "errorMessage": message, "params": list(parameters)}


@pytest.mark.usefixtures("ann")
def test_values_that_break_a_rule_are_refused_with_its_name(account: OwnAccount) -> None:
    token = account.token("ann")
    account.events()
    sent = {"username": "ann", "firstName": "Ann"}
    read_only = "error-user-attribute-read-only"
    refusals: list[tuple[dict[str, Any], int, list[dict[str, Any]]]] = [
        (
            {"firstName": ""},
            400,
            [_error("firstName", "error-user-attribute-required", "${firstName}")],
        ),
        (
            {"lastName": "a" * 256},
            400,
            [_error("lastName", "error-invalid-length-too-long", "${lastName}", None, "255")],
        ),
        ({"email": "bad"}, 400, [_error("email", "error-invalid-email", "${email}", "bad")]),
        ({"attributes": {"badge": ["8"]}}, 400, [_error("badge", read_only, "badge")]),
        (
            {"username": "other"},
            400,
            [
                _error("username", read_only, "${username}"),
                _error("username", "readOnlyUsernameMessage", "${username}"),
            ],
        ),
    ]
    taken = account.add("ben", email="ben@own.example")
    message = _error("email", "emailExistsMessage", "${email}")
    refusals.append(({"email": "ben@own.example"}, 409, [message]))
    for changed, status, errors in refusals:
        alone = errors[0] if len(errors) == 1 else {}
        found = answer(account.ask("POST", "", token, json=sent | changed))
        assert found == (status, {**alone, "errors": errors})
    assert account.events() == []
    account.realm.change("DELETE", f"users/{taken}")


def test_the_user_name_is_changed_where_the_realm_allows_it(account: OwnAccount, ann: str) -> None:
    token = account.token("ann")
    account.realm.change("PUT", "", {"editUsernameAllowed": True})
    unnamed = answer(account.ask("POST", "", token, json={"username": "", "firstName": "Ann"}))
    missing = _error("username", "missingUsernameMessage", "${username}")
    assert unnamed == (400, {**missing, "errors": [missing]})
    account.events()
    sent = {"username": "Anni", "firstName": "Ann"}
    assert account.ask("POST", "", token, json=sent).status_code == 204
    assert account.realm.get(f"users/{ann}")["username"] == "anni"
    [event] = account.events()
    assert event["details"]["previous_username"] == "ann"
    assert event["details"]["updated_username"] == "anni"
    account.realm.change("PUT", "", {"editUsernameAllowed": False})


@pytest.mark.usefixtures("ann")
def test_credentials_are_listed_by_type_without_their_secrets(account: OwnAccount) -> None:
    token = account.token("ann")
    password, code = account.get("/credentials", token)
    [held] = password.pop("userCredentialMetadatas")
    assert password == {
        "type": "password",
        "category": "basic-authentication",
        "displayName": "password-display-name",
        "helptext": "password-help-text",
        "iconCssClass": "kcAuthenticatorPasswordClass",
        "updateAction": "UPDATE_PASSWORD",
        "removeable": False,
    }
    assert set(held["credential"]) == {"id", "type", "createdDate", "credentialData"}
    assert code == {
        "type": "otp",
        "category": "two-factor",
        "displayName": "otp-display-name",
        "helptext": "otp-help-text",
        "iconCssClass": "kcAuthenticatorOTPClass",
        "createAction": "CONFIGURE_TOTP",
        "removeable": True,
        "userCredentialMetadatas": [],
    }
    assert [one["type"] for one in account.get("/credentials?type=otp", token)] == ["otp"]
    [listed] = account.get("/credentials?type=password&user-credentials=false", token)
    assert "userCredentialMetadatas" not in listed


@pytest.mark.usefixtures("ann")
def test_passkeys_are_listed_where_the_sign_in_accepts_them(account: OwnAccount) -> None:
    """Without a step of their own. Keycloak: 17.4."""
    token = account.token("ann")
    policy = "webAuthnPolicyPasswordless"
    assert account.get("/credentials?type=webauthn-passwordless", token) == []
    enabled = {f"{policy}RpEntityName": "keycloak", f"{policy}PasskeysEnabled": True}
    account.realm.change("PUT", "", enabled)
    [passkeys] = account.get("/credentials?type=webauthn-passwordless", token)
    assert passkeys["category"] == "passwordless"
    assert passkeys["createAction"] == "webauthn-register-passwordless"
    account.realm.change("PUT", "", enabled | {f"{policy}PasskeysEnabled": False})


def test_users_name_their_own_credentials_alone(account: OwnAccount, ann: str) -> None:
    """attacks: E1."""
    token = account.token("ann")
    kind = {"Content-Type": "application/json"}

    def label(credential: str, content: str) -> tuple[int, Any]:
        path = f"/credentials/{credential}/label"
        found = account.ask("PUT", path, token, content=content, headers=kind)
        return found.status_code, found.json() if found.content else None

    def stored(user_id: str) -> dict[str, Any]:
        found: dict[str, Any] = account.realm.get(f"users/{user_id}/credentials")[0]
        return found

    own = stored(ann)["id"]
    assert label(own, '"mine"') == (204, None)
    assert stored(ann)["userLabel"] == "mine"
    invalid = (400, {"errorMessage": "invalidRequestMessage"})
    assert [label(own, text) for text in ("mine", '{"a":1}', "1")] == [invalid] * 3
    assert label(own, json.dumps("x" * 256))[0] == 400
    assert label(own, "null") == (204, None)
    assert "userLabel" not in stored(ann)
    other = account.add("other")
    missing = (404, {"error": "Credential not found"})
    assert label(stored(other)["id"], '"x"') == missing == label("none", '"x"')
    account.realm.change("DELETE", f"users/{other}")


def test_users_list_their_own_groups(account: OwnAccount, ann: str) -> None:
    [staff] = account.realm.get("groups")
    [desk] = account.realm.get(f"groups/{staff['id']}/children")
    account.realm.change("PUT", f"users/{ann}/groups/{desk['id']}")
    token = account.token("ann")
    group = {
        "id": desk["id"],
        "name": "desk",
        "path": "/staff/desk",
        "parentId": staff["id"],
        "subGroups": [],
    }
    assert account.get("/groups", token) == [group]
    details = {"attributes": {"a": ["1"]}, "realmRoles": [], "clientRoles": {}}
    assert account.get("/groups?briefRepresentation=false", token) == [group | details]


def test_the_user_of_another_realm_has_no_account_in_this_one(
    account: OwnAccount, administration: Administration
) -> None:
    """attacks: E1."""
    names = {"firstName": "F", "lastName": "L", "email": "f@own.example"}
    fields = account_realm(users=[person("manage-account", **names)])
    with administered_realm(administration, "own-accounts-beside", {}, **fields) as realm:
        beside = OwnAccount(realm)
        token = beside.token("manage-account")
        assert answer(account.ask("GET", "", token)) == UNAUTHORIZED


def test_users_delete_their_own_deletable_credentials(account: OwnAccount, ann: str) -> None:
    """attacks: E1."""
    token, lightweight = account.token("ann"), account.token("ann", "light")
    account.events()

    def device_of(user_id: str) -> str:
        held = account.realm.get(f"users/{user_id}/credentials")
        return next(str(one["id"]) for one in held if one["type"] == "otp")

    def deleted(credential: str, by: str = token) -> tuple[int, Any]:
        found = account.ask("DELETE", f"/credentials/{credential}", by)
        return found.status_code, found.json() if found.content else None

    devices = [PASSWORD_CREDENTIAL, DEVICE | {"userLabel": "phone"}]
    coded = account.add("coded", "manage-account", credentials=devices)
    missing = (404, {"error": "Credential not found"})
    assert deleted(device_of(coded)) == missing == deleted("none")
    password = account.realm.get(f"users/{ann}/credentials")[0]["id"]
    assert deleted(password) == (400, {"error": "Credential type cannot be removed"})
    account.realm.change("PUT", f"users/{ann}", {"credentials": [DEVICE | {"userLabel": "phone"}]})
    device = device_of(ann)
    status, refusal = deleted(device, lightweight)
    assert (status, refusal["error"].startswith("Insufficient level")) == (403, True)
    assert account.events() == []
    assert deleted(device) == (204, None)
    assert deleted(device) == missing
    details = {
        "credential_type": "otp",
        "selected_credential_id": device,
        "credential_user_label": "phone",
    }
    assert [(one["type"], one["userId"], one["details"]) for one in account.events()] == [
        ("REMOVE_TOTP", ann, details),
        ("REMOVE_CREDENTIAL", ann, details),
    ]
    assert len(account.realm.get(f"users/{coded}/credentials")) == 2
    account.realm.change("DELETE", f"users/{coded}")
