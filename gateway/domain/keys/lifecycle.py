"""Which of a realm's keys signs, which verify and are published, and what a rotation changes.

Of several that may sign, the one of the highest priority does, of equals the youngest.

A key's life in order: published (it verifies, but does not sign before `active_from`, so that
verifiers have time to fetch it), signing, superseded (it verifies until `retire_at`), gone.
Nothing has to happen at `active_from` or `retire_at`: each gateway reads the keys with a clock and
sees the change at the same instant, without a message and without a job.

A superseded key stays ACTIVE in storage until its `retire_at`, because it is the one that signs
while its successor is only published; `effective_status` is its status at an instant.

Keycloak: KeysMetadata (ACTIVE signs and verifies, PASSIVE verifies, DISABLED neither).
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from gateway.domain.keys.key import STANDARD_PRIORITY, KeyAlgorithm, KeyStatus, RealmKey


def verifies(key: RealmKey, now: datetime) -> bool:
    """Tell whether tokens signed by `key` are accepted at `now`, and the key is published."""
    return key.status is not KeyStatus.DISABLED and (key.retire_at is None or now < key.retire_at)


def signing_key(
    keys: Iterable[RealmKey], algorithm: KeyAlgorithm, now: datetime
) -> RealmKey | None:
    """Return the key that signs: of those that have begun, the foremost that began last.

    Where none has begun, the first to begin signs at once: after a compromised key was
    disabled, or on a gateway whose clock is behind, an early signature is better than none.
    """
    able = [
        key
        for key in keys
        if key.algorithm is algorithm and key.status is KeyStatus.ACTIVE and verifies(key, now)
    ]
    begun = [key for key in able if key.active_from <= now]
    if begun:
        return max(begun, key=_rank)
    return min(able, key=_beginning, default=None)


def effective_status(key: RealmKey, keys: Iterable[RealmKey], now: datetime) -> KeyStatus:
    """Return what `key` may do at `now` among its realm's `keys`."""
    if not verifies(key, now):
        return KeyStatus.DISABLED
    signer = signing_key(keys, key.algorithm, now)
    signs = signer is not None and signer.id == key.id
    return KeyStatus.ACTIVE if signs else KeyStatus.PASSIVE


def superseded(
    keys: Iterable[RealmKey], successor: RealmKey, now: datetime, longest_token: timedelta
) -> tuple[RealmKey, ...]:
    """Return the keys that `successor` replaces, each with the instant at which it retires.

    The last token of an old key may be signed just before the successor begins, and lives for
    `longest_token`. A key that was to begin only after the successor never signs: it would take
    over from it. A key that was superseded before keeps its end, unless it is the one that signs
    (its first successor was disabled, or begins later still).
    """
    others = [
        key for key in keys if key.id != successor.id and key.algorithm is successor.algorithm
    ]
    signer = signing_key(others, successor.algorithm, now)
    return tuple(
        _retiring(key, successor, longest_token)
        for key in others
        if key is signer or lasting(key) or _would_overtake(key, successor)
    )


def foremost(keys: Iterable[RealmKey], algorithm: KeyAlgorithm) -> int:
    """Return the priority that a successor needs to come before all that may sign."""
    priorities = (
        key.priority
        for key in keys
        if key.algorithm is algorithm and key.status is KeyStatus.ACTIVE
    )
    return max(priorities, default=STANDARD_PRIORITY)


def lasting(key: RealmKey) -> bool:
    """Tell whether `key` signs, or will, until it is rotated or disabled."""
    return key.status is KeyStatus.ACTIVE and key.retire_at is None


def _retiring(key: RealmKey, successor: RealmKey, longest_token: timedelta) -> RealmKey:
    end = successor.active_from + longest_token
    return replace(
        key,
        status=KeyStatus.PASSIVE if _would_overtake(key, successor) else key.status,
        retire_at=end if key.retire_at is None else max(end, key.retire_at),
    )


def _would_overtake(key: RealmKey, successor: RealmKey) -> bool:
    return key.status is KeyStatus.ACTIVE and key.active_from >= successor.active_from


def _rank(key: RealmKey) -> tuple[int, datetime, datetime, str]:
    return key.priority, *_beginning(key)


def _beginning(key: RealmKey) -> tuple[datetime, datetime, str]:
    return key.active_from, key.created_at, key.id
