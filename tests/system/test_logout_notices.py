"""Notices to clients that a session has ended, sent by two gateways on one database.

OpenID Connect Back-Channel Logout §2.4, §2.5, §2.6; Keycloak: 12.6
"""

import base64
import json
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx2
import pytest

from tests.support.gateway_process import Gateway, is_running, start_gateway, until
from tests.support.logout_receiver import (
    FETCHES_FROM_LOOPBACK,
    LogoutReceiver,
    logout_receiver,
)
from tests.support.redis_server import RedisServer
from tests.support.servers import running
from tests.support.wire import CHEAP, PASSWORD, SECRET, app, claims_of, client, protocol, user

_EVENT: Final = "http://schemas.openid.net/event/backchannel-logout"
_ROLES: Final = {"realm-management": ["manage-users", "view-users"]}


def _realm(url: str) -> dict[str, Any]:
    told = {
        "backchannel.logout.url": url,
        "backchannel.logout.session.required": "true",
        "backchannel.logout.revoke.offline.tokens": "true",
    }
    operator = {
        "username": "service-account-operator",
        "enabled": True,
        "serviceAccountClientId": "operator",
        "clientRoles": _ROLES,
    }
    return {
        "realm": "r",
        "enabled": True,
        "passwordPolicy": CHEAP,
        "clients": [app("app", attributes=told), app("untold"), client("operator")],
        "users": [user("ada"), user("bert"), operator],
    }


@dataclass(frozen=True, slots=True)
class Pair:
    """Two gateways, and the client that they notify."""

    gateways: tuple[Gateway, Gateway]
    receiver: LogoutReceiver

    def post(self, number: int, path: str, **form: str) -> httpx2.Response:
        with self.gateways[number].client() as http:
            return http.post(protocol("r", path), data=form)

    def sign_in(self, number: int = 0, username: str = "ada", client_id: str = "app") -> str:
        """Return a refresh token."""
        form = {"grant_type": "password", "client_id": client_id, "password": PASSWORD}
        answer = self.post(number, "token", username=username, **form)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["refresh_token"])

    def log_out(self, number: int, token: str, client_id: str = "app") -> None:
        answer = self.post(number, "logout", client_id=client_id, refresh_token=token)
        assert answer.status_code == 204, answer.text

    def administer(self, method: str, path: str) -> httpx2.Response:
        form = {"grant_type": "client_credentials", "client_secret": SECRET}
        token = self.post(0, "token", client_id="operator", **form).json()["access_token"]
        with self.gateways[0].client(Authorization=f"Bearer {token}") as http:
            return http.request(method, f"/admin/realms/r{path}")

    def received(self, count: int) -> list[str]:
        """Return the tokens once there are so many, and forget them."""
        until(lambda: len(self.receiver.tokens) >= count, "no notice came", 45)
        found = list(self.receiver.tokens)
        self.receiver.tokens.clear()
        return found


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory, seed: Path) -> Iterator[Pair]:
    folder = tmp_path_factory.mktemp("notices")
    with ExitStack() as stack:
        receiver = stack.enter_context(logout_receiver())
        redis = stack.enter_context(running(RedisServer()))
        (folder / "realms.json").write_text(json.dumps(_realm(receiver.url)))
        settings: dict[str, Any] = {"redis_url": redis.url.reveal(), **FETCHES_FROM_LOOPBACK}
        first = stack.enter_context(
            start_gateway(folder, seed=seed, import_realm=folder / "realms.json", **settings)
        )
        (folder / "second").mkdir()
        settings["database_url"] = f"sqlite:///{first.state_dir}/realmgate.db"
        settings["encryption_key_file"] = first.state_dir / "secrets" / "encryption.key"
        second = stack.enter_context(start_gateway(folder / "second", **settings))
        yield Pair((first, second), receiver)


def test_two_gateways_send_each_notice_once(pair: Pair) -> None:
    tokens = [pair.sign_in(number % 2) for number in range(12)]
    for number, token in enumerate(tokens):
        pair.log_out(number % 2, token)
    last = pair.sign_in()
    found = pair.received(12)
    # What comes after a notice of a later session is no second one of an earlier session.
    pair.log_out(1, last)
    found += pair.received(1)
    sids = [claims_of(token)["sid"] for token in found]
    assert sorted(sids) == sorted(claims_of(token)["sid"] for token in (*tokens, last))


def test_a_notice_is_a_logout_token(pair: Pair) -> None:
    session = pair.sign_in()
    pair.log_out(0, session)
    (token,) = pair.received(1)
    header = json.loads(base64.urlsafe_b64decode(token.partition(".")[0] + "=="))
    assert (header["typ"], header["alg"]) == ("logout+jwt", "RS256")
    claims, of_session = claims_of(token), claims_of(session)
    assert claims["exp"] - claims["iat"] == 120
    assert claims["events"] == {_EVENT: {}, "revoke_offline_access": True}
    assert (claims["aud"], claims["typ"]) == ("app", "Logout")
    assert {name: claims[name] for name in ("iss", "sub", "sid")} == {
        name: of_session[name] for name in ("iss", "sub", "sid")
    }
    assert "nonce" not in claims
    # It is no token of another kind.
    assert pair.post(
        0, "token/introspect", token=token, client_id="operator", client_secret=SECRET
    ).json() == {"active": False}


def test_a_killed_gateway_loses_no_notice(pair: Pair) -> None:
    """Whoever is killed after the answer: the notice is stored before the session ends."""
    tokens = [pair.sign_in() for _ in range(3)]
    for token in tokens:
        pair.log_out(0, token)
    workers = [worker for gateway in pair.gateways for worker in gateway.workers()]
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    until(lambda: not any(map(is_running, workers)), "they live")
    until(lambda: all(each.health()[0] == 200 for each in pair.gateways), "not ready")
    found = {claims_of(token)["sid"] for token in pair.received(3)}
    assert found == {claims_of(token)["sid"] for token in tokens}


def test_a_notice_that_was_not_received_is_sent_again(pair: Pair) -> None:
    token = pair.sign_in()
    pair.receiver.status = 503
    pair.log_out(0, token)
    until(lambda: pair.receiver.refused, "no notice came")
    pair.receiver.status = 204
    (again,) = pair.received(1)
    assert claims_of(again)["sid"] == claims_of(token)["sid"]
    assert claims_of(again)["jti"] != claims_of(pair.receiver.refused[0])["jti"]
    logged = [line for each in pair.gateways for line in each.log()]
    (failed,) = [line for line in logged if line["event"] == "logout notice not received"]
    assert (failed["client"], failed["reason"]) == ("app", "the client answered with 503")


def test_administrators_end_sessions_with_a_notice(pair: Pair) -> None:
    """Keycloak: sent for a user's logout and a deleted session, not for logout-all or revoke."""
    sid = claims_of(pair.sign_in())["sid"]
    assert pair.administer("DELETE", f"/sessions/{sid}").status_code == 204
    assert claims_of(pair.received(1)[0])["sid"] == sid
    token = pair.sign_in(username="bert")
    user_id = claims_of(token)["sub"]
    assert pair.administer("POST", f"/users/{user_id}/logout").status_code == 204
    assert claims_of(pair.received(1)[0])["sid"] == claims_of(token)["sid"]
    pair.post(0, "revoke", client_id="app", token=pair.sign_in())
    pair.sign_in()
    assert pair.administer("POST", "/logout-all").status_code == 200
    pair.log_out(0, pair.sign_in(client_id="untold"), "untold")
    last = pair.sign_in()
    pair.log_out(0, last)
    assert [claims_of(token)["sid"] for token in pair.received(1)] == [claims_of(last)["sid"]]
