"""What is recorded of each request to the protocol's endpoints, in Keycloak's names.

Keycloak: 10.1 to 10.3; each expectation was compared with an answer of Keycloak 26.7
"""

import base64
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.support.administered_realm import administered_realm
from tests.support.administration import PASSWORD, SECRET, Administration
from tests.support.recorded_realm import RECORDED, Recorded

ADDRESS = "203.0.113.9"
_SECRET = {"client_auth_method": "client-secret"}
_ACCOUNT = "service-account-svc"


@pytest.fixture(scope="module")
def recorded(administration: Administration) -> Iterator[Recorded]:
    """Make a realm that records everything."""
    with administered_realm(administration, "recorded", {}, **RECORDED) as realm:
        yield Recorded(realm)


@pytest.fixture(autouse=True)
def nothing_yet(recorded: Recorded) -> None:
    recorded.events()


def _event(kind: str, client_id: str | None, **fields: Any) -> dict[str, Any]:
    """Return an event with its members in Keycloak's order."""
    told = {"type": kind, "clientId": client_id, **fields}
    order = ("type", "clientId", "userId", "sessionId", "ipAddress", "error", "details")
    told |= {"ipAddress": ADDRESS, "details": fields.get("details", {})}
    return {name: told[name] for name in order if told.get(name) is not None}


def test_an_event_has_keycloaks_members_in_order(recorded: Recorded) -> None:
    recorded.post("token", {"grant_type": "password", "username": "john", "password": PASSWORD})
    [event] = recorded.realm.get("events")
    assert list(event) == [
        *("id", "time", "type", "realmId", "clientId", "userId", "sessionId", "ipAddress"),
        "details",
    ]
    assert event["realmId"] == recorded.realm.get("")["id"]
    assert abs(datetime.now(UTC).timestamp() * 1000 - event["time"]) < 60_000
    assert len(event["id"]) == 36


def test_a_service_account_signs_in(recorded: Recorded) -> None:
    user_id = recorded.user_id(_ACCOUNT)
    recorded.post("token", {"grant_type": "client_credentials", "scope": "openid"})
    details = {"grant_type": "client_credentials", **_SECRET, "username": _ACCOUNT}
    told = recorded.one()
    assert set(told["details"].pop("scope").split()) == {"openid", "email", "profile"}
    assert told == _event(
        "CLIENT_LOGIN", "svc", userId=user_id, details={**details, "token_id": "?"}
    )


_CC = {"grant_type": "client_credentials"}
_NOT_ALLOWED = "Client not allowed for direct access grants"
_NO_ACCOUNT = "Client not enabled to retrieve service account"
_PUBLIC = "Public client not allowed to retrieve service account"


@pytest.mark.parametrize(
    ("form", "client_id", "error", "details"),
    [
        ({"client_secret": "wrong"}, "svc", "invalid_client_credentials", {}),
        ({"client_secret": ""}, "svc", "invalid_client_credentials", {}),
        ({"client_id": "nobody"}, "nobody", "client_not_found", {}),
        ({"client_id": ""}, None, "client_not_found", {}),
        ({"client_id": "off"}, "off", "client_disabled", {}),
        ({"client_id": "saml"}, "saml", "invalid_client", _SECRET),
        (
            {"client_id": "no-account"},
            "no-account",
            "invalid_client",
            {**_SECRET, "reason": _NO_ACCOUNT},
        ),
        ({"client_id": "page"}, "page", "invalid_client", {**_SECRET, "reason": _PUBLIC}),
    ],
)
def test_a_service_account_that_does_not_sign_in(
    recorded: Recorded,
    form: Mapping[str, str],
    client_id: str | None,
    error: str,
    details: Mapping[str, str],
) -> None:
    recorded.post("token", _CC | dict(form))
    assert recorded.one() == _event(
        "CLIENT_LOGIN_ERROR", client_id, error=error, details={**_CC, **details}
    )


def test_basic_credentials_that_are_broken_name_no_client(recorded: Recorded) -> None:
    broken = "Basic " + base64.b64encode(b"svc%zz:secret").decode()
    recorded.post("token", _CC | {"client_id": "", "client_secret": ""}, Authorization=broken)
    assert recorded.one() == _event(
        "CLIENT_LOGIN_ERROR", None, error="invalid_client_credentials", details=_CC
    )


