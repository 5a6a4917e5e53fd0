"""Pushed authorization requests in Redis: one use, one client, a short time. RFC 9126 §7.3."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.protocol.authorization import AuthorizationRequest, PageError
from gateway.protocol.authorization.checks.pushed_request import PUSHED
from gateway.protocol.authorization.draft import AuthorizationDraft
from gateway.protocol.authorization.endpoint import run_checks
from gateway.protocol.errors import OAuthError
from gateway.storage.redis.connection import RedisClient, create_client
from gateway.storage.redis.pushed_requests import RedisPushedRequests
from tests.support.authorization_requests import GOOD, SERVICES, client_entry, draft
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.anyio
MINUTE = timedelta(minutes=1)
ENTRY = client_entry({"require.pushed.authorization.requests": "true"})


@pytest.fixture
async def redis(redis_server: RedisServer) -> AsyncIterator[RedisClient]:
    client = create_client(redis_server.url)
    yield client
    await client.aclose()


@pytest.fixture
def store(redis: RedisClient) -> RedisPushedRequests:
    return RedisPushedRequests(redis)


def using(store: RedisPushedRequests, **sent: str) -> AuthorizationDraft:
    """Return a request of a browser that names `x` of what was pushed."""
    found = draft(ENTRY, {**dict.fromkeys(GOOD), "request_uri": f"{PUSHED}x", **sent})
    return replace(found, services=replace(SERVICES, pushed_requests=store))


async def used(found: AuthorizationDraft) -> AuthorizationRequest:
    await run_checks(found)
    return found.finished()


async def push(store: RedisPushedRequests, **changed: str) -> None:
    await store.add("demo", ENTRY.client.id, "x", {**GOOD, **changed}, MINUTE)


async def test_of_many_at_once_one_gets_the_request(store: RedisPushedRequests) -> None:
    await push(store)
    taken = await asyncio.gather(*(store.take("demo", ENTRY.client.id, "x") for _ in range(50)))
    assert [each for each in taken if each is not None] == [GOOD]


async def test_it_is_for_its_client_and_realm_alone(store: RedisPushedRequests) -> None:
    await push(store)
    assert await store.take("demo", "another-client", "x") is None
    assert await store.take("other", ENTRY.client.id, "x") is None
    assert await store.take("demo", ENTRY.client.id, "x") == GOOD


async def test_it_ends_by_itself(store: RedisPushedRequests, redis: RedisClient) -> None:
    await push(store)
    [key] = [key async for key in redis.scan_iter("rg:pushed-request:*")]
    assert 0 < await redis.pttl(key) <= 60_000
    await store.take("demo", ENTRY.client.id, "x")


async def test_a_browser_brings_the_reference_alone(store: RedisPushedRequests) -> None:
    await push(store, nonce="pushed")
    request = await used(using(store, nonce="of the browser", scope="unknown", state="y"))
    assert (request.nonce, request.state) == ("pushed", "s")
    with pytest.raises(PageError, match="PAR not found, not issued or used multiple times"):
        await used(using(store))


async def test_another_response_type_beside_it_is_refused(store: RedisPushedRequests) -> None:
    await push(store)
    with pytest.raises(OAuthError, match="Parameter response_type does not match"):
        await used(using(store, response_type="token"))


async def test_what_was_pushed_is_checked_again(store: RedisPushedRequests) -> None:
    """The client may have changed since."""
    await push(store, redirect_uri="https://former.example/cb")
    with pytest.raises(PageError, match="redirect_uri"):
        await used(using(store))


async def test_a_client_that_must_push_may_not_do_without(store: RedisPushedRequests) -> None:
    found = replace(draft(ENTRY), services=using(store).services)
    with pytest.raises(OAuthError, match="Pushed Authorization Request is only allowed"):
        await used(found)


async def test_without_redis_nothing_is_accepted() -> None:
    server = RedisServer()
    server.start()
    client = create_client(server.url)
    store = RedisPushedRequests(client)
    server.stop()
    with pytest.raises(StoreUnavailable):
        await push(store)
    with pytest.raises(StoreUnavailable):
        await used(using(store))
    await client.aclose()
