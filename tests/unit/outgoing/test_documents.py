"""Documents at URLs are cached, found or not, with bounds of age."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest

from gateway.domain.ports.outgoing import DocumentUnavailable
from gateway.outgoing import CachedDocuments, GuardedHttpClient, Response

pytestmark = pytest.mark.anyio
URL = "https://app.example/jwks"


@dataclass
class Server:
    """Answers each request with the next status, and moves the time."""

    statuses: list[int]
    asked: int = 0
    time: datetime = field(default_factory=lambda: datetime(2026, 1, 1, tzinfo=UTC))

    async def get(self, url: str) -> Response:
        assert url == URL
        self.asked += 1
        status = self.statuses.pop(0)
        if not status:
            raise DocumentUnavailable("no answer")
        return Response(status, f"version {self.asked}".encode())

    def now(self) -> datetime:
        return self.time


def documents(server: Server) -> CachedDocuments:
    return CachedDocuments(cast("GuardedHttpClient", server), server)


async def test_a_document_is_fetched_once_in_ten_minutes() -> None:
    server = Server([200, 200])
    cached = documents(server)
    assert [await cached.fetch(URL) for _ in range(3)] == [b"version 1"] * 3
    server.time += timedelta(minutes=10)
    assert await cached.fetch(URL) == b"version 2"


async def test_a_newer_one_is_fetched_where_the_caller_asks_for_it() -> None:
    server = Server([200, 200])
    cached = documents(server)
    await cached.fetch(URL)
    server.time += timedelta(seconds=9)
    assert await cached.fetch(URL, newest=timedelta(seconds=10)) == b"version 1"
    server.time += timedelta(seconds=1)
    assert await cached.fetch(URL, newest=timedelta(seconds=10)) == b"version 2"
    assert server.asked == 2


@pytest.mark.parametrize("status", [0, 302, 404, 500])
async def test_a_failure_is_kept_for_ten_seconds(status: int) -> None:
    server = Server([status, 200])
    cached = documents(server)
    for _ in range(2):
        with pytest.raises(DocumentUnavailable):
            await cached.fetch(URL)
    assert server.asked == 1
    server.time += timedelta(seconds=10)
    assert await cached.fetch(URL) == b"version 2"
