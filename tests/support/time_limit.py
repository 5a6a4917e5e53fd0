"""The time limit of asynchronous tests: one that waits for ever fails and says where.

`timeout` in pyproject.toml is the limit of the others: its signal raises inside the test, where an
event loop would take the exception for that of one of its callbacks.
"""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest


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
