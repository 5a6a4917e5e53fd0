"""Sessions of browsers at protected sites in Redis.

`rg:site-session:<realm>:<SHA-256 of the cookie's value>` is JSON and expires by itself, so that
reading the store gives no session away. It says which user session it belongs to, and ends with it.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Final

import orjson
from redis.asyncio import Redis

from gateway.domain.forward_auth import SiteSession
from gateway.storage.redis.connection import named_failures

_SHORTEST: Final = timedelta(milliseconds=1)


class RedisSiteSessions:
    """SiteSessions in the server that `client` is connected to."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def add(self, value: str, session: SiteSession, lifespan: timedelta) -> None:
        document = {
            "site": session.site,
            "client": session.client,
            "user": session.user_id,
            "session": session.session_id,
            "created": session.created_at.timestamp(),
        }
        key = _key(session.realm_id, value)
        with named_failures():
            await self._client.set(key, orjson.dumps(document), px=max(lifespan, _SHORTEST))

    async def find(self, realm_id: str, value: str) -> SiteSession | None:
        with named_failures():
            found = await self._client.get(_key(realm_id, value))
        if found is None:
            return None
        document = orjson.loads(found)
        return SiteSession(
            site=document["site"],
            realm_id=realm_id,
            client=document["client"],
            user_id=document["user"],
            session_id=document["session"],
            created_at=datetime.fromtimestamp(document["created"], UTC),
        )

    async def end(self, realm_id: str, value: str) -> None:
        with named_failures():
            await self._client.delete(_key(realm_id, value))


def _key(realm_id: str, value: str) -> str:
    return f"rg:site-session:{realm_id}:{hashlib.sha256(value.encode()).hexdigest()}"
