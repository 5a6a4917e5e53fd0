"""When a nonce of DPoP proofs is accepted. RFC 9449 §8."""

from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.protocol.sender_constraint.dpop_proofs import (
    NONCE_LIFESPAN,
    current_nonce,
    is_current_nonce,
)
from tests.support.authorization_requests import NOW, realm_entry

_SECOND = timedelta(seconds=1)
_MINUTE = timedelta(minutes=1)


def test_a_nonce_is_accepted_for_its_lifespan() -> None:
    """And a little before, by a gateway whose clock is behind."""
    realm = realm_entry()
    nonce = current_nonce(realm, NOW)
    for age in (-_SECOND, timedelta(0), NONCE_LIFESPAN - _MINUTE):
        assert is_current_nonce(realm, nonce, NOW + age)
    for age in (-2 * _MINUTE, NONCE_LIFESPAN + 2 * _MINUTE):
        assert not is_current_nonce(realm, nonce, NOW + age)


def test_there_is_a_new_nonce_each_minute() -> None:
    realm = realm_entry()
    nonces = {current_nonce(realm, NOW + number * _SECOND) for number in range(600)}
    assert 10 <= len(nonces) <= 11


def test_a_nonce_is_of_one_realm() -> None:
    mine, other = realm_entry(), realm_entry()
    other = replace(other, realm=replace(other.realm, id="other"))
    assert not is_current_nonce(other, current_nonce(mine, NOW), NOW)


@pytest.mark.parametrize("nonce", [None, 7, "", "a.b.c", ["a"]])
def test_anything_else_is_no_nonce(nonce: object) -> None:
    assert not is_current_nonce(realm_entry(), nonce, NOW)


def test_another_token_of_the_gateways_is_no_nonce() -> None:
    realm = realm_entry()
    claims = {"typ": "Refresh", "iat": int(NOW.timestamp()), "aud": "demo"}
    assert not is_current_nonce(realm, realm.key_ring.sign_for_ourselves(claims, NOW), NOW)


def test_a_nonce_that_was_signed_by_another_key_is_replaced() -> None:
    """After the keys of a realm were replaced, within the same minute."""
    before, after = realm_entry(), realm_entry.__wrapped__()
    assert before.realm.id == after.realm.id
    assert not is_current_nonce(after, current_nonce(before, NOW), NOW)
    assert is_current_nonce(after, current_nonce(after, NOW), NOW)
