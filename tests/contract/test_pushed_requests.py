"""Pushed authorization requests in Redis: one response, one client, a short time. RFC 9126 §7.3."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta

import pytest

from gateway.domain.errors import StoreUnavailable
from gateway.domain.limits.fair_share import caller_address
from gateway.domain.ports.sign_in import PushedParameters
from gateway.protocol.authorization import AuthorizationRequest, PageError
from gateway.protocol.authorization.checks import PUSHED
from gateway.protocol.authorization.endpoints import run_checks
from gateway.protocol.authorization.request import AuthorizationDraft
from gateway.protocol.errors import OAuthError
from gateway.storage.redis.connection import RedisClient, create_client
from gateway.storage.redis.single_use_codes import RedisPushedRequests
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
    await store.add("demo", ENTRY.client.id, "x", PushedParameters({**GOOD, **changed}), MINUTE)


async def find(store: RedisPushedRequests) -> PushedParameters | None:
    return await store.find_request("demo", ENTRY.client.id, "x")


async def use(store: RedisPushedRequests) -> bool:
    return await store.use("demo", ENTRY.client.id, "x", 2 * MINUTE)


@pytest.mark.parametrize("name", ["signed#object", "x5t#S256", "caller#network"])
async def test_no_parameter_writes_what_the_gateway_found_out(
    store: RedisPushedRequests, name: str
) -> None:
    await push(store, **{name: "true"})
    assert await find(store) == PushedParameters(GOOD, None, was_signed=False)


async def test_of_many_at_once_one_uses_the_request(store: RedisPushedRequests) -> None:
    await push(store)
    uses = await asyncio.gather(*(use(store) for _ in range(50)))
    assert uses.count(True) == 1
    assert await find(store) is None


async def test_it_may_be_read_again_until_it_is_used(store: RedisPushedRequests) -> None:
    """RFC 9126 §4: users reload pages."""
    await push(store)
    assert [await find(store), await find(store)] == [PushedParameters(GOOD)] * 2
    assert await use(store)
    assert await find(store) is None


async def test_it_is_used_once_also_after_its_time(store: RedisPushedRequests) -> None:
    """A user may take longer to sign in than the reference lasts."""
    assert [await use(store), await use(store)] == [True, False]


async def test_it_is_for_its_client_and_realm_alone(store: RedisPushedRequests) -> None:
    await push(store)
    assert await store.find_request("demo", "another-client", "x") is None
    assert await store.find_request("other", ENTRY.client.id, "x") is None
    assert await find(store) == PushedParameters(GOOD)


async def test_it_ends_by_itself(store: RedisPushedRequests, redis: RedisClient) -> None:
    await push(store)
    assert 0 < await _time_left(redis) <= 60_000
    await use(store)
    assert 60_000 < await _time_left(redis) <= 120_000


async def _time_left(redis: RedisClient) -> int:
    [key] = [key async for key in redis.scan_iter("rg:pushed-request:*")]
    milliseconds: int = await redis.pttl(key)
    return milliseconds


async def test_a_browser_brings_the_reference_alone(store: RedisPushedRequests) -> None:
    await push(store, nonce="pushed")
    request = await used(using(store, nonce="of the browser", scope="unknown", state="y"))
    assert (request.nonce, request.state) == ("pushed", "s")
    await use(store)
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
    with pytest.raises(StoreUnavailable):
        await use(store)
    await client.aclose()


async def test_the_certificate_of_the_push_stays_with_it(store: RedisPushedRequests) -> None:
    pushed = PushedParameters(GOOD, certificate="thumbprint")
    await store.add("demo", ENTRY.client.id, "x", pushed, MINUTE)
    request = await used(using(store))
    assert request.certificate == "thumbprint"
    assert request.stored()["certificate"] == "thumbprint"


async def test_a_flood_of_one_network_leaves_the_requests_of_others(redis: RedisClient) -> None:
    """Also where a parameter of the flood has the name that the store gives the network."""
    text = "x" * 1000
    store = RedisPushedRequests(redis, most_anonymous_bytes=5 * 1600)
    own = PushedParameters({"state": text}, is_anonymous=True)
    caller_address.set("192.0.2.1")
    await store.add("shared", "client", "own", own, MINUTE)
    caller_address.set("192.0.2.66")
    forged = PushedParameters({"caller#network": "192.0.2.1", "state": text}, is_anonymous=True)
    for number in range(50):
        flood = forged if number % 2 else own
        await store.add("shared", "client", str(number), flood, MINUTE)
    assert await store.find_request("shared", "client", "own") == PushedParameters(
        {"state": text}, None
    )
    assert await store.find_request("shared", "client", "49") == PushedParameters(
        {"state": text}, None
    )


async def test_the_oldest_of_too_many_anonymous_requests_are_removed(redis: RedisClient) -> None:
    """Attacks: C24. Everyone may push in the name of a public client."""
    text = "x" * 1000
    store = RedisPushedRequests(redis, most_anonymous_bytes=5 * 1600)
    await store.add("flooded", "client", "proven", PushedParameters({"state": text}), MINUTE)
    anonymous = PushedParameters({"state": text}, is_anonymous=True)
    await store.add("other", "client", "0", anonymous, MINUTE)
    for number in range(20):
        await store.add("flooded", "client", str(number), anonymous, MINUTE)
    left = [
        number for number in range(20) if await store.find_request("flooded", "client", str(number))
    ]
    assert left == [15, 16, 17, 18, 19]
    assert await store.find_request("flooded", "client", "proven") is not None
    assert await store.find_request("other", "client", "0") is not None
    for number in left:
        assert await store.use("flooded", "client", str(number), MINUTE)
    assert await redis.get("rg:unproven-sum:pushed-request:flooded") == "0"
    assert await redis.zcard("rg:unproven:pushed-request:flooded:") == 0
