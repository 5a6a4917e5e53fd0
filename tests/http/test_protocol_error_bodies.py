"""Answers of protocol endpoints to wrong requests. Keycloak: 1.1, 12.3 to 12.6 (26.7)."""

from typing import Any, Final

import httpx2
import pytest

from tests.support.administered_realm import SIGN_IN, administered_realm, person
from tests.support.administration import PASSWORD as ADA_PASSWORD
from tests.support.administration import Administration
from tests.support.wire import FORM, PASSWORD, SECRET, Wire, basic, protocol

SVC: Final = {"client_id": "svc", "client_secret": SECRET}
MISSING_GRANT: Final = (400, "invalid_request", "Missing form parameter: grant_type")
NO_CLIENT: Final = (401, "invalid_client", "Invalid client or Invalid client credentials")
ANSWERS: Final[dict[str, tuple[Any, Any]]] = {
    "token": (MISSING_GRANT, MISSING_GRANT),
    "token/introspect": (NO_CLIENT, (400, "invalid_request", "Token not provided.")),
    "revoke": (NO_CLIENT, (400, "invalid_request", "Token not provided")),
}
"""Of an empty form: without a client, and with one that authenticates by the header."""
OTHER_BODIES: Final[dict[str, tuple[bytes, dict[str, str]]]] = {
    "JSON": (b'{"client_id":"svc"}', {"Content-Type": "application/json"}),
    "broken JSON": (b"{", {"Content-Type": "application/json"}),
    "text": (b"client_id=svc&token=x", {"Content-Type": "text/plain"}),
    "no type": (b"client_id=svc&token=x", {}),
    "nothing": (b"", {}),
}


@pytest.mark.parametrize("endpoint", ANSWERS)
@pytest.mark.parametrize("kind", OTHER_BODIES)
def test_a_body_of_another_kind_counts_as_an_empty_form(
    wire: Wire, endpoint: str, kind: str
) -> None:
    (content, headers), path = OTHER_BODIES[kind], protocol("people", endpoint)
    credentials = {"Authorization": basic("svc")}
    answers = tuple(
        wire.http.post(path, content=content, headers=headers | authorization)
        for authorization in ({}, credentials)
    )
    assert tuple((one.status_code, *one.json().values()) for one in answers) == ANSWERS[endpoint]


@pytest.mark.parametrize("kind", OTHER_BODIES)
def test_a_logout_without_a_refresh_token_is_that_of_a_browser(wire: Wire, kind: str) -> None:
    (content, headers), path = OTHER_BODIES[kind], protocol("people", "logout")
    for authorization in ({}, {"Authorization": basic("svc")}):
        answer = wire.http.post(path, content=content, headers=headers | authorization)
        assert answer.headers["content-type"].startswith("text/html")


def test_missing_and_empty_user_names_differ(wire: Wire) -> None:
    form = {"grant_type": "password", "password": PASSWORD, **SVC}
    missing = wire.post("token", form, realm="people")
    assert (missing.status_code, missing.json()["error_description"]) == (
        401,
        "Missing parameter: username",
    )
    empty = wire.post("token", form | {"username": ""}, realm="people")
    assert (empty.status_code, empty.json()["error"]) == (400, "invalid_grant")


def test_missing_and_empty_refresh_tokens_differ(wire: Wire) -> None:
    missing = wire.post("token", {"grant_type": "refresh_token", **SVC}, realm="people").json()
    assert missing == {"error": "invalid_request", "error_description": "No refresh token"}


@pytest.mark.parametrize("endpoint", ["token", "logout"])
def test_an_empty_refresh_token_is_an_invalid_one(wire: Wire, endpoint: str) -> None:
    form = {"grant_type": "refresh_token", **SVC}
    empty = wire.post(endpoint, form | {"refresh_token": ""}, realm="people").json()
    assert empty == {"error": "invalid_grant", "error_description": "Invalid refresh token"}


USERINFO: Final = protocol("people", "userinfo")
TWICE: Final = "More than one method used for including an access token"
IN_BOTH: Final = {"the same": "{}", "another": "x", "an empty one": ""}


@pytest.mark.parametrize("body", IN_BOTH.values(), ids=IN_BOTH)
def test_a_token_in_header_and_body_is_refused(wire: Wire, body: str) -> None:
    """RFC 6750 §2."""
    token = str(wire.sign_in(form={"scope": "openid"}).json()["access_token"])
    answer = wire.http.post(
        USERINFO,
        data={"access_token": body.format(token)},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert (answer.status_code, answer.content) == (400, b"")
    assert answer.headers["www-authenticate"] == (
        f'Bearer realm="people", error="invalid_request", error_description="{TWICE}"'
    )


def test_a_token_twice_in_the_body_is_refused(wire: Wire) -> None:
    token = str(wire.sign_in(form={"scope": "openid"}).json()["access_token"])
    content = f"access_token={token}&access_token={token}"
    answer = wire.http.post(USERINFO, content=content, headers={"Content-Type": FORM})
    assert answer.status_code == 400
    assert 'error_description="Duplicate parameter"' in answer.headers["www-authenticate"]


def test_an_empty_token_in_the_body_is_an_invalid_one(wire: Wire) -> None:
    answer = wire.http.post(USERINFO, data={"access_token": ""})
    assert answer.status_code == 401
    assert 'error="invalid_token"' in answer.headers["www-authenticate"]


def test_a_header_that_is_not_one_token_counts_as_none(wire: Wire) -> None:
    for header in ("Bearer", "Bearer a b", basic("svc")):
        answer = wire.get(USERINFO, Authorization=header)
        assert answer.headers["www-authenticate"] == 'Bearer realm="people"'


def test_a_disabled_realm_challenges_bearers_and_allows_logout(
    administration: Administration,
) -> None:
    with administered_realm(
        administration, "soon-disabled", {}, **SIGN_IN, users=[person("ada")]
    ) as realm:
        tokens = realm.sign_in("ada")
        form = {"grant_type": "password", "client_id": "page", "scope": "openid"}
        http, end = administration.http, {"client_id": "page"}
        signed_in = http.post(
            protocol(realm.name, "token"),
            data=form | {"username": "ada", "password": ADA_PASSWORD},
        ).json()
        assert administration.ask("PUT", realm.name, document={"enabled": False}).is_success
        challenge = f'Bearer realm="{realm.name}"'
        invalid = f'{challenge}, error="invalid_token", error_description='
        for token, wanted in {
            "": challenge,
            "x": f'{invalid}"Token verification failed"',
            str(signed_in["access_token"]): f'{invalid}"user_session_not_found"',
        }.items():
            headers = {"Authorization": f"Bearer {token}".strip()}
            answer = http.get(protocol(realm.name, "userinfo"), headers=headers)
            assert (answer.status_code, answer.headers["www-authenticate"]) == (401, wanted)
        logout = protocol(realm.name, "logout")
        wrong = http.post(logout, data=end | {"refresh_token": "x"})
        assert (wrong.status_code, wrong.json()["error"]) == (400, "invalid_grant")
        for one in (tokens, signed_in):
            ended = http.post(logout, data=end | {"refresh_token": one["refresh_token"]})
            assert ended.status_code == httpx2.codes.NO_CONTENT
        assert administration.ask("PUT", realm.name, document={"enabled": True}).is_success
        again = http.post(
            protocol(realm.name, "token"),
            data=end | {"grant_type": "refresh_token", "refresh_token": signed_in["refresh_token"]},
        )
        assert again.json()["error_description"] == "Session not active"
