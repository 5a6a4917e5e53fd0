"""Nonces of DPoP proofs: signed by the realm, stored nowhere, accepted by every gateway.

A nonce says when the gateway gave it out, so a proof with one was made after that. It may be used
again until it expires: that a proof is used once is the rule of its `jti`. Spec: RFC 9449 §8, §9
"""

from datetime import UTC, datetime, timedelta
from typing import Final

from gateway.domain.clock import CLOCK_LEEWAY
from gateway.domain.errors import InvalidToken
from gateway.domain.keys import PROOF_NONCE
from gateway.domain.limits.caches import SizedCache
from gateway.domain.ports.directory import RealmEntry

LIFESPAN: Final = timedelta(minutes=5)
_NEW_ONE: Final = timedelta(minutes=1)
"""All nonces of this time are the same one, which is signed once."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND: Final = timedelta(seconds=1)
_SIGNED: Final[SizedCache[tuple[str, int], str]] = SizedCache(256 * 1024)


def current_nonce(realm: RealmEntry, now: datetime) -> str:
    """Return the nonce for the next proof."""
    issued = (now - _EPOCH) // _NEW_ONE * (_NEW_ONE // _SECOND)
    known = _SIGNED.get((realm.realm.id, issued))
    if known is None or not is_current(realm, known, now):
        claims = {"typ": PROOF_NONCE, "iat": issued, "aud": realm.realm.id}
        known = realm.key_ring.sign_for_ourselves(claims, now)
        _SIGNED.put((realm.realm.id, issued), known)
    return known


def is_current(realm: RealmEntry, nonce: object, now: datetime) -> bool:
    """Tell whether the realm gave the nonce out within its lifespan."""
    if not isinstance(nonce, str):
        return False
    try:
        claims = realm.key_ring.verify_of_ourselves(nonce, now)
    except InvalidToken:
        return False
    if claims.get("typ") != PROOF_NONCE or claims.get("aud") != realm.realm.id:
        return False
    age = now - (_EPOCH + int(claims["iat"]) * _SECOND)
    return -CLOCK_LEEWAY <= age < LIFESPAN + _NEW_ONE
