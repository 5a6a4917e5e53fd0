"""Fixtures of tests that read the sources."""

import gc
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def no_garbage_collection() -> Iterator[None]:
    """Look for no garbage: syntax trees have no cycles, and make up a million objects.

    Three quarters of the time of parsing was spent on looking through them again and again. Trees
    that are kept would stop later tests for seconds, so nothing looks through them afterwards.
    """
    gc.disable()
    yield
    gc.freeze()
    gc.enable()
