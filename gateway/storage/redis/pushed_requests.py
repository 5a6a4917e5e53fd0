"""Pushed authorization requests in Redis, each for one client and one use.

`rg:pushed-request:<realm>:<client>:<reference>` is the JSON of the parameters, until it is taken or
its time is over. Spec: RFC 9126 §2.2, §7.3
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import orjson

from gateway.storage.redis.connection import RedisClient, named_failures
from gateway.storage.redis.server_script import LoadScript, ServerScript


class RedisPushedRequests:
    """PushedRequestStore in the server that `client` is connected to."""

    def __init__(self, client: RedisClient, load: LoadScript = ServerScript) -> None:
        self._client = client
        self._take = load(client, "take_once")

    async def add(
        self,
        realm_id: str,
        client: str,
        reference: str,
        parameters: Mapping[str, str],
        lifespan: timedelta,
    ) -> None:
        with named_failures():
            await self._client.set(
                _key(realm_id, client, reference), orjson.dumps(dict(parameters)), px=lifespan
            )

    async def take(self, realm_id: str, client: str, reference: str) -> Mapping[str, str] | None:
        found: Any = await self._take(_key(realm_id, client, reference))
        return None if found is None else orjson.loads(found)


def _key(realm_id: str, client: str, reference: str) -> str:
    return f"rg:pushed-request:{realm_id}:{client}:{reference}"
