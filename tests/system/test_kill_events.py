"""kill -9 right after an answer: the event of the request is there afterwards, once."""

import json
import os
import signal
from collections import Counter
from pathlib import Path

import httpx2

from tests.support.gateway_process import Gateway, start_gateway, until
from tests.support.wire import SECRET, claims_of, client, protocol

ROUNDS = 4
AT_ONCE = 5
_ADMIN = "the administrator's word"
_REALM = {
    "realm": "r",
    "enabled": True,
    "sslRequired": "none",
    "defaultSignatureAlgorithm": "ES256",
    "eventsEnabled": True,
    "clients": [client("svc")],
}


def _token(http: httpx2.Client) -> str:
    """Return the id of a new token."""
    form = {"grant_type": "client_credentials", "client_id": "svc", "client_secret": SECRET}
    answer = http.post(protocol("r", "token"), data=form)
    assert answer.is_success, answer.text
    return str(claims_of(answer.json()["access_token"])["jti"])


def _recorded(gateway: Gateway) -> Counter[str]:
    """Return how often each token id stands in the events."""
    form = {"grant_type": "password", "client_id": "admin-cli", "username": "admin"}
    with gateway.client() as http:
        asked = http.post(protocol("master", "token"), data=form | {"password": _ADMIN})
        headers = {"Authorization": f"Bearer {asked.json()['access_token']}"}
        events = http.get("/admin/realms/r/events?max=1000", headers=headers).json()
    return Counter(event["details"]["token_id"] for event in events)


def _kill(pids: list[int]) -> None:
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def test_no_event_of_an_answered_request_is_lost_or_doubled(tmp_path: Path) -> None:
    realms = tmp_path / "realms.json"
    realms.write_text(json.dumps(_REALM))
    answered: list[str] = []
    with start_gateway(tmp_path, import_realm=realms, workers=2, admin_password=_ADMIN) as gateway:
        for _ in range(ROUNDS):
            answered += _answered(gateway)
            _kill(gateway.workers())
            until(lambda: gateway.health()[0] == httpx2.codes.OK, "no worker comes back")
        answered += _answered(gateway)
        _kill([gateway.pid, *gateway.workers()])
        gateway.process.wait()
        until(lambda: not gateway.has_listener(), "a worker outlives its supervisor")
    with start_gateway(tmp_path, workers=2, admin_password=_ADMIN) as gateway:
        recorded = _recorded(gateway)
        left = sorted((gateway.state_dir / "events").glob("*.events"))
    assert recorded == Counter(dict.fromkeys(answered, 1))
    assert len(answered) == (ROUNDS + 1) * AT_ONCE
    assert left == []


def _answered(gateway: Gateway) -> list[str]:
    """Return the ids of the tokens that were given, a connection each, as workers share them."""
    return [_one(gateway) for _ in range(AT_ONCE)]


def _one(gateway: Gateway) -> str:
    with gateway.client() as http:
        return _token(http)