def test_a_scope_that_a_client_was_not_given(recorded: Recorded) -> None:
    user_id = recorded.user_id(_ACCOUNT)
    recorded.post("token", _CC | {"scope": "nonsense"})
    details = {**_CC, **_SECRET, "username": _ACCOUNT, "reason": "Invalid scopes: nonsense"}
    assert recorded.one() == _event(
        "CLIENT_LOGIN_ERROR", "svc", userId=user_id, error="invalid_request", details=details
    )


@pytest.mark.parametrize(
    "form",
    [
        {"grant_type": ""},
        {"grant_type": "nonsense"},
        {"grant_type": "client_credentials", "client_id": "bearer"},
        {"grant_type": "refresh_token"},
    ],
)
def test_a_request_without_sense_is_no_event(recorded: Recorded, form: Mapping[str, str]) -> None:
    assert recorded.post("token", form).status_code == 400
    assert recorded.events() == []


def test_a_user_signs_in(recorded: Recorded) -> None:
    user_id = recorded.user_id("john")
    form = {"grant_type": "password", "username": "john@example.test", "password": PASSWORD}
    answer = recorded.post("token", form).json()
    details = {
        **_SECRET,
        "auth_method": "openid-connect",
        "grant_type": "password",
        "refresh_token_type": "Refresh",
        "refresh_token_id": "?",
        "token_id": "?",
        "scope": answer["scope"],
        "username": "john@example.test",
    }
    session = answer["session_state"]
    assert recorded.one() == _event(
        "LOGIN", "svc", userId=user_id, sessionId=session, details=details
    )


def test_an_offline_session_is_told_apart(recorded: Recorded) -> None:
    form = {"grant_type": "password", "username": "john", "password": PASSWORD}
    recorded.post("token", form | {"scope": "offline_access"})
    assert recorded.one()["details"]["refresh_token_type"] == "Offline"


_GRANT = {"grant_type": "password"}
_ASKED = {**_GRANT, **_SECRET, "auth_method": "oauth_credentials"}
_SIGNED = {**_GRANT, **_SECRET, "auth_method": "openid-connect"}


@pytest.mark.parametrize(
    ("form", "error", "user", "details"),
    [
        ({"username": "jane", "password": "no"}, "invalid_user_credentials", "jane", {}),
        ({"username": "nobody"}, "user_not_found", None, {}),
        ({"username": "disabled", "password": PASSWORD}, "user_disabled", "disabled", {}),
        ({"username": "disabled", "password": "no"}, "user_disabled", "disabled", {}),
        (
            {"username": "unfinished", "password": PASSWORD},
            "resolve_required_actions",
            None,
            {"reason": "Account is not fully set up"},
        ),
        ({"username": _ACCOUNT}, "invalid_user", None, {"reason": "User is a service account"}),
    ],
)
def test_a_user_who_does_not_sign_in(
    recorded: Recorded,
    form: Mapping[str, str],
    error: str,
    user: str | None,
    details: Mapping[str, str],
) -> None:
    user_id = None if user is None else recorded.user_id(user)
    recorded.post("token", _GRANT | dict(form))
    assert recorded.events()[0] == _event(
        "LOGIN_ERROR",
        "svc",
        userId=user_id,
        error=error,
        details={**_SIGNED, "username": form["username"], **details},
    )
    recorded.realm.change("DELETE", "attack-detection/brute-force/users")


@pytest.mark.parametrize(
    ("form", "client_id", "error", "details"),
    [
        ({}, "svc", "user_not_found", _SIGNED),
        (
            {"client_id": "no-account"},
            "no-account",
            "not_allowed",
            {**_ASKED, "reason": _NOT_ALLOWED},
        ),
        (
            {"client_id": "consent"},
            "consent",
            "consent_denied",
            {**_ASKED, "reason": "Client requires user consent"},
        ),
        (
            {"scope": "nonsense", "username": "john"},
            "svc",
            "invalid_request",
            {**_ASKED, "reason": "Invalid scopes: nonsense"},
        ),
        ({"client_secret": "wrong"}, "svc", "invalid_client_credentials", _GRANT),
    ],
)
def test_a_sign_in_that_comes_to_no_password(
    recorded: Recorded,
    form: Mapping[str, str],
    client_id: str,
    error: str,
    details: Mapping[str, str],
) -> None:
    recorded.post("token", _GRANT | dict(form))
    assert recorded.one() == _event("LOGIN_ERROR", client_id, error=error, details=details)


