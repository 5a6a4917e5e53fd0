"""Texts of realms for pages: in memory until they change, none while the database is down."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, NoReturn

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.domain.ports.invalidation import realm_topic
from gateway.domain.ports.storage import Database, DocumentKind
from gateway.storage.realm_texts import RealmTextCache
from tests.support.set_clock import SetClock
from tests.support.stored_values import NOW, realm

AGE = timedelta(seconds=60)


class Channel:
    """Invalidation that the test sends."""

    connected = True

    def __init__(self) -> None:
        self.tell: Callable[[str | None], None] = lambda _topic: None

    async def publish(self, topics: Sequence[str]) -> None:
        """Tell the listener."""
        for topic in topics:
            self.tell(topic)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        """Remember the one listener."""
        self.tell = listener


class Broken:
    """A database that is down."""

    def read(self) -> NoReturn:
        """Fail."""
        raise StoreUnavailable("down", timedelta(seconds=1))


@pytest.fixture
def channel() -> Channel:
    return Channel()


@pytest.fixture
def clock() -> SetClock:
    return SetClock(NOW)


async def write(database: Database, locale: str, **texts: str) -> None:
    async with database.write() as stores:
        await stores.documents.put_document("r", DocumentKind.LOCALIZATION, locale, texts)


@pytest.fixture
async def cache(database: Database, clock: SetClock, channel: Channel) -> RealmTextCache:
    async with database.write() as stores:
        await stores.realms.add(realm("r", id="r"))
    return RealmTextCache(database, clock, channel, AGE)


async def test_texts_are_found_by_locale(cache: RealmTextCache, database: Database) -> None:
    await write(database, "de", doLogIn="Los")
    await write(database, "fr", doLogIn="Allez")
    assert await cache.find_texts("r", ("de", "en")) == {"de": {"doLogIn": "Los"}}
    assert await cache.find_texts("other", ("de",)) == {}


async def test_texts_are_reloaded_after_a_message_or_by_age(
    cache: RealmTextCache, database: Database, clock: SetClock, channel: Channel
) -> None:
    ways: tuple[Callable[[], None], ...] = (
        lambda: channel.tell(realm_topic("r")),
        lambda: channel.tell(None),
        lambda: clock.advance(AGE),
    )
    for number, renew in enumerate(ways):
        before = await cache.find_texts("r", ("de",))
        await write(database, "de", doLogIn=str(number))
        assert await cache.find_texts("r", ("de",)) == before
        renew()
        assert await cache.find_texts("r", ("de",)) == {"de": {"doLogIn": str(number)}}


async def test_without_the_database_there_are_no_texts(clock: SetClock, channel: Channel) -> None:
    broken: Any = Broken()
    assert await RealmTextCache(broken, clock, channel, AGE).find_texts("r", ("de",)) == {}
