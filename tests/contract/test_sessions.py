"""Sessions in Redis and in SQL: one behaviour, whichever store they stand in."""

import asyncio
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.errors import AlreadyExists
from gateway.domain.sessions import ClientSession, ExpectedPart, UserSession
from tests.support.sessions import LATER, SessionStorage, part
from tests.support.stored_values import NOW

_SECOND = timedelta(seconds=1)


async def _add(storage: SessionStorage, *sessions: UserSession) -> None:
    async with storage.open() as store:
        for session in sessions:
            await store.add(session, LATER)


async def test_a_session_comes_back_as_stored(storage: SessionStorage) -> None:
    stored = storage.session(
        "one",
        username="älice 😀",
        ip_address="2001:db8::1",
        started_at=NOW,
        refreshed_at=NOW + timedelta(microseconds=1),
        remember_me=True,
        clients={
            "device-uuid": part("device", NOW, scope='openid "quoted" ö'),
            "browser-uuid": part("browser", NOW + _SECOND, scope=""),
        },
        notes={"acr": "1", "line\nbreak": "a b"},
    )
    await _add(storage, stored, storage.session("plain"))
    async with storage.open() as store:
        assert await store.find_session("demo-id", "one-session") == stored
        assert await store.find_session("demo-id", "plain-session") == storage.session("plain")
        assert await store.find_session("demo-id", "ghost") is None
        assert await store.find_session("demo-id", "one-session\0") is None


async def test_a_session_is_added_once(storage: SessionStorage) -> None:
    await _add(storage, storage.session("one"))
    with pytest.raises(AlreadyExists):
        await _add(storage, storage.session("one", user_id="bob-uuid"))
    async with storage.open() as store:
        assert await store.find_session("demo-id", "one-session") == storage.session("one")
        assert await store.of_user("demo-id", "bob-uuid") == ()


async def test_a_client_joins_and_its_part_is_replaced(storage: SessionStorage) -> None:
    await _add(storage, storage.session("one", "device"))
    first = part("browser", NOW + _SECOND)
    second = replace(first, refreshed_at=NOW + 2 * _SECOND, scope="openid email")
    async with storage.open() as store:
        assert await store.join("demo-id", "one-session", first, LATER)
        assert await store.join("demo-id", "one-session", second, LATER)
        found = await store.find_session("demo-id", "one-session")
        listed = await store.of_client("demo-id", "browser-uuid", 0, 10)
    expected = storage.session(
        "one",
        refreshed_at=NOW + 2 * _SECOND,
        clients={"device-uuid": part("device"), "browser-uuid": second},
    )
    assert found == expected
    assert listed == (expected,)


async def test_a_refresh_moves_parts_in_use_and_restores_none(
    storage: SessionStorage,
) -> None:
    await _add(storage, storage.session("one", "device", "browser"))
    moved = replace(part("device"), refreshed_at=NOW + _SECOND)
    async with storage.open() as store:
        assert await store.refresh("demo-id", "one-session", moved, LATER)
    async with storage.open() as store:
        found = await store.find_session("demo-id", "one-session")
        assert found is not None
        assert found.refreshed_at == NOW + _SECOND
        assert found.clients["device-uuid"] == moved
        await store.leave("demo-id", "one-session", "device-uuid")
    late = replace(moved, refreshed_at=NOW + 2 * _SECOND)
    async with storage.open() as store:
        assert not await store.refresh("demo-id", "one-session", late, LATER)
        assert not await store.refresh("demo-id", "ghost", late, LATER)
        assert not await store.refresh("other-id", "one-session", part("browser"), LATER)
    async with storage.open() as store:
        found = await store.find_session("demo-id", "one-session")
        assert found is not None
        assert set(found.clients) == {"browser-uuid"}
        assert found.refreshed_at == NOW + _SECOND


