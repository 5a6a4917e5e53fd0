"""Invalidation messages between gateways, by Redis publish and subscribe.

Messages may be lost, but not unnoticed: `connected` becomes false at once when the connection ends
or stays silent, and after every (re)connection listeners are called with None.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from redis.exceptions import RedisError

from gateway.domain.secrets import Secret
from gateway.storage.redis.connection import (
    REPLY,
    check_server,
    create_client,
    named_failures,
    ping,
    server_time,
)

if TYPE_CHECKING:
    from redis.asyncio.client import PubSub

CHANNEL = "realmgate:invalidation"
_LONGEST_TOPIC = 512
_FIRST_BACKOFF = 0.05
_LONGEST_BACKOFF = 1.0
_SOCKET_TIMEOUT = timedelta(seconds=5)
_SILENCE = 2.0
"""Seconds without a message after which the server is probed."""


class RedisInvalidation:
    """Invalidation over one channel of `url`; `start` subscribes; to publish needs no `start`."""

    def __init__(self, url: Secret, silence: float = _SILENCE) -> None:
        self._client = create_client(url, socket_timeout=_SOCKET_TIMEOUT)
        self._silence = silence
        self._listeners: list[Callable[[str | None], None]] = []
        self.connected = False
        self._task: asyncio.Task[None] | None = None

    async def publish(self, topics: Sequence[str]) -> None:
        wanted = tuple(dict.fromkeys(topics))
        self.deliver(wanted)
        sent = (self._client.publish(CHANNEL, topic) for topic in wanted)
        results = await asyncio.gather(*sent, return_exceptions=True)
        for failure in results:
            if isinstance(failure, BaseException):
                with named_failures():
                    raise failure

    def deliver(self, topics: Sequence[str]) -> None:
        for topic in topics:
            self._notify(topic)

    def subscribe(self, listener: Callable[[str | None], None]) -> None:
        self._listeners.append(listener)

    async def ping(self) -> None:
        await ping(self._client)

    async def server_time(self) -> datetime:
        return await server_time(self._client)

    async def check_server(self) -> None:
        """Raise InvalidInput where the server is too old or evicts keys; StoreUnavailable."""
        await check_server(self._client)

    async def start(self) -> None:
        """Subscribe in the background."""
        if self._task is None:
            self._task = asyncio.create_task(self._listen_forever(), name="invalidation")

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._task = None
        await self._client.aclose()

    async def _listen_forever(self) -> None:
        backoff = _FIRST_BACKOFF
        while True:
            try:
                await self._listen()
            except (RedisError, OSError):
                backoff = _FIRST_BACKOFF if self.connected else backoff
            finally:
                self.connected = False
            await asyncio.sleep(backoff)
            backoff = min(backoff * 2, _LONGEST_BACKOFF)

    async def _listen(self) -> None:
        async with self._client.pubsub() as subscription:
            async with asyncio.timeout(REPLY.total_seconds()):
                await subscription.subscribe(CHANNEL)
            while True:
                message = await self._next(subscription)
                if message["type"] == "subscribe":
                    self.connected = True
                    self._notify(None)
                elif message["type"] == "message" and len(message["data"]) <= _LONGEST_TOPIC:
                    self._notify(message["data"])

    async def _next(self, subscription: "PubSub") -> dict[str, str]:
        """Return the next message; fails where the server does not answer a ping."""
        for _ in range(2):
            message: dict[str, str] | None = await subscription.get_message(timeout=self._silence)
            if message is not None:
                return message
            await subscription.ping()
        raise ConnectionError("the server does not answer")

    def _notify(self, topic: str | None) -> None:
        for listener in self._listeners:
            listener(topic)