def test_a_lockout_is_an_event_beside_its_failure(recorded: Recorded) -> None:
    user_id = recorded.user_id("jane")
    form = {**_GRANT, "username": "jane", "password": "no"}
    for _ in range(3):
        recorded.post("token", form)
    first, second, locked, refused = recorded.events()
    assert [event["error"] for event in (first, second, refused)] == [
        *("invalid_user_credentials", "invalid_user_credentials"),
        "user_temporarily_disabled",
    ]
    assert locked == {
        "type": "USER_DISABLED_BY_TEMPORARY_LOCKOUT",
        "userId": user_id,
        "ipAddress": ADDRESS,
        "details": {
            "reason": "brute_force_attack detected",
            "num_failures": "2",
            "not_before": "?",
        },
    }
    assert refused["userId"] == user_id
    recorded.realm.change("DELETE", "attack-detection/brute-force/users")


def test_a_lock_out_for_good_is_told_once(recorded: Recorded) -> None:
    user_id = recorded.user_id("jane")
    recorded.realm.change("PUT", "", {"permanentLockout": True})
    form = {**_GRANT, "username": "jane", "password": "no"}
    for _ in range(3):
        recorded.post("token", form)
    kinds = [(event["type"], event.get("error")) for event in recorded.events()]
    assert kinds == [
        ("LOGIN_ERROR", "invalid_user_credentials"),
        ("LOGIN_ERROR", "invalid_user_credentials"),
        ("USER_DISABLED_BY_PERMANENT_LOCKOUT", None),
        ("LOGIN_ERROR", "user_disabled"),
    ]
    recorded.realm.change("PUT", "", {"permanentLockout": False})
    recorded.realm.change("DELETE", f"attack-detection/brute-force/users/{user_id}")
    recorded.realm.change("PUT", f"users/{user_id}", {"enabled": True, "attributes": {}})


_REFRESH = {"grant_type": "refresh_token"}


