"""Log lines never carry a secret, whatever form or depth it comes in."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.domain.secrets import Secret
from gateway.observability.logging import REDACTED, redact, redact_text

JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJjYW5hcnkifQ.c2lnbmF0dXJlLWNhbmFyeQ"
PEM = "-----BEGIN PRIVATE KEY-----\nMIIcanaryMII\n-----END PRIVATE KEY-----\n"
CANARY = "canary-4711"


def line(**event: object) -> str:
    return json.dumps(redact(None, "info", event))


@pytest.mark.parametrize(
    "name",
    [
        "password",
        "admin_password",
        "newPassword",
        "client_secret",
        "clientSecret",
        "Authorization",
        "proxy-authorization",
        "Set-Cookie",
        "access_token",
        "refreshToken",
        "id_token",
        "code",
        "code_verifier",
        "client_assertion",
        "otp",
        "private_key",
        "ssl-client-cert",
        "pem",
    ],
)
def test_a_value_under_a_secret_name_is_gone_at_any_depth(name: str) -> None:
    assert CANARY not in line(**{name: CANARY})
    assert CANARY not in line(form={"fields": [{name: [CANARY]}]})
    assert CANARY not in line(event=f"sent {name}={CANARY}&x=1")
    assert CANARY not in line(event=json.dumps({name: CANARY}))


@pytest.mark.parametrize(
    "text",
    [
        f"token {JWT} refused",
        JWT.rpartition(".")[0],
        PEM,
        PEM.replace("\n", "%0A").replace(" ", "%20"),
        PEM.partition("-----END")[0],
        f"Authorization: Bearer {CANARY}",
        f"Basic {CANARY}",
        f"postgresql://gateway:{CANARY}@db/x",
        f"GET /?access_token={CANARY} HTTP/1.1",
        "https://x.test/callback?state=a&code=" + CANARY,
    ],
)
def test_a_secret_is_found_by_its_shape_in_any_text(text: str) -> None:
    shown = line(event="x", detail={"nested": [text, text.encode()]}, failure=ValueError(text))
    for piece in ("canary", "c2lnbmF0dXJl", "eyJzdWIi"):
        assert piece not in shown


def test_what_operators_search_for_is_kept() -> None:
    event = {
        "event": "token issued",
        "request_id": "0af7651916cd43dd8448eb211c80319c",
        "realm": "demo",
        "client": "demo-device",
        "certificate_thumbprint": "A4DtL2JmUMhAsvJj5tKyn64SqzmuXbMrJa0n761y5v0",
        "token_id": "trrtcc:6f4bd3a1-4c3e-4b7e-9a53-3a6d5b1c2f00",
        "token_type": "Bearer",
        "status": 200,
        "enabled": True,
        "url": "https://localhost:8443/realms/demo",
    }
    assert redact(None, "info", event) == event


def test_a_part_of_a_token_is_found_in_one_word() -> None:
    """No sign but its beginning tells it from an identifier."""
    event = {"word": "eyJhbGciOiJub25lIn0", "client": "device1"}
    assert redact(None, "info", event) == {"word": REDACTED, "client": "device1"}


def test_wrapped_secrets_and_endless_nesting_are_safe() -> None:
    nested: list[object] = [CANARY]
    for _ in range(40):
        nested = [nested]
    assert CANARY not in line(value=Secret(CANARY), nested=nested)


def test_long_text_is_cut_and_stays_cheap() -> None:
    assert len(redact_text("a-" * 1_000_000)) < 10_000


@given(st.recursive(st.text() | st.binary() | st.integers(), st.lists))
def test_any_value_can_be_written(value: object) -> None:
    assert json.loads(line(value=value)).keys() == {"value"}
