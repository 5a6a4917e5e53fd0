"""Families of refresh tokens: one use each, and one answer however many ask at the same time."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest

from gateway.domain.errors import AlreadyExists
from gateway.domain.secrets import SecretsAtRest
from gateway.domain.sessions import Rotation
from gateway.storage.sql.database import SqlDatabase
from tests.support.sessions import LATER, session, store_owners
from tests.support.storage import StoredDatabase
from tests.support.stored_values import NOW, store_realms

ACCEPTED, REUSED, STALE = Rotation.ACCEPTED, Rotation.REUSED, Rotation.STALE

_HOUR = timedelta(hours=1)


class Family:
    """One family in a database, each step a transaction of its own."""

    def __init__(self, database: SqlDatabase, *, of: str = "demo-id", name: str = "family") -> None:
        self._database = database
        self._realm = of
        self._name = name

    async def begin(self, token: str = "t1", *, session: str = "one-session") -> None:
        """Keep the family, its first token being `token`."""
        async with self._database.write() as stores:
            await stores.refresh_tokens.begin(
                self._realm, self._name, session_id=session, token_id=token, expires_at=NOW
            )

    async def use(
        self, token: str, successor: str, *, max_reuse: int = 0, lasts: timedelta = _HOUR
    ) -> Rotation:
        """Use a token in it."""
        return await self._database.rotations.rotate(
            self._realm,
            self._name,
            token,
            successor=successor,
            max_reuse=max_reuse,
            expires_at=NOW + lasts,
        )


@pytest.fixture
async def family(database: SqlDatabase) -> Family:
    await store_realms(database, "demo", "other")
    return Family(database)


async def test_each_token_of_a_family_is_used_in_its_turn(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("t1", "t2") is ACCEPTED
    assert await family.use("t2", "t3") is ACCEPTED
    assert await family.use("t3", "t4") is ACCEPTED


async def test_a_second_use_ends_the_family_for_its_successor_too(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("t1", "t2") is ACCEPTED
    assert await family.use("t1", "stolen") is REUSED
    assert await family.use("t2", "t3") is STALE
    assert await family.use("t1", "t3") is STALE


async def test_a_successor_is_used_once_as_well(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("t1", "t2") is ACCEPTED
    assert await family.use("t2", "t3") is ACCEPTED
    assert await family.use("t2", "stolen") is REUSED
    assert await family.use("t3", "t4") is STALE


async def test_a_token_from_before_ends_the_family(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("t1", "t2") is ACCEPTED
    assert await family.use("t2", "t3") is ACCEPTED
    assert await family.use("t1", "stolen") is STALE
    assert await family.use("t3", "t4") is STALE


async def test_a_token_that_was_never_given_ends_the_family(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("forged", "t2") is STALE
    assert await family.use("t1", "t2") is STALE


async def test_reuse_is_allowed_as_often_as_the_realm_says(family: Family) -> None:
    """An answer may be lost on its way; whichever successor arrived is the next."""
    await family.begin("t1")
    for successor in ("a", "b", "c"):
        assert await family.use("t1", successor, max_reuse=2) is ACCEPTED
    assert await family.use("b", "d", max_reuse=2) is ACCEPTED
    assert await family.use("b", "e", max_reuse=2) is ACCEPTED
    assert await family.use("a", "stolen", max_reuse=2) is STALE, "b was chosen, a is retired"
    assert await family.use("d", "f", max_reuse=2) is STALE


async def test_one_use_more_than_allowed_ends_the_family(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("t1", "a", max_reuse=1) is ACCEPTED
    assert await family.use("t1", "b", max_reuse=1) is ACCEPTED
    assert await family.use("t1", "c", max_reuse=1) is REUSED
    assert await family.use("b", "d", max_reuse=1) is STALE


async def test_a_stricter_realm_counts_earlier_uses(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("t1", "a", max_reuse=5) is ACCEPTED
    assert await family.use("t1", "b", max_reuse=0) is REUSED


async def test_an_unknown_family_has_no_turn(family: Family, database: SqlDatabase) -> None:
    assert await family.use("t1", "t2") is STALE
    assert await Family(database, name="nul\0").use("t1", "t2") is STALE


async def test_a_family_begins_once_and_not_again_after_its_end(family: Family) -> None:
    await family.begin("t1")
    assert await family.use("forged", "t2") is STALE
    with pytest.raises(AlreadyExists):
        await family.begin("t1")
    assert await family.use("t1", "t2") is STALE


async def test_a_family_of_another_realm_is_out_of_reach(
    family: Family, database: SqlDatabase
) -> None:
    """The same family and tokens stand in both realms."""
    theirs = Family(database, of="other-id")
    assert await theirs.use("t1", "t2") is STALE
    await family.begin("t1")
    assert await theirs.use("t1", "t2") is STALE
    await theirs.begin("t1")
    assert await theirs.use("forged", "t2") is STALE
    async with database.write() as stores:
        assert await stores.refresh_tokens.end_of_session("other-id", "one-session") == 0
    assert await family.use("t1", "t2") is ACCEPTED


async def test_the_families_of_a_session_end_with_it(family: Family, database: SqlDatabase) -> None:
    second, apart = Family(database, name="second"), Family(database, name="apart")
    await family.begin()
    await second.begin()
    await apart.begin(session="two-session")
    async with database.write() as stores:
        assert await stores.refresh_tokens.end_of_session("demo-id", "one-session") == 2
        assert await stores.refresh_tokens.end_of_session("demo-id", "one-session") == 0
    assert await family.use("t1", "t2") is STALE
    assert await second.use("t1", "t2") is STALE
    assert await apart.use("t1", "t2") is ACCEPTED


async def test_a_family_is_forgotten_after_the_last_of_its_tokens(
    family: Family, database: SqlDatabase
) -> None:
    await family.begin()
    await family.use("t1", "t2", lasts=2 * _HOUR)
    await family.use("t2", "t3", lasts=_HOUR)
    async with database.write() as stores:
        assert await stores.refresh_tokens.purge(NOW + 2 * _HOUR) == 0
    assert await family.use("t3", "t4") is ACCEPTED
    async with database.write() as stores:
        assert await stores.refresh_tokens.purge(NOW + 2 * _HOUR + timedelta(seconds=1)) == 1
    assert await family.use("t4", "t5") is STALE


async def _use_without_family(
    database: SqlDatabase, token: str, successor: str, *, max_reuse: int = 0
) -> Rotation:
    return await database.rotations.rotate_without_family(
        "demo-id",
        token,
        session_id="one-session",
        successor=successor,
        max_reuse=max_reuse,
        expires_at=NOW + _HOUR,
    )


async def test_a_token_without_a_family_begins_one_at_its_first_use(
    family: Family, database: SqlDatabase
) -> None:
    own = Family(database, name="t1")
    assert await database.rotations.is_next_without_family("demo-id", "t1", max_reuse=0)
    assert await _use_without_family(database, "t1", "t2") is ACCEPTED
    assert not await database.rotations.is_next_without_family("demo-id", "t1", max_reuse=0)
    assert await own.use("t2", "t3") is ACCEPTED
    assert await _use_without_family(database, "t1", "stolen") is STALE
    assert await own.use("t3", "t4") is STALE
    assert await family.use("t1", "t2") is STALE, "no other family knows the token"
    assert await _use_without_family(database, "nul\0", "t2") is STALE


@pytest.mark.parametrize("max_reuse", [0, 3])
async def test_of_parallel_first_uses_the_allowed_number_is_accepted(
    family: Family, database: SqlDatabase, other_gateway: SqlDatabase, max_reuse: int
) -> None:
    assert await family.use("unknown", "t2") is STALE
    gateways = (database, other_gateway)
    answers = Counter(
        await asyncio.gather(
            *(
                _use_without_family(gateways[number % 2], "t1", f"s{number}", max_reuse=max_reuse)
                for number in range(20)
            )
        )
    )
    assert answers == {ACCEPTED: max_reuse + 1, REUSED: 1, STALE: 18 - max_reuse}


async def test_families_of_an_offline_session_live_as_long_as_it(
    database: SqlDatabase,
) -> None:
    """Its tokens may not expire: one without a family would begin that family again."""
    await store_owners(database)
    async with database.write() as stores:
        await stores.offline_sessions.add(session("one", "device", offline=True), LATER)
    assert await _use_without_family(database, "t1", "t2") is ACCEPTED
    async with database.write() as stores:
        assert await stores.refresh_tokens.purge(NOW + 2 * _HOUR) == 0
        await stores.offline_sessions.end("demo-id", "one-session")
        assert await stores.refresh_tokens.purge(NOW + 2 * _HOUR) == 1


@pytest.mark.parametrize("max_reuse", [0, 3])
async def test_of_100_parallel_uses_the_allowed_number_is_accepted(
    family: Family, other_gateway: SqlDatabase, max_reuse: int
) -> None:
    """On two gateways; and the family is at an end, also for the successor that was given."""
    await family.begin("t1")
    gateways = (family, Family(other_gateway))
    answers = Counter(
        await asyncio.gather(
            *(
                gateways[number % 2].use("t1", f"s{number}", max_reuse=max_reuse)
                for number in range(100)
            )
        )
    )
    assert answers == {ACCEPTED: max_reuse + 1, REUSED: 1, STALE: 98 - max_reuse}
    for number in range(100):
        assert await family.use(f"s{number}", "next", max_reuse=max_reuse) is STALE


async def test_a_restart_forgets_neither_uses_nor_ends(
    family: Family,
    database: SqlDatabase,
    stored_database: StoredDatabase,
    secrets_at_rest: SecretsAtRest,
) -> None:
    ended = Family(database, name="ended")
    await family.begin("t1")
    await ended.begin("t1")
    await family.use("t1", "t2")
    await ended.use("forged", "t2")
    await database.dispose()
    restarted = SqlDatabase(stored_database.url, secrets_at_rest)
    assert await Family(restarted, name="ended").use("t1", "t2") is STALE
    assert await Family(restarted).use("t1", "again") is REUSED
    assert await Family(restarted).use("t2", "t3") is STALE
    await restarted.dispose()


async def test_an_end_of_the_session_among_refreshes_is_the_end(
    family: Family, other_gateway: SqlDatabase
) -> None:
    async def end() -> None:
        async with other_gateway.write() as stores:
            await stores.refresh_tokens.end_of_session("demo-id", "one-session")

    await family.begin("t1")
    gateways = (family, Family(other_gateway))
    uses = [gateways[number % 2].use("t1", f"s{number}", max_reuse=99) for number in range(20)]
    await asyncio.gather(*uses[:10], end(), *uses[10:])
    for number in range(20):
        assert await family.use(f"s{number}", "next", max_reuse=99) is STALE
    assert await family.use("t1", "next", max_reuse=99) is STALE
