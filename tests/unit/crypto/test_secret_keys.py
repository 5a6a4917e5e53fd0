"""Tokens that only we read: HS512 under a key of the realm that nobody sees. RFC 7518 §3.2."""

import base64
import hashlib
import hmac
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import jwt
import pytest

from gateway.crypto.realm_keys import PyJwtKeyFactory
from gateway.domain import base64url
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import (
    INTERNAL_TYPES,
    HeaderType,
    KeyStatus,
    RealmKey,
    SecretAlgorithm,
    SignatureAlgorithm,
    SigningAlgorithm,
)
from tests.support.tokens import assemble, header_of

NOW = datetime(2026, 6, 1, tzinfo=UTC)
CLAIMS = {"typ": "Refresh", "sub": "1"}


@pytest.fixture
def secret(key_factory: PyJwtKeyFactory) -> RealmKey:
    return key_factory.generate("r", "realm", SecretAlgorithm.HS512, NOW)


@pytest.fixture
def public(key_factory: PyJwtKeyFactory) -> RealmKey:
    return key_factory.generate("r", "realm", SignatureAlgorithm.ES256, NOW)


def test_the_signature_is_hmac_sha_512_under_64_random_bytes(
    key_factory: PyJwtKeyFactory, secret: RealmKey
) -> None:

    token = key_factory.ring((secret,)).sign_for_ourselves(CLAIMS, NOW)
    material = base64.b64decode(secret.private_key.reveal())
    signed, _, signature = token.rpartition(".")
    expected = hmac.new(material, signed.encode(), hashlib.sha512).digest()
    assert len(material) == 64
    assert base64url.decode(signature) == expected
    assert header_of(token) == {"alg": "HS512", "typ": "JWT", "kid": secret.kid}


def test_keys_for_others_and_for_ourselves_never_meet(
    key_factory: PyJwtKeyFactory, secret: RealmKey, public: RealmKey
) -> None:
    """RFC 8725 §3.1: neither kind of token passes for the other, under one key or two."""
    ring = key_factory.ring((secret, public))
    ours = ring.sign_for_ourselves(CLAIMS, NOW)
    assert ring.verify_of_ourselves(ours, NOW) == CLAIMS
    with pytest.raises(InvalidToken):
        ring.verify_token(ours, NOW)
    for algorithm in (SignatureAlgorithm.ES256, SecretAlgorithm.HS512):
        for kind in ("Bearer", None, ["Refresh"], {"typ": "Refresh"}):
            theirs = ring.sign({"typ": kind}, algorithm, NOW)
            assert ring.verify_token(theirs, NOW) == {"typ": kind}
            with pytest.raises(InvalidToken):
                ring.verify_of_ourselves(theirs, NOW)
    assert [key["kid"] for key in ring.public_jwks(NOW)] == [public.kid]


@pytest.mark.parametrize("kind", sorted(INTERNAL_TYPES))
@pytest.mark.parametrize("algorithm", [SignatureAlgorithm.ES256, SecretAlgorithm.HS512])
def test_an_internal_token_is_signed_for_no_client(
    key_factory: PyJwtKeyFactory,
    secret: RealmKey,
    public: RealmKey,
    algorithm: SigningAlgorithm,
    kind: str,
) -> None:
    ring = key_factory.ring((secret, public))
    with pytest.raises(ValueError, match="internal"):
        ring.sign({"typ": kind}, algorithm, NOW)
    with pytest.raises(ValueError, match="internal"):
        ring.sign_for_ourselves({"typ": "Bearer"}, NOW)


@pytest.mark.parametrize("algorithm", list(SecretAlgorithm))
def test_a_secret_key_signs_by_the_hash_of_its_algorithm(
    key_factory: PyJwtKeyFactory, algorithm: SecretAlgorithm
) -> None:
    record = key_factory.generate("r", "realm", algorithm, NOW)
    ring = key_factory.ring((record,))
    token = ring.sign({"sub": "1"}, algorithm, NOW, HeaderType.ACCESS_TOKEN)
    material = base64.b64decode(record.private_key.reveal())
    assert jwt.decode(token, material, algorithms=[algorithm.value]) == {"sub": "1"}
    assert header_of(token) == {"alg": algorithm, "typ": "at+jwt", "kid": record.kid}
    assert ring.verify_token(token, NOW) == {"sub": "1"}
    assert ring.public_jwks(NOW) == ()


@pytest.mark.parametrize("header_type", ["token-introspection+jwt", "logout+jwt", "jwt", ["JWT"]])
def test_a_header_of_another_type_is_refused(
    key_factory: PyJwtKeyFactory, secret: RealmKey, header_type: object
) -> None:
    material = base64.b64decode(secret.private_key.reveal())
    header = {"alg": "HS512", "typ": header_type, "kid": secret.kid}
    token = assemble(header, {"typ": "Bearer"}, lambda text: hmac.digest(material, text, "sha512"))
    with pytest.raises(InvalidToken):
        key_factory.ring((secret,)).verify_token(token, NOW)


def test_an_altered_token_and_one_of_another_realm_are_refused(
    key_factory: PyJwtKeyFactory, secret: RealmKey
) -> None:
    ring = key_factory.ring((secret,))
    genuine = ring.sign_for_ourselves(CLAIMS, NOW)
    signature = base64url.decode(genuine.rpartition(".")[2])
    altered = assemble(header_of(genuine), CLAIMS | {"sub": "2"}, lambda _: signature)
    other = key_factory.generate("x", "other", SecretAlgorithm.HS512, NOW)
    for token in (altered, key_factory.ring((other,)).sign_for_ourselves(CLAIMS, NOW)):
        with pytest.raises(InvalidToken):
            ring.verify_of_ourselves(token, NOW)


def test_without_a_key_nothing_is_signed(key_factory: PyJwtKeyFactory, public: RealmKey) -> None:
    with pytest.raises(LookupError):
        key_factory.ring((public,)).sign_for_ourselves(CLAIMS, NOW)


def test_a_disabled_or_retired_key_verifies_nothing(
    key_factory: PyJwtKeyFactory, secret: RealmKey
) -> None:

    token = key_factory.ring((secret,)).sign_for_ourselves(CLAIMS, NOW)
    gone = (
        replace(secret, status=KeyStatus.DISABLED),
        replace(secret, retire_at=NOW - timedelta(seconds=1)),
    )
    for record in gone:
        with pytest.raises(InvalidToken):
            key_factory.ring((record,)).verify_of_ourselves(token, NOW)
