"""Who signs, who verifies and who is gone, at every instant of a realm's life."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.domain.keys import (
    KeyStatus,
    RealmKey,
    SignatureAlgorithm,
    effective_status,
    foremost,
    lasting,
    signing_key,
    superseded,
    verifies,
)
from gateway.domain.secrets import Secret

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
ES256 = SignatureAlgorithm.ES256


def key(name: str, begins: datetime, **fields: object) -> RealmKey:
    given = {
        "id": name,
        "realm_id": "r",
        "kid": name,
        "algorithm": ES256,
        "status": KeyStatus.ACTIVE,
        "created_at": begins,
        "active_from": begins,
        "private_key": Secret(""),
    }
    return RealmKey(**(given | fields))  # type: ignore[arg-type] # any field may be set


def signer(keys: list[RealmKey], now: datetime) -> str | None:
    found = signing_key(keys, ES256, now)
    return found.id if found else None


def test_the_key_that_began_last_signs() -> None:
    keys = [key("b", NOW - HOUR), key("c", NOW + HOUR), key("a", NOW - 2 * HOUR)]
    assert signer(keys, NOW) == "b"
    assert signer(keys, NOW + HOUR) == "c"


def test_a_higher_priority_signs_before_a_later_start() -> None:
    keys = [key("first", NOW - HOUR, priority=101), key("later", NOW), key("low", NOW, priority=-5)]
    assert signer(keys, NOW) == "first"
    assert signer(keys[1:], NOW) == "later"
    assert signer([*keys, key("higher", NOW + HOUR, priority=200)], NOW) == "first"


def test_a_successor_comes_before_all_that_may_sign() -> None:
    keys = [
        key("lower", NOW - HOUR, priority=7),
        key("signer", NOW - HOUR, priority=150),
        key("passive", NOW - HOUR, priority=900, status=KeyStatus.PASSIVE),
        key("foreign", NOW - HOUR, priority=900, algorithm=SignatureAlgorithm.RS256),
    ]
    assert foremost(keys, ES256) == 150
    assert signer([*keys, key("new", NOW, priority=150)], NOW) == "new"


def test_where_none_has_begun_the_first_to_begin_signs_at_once() -> None:
    keys = [key("later", NOW + 2 * HOUR), key("sooner", NOW + HOUR)]
    assert signer(keys, NOW) == "sooner"


def test_passive_disabled_retired_and_foreign_keys_never_sign() -> None:
    keys = [
        key("passive", NOW - HOUR, status=KeyStatus.PASSIVE),
        key("disabled", NOW - HOUR, status=KeyStatus.DISABLED),
        key("retired", NOW - HOUR, retire_at=NOW),
        key("foreign", NOW - HOUR, algorithm=SignatureAlgorithm.RS256),
    ]
    assert signer(keys, NOW) is None


def test_standing_tells_what_a_key_may_do_at_an_instant() -> None:
    end = NOW + 2 * HOUR
    old, new = key("old", NOW - HOUR, retire_at=end), key("new", NOW + HOUR)
    told = [
        [effective_status(each, [old, new], instant).value for each in (old, new)]
        for instant in (NOW, NOW + HOUR, end)
    ]
    assert told == [["ACTIVE", "PASSIVE"], ["PASSIVE", "ACTIVE"], ["DISABLED", "ACTIVE"]]


def test_a_successor_ends_the_signing_key_of_its_algorithm_only() -> None:
    old = key("old", NOW - HOUR)
    other = key("other", NOW - HOUR, algorithm=SignatureAlgorithm.RS256)
    new = key("new", NOW + timedelta(minutes=2))
    changed = superseded([old, other, new], new, NOW, HOUR)
    assert changed == (replace(old, retire_at=new.active_from + HOUR),)


def test_a_key_that_would_begin_after_its_successor_never_signs() -> None:
    old, pending = key("old", NOW - HOUR), key("pending", NOW + timedelta(minutes=2))
    new = key("new", NOW)
    changed = superseded([old, pending], new, NOW, HOUR)
    assert signer([*changed, new], NOW + HOUR / 2) == "new"
    assert all(verifies(each, NOW + HOUR / 2) for each in changed)


def test_disabling_the_first_successor_moves_the_signers_end() -> None:
    old = key("old", NOW - HOUR, retire_at=NOW + HOUR)
    failed = key("failed", NOW, status=KeyStatus.DISABLED)
    new = key("new", NOW + HOUR / 2)
    (changed,) = superseded([old, failed], new, NOW, HOUR)
    assert changed.retire_at == new.active_from + HOUR


minutes = st.integers(0, 300).map(lambda number: timedelta(minutes=number))


@given(st.lists(st.tuples(minutes, minutes), min_size=1, max_size=12))
@example([(0 * HOUR, 1.8 * HOUR), (0 * HOUR, 1.9 * HOUR), (HOUR, HOUR / 3), (2 * HOUR, HOUR)])
@settings(max_examples=300, deadline=None)
def test_a_token_verifies_for_life_whatever_the_rotations(
    rotations: list[tuple[timedelta, timedelta]],
) -> None:
    """Rotations at any pauses with any delays: one signer always, its token lives out its hour."""
    keys, now = [key("first", NOW)], NOW
    signed: list[tuple[str, datetime]] = []
    for number, (pause, delay) in enumerate(rotations):
        for instant in (now, now + pause / 2, now + pause):
            name = signer(keys, instant)
            assert name is not None
            signed.append((name, instant))
        now += pause
        new = key(str(number), now + delay, created_at=now)
        changed = {each.id: each for each in superseded(keys, new, now, HOUR)}
        keys = [*(changed.get(each.id, each) for each in keys), new]
        assert [each.id for each in keys if lasting(each)] == [new.id]
    final = {each.id: each for each in keys}
    for name, instant in signed:
        assert verifies(final[name], instant + HOUR - timedelta(microseconds=1))
