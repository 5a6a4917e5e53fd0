"""Host names that are not resolved in time, and what they may hold up.

A realm, or an authority, chooses names whose servers never answer. attacks C21, A12
"""

import asyncio
import socket
import threading
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from gateway.outgoing.http_client import LONGEST_LOOK_UP, SystemResolver

pytestmark = pytest.mark.anyio
GOOD = "192.0.2.7"
_LONGEST = 10.0


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, bool]]:
    """Return the event loop of Python: uvloop does not resolve by the module `socket`."""
    return "asyncio", {"use_uvloop": False}


@pytest.fixture
def release(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let the system resolve `good` at once, and other names when the event is set."""
    released = threading.Event()

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[Any]:
        if host != "good" or released.is_set():
            released.wait(_LONGEST)
            raise socket.gaierror(socket.EAI_AGAIN, "no answer")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (GOOD, port))]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    yield released
    released.set()


async def test_names_that_are_not_resolved_hold_up_no_known_name(
    release: threading.Event,
) -> None:
    resolver = SystemResolver()
    assert await resolver("good", 80) == [GOOD]
    slow = [asyncio.ensure_future(resolver(f"slow-{number}", 80)) for number in range(8)]
    await asyncio.sleep(0)  # they take what is free
    async with asyncio.timeout(2 * LONGEST_LOOK_UP.total_seconds()):
        assert await resolver("good", 80) == [GOOD]
    assert not any(each.done() for each in slow)
    release.set()
    found = await asyncio.gather(*slow, return_exceptions=True)
    assert {type(each) for each in found} == {socket.gaierror}


async def test_a_name_that_has_no_address_any_more_is_not_known(release: threading.Event) -> None:
    """What the name server says counts as soon as it says it."""
    resolver = SystemResolver()
    assert await resolver("good", 80) == [GOOD]
    release.set()
    with pytest.raises(socket.gaierror):
        await resolver("good", 80)


async def test_addresses_are_known_for_a_limited_time(release: threading.Event) -> None:
    resolver = SystemResolver(known_for=timedelta())
    assert await resolver("good", 80) == [GOOD]
    slow = [asyncio.ensure_future(resolver(f"slow-{number}", 80)) for number in range(8)]
    await asyncio.sleep(0)  # they take what is free
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(2 * LONGEST_LOOK_UP.total_seconds()):
            await resolver("good", 80)
    release.set()
    await asyncio.gather(*slow, return_exceptions=True)
