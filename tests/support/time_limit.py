"""The time limits of asynchronous tests and of whole tests: what waits for ever says where.

`timeout` in pyproject.toml is the limit of the others: its signal raises inside the test, where an
event loop would take the exception for that of one of its callbacks. pytest-timeout gives up as
soon as a test has failed, and a signal ends no wait in C: closing uvloop's event loop waits for
ever after some connections that were given up. So a test with its fixtures and its teardown has
`process_timeout`. pytest's own `faulthandler_timeout` would end nothing, and start and join a
thread for each of twenty thousand tests: this one is started anew once a second at most.
"""

import faulthandler
import functools
import inspect
import math
import os
import time
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

_PRECISION = 1.0
"""Seconds by which a test may be ended too early."""
_STDERR = pytest.StashKey[int]()
_STARTED = pytest.StashKey[float]()
"""When the time of the process was started, in seconds of the monotonic clock."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting of the limit."""
    parser.addini("process_timeout", "seconds in a test, until the process ends", default="540")


def pytest_configure(config: pytest.Config) -> None:
    """Remember where messages go that nothing captures."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        config.stash[_STDERR] = os.dup(2)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Print every stack and end the process where a test does not end; xdist starts another."""
    if time.monotonic() - item.config.stash.get(_STARTED, -math.inf) > _PRECISION:
        _start_time(item.config)
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_exception_interact(node: pytest.Item | pytest.Collector) -> None:
    """Start the time again: pytest stops it here, and the teardown is to come."""
    _start_time(node.config)


def pytest_unconfigure() -> None:
    """Let the process live on, whoever called pytest in it."""
    faulthandler.cancel_dump_traceback_later()


def _start_time(config: pytest.Config) -> None:
    seconds = float(config.getini("process_timeout"))
    faulthandler.dump_traceback_later(seconds, exit=True, file=config.stash[_STDERR])
    config.stash[_STARTED] = time.monotonic()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Give each asynchronous test the limit; a property test runs each example by itself."""
    seconds = float(config.getini("timeout"))
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.obj = _limited(item.obj, seconds)


def _limited(
    test: Callable[..., Awaitable[None]], seconds: float
) -> Callable[..., Awaitable[None]]:
    @functools.wraps(test)
    async def limited(**arguments: Any) -> None:
        with anyio.fail_after(seconds):
            await test(**arguments)

    return limited