async def test_only_the_client_session_that_was_read_is_changed(storage: SessionStorage) -> None:
    """A client that has left, or has left and joined again, is another one."""
    await _add(storage, storage.session("one", "device", "browser"))
    first = part("device")
    again = replace(first, started_at=NOW + timedelta(microseconds=1), refreshed_at=NOW + _SECOND)
    absent = ExpectedPart(None)
    stored: list[ClientSession | None] = [first, None, again]
    for current in stored:
        for expected in (absent, ExpectedPart.of(first), ExpectedPart.of(again)):
            fits = expected == ExpectedPart.of(current)
            async with storage.open() as store:
                await store.leave("demo-id", "one-session", "device-uuid")
                if current is not None:
                    assert await store.join("demo-id", "one-session", current, LATER)
                moved = replace(current or again, refreshed_at=NOW + 2 * _SECOND)
                given = ("demo-id", "one-session", moved, LATER)
                refreshed = await store.refresh(*given, expected=expected)
                assert refreshed == (fits and current is not None)
                assert await store.join(*given, expected=expected) == fits
                found = await store.find_session("demo-id", "one-session")
            assert found is not None
            assert found.clients.get("device-uuid") == (moved if fits else current)


async def test_an_ended_session_is_not_joined(storage: SessionStorage) -> None:
    await _add(storage, storage.session("one", "device"))
    async with storage.open() as store:
        assert await store.end("demo-id", "one-session")
    async with storage.open() as store:
        assert not await store.end("demo-id", "one-session")
        assert not await store.join("demo-id", "one-session", part("device"), LATER)
        assert not await store.join("demo-id", "ghost", part("device"), LATER)
    async with storage.open() as store:
        assert await store.find_session("demo-id", "one-session") is None
        assert await store.of_user("demo-id", "alice-uuid") == ()
        assert await store.of_client("demo-id", "device-uuid", 0, 10) == ()
        assert await store.count_of_client("demo-id", "device-uuid") == 0


async def test_an_end_among_refreshes_is_the_end(storage: SessionStorage) -> None:
    """Refreshes run at the same time: those before the end succeed, none of them undoes it."""

    async def refresh(name: str) -> bool:
        async with storage.open() as store:
            return await store.refresh("demo-id", name, part("device"), LATER)

    async def end(name: str) -> bool:
        async with storage.open() as store:
            return await store.end("demo-id", name)

    names = [f"s{number}" for number in range(8)]
    await _add(storage, *(storage.session(name, "device", id=name) for name in names))
    for name in names:
        work = [refresh(name) for _ in range(5)] + [end(name)] + [refresh(name) for _ in range(5)]
        answers = await asyncio.gather(*work)
        assert answers[5], "the end met a session"
        async with storage.open() as store:
            assert await store.find_session("demo-id", name) is None
    async with storage.open() as store:
        assert await store.of_user("demo-id", "alice-uuid") == ()
        assert await store.count_of_client("demo-id", "device-uuid") == 0


async def test_a_session_goes_with_its_last_client(storage: SessionStorage) -> None:
    await _add(storage, storage.session("one", "device", "browser"), storage.session("plain"))
    async with storage.open() as store:
        await store.leave("demo-id", "one-session", "ghost-uuid")
        await store.leave("demo-id", "one-session", "device-uuid")
        await store.leave("demo-id", "one-session", "device-uuid")
        assert await store.find_session("demo-id", "one-session") == storage.session(
            "one", "browser"
        )
        assert await store.count_of_client("demo-id", "device-uuid") == 0
        await store.leave("demo-id", "one-session", "browser-uuid")
        await store.leave("demo-id", "plain-session", "browser-uuid")
        assert await store.of_user("demo-id", "alice-uuid") == (storage.session("plain"),)
        assert await store.find_session("demo-id", "one-session") is None
        assert await store.count_of_client("demo-id", "browser-uuid") == 0


async def test_a_deleted_client_leaves_its_sessions_and_ends_its_own(
    storage: SessionStorage,
) -> None:
    await _add(
        storage,
        *(storage.session(f"alone-{number}", "device") for number in range(510)),
        storage.session("shared", "device", "browser"),
        storage.session("others", "browser"),
        storage.session("elsewhere", "device", of="other"),
        storage.session("alone-0", of="other"),
    )
    async with storage.open() as store:
        await store.leave_all("demo-id", "device-uuid")
        await store.leave_all("demo-id", "nobody")
    async with storage.open() as store:
        left = await store.of_user("demo-id", "alice-uuid")
        assert sorted(session.id for session in left) == ["others-session", "shared-session"]
        assert [tuple(session.clients) for session in left] == [("browser-uuid",)] * 2
        assert await store.count_of_client("demo-id", "device-uuid") == 0
        assert await store.find_session("demo-id", "alone-0-session") is None
        assert await store.count_of_client("other-id", "device-uuid") == 1
        assert await store.find_session("other-id", "alone-0-session") is not None


