"""Responses that no authenticator has made: they are refused, whatever they contain."""

import hashlib
import json
import struct
from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.crypto.web_authn import Fido2WebAuthn
from gateway.domain.web_authn import (
    AssertionResponse,
    RegistrationResponse,
    RegistrationRules,
    WebAuthnRejected,
)
from tests.support.software_authenticator import AT, UP, SoftwareAuthenticator, b64, cbor

CHALLENGE: Final = bytes(range(32))
ORIGIN: Final = "https://gateway.test"
RULES: Final = RegistrationRules(
    rp_id="gateway.test",
    origins=frozenset({ORIGIN}),
    challenge=CHALLENGE,
    requires_verification=False,
    algorithms=("ES256", "RS256"),
    requires_attestation=False,
    acceptable_aaguids=(),
)
OWN: Final = SoftwareAuthenticator()
VERIFIER: Final = Fido2WebAuthn()


def _client_data(kind: str) -> bytes:
    said = {"type": kind, "challenge": b64(CHALLENGE), "origin": ORIGIN}
    return json.dumps(said).encode()


def _data(flags: int, key: bytes = b"", key_id: bytes = b"") -> bytes:
    party = hashlib.sha256(b"gateway.test").digest() + struct.pack(">BI", flags, 0)
    return party + (bytes(16) + struct.pack(">H", len(key_id)) + key_id + key if key else b"")


def _attested(key: bytes, key_id: bytes = OWN.id) -> bytes:
    return cbor({"fmt": "none", "attStmt": {}, "authData": _data(UP | AT, key, key_id)})


RIGHT: Final = _attested(OWN.public_key)


def _register(attested: bytes, client_data: bytes = _client_data("webauthn.create")) -> Any:
    try:
        return VERIFIER.register(RegistrationResponse(client_data, attested), RULES)
    except WebAuthnRejected:
        return None


def test_a_right_response_is_taken() -> None:
    made = _register(RIGHT)
    assert (made.credential_id, made.public_key) == (OWN.id, OWN.public_key)


@given(st.binary(max_size=400))
@example(b"\x81" * 5000)
@example(b"\xa1\xa1\x01\x02")
@settings(max_examples=60, deadline=None)
def test_any_attestation_object_is_refused(garbage: bytes) -> None:
    assert _register(garbage) is None


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
@example(b'{"type":"webauthn.create","challenge":null,"origin":[]}')
@example(b"[" * 5000)
@settings(max_examples=60, deadline=None)
def test_any_client_data_is_refused(garbage: bytes) -> None:
    assert _register(RIGHT, garbage) is None


@given(st.integers(0, len(RIGHT) - 1), st.integers(1, 255))
@settings(max_examples=150, deadline=None)
def test_a_changed_byte_yields_a_refusal_or_a_credential(place: int, bits: int) -> None:
    """Nothing signs the response where there is no attestation: another key is another key."""
    changed = bytes([*RIGHT[:place], RIGHT[place] ^ bits, *RIGHT[place + 1 :]])
    made = _register(changed)
    assert made is None or len(made.credential_id) <= len(RIGHT)


@given(st.binary(max_size=200), st.binary(max_size=100), st.binary(max_size=100))
@settings(max_examples=60, deadline=None)
def test_any_assertion_is_refused(data: bytes, signature: bytes, key: bytes) -> None:
    client_data = _client_data("webauthn.get")
    response = AssertionResponse(OWN.id, client_data, data, signature)
    for stored in (OWN.public_key, key):
        for shown in (response, replace(response, authenticator_data=_data(UP))):
            with pytest.raises(WebAuthnRejected):
                VERIFIER.verify_assertion(shown, RULES, stored)


@pytest.mark.parametrize(
    "key",
    [
        {1: 3, 3: -257, -1: b"\xc1" * 128, -2: b"\x01\x00\x01"},
        {1: 3, 3: -257, -1: b"\0" * 200 + b"\xc1" * 128, -2: b"\x01\x00\x01"},
        {1: 3, 3: -257, -1: b"\xc1" * 9000, -2: b"\xc1" * 9000},
        {1: 2, 3: -7, -1: 1, -2: bytes(32), -3: bytes(32)},
        {1: 2, 3: -7, -1: 2, -2: bytes(32), -3: bytes(32)},
        {1: 2, 3: -7, -1: 1},
        {1: 3, 3: -65535, -1: b"\xc1" * 256, -2: b"\x01\x00\x01"},
        {3: -7},
        {},
    ],
    ids=[
        "1024 bits",
        "padded",
        "huge",
        "no point",
        "another curve",
        "half",
        "SHA-1",
        "kind",
        "none",
    ],
)
def test_a_key_that_is_weak_or_none_is_refused(key: dict[int, Any]) -> None:
    assert _register(_attested(cbor(key))) is None


def test_an_id_has_at_most_1023_bytes() -> None:
    assert _register(_attested(OWN.public_key, bytes(1023)))
    assert _register(_attested(OWN.public_key, bytes(1024))) is None
    assert _register(_attested(OWN.public_key, b"")) is None


def test_a_response_that_is_too_large_is_not_read() -> None:
    with pytest.raises(WebAuthnRejected, match="too large"):
        VERIFIER.register(
            RegistrationResponse(_client_data("webauthn.create"), bytes(20_000)), RULES
        )
