"""Takes what pytest has collected out of Python's garbage collection.

Twenty thousand tests are a million objects that all live until the end. To look through them again
and again takes a third of the processor time of pytest's collection, and goes on in the tests.
"""

import gc
from collections.abc import Iterator

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Iterator[None]:
    """Look for garbage once at the end, and then never at what is left."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()