async def test_all_sessions_of_a_user_end_and_no_others(storage: SessionStorage) -> None:
    theirs = storage.session("theirs", user_id="bob-uuid")
    elsewhere = storage.session("one", of="other")
    await _add(storage, storage.session("one"), storage.session("two", "device"))
    await _add(storage, theirs, elsewhere)
    async with storage.open() as store:
        assert await store.end_of_user("demo-id", "alice-uuid") == 2
        assert await store.end_of_user("demo-id", "alice-uuid") == 0
        assert await store.find_session("demo-id", "two-session") is None
        assert await store.count_of_client("demo-id", "device-uuid") == 0
        assert await store.of_user("demo-id", "bob-uuid") == (theirs,)
        assert await store.of_user("other-id", "alice-uuid") == (elsewhere,)


async def test_all_sessions_of_a_realm_end_and_no_others(storage: SessionStorage) -> None:
    many = [storage.session(f"s{number}", "device") for number in range(520)]
    elsewhere = storage.session("one", of="other")
    await _add(storage, *many, storage.session("bobs", user_id="bob-uuid"), elsewhere)
    async with storage.open() as store:
        assert await store.end_of_realm("demo-id") == 521
        assert await store.end_of_realm("demo-id") == 0
        assert await store.of_user("demo-id", "alice-uuid") == ()
        assert await store.count_of_client("demo-id", "device-uuid") == 0
        assert await store.find_session("other-id", "one-session") == elsewhere
        assert await store.end_of_realm("other-id") == 1


async def test_sessions_are_listed_oldest_first_and_by_the_page(storage: SessionStorage) -> None:
    sessions = [
        storage.session(f"s{number}", "device", started_at=NOW + number * _SECOND)
        for number in range(5)
    ]
    await _add(storage, *reversed(sessions), storage.session("apart", "browser"))
    await _add(storage, storage.session("elsewhere", "device", of="other"))
    async with storage.open() as store:
        assert await store.count_of_client("demo-id", "device-uuid") == 5
        of_user = await store.of_user("demo-id", "alice-uuid")
        assert [found.id for found in of_user if found.id != "apart-session"] == [
            found.id for found in sessions
        ]
        assert len(of_user) == 6
        for first, maximum in ((0, 2), (1, 3), (4, 10), (5, 10), (2, 0)):
            page = await store.of_client("demo-id", "device-uuid", first, maximum)
            assert page == tuple(sessions[first : first + maximum])


async def test_sessions_of_very_many_clients_are_counted_at_once(storage: SessionStorage) -> None:
    await _add(
        storage, storage.session("one", "device", "browser"), storage.session("two", "device")
    )
    strangers = [f"stranger-{number}" for number in range(2500)]
    async with storage.open() as store:
        wanted = [*strangers, "device-uuid", "browser-uuid"]
        found = await store.counts_of_clients("demo-id", wanted)
        assert found == {"device-uuid": 2, "browser-uuid": 1}
        assert await store.counts_of_clients("demo-id", ["browser-uuid"]) == {"browser-uuid": 1}
        assert await store.counts_of_clients("other-id", wanted) == {}
        assert await store.counts_of_clients("demo-id", []) == {}


async def test_a_session_of_another_realm_is_out_of_reach(storage: SessionStorage) -> None:
    """The same ids stand in both realms."""
    ours = storage.session("one", "device", of="demo")
    await _add(storage, ours)
    async with storage.open() as store:
        assert await store.find_session("other-id", "one-session") is None
        assert not await store.join("other-id", "one-session", part("device"), LATER)
        await store.leave("other-id", "one-session", "device-uuid")
        assert not await store.end("other-id", "one-session")
        assert await store.end_of_user("other-id", "alice-uuid") == 0
        assert await store.end_of_realm("other-id") == 0
        assert await store.of_user("other-id", "alice-uuid") == ()
        assert await store.of_client("other-id", "device-uuid", 0, 10) == ()
        assert await store.count_of_client("other-id", "device-uuid") == 0
        assert await store.find_session("demo-id", "one-session") == ours
