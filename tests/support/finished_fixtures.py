"""Ends gateways of the session after the last test that uses them: one that waits takes time too.

A process gets its files in the order of the collection, so no later test needs them. If one did,
the fixture would be set up again, and live until the session ends.
"""

from collections.abc import Sequence
from typing import Any, Final

import pytest

FINISHED: Final = frozenset({"administered", "administration", "timed", "wire"})
"""Session-scoped fixtures that run a gateway which one directory of tests uses, or two."""
_Fixtures = dict[pytest.FixtureDef[Any], int]
_LAST: Final = pytest.StashKey[_Fixtures]()
"""The fixtures that have not been ended, and the place of the last test that uses each."""
_PLACES: Final = pytest.StashKey[dict[pytest.Item, int]]()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Note the places of all tests, and the last user of each fixture."""
    session.stash[_PLACES] = {item: place for place, item in enumerate(session.items)}
    last: _Fixtures = {}
    for place, item in enumerate(session.items):
        for name in FINISHED.intersection(getattr(item, "fixturenames", ())):
            for definition in _definitions(item, name):
                last[definition] = place
    session.stash[_LAST] = last


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """End what no test from the next one on uses."""
    if nextitem is None or not isinstance(item, pytest.Function):
        return
    last, place = item.session.stash[_LAST], item.session.stash[_PLACES][nextitem]
    for definition in [each for each, used in last.items() if used < place]:
        del last[definition]
        definition.finish(item._request)  # type: ignore[arg-type] # it needs the node alone


def _definitions(item: pytest.Item, name: str) -> Sequence[pytest.FixtureDef[Any]]:
    if not isinstance(item, pytest.Function):
        return ()
    found = item._fixtureinfo.name2fixturedefs.get(name, ())
    return [each for each in found if each.scope == "session"]
