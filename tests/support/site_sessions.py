"""Sessions of browsers at protected sites, as the store keeps them after a sign-in."""

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from gateway.domain.forward_auth import SiteSession
from gateway.domain.secrets import Secret
from gateway.storage.redis.connection import create_client
from gateway.storage.redis.sessions import RedisSiteSessions


def store_site_session(
    redis_url: Secret, site: str, realm_id: str, claims: Mapping[str, Any], /, **fields: Any
) -> str:
    """Store a session of the user of an access token; return its cookie.

    `site` is the name of a site without a cookie domain; `fields` replace those of the session.
    """
    session = SiteSession(
        site=site,
        realm_id=realm_id,
        client=claims["azp"],
        user_id=claims["sub"],
        session_id=claims["sid"],
        created_at=datetime.now(UTC),
    )
    value = secrets.token_urlsafe(32)
    asyncio.run(_store(redis_url, value, replace(session, **fields)))
    return f"__Host-realmgate-session={value}"


async def _store(redis_url: Secret, value: str, session: SiteSession) -> None:
    redis = create_client(redis_url)
    await RedisSiteSessions(redis).add(value, session, timedelta(minutes=5))
    await redis.aclose()