def test_a_refresh_tells_which_token_became_which(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    answer = recorded.post("token", {**_REFRESH, "refresh_token": tokens["refresh_token"]}).json()
    details = {
        **_REFRESH,
        **_SECRET,
        "token_id": "?",
        "refresh_token_id": "?",
        "updated_refresh_token_id": "?",
        "refresh_token_type": "Refresh",
        "refresh_token_sub": user_id,
        "access_token_expiration_time": str(answer["expires_in"]),
        "age_of_refresh_token": "?",
        "scope": answer["scope"],
    }
    assert recorded.one() == _event(
        "REFRESH_TOKEN",
        "svc",
        userId=user_id,
        sessionId=tokens["session_state"],
        details=details,
    )


_OTHERS = "Invalid refresh token. Token client and authorized client don't match"


@pytest.mark.parametrize(
    ("client_id", "token", "reason"),
    [
        ("svc", "garbage", "Invalid refresh token"),
        ("svc", "access_token", "Invalid refresh token"),
        ("other", "refresh_token", _OTHERS),
    ],
)
def test_a_token_that_refreshes_nothing(
    recorded: Recorded, client_id: str, token: str, reason: str
) -> None:
    sent = recorded.sign_in().get(token, token)
    recorded.post("token", {**_REFRESH, "client_id": client_id, "refresh_token": sent})
    details = {**_REFRESH, **_SECRET, "reason": reason}
    assert recorded.one() == _event(
        "REFRESH_TOKEN_ERROR", client_id, error="invalid_token", details=details
    )


def test_a_refresh_of_a_session_that_is_over(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    recorded.realm.change("POST", f"users/{user_id}/logout")
    recorded.post("token", {**_REFRESH, "refresh_token": tokens["refresh_token"]})
    details = {
        **_REFRESH,
        **_SECRET,
        "reason": "Session not active",
        "refresh_token_id": "?",
        "refresh_token_type": "Refresh",
        "refresh_token_sub": user_id,
    }
    assert recorded.one() == _event(
        "REFRESH_TOKEN_ERROR",
        "svc",
        sessionId=tokens["session_state"],
        error="invalid_token",
        details=details,
    )


def test_a_logout_is_recorded_where_there_was_a_session(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    for _ in range(2):
        answer = recorded.post("logout", {"refresh_token": tokens["refresh_token"]})
        assert answer.status_code == 204
    session = tokens["session_state"]
    assert recorded.one() == _event(
        "LOGOUT", "svc", userId=user_id, sessionId=session, details=_SECRET
    )


@pytest.mark.parametrize(
    ("form", "client_id", "error", "details"),
    [
        (
            {"refresh_token": "garbage"},
            "svc",
            "invalid_token",
            {**_SECRET, "reason": "Invalid refresh token"},
        ),
        ({"client_secret": "wrong"}, "svc", "invalid_client_credentials", {}),
        ({"client_id": "nobody"}, "nobody", "client_not_found", {}),
    ],
)
def test_a_logout_that_fails(
    recorded: Recorded,
    form: Mapping[str, str],
    client_id: str,
    error: str,
    details: Mapping[str, str],
) -> None:
    recorded.post("logout", {"refresh_token": "x", **form})
    assert recorded.one() == _event("LOGOUT_ERROR", client_id, error=error, details=details)


def test_the_revocation_of_an_access_token(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    recorded.post("revoke", {"token": tokens["access_token"]})
    assert recorded.one() == _event(
        "REVOKE_GRANT", "svc", userId=user_id, details={**_SECRET, "token_id": "?"}
    )


def test_revoking_a_live_or_an_ended_refresh_token_is_recorded(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    for _ in range(2):
        recorded.post("revoke", {"token": tokens["refresh_token"]})
    done, again = recorded.events()
    details = {
        **_SECRET,
        "refresh_token_id": "?",
        "refresh_token_type": "Refresh",
        "revoked_client": "svc",
    }
    session = tokens["session_state"]
    assert done == _event("REVOKE_GRANT", "svc", userId=user_id, sessionId=session, details=details)
    assert again == _event(
        "REVOKE_GRANT_ERROR", "svc", error="user_session_not_found", details=_SECRET
    )


@pytest.mark.parametrize(
    ("client_id", "token", "error", "reason"),
    [
        ("svc", "", "invalid_request", "Token not provided"),
        ("svc", "garbage", "invalid_token", None),
        ("other", "access_token", "invalid_request", "Unmatching clients"),
        ("other", "refresh_token", "invalid_request", "Unmatching clients"),
        ("svc", "id_token", "invalid_token_type", "Unsupported token type"),
    ],
)
def test_a_revocation_that_fails(
    recorded: Recorded, client_id: str, token: str, error: str, reason: str | None
) -> None:
    sent = recorded.sign_in(scope="openid").get(token, token)
    recorded.post("revoke", {"client_id": client_id, "token": sent})
    details = _SECRET if reason is None else {**_SECRET, "reason": reason}
    assert recorded.one() == _event("REVOKE_GRANT_ERROR", client_id, error=error, details=details)


_INTROSPECT = "token/introspect"


@pytest.mark.parametrize(
    ("token", "hint", "kind"),
    [("access_token", "", "Bearer"), ("refresh_token", "refresh_token", "Refresh")],
)
def test_an_introspection(recorded: Recorded, token: str, hint: str, kind: str) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    form = {"token": tokens[token], "token_type_hint": hint}
    assert recorded.post(_INTROSPECT, form).json()["active"] is True
    details = {**_SECRET, "token_issued_for": "svc", "token_id": "?", "token_type": kind}
    session = tokens["session_state"]
    assert recorded.one() == _event(
        "INTROSPECT_TOKEN", "svc", userId=user_id, sessionId=session, details=details
    )


def test_an_introspection_by_whom_the_token_is_not_for(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    recorded.post(_INTROSPECT, {"client_id": "other", "token": tokens["access_token"]})
    details = {
        **_SECRET,
        "token_issued_for": "svc",
        "token_id": "?",
        "token_type": "Bearer",
        "reason": "Client 'other' is not in the token audience",
    }
    assert recorded.one() == _event(
        "INTROSPECT_TOKEN_ERROR",
        "other",
        userId=user_id,
        sessionId=tokens["session_state"],
        error="invalid_token",
        details=details,
    )


def test_an_introspection_after_the_session(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(), recorded.user_id("john")
    recorded.realm.change("POST", f"users/{user_id}/logout")
    recorded.post(_INTROSPECT, {"token": tokens["access_token"]})
    told = recorded.one()
    assert (told["type"], told["error"]) == ("INTROSPECT_TOKEN_ERROR", "user_session_not_found")
    assert told["sessionId"] == tokens["session_state"]
    assert "userId" not in told


@pytest.mark.parametrize(
    ("form", "client_id", "error", "details"),
    [
        (
            {"token": "garbage"},
            "svc",
            "invalid_token",
            {**_SECRET, "reason": "Access token JWT check failed"},
        ),
        ({}, "svc", "invalid_request", {**_SECRET, "detail": "Token not provided."}),
        (
            {"token": "x", "token_type_hint": "foo"},
            "svc",
            "invalid_token",
            {**_SECRET, "reason": "Access token JWT check failed"},
        ),
        (
            {"token": "x", "client_id": "page"},
            "page",
            "invalid_request",
            {**_SECRET, "detail": "Client not allowed."},
        ),
        ({"token": "x", "client_secret": "no"}, "svc", "invalid_client_credentials", {}),
        ({"token": "x", "client_id": "nobody"}, "nobody", "client_not_found", {}),
        ({"token": "x", "client_id": "off"}, "off", "client_disabled", {}),
    ],
)
def test_an_introspection_that_fails(
    recorded: Recorded,
    form: Mapping[str, str],
    client_id: str,
    error: str,
    details: Mapping[str, str],
) -> None:
    recorded.post(_INTROSPECT, form)
    assert recorded.one() == _event(
        "INTROSPECT_TOKEN_ERROR", client_id, error=error, details=details
    )


_VALIDATED = {"auth_method": "validate_access_token"}


def test_a_request_for_the_user(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(scope="openid"), recorded.user_id("john")
    assert recorded.userinfo(tokens["access_token"]).status_code == 200
    details = {**_VALIDATED, "signature_required": "false", "username": "john"}
    session = tokens["session_state"]
    assert recorded.one() == _event(
        "USER_INFO_REQUEST", "svc", userId=user_id, sessionId=session, details=details
    )


def test_a_request_for_a_user_whose_session_is_over(recorded: Recorded) -> None:
    tokens, user_id = recorded.sign_in(scope="openid"), recorded.user_id("john")
    recorded.realm.change("POST", f"users/{user_id}/logout")
    recorded.userinfo(tokens["access_token"])
    assert recorded.one() == _event(
        "USER_INFO_REQUEST_ERROR",
        "svc",
        sessionId=tokens["session_state"],
        error="user_session_not_found",
        details=_VALIDATED,
    )


@pytest.mark.parametrize(
    ("token", "error", "reason"),
    [
        (None, "invalid_token", "Missing token"),
        ("garbage", "invalid_token", "not three parts separated by dots"),
        ("access_token", "access_denied", "Missing openid scope"),
    ],
)
def test_a_request_for_no_user(
    recorded: Recorded, token: str | None, error: str, reason: str
) -> None:
    sent = recorded.sign_in().get(token, token) if token else None
    recorded.userinfo(sent)
    told = recorded.one()
    assert (told["type"], told["error"]) == ("USER_INFO_REQUEST_ERROR", error)
    assert told["details"] == {**_VALIDATED, "reason": reason}


def test_no_secret_enters_an_event(recorded: Recorded) -> None:
    """Not even where somebody gives one for a name."""
    tokens = recorded.sign_in()
    pem = "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEI\n-----END PRIVATE KEY-----"
    for name in (tokens["access_token"], pem):
        recorded.post("token", {**_GRANT, "username": name, "password": "pass-canary"})
        recorded.post("token", {**_CC, "client_id": name, "client_secret": "secret-canary"})
        recorded.post("token", {**_CC, "scope": name})
    recorded.post("token", {**_REFRESH, "refresh_token": tokens["refresh_token"] + "x"})
    recorded.post("revoke", {"token": tokens["refresh_token"]})
    text = recorded.realm.ask("GET", "events").text
    assert text.count("**********") == 6
    secrets = (SECRET, "pass-canary", "secret-canary", "BEGIN", "eyJ", PASSWORD)
    assert [secret for secret in secrets if secret in text] == []


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("n" * 300, "n" * 254 + "…"),
        ("a\u0007b\u2028c", "a\ufffdb\ufffdc"),
        ('quote " and \\ ü 😀', 'quote " and \\ ü 😀'),
    ],
)
def test_a_name_from_outside_is_kept_as_far_as_it_is_text(
    recorded: Recorded, name: str, kept: str
) -> None:
    recorded.post("token", {**_CC, "client_id": name})
    assert recorded.one()["clientId"] == kept


def test_a_realm_that_is_closed_records_nothing(recorded: Recorded) -> None:
    recorded.realm.change("PUT", "", {"sslRequired": "all"})
    http = recorded.realm.administration.http
    form = {**_CC, "client_id": "svc", "client_secret": SECRET}
    url = "/realms/recorded/protocol/openid-connect/token"
    answer = http.post(url, data=form, headers={"X-Forwarded-Proto": "http"})
    assert answer.status_code == 403
    recorded.realm.change("PUT", "", {"sslRequired": "none"})
    assert recorded.events() == []
