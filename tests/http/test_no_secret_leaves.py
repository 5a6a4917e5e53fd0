"""Secrets stay where they belong: not in logs, not in answers, not readable at rest. Attacks E5."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.wire import PASSWORD, SECRET, Wire

CANARIES = {
    "wrong client secret": "canary-wrong-secret",
    "wrong password": "canary-wrong-password",
    "secret in the query": "canary-in-query",
    "unknown token": "canary-token",
    "Basic header": "canary-basic-secret",
    "certificate": "Y2FuYXJ5LWNlcnRpZmljYXRl",
}


@pytest.fixture(scope="module")
def answers(wire: Wire) -> list[str]:
    """Send every canary where a careless client or an attacker would."""
    basic = base64.b64encode(f"svc:{CANARIES['Basic header']}".encode()).decode()
    pem = f"-----BEGIN CERTIFICATE-----%0A{CANARIES['certificate']}%0A-----END CERTIFICATE-----"
    responses = [
        wire.token_request({"client_secret": CANARIES["wrong client secret"]}),
        wire.sign_in(form={"username": "bob", "password": CANARIES["wrong password"]}),
        wire.post(f"token?client_secret={CANARIES['secret in the query']}", {}),
        wire.introspect(CANARIES["unknown token"]),
        wire.refresh(CANARIES["unknown token"]),
        wire.post("token", {"grant_type": "client_credentials"}, Authorization=f"Basic {basic}"),
        wire.token_request(ssl_client_cert=pem, ssl_client_verify="SUCCESS"),
        wire.get("/realms/wire", Authorization=f"Bearer {CANARIES['unknown token']}"),
    ]
    return [response.text + str(response.headers) for response in responses]


def _at_rest(state: Path) -> Iterator[tuple[Path, bytes]]:
    for path in state.rglob("*"):
        if path.is_file() and "secrets" not in path.parts:
            yield path, path.read_bytes()


def _needles(wire: Wire) -> dict[str, str]:
    signed_in = wire.sign_in(form={"scope": "openid"}).json()
    return {
        **CANARIES,
        "client secret": SECRET,
        "password": PASSWORD,
        "certificate of a device": wire.certificates["device-1"][60:120],
        "access token": signed_in["access_token"].rsplit(".", 1)[1],
        "refresh token": signed_in["refresh_token"].rsplit(".", 1)[1],
    }


def test_no_answer_repeats_a_secret(answers: list[str]) -> None:
    """attacks: E5."""
    assert [text for text in answers if "canary" in text] == []


def test_no_log_line_tells_a_secret(wire: Wire, answers: list[str]) -> None:
    """attacks: E5."""
    assert answers
    needles = _needles(wire)
    log = wire.gateway.log_text()
    assert [name for name, needle in needles.items() if needle in log] == []
    assert "BEGIN" not in log
    assert "PRIVATE KEY" not in log


def test_nothing_at_rest_tells_a_secret(wire: Wire, answers: list[str]) -> None:
    """attacks: E5."""
    assert answers
    needles = _needles(wire)
    read = 0
    for path, content in _at_rest(wire.gateway.state_dir):
        told = [name for name, needle in needles.items() if needle.encode() in content]
        assert told == [], path
        assert b"PRIVATE KEY" not in content
        read += 1
    assert read >= 2, "the database and Redis' files were not looked at"
