"""Refresh tokens where they are not refreshed: introspection and revocation.

RFC 7662 §2.2, RFC 7009 §2.1; Keycloak: 12.4, 12.5 (26.7.3)
"""

from typing import Any

import pytest

from tests.support.tokens import claims_of
from tests.support.wire import SECRET, Wire, protocol

AS_SVC = {"client_id": "svc", "client_secret": SECRET}
AS_WATCHER = {"client_id": "watcher", "client_secret": SECRET}
INACTIVE = {"active": False}


def _signed_in(wire: Wire, scope: str = "openid", realm: str = "people") -> dict[str, Any]:
    document: dict[str, Any] = wire.sign_in(form={**AS_SVC, "scope": scope}, realm=realm).json()
    return document


def _introspect(
    wire: Wire, token: str, caller: dict[str, str] = AS_SVC, hint: str = "refresh_token", **how: str
) -> dict[str, Any]:
    form = {**caller, "token": token, "token_type_hint": hint}
    answer: dict[str, Any] = wire.post(
        "token/introspect", form, **{"realm": "people", **how}
    ).json()
    return answer


def _revoke(wire: Wire, token: str, form: dict[str, str] = AS_SVC) -> tuple[int, bytes]:
    answer = wire.post("revoke", {**form, "token": token}, realm="people")
    return answer.status_code, answer.content


def _refreshed(wire: Wire, token: str) -> tuple[int, str]:
    answer = wire.refresh(token, AS_SVC)
    return answer.status_code, answer.json().get("error_description", "")


@pytest.mark.parametrize(
    ("scope", "kind"), [("openid", "Refresh"), ("openid offline_access", "Offline")]
)
def test_its_own_client_learns_what_a_refresh_token_means(
    wire: Wire, scope: str, kind: str
) -> None:
    token = _signed_in(wire, scope)["refresh_token"]
    answer = _introspect(wire, token)
    own = claims_of(token)
    assert {name: answer[name] for name in ("jti", "sid", "sub", "iss", "azp", "scope", "iat")} == {
        name: own[name] for name in ("jti", "sid", "sub", "iss", "azp", "scope", "iat")
    }
    assert answer.get("exp") == own.get("exp")
    assert answer["aud"][0] == own["iss"]
    assert "svc" in answer["aud"]
    assert (answer["typ"], answer["token_type"], answer["active"]) == (kind, kind, True)
    assert (answer["client_id"], answer["username"]) == ("svc", "alice")
    assert "realm_access" in answer
    assert not {"prov", "aud_x", "reuse_id"} & set(answer)


def test_nobody_else_learns_anything(wire: Wire) -> None:
    token = _signed_in(wire)["refresh_token"]
    assert _introspect(wire, token, AS_WATCHER) == INACTIVE


def test_a_hint_is_obeyed(wire: Wire) -> None:
    document = _signed_in(wire)
    assert _introspect(wire, document["refresh_token"], hint="access_token") == INACTIVE
    assert _introspect(wire, document["access_token"]) == INACTIVE
    assert _introspect(wire, "garbage") == INACTIVE


def test_a_refresh_token_of_an_ended_session_is_inactive(wire: Wire) -> None:
    token = _signed_in(wire)["refresh_token"]
    wire.post("logout", {**AS_SVC, "refresh_token": token}, realm="people")
    assert _introspect(wire, token) == INACTIVE


def test_a_rotated_token_is_inactive_and_asking_ends_nothing(wire: Wire) -> None:
    """Keycloak: introspection looks at reuse and counts none."""
    first = _signed_in(wire, realm="rotating")["refresh_token"]
    assert _introspect(wire, first, realm="rotating")["active"] is True
    second = wire.refresh(first, AS_SVC, realm="rotating").json()["refresh_token"]
    assert _introspect(wire, first, realm="rotating") == INACTIVE
    assert _introspect(wire, second, realm="rotating")["active"] is True
    assert wire.refresh(second, AS_SVC, realm="rotating").status_code == 200
    assert _introspect(wire, second, realm="rotating") == INACTIVE


def test_revoking_a_refresh_token_ends_the_client_session(wire: Wire) -> None:
    document = _signed_in(wire)
    access, refresh = document["access_token"], document["refresh_token"]
    assert _revoke(wire, refresh) == (200, b"")
    assert _refreshed(wire, refresh) == (400, "Session not active")
    userinfo = wire.get(protocol("people", "userinfo"), Authorization=f"Bearer {access}")
    assert userinfo.status_code == 401
    assert _introspect(wire, refresh) == INACTIVE
    assert _revoke(wire, refresh)[1].startswith(b'{"error":"invalid_token"')


def test_revoking_an_offline_token_ends_the_offline_session(wire: Wire) -> None:
    refresh = _signed_in(wire, "openid offline_access")["refresh_token"]
    assert _revoke(wire, refresh) == (200, b"")
    assert _refreshed(wire, refresh) == (400, "Offline user session not found")


@pytest.mark.parametrize("hint", ["refresh_token", "access_token", "bogus", ""])
def test_a_hint_does_not_keep_a_token_from_being_revoked(wire: Wire, hint: str) -> None:
    """RFC 7009 §2.1: the server extends its search across all kinds of tokens."""
    refresh = _signed_in(wire)["refresh_token"]
    assert _revoke(wire, refresh, {**AS_SVC, "token_type_hint": hint}) == (200, b"")
    assert _refreshed(wire, refresh)[0] == 400


def test_nobody_revokes_the_refresh_token_of_another_client(wire: Wire) -> None:
    refresh = _signed_in(wire)["refresh_token"]
    status, body = _revoke(wire, refresh, AS_WATCHER)
    assert (status, b"Unmatching clients" in body) == (400, True)
    assert _refreshed(wire, refresh)[0] == 200


def test_an_id_token_is_no_token_to_revoke(wire: Wire) -> None:
    """RFC 7009 §2.2.1."""
    document = _signed_in(wire)
    status, body = _revoke(wire, document["id_token"])
    assert (status, b"unsupported_token_type" in body) == (400, True)
    assert _refreshed(wire, document["refresh_token"])[0] == 200


def test_revoking_a_bound_refresh_token_needs_its_certificate(wire: Wire) -> None:
    """RFC 8705 §3; attacks A19."""
    as_bound = {"client_id": "bound-app", "client_secret": SECRET}
    signed_in = wire.sign_in(form=as_bound, certificate="device-1").json()
    form = {**as_bound, "token": signed_in["refresh_token"]}
    for certificate in (None, "device-2"):
        refused = wire.post("revoke", form, realm="people", certificate=certificate)
        assert refused.status_code == 401
        hinted = {**form, "token_type_hint": "refresh_token"}
        asked = wire.post("token/introspect", hinted, realm="people", certificate=certificate)
        assert asked.status_code == 401
    assert wire.post("revoke", form, realm="people", certificate="device-1").content == b""
