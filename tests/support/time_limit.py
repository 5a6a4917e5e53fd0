"""The time limits of asynchronous tests and of every teardown: what waits for ever says where.

`timeout` in pyproject.toml is the limit of the others: its signal raises inside the test, where an
event loop would take the exception for that of one of its callbacks. pytest-timeout and pytest's
own `faulthandler_timeout` give up as soon as a test has failed, and a signal ends no wait in C:
closing uvloop's event loop waits for ever after some connections that were given up.
"""

import faulthandler
import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

_STDERR = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the setting of the limit."""
    parser.addini("teardown_timeout", "seconds, after which the process ends", default="240")


def pytest_configure(config: pytest.Config) -> None:
    """Remember where messages go that nothing captures."""
    capture = config.pluginmanager.getplugin("capturemanager")
    with capture.global_and_fixture_disabled():
        config.stash[_STDERR] = os.dup(2)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Iterator[None]:
    """Print every stack and end the process where a teardown does not end; xdist starts another."""
    seconds = float(item.config.getini("teardown_timeout"))
    faulthandler.dump_traceback_later(seconds, exit=True, file=item.config.stash[_STDERR])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


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
